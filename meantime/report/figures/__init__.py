"""The figures, one a file. Each takes a fit and returns a `matplotlib.figure.Figure`; none touches pyplot."""

from meantime.report.figures.ettr import ettr_by_gpus
from meantime.report.figures.forest_plot import forest
from meantime.report.figures.mttf import mttf_by_size
from meantime.report.figures.save import save_figures
from meantime.report.figures.states import has_job_states, job_states

__all__ = ["ettr_by_gpus", "forest", "has_job_states", "job_states", "mttf_by_size", "save_figures"]
