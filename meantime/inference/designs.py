"""Small data sets of the form each model takes, and the same data with other outcomes: for calibration."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from meantime.datasets.table import build_table
from meantime.errors import InputError
from meantime.models import Layout

STRATUM_DIMS = ("cluster", "job_size", "period", "node")
"""What a stratum may be told apart by, in the order of a table."""

NODE_DAYS = 12_000
"""Exposure of a cell of the design, roughly: from no failure to some dozens, at the centre of the priors."""


def table_design(
    layout: Any, *, clusters: int = 2, components: int = 3, sizes: Sequence[int] = (16, 64, 256), periods: int = 4
) -> xr.Dataset:
    """Make a failure table with the dimensions that a model uses, and no others.

    Parameters
    ----------
    layout
        ``table -> Layout`` of the model.
    clusters, components, sizes, periods
        Its dimensions, those that are used.

    Returns
    -------
    xr.Dataset
        Exposure of all cells, of different lengths; no failures.
    """
    shape = (clusters, len(sizes), periods)
    exposure = NODE_DAYS * np.random.default_rng(1).uniform(0.2, 2.0, shape) / (len(sizes) * periods) * 6
    table = build_table(
        np.zeros((clusters, components, len(sizes), periods), dtype=int),
        exposure,
        cluster=[f"cluster {i}" for i in range(clusters)],
        component=[f"component {i}" for i in range(components)],
        job_size=sizes,
        period=np.datetime64("2026-01-05") + 7 * np.arange(periods) * np.timedelta64(1, "D"),
    )
    seen = layout(table)
    unused = [dim for dim in ("job_size", "period") if dim not in seen.outcome_coords]
    if len(seen.coords["component"]) == 1:
        table = table.isel(component=[0])
    attrs = table.attrs
    return table.sum(unused).assign_attrs(attrs)


def replace_failures(table: xr.Dataset, layout: Layout, values: np.ndarray) -> xr.Dataset:
    """Return a failure table with other counts.

    Parameters
    ----------
    table
        A table with the dimensions that the model uses, and no others.
    layout
        The table as the model sees it.
    values
        Counts, (stratum, component).

    Raises
    ------
    InputError
        If the table has a dimension that the model sums away: there the counts have no place.
    """
    coords: Mapping[str, tuple[str, Sequence[Any]]] = layout.outcome_coords
    dims = [dim for dim in STRATUM_DIMS if dim in coords]
    others = [str(dim) for dim in table["failures"].dims if dim not in (*dims, "component")]
    if len(layout.coords["component"]) != table.sizes["component"]:
        others.append("component")
    if others:
        raise InputError(f"the table has the dimension {others[0]!r}, which the model sums away; sum it away first")
    counts = xr.zeros_like(table["failures"]).transpose(*dims, "component")
    places = tuple(table.indexes[dim].get_indexer(coords[dim][1]) for dim in dims)
    counts.values[places] = values
    return table.assign(failures=counts.transpose(*table["failures"].dims))
