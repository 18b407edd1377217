"""The figures, one a file. Each takes a fit and returns a `matplotlib.figure.Figure`; none touches pyplot."""

from meantime.report.figures.attributed import attributed_rates
from meantime.report.figures.backtested import backtest_coverage
from meantime.report.figures.contours import ettr_contours
from meantime.report.figures.ettr import ettr_by_gpus
from meantime.report.figures.forest_plot import forest
from meantime.report.figures.incident_plot import incident_sizes
from meantime.report.figures.ledger import ledger_bars
from meantime.report.figures.lost import goodput_lost
from meantime.report.figures.measured import measured_by_size, measured_ettr
from meantime.report.figures.mttf import mttf_by_size
from meantime.report.figures.nodes import lemon_nodes
from meantime.report.figures.over_time import rates_over_time
from meantime.report.figures.pooling import shrinkage
from meantime.report.figures.prior import prior_spread
from meantime.report.figures.repairs import repair_times
from meantime.report.figures.save import save_figure, save_figures
from meantime.report.figures.shapley import mitigation_shares
from meantime.report.figures.signals import node_signals
from meantime.report.figures.states import has_job_sizes, has_job_states, job_sizes, job_states
from meantime.report.figures.survival import survival_by_age
from meantime.report.figures.swings import tornado
from meantime.report.figures.uniform import loo_pit, sbc_ranks, uniform_figure

__all__ = [
    "attributed_rates",
    "backtest_coverage",
    "ettr_by_gpus",
    "ettr_contours",
    "forest",
    "goodput_lost",
    "has_job_sizes",
    "has_job_states",
    "incident_sizes",
    "job_sizes",
    "job_states",
    "ledger_bars",
    "lemon_nodes",
    "loo_pit",
    "measured_by_size",
    "measured_ettr",
    "mitigation_shares",
    "mttf_by_size",
    "node_signals",
    "prior_spread",
    "rates_over_time",
    "repair_times",
    "save_figure",
    "save_figures",
    "sbc_ranks",
    "shrinkage",
    "survival_by_age",
    "tornado",
    "uniform_figure",
]
