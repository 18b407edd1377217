"""The tree of a fit: posterior, statistics, likelihood and data, with labels."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from meantime.inference.families import Family
from meantime.models import Grid

MAX_LIKELIHOODS = 100_000_000
"""Pointwise log likelihoods kept at most (800 MB); beyond that the group is left out."""


def build_tree(
    table: xr.Dataset,
    family: Family,
    grid: Grid,
    sampled: Mapping[str, np.ndarray],
    statistics: Mapping[str, np.ndarray],
    rng: np.random.Generator,
) -> xr.DataTree:
    """Assemble the groups of a fit.

    Parameters
    ----------
    table
        The failure table that was fitted.
    family
        The model's functions.
    grid
        Its arrays.
    sampled
        Sampled variables, (chain, draw, ...).
    statistics
        Sampler statistics, (chain, draw); may be empty.
    rng
        Draws what is drawn exactly.

    Returns
    -------
    xr.DataTree
        Without provenance.
    """
    variables = {name: (family.dims[name], values) for name, values in sampled.items()}
    variables |= family.complete(sampled, grid, rng)
    groups = {
        "posterior": xr.Dataset(
            {name: (("chain", "draw", *dims), values) for name, (dims, values) in variables.items()},
            coords=_coords(grid, variables, next(iter(sampled.values())).shape),
        ),
        "observed_data": xr.Dataset(
            {"failures": (("stratum", "component"), grid.observed()["observed_failures"])}, coords=stratum_coords(grid)
        ),
        "fit_data": table,
    }
    if statistics:
        groups["sample_stats"] = xr.Dataset({name: (("chain", "draw"), values) for name, values in statistics.items()})
    chains, draws = next(iter(sampled.values())).shape[:2]
    if chains * draws * grid.observed()["observed_failures"].size <= MAX_LIKELIHOODS:
        groups["log_likelihood"] = by_stratum(family.log_likelihood(sampled, grid), grid)
    return xr.DataTree.from_dict(groups)


def by_stratum(values: np.ndarray, grid: Grid) -> xr.Dataset:
    """Label values of the observed counts, (chain, draw, stratum, component)."""
    chains, draws = values.shape[:2]
    return xr.Dataset(
        {"failures": (("chain", "draw", "stratum", "component"), values)},
        coords={"chain": np.arange(chains), "draw": np.arange(draws), **stratum_coords(grid)},
    )


def stratum_coords(grid: Grid) -> dict[str, object]:
    """Return the labels of strata and components; a stratum also knows its cluster and job size."""
    labels = grid.coords
    coords: dict[str, object] = {
        "stratum": labels["stratum"],
        "component": labels["component"],
        "cluster": ("stratum", np.asarray(grid.clusters)[grid.cluster_of]),
    }
    if grid.job_sizes:
        coords["job_size"] = ("stratum", np.asarray(grid.job_sizes)[grid.size_of])
    return coords


def _coords(
    grid: Grid, variables: Mapping[str, tuple[tuple[str, ...], np.ndarray]], shape: tuple[int, ...]
) -> dict[str, object]:
    labels = {
        "cluster": list(grid.clusters),
        "component": list(grid.components),
        "job_size": np.asarray(grid.job_sizes, dtype=np.int64),
    }
    used = {dim for dims, _ in variables.values() for dim in dims}
    found: dict[str, object] = {"chain": np.arange(shape[0]), "draw": np.arange(shape[1])}
    return found | {dim: values for dim, values in labels.items() if dim in used}
