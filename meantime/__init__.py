"""Bayesian failure models for GPU clusters, carried through an analytic ETTR module into forecasts.

The names below load on first use, so that `import meantime` stays instant: neither PyMC nor JAX nor
matplotlib comes in before it is needed.

`meantime.forecast` is always the sub-package. Its function of the same name is
`meantime.forecast.forecast`; write ``from meantime.forecast import forecast, Plan``.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from meantime import datasets, ettr, forecast, inference, models, report
    from meantime.datasets import failure_table, read
    from meantime.forecast import Plan
    from meantime.inference import fit, load_fit, predict_rate, save_fit

    __version__: str

__all__ = [
    "Plan",
    "__version__",
    "datasets",
    "ettr",
    "failure_table",
    "fit",
    "forecast",
    "inference",
    "load_fit",
    "models",
    "predict_rate",
    "read",
    "report",
    "save_fit",
]

_HOME = {
    "Plan": "meantime.forecast",
    "failure_table": "meantime.datasets",
    "fit": "meantime.inference",
    "load_fit": "meantime.inference",
    "predict_rate": "meantime.inference",
    "read": "meantime.datasets",
    "save_fit": "meantime.inference",
}
"""Where each function and class of the top level lives; the other public names are sub-packages."""


def __getattr__(name: str) -> object:
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}; it has {', '.join(__all__)}")
    if name == "__version__":
        value: object = import_module("importlib.metadata").version("meantime")
    elif name in _HOME:
        value = getattr(import_module(_HOME[name]), name)
    else:
        value = import_module(f"{__name__}.{name}")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
