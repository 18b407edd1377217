"""What people look at: figures, the HTML report and its words, and the planner page.

The names load on first use, so that importing this package costs no matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meantime.report.figures import (
        attributed_rates,
        backtest_coverage,
        ettr_by_gpus,
        ettr_contours,
        forest,
        goodput_lost,
        incident_sizes,
        job_sizes,
        job_states,
        ledger_bars,
        lemon_nodes,
        loo_pit,
        measured_ettr,
        mitigation_shares,
        mttf_by_size,
        node_signals,
        prior_spread,
        rates_over_time,
        repair_times,
        save_figures,
        sbc_ranks,
        shrinkage,
        survival_by_age,
        tornado,
    )
    from meantime.report.health import doctor
    from meantime.report.html import write_report
    from meantime.report.planner import write_planner
    from meantime.report.plans import default_plans

__all__ = [
    "attributed_rates",
    "backtest_coverage",
    "default_plans",
    "doctor",
    "ettr_by_gpus",
    "ettr_contours",
    "forest",
    "goodput_lost",
    "incident_sizes",
    "job_sizes",
    "job_states",
    "ledger_bars",
    "lemon_nodes",
    "loo_pit",
    "measured_ettr",
    "mitigation_shares",
    "mttf_by_size",
    "node_signals",
    "prior_spread",
    "rates_over_time",
    "repair_times",
    "save_figures",
    "sbc_ranks",
    "shrinkage",
    "survival_by_age",
    "tornado",
    "write_planner",
    "write_report",
]

_HOME = {
    "doctor": "meantime.report.health",
    "attributed_rates": "meantime.report.figures",
    "backtest_coverage": "meantime.report.figures",
    "loo_pit": "meantime.report.figures",
    "sbc_ranks": "meantime.report.figures",
    "ettr_contours": "meantime.report.figures",
    "goodput_lost": "meantime.report.figures",
    "incident_sizes": "meantime.report.figures",
    "rates_over_time": "meantime.report.figures",
    "job_sizes": "meantime.report.figures",
    "ledger_bars": "meantime.report.figures",
    "lemon_nodes": "meantime.report.figures",
    "measured_ettr": "meantime.report.figures",
    "mitigation_shares": "meantime.report.figures",
    "node_signals": "meantime.report.figures",
    "prior_spread": "meantime.report.figures",
    "repair_times": "meantime.report.figures",
    "shrinkage": "meantime.report.figures",
    "survival_by_age": "meantime.report.figures",
    "tornado": "meantime.report.figures",
    "default_plans": "meantime.report.plans",
    "ettr_by_gpus": "meantime.report.figures",
    "forest": "meantime.report.figures",
    "job_states": "meantime.report.figures",
    "mttf_by_size": "meantime.report.figures",
    "save_figures": "meantime.report.figures",
    "write_planner": "meantime.report.planner",
    "write_report": "meantime.report.html",
}


def __getattr__(name: str) -> Any:
    if name in _HOME:
        return getattr(import_module(_HOME[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
