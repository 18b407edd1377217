"""Figures typed from publications: one small CSV and one function each.

A data set with counts *and* exposure comes as a failure table (`xarray.Dataset`), ready to be fitted;
every other one comes as a plain table (`polars.DataFrame`). The docstring of each function is its
codebook: source, units, what is derived by us, quirks.

Certainty of a figure, a column or coordinate ``certainty``:

====  ==========================================================================================
A     the publication's own wording or table was seen
B     a detailed second-hand account (a walk-through, or a study that tabulated the paper)
C     a short second-hand summary
D     derived by us by arithmetic from the above; the step is stated
R     recollection, no source found: do not rely on it without checking
====  ==========================================================================================

The files and their SHA-256 sums are listed in ``data/MANIFEST.csv``.
"""

from collections.abc import Callable
from typing import Any

from meantime.datasets.published.acme import load_acme
from meantime.datasets.published.delta import load_delta
from meantime.datasets.published.ft_hsdp_100k import load_ft_hsdp_100k
from meantime.datasets.published.lemons import load_rsc_lemon_causes, load_rsc_lemon_signals
from meantime.datasets.published.llama3 import load_llama3
from meantime.datasets.published.rsc import (
    load_rsc_cooccurrence,
    load_rsc_job_sizes,
    load_rsc_job_states,
    load_rsc_mttf,
    load_rsc_points,
    load_rsc_rates,
)
from meantime.datasets.published.unicron import load_unicron

__all__ = [
    "list_published",
    "load_acme",
    "load_delta",
    "load_ft_hsdp_100k",
    "load_llama3",
    "load_rsc_cooccurrence",
    "load_rsc_job_sizes",
    "load_rsc_job_states",
    "load_rsc_lemon_causes",
    "load_rsc_lemon_signals",
    "load_rsc_mttf",
    "load_rsc_points",
    "load_rsc_rates",
    "load_unicron",
]

_LOADERS: tuple[Callable[..., Any], ...] = (
    load_llama3,
    load_delta,
    load_rsc_rates,
    load_rsc_mttf,
    load_rsc_points,
    load_rsc_job_states,
    load_rsc_job_sizes,
    load_rsc_cooccurrence,
    load_rsc_lemon_signals,
    load_rsc_lemon_causes,
    load_ft_hsdp_100k,
    load_acme,
    load_unicron,
)


def list_published() -> dict[str, str]:
    """List the published data sets: name of the loading function and one line about it."""
    return {loader.__name__: _first_line(loader) for loader in _LOADERS}


def _first_line(loader: Callable[..., Any]) -> str:
    return (loader.__doc__ or "").split("\n", 1)[0].removeprefix("Load ")
