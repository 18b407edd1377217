"""What people look at: figures, the HTML report and its words, and the planner page.

The names load on first use, so that importing this package costs no matplotlib.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meantime.report.figures import ettr_by_gpus, forest, job_states, mttf_by_size, save_figures
    from meantime.report.html import write_report
    from meantime.report.planner import write_planner
    from meantime.report.plans import default_plans

__all__ = [
    "default_plans",
    "ettr_by_gpus",
    "forest",
    "job_states",
    "mttf_by_size",
    "save_figures",
    "write_planner",
    "write_report",
]

_HOME = {
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
