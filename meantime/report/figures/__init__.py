"""The figures, one a file. Each takes a fit and returns a `matplotlib.figure.Figure`; none touches pyplot."""

from meantime.report.figures.ettr import ettr_by_gpus
from meantime.report.figures.forest_plot import forest
from meantime.report.figures.mttf import mttf_by_size
from meantime.report.figures.save import save_figure, save_figures
from meantime.report.figures.states import has_job_states, job_states
from meantime.report.figures.uniform import loo_pit, sbc_ranks, uniform_figure

__all__ = [
    "ettr_by_gpus",
    "forest",
    "has_job_states",
    "job_states",
    "loo_pit",
    "mttf_by_size",
    "save_figure",
    "save_figures",
    "sbc_ranks",
    "uniform_figure",
]
