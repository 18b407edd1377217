"""The tree of a fit: posterior, statistics, likelihood and data, with labels."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from meantime.inference.families import Family
from meantime.models import Layout

MAX_LIKELIHOODS = 100_000_000
"""Pointwise log likelihoods kept at most (800 MB); beyond that the group is left out."""


def build_tree(
    table: xr.Dataset,
    family: Family,
    layout: Layout,
    sampled: Mapping[str, np.ndarray],
    statistics: Mapping[str, np.ndarray],
    rng: np.random.Generator,
) -> xr.DataTree:
    """Assemble the groups of a fit.

    Parameters
    ----------
    table
        The data that were fitted.
    family
        The model's functions.
    layout
        The data as the model sees them.
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
    variables |= family.complete(sampled, layout, rng)
    outcome, dims = family.outcome
    observed = layout.observed()[f"observed_{outcome}"]
    groups = {
        "posterior": xr.Dataset(
            {name: (("chain", "draw", *dims), values) for name, (dims, values) in variables.items()},
            coords=_coords(layout, variables, next(iter(sampled.values())).shape),
        ),
        "observed_data": xr.Dataset({outcome: (dims, observed)}, coords=_outcome_coords(family, layout)),
        "fit_data": table,
    }
    if statistics:
        groups["sample_stats"] = xr.Dataset({name: (("chain", "draw"), values) for name, values in statistics.items()})
    chains, draws = next(iter(sampled.values())).shape[:2]
    if chains * draws * observed.size <= MAX_LIKELIHOODS:
        groups["log_likelihood"] = as_outcome(family.log_likelihood(sampled, layout), family, layout)
    return xr.DataTree.from_dict(groups)


def as_outcome(values: np.ndarray, family: Family, layout: Layout) -> xr.Dataset:
    """Label values that belong to what is observed, (chain, draw, *outcome)."""
    outcome, dims = family.outcome
    return xr.Dataset(
        {outcome: (("chain", "draw", *dims), values)},
        coords={**_sample_coords(values.shape), **_outcome_coords(family, layout)},
    )


def _outcome_coords(family: Family, layout: Layout) -> dict[str, object]:
    labels = {dim: layout.coords[dim] for dim in family.outcome[1] if dim in layout.coords}
    return {**labels, **layout.outcome_coords}


def _coords(
    layout: Layout, variables: Mapping[str, tuple[tuple[str, ...], np.ndarray]], shape: tuple[int, ...]
) -> dict[str, object]:
    used = {dim for dims, _ in variables.values() for dim in dims}
    return _sample_coords(shape) | {dim: labels for dim, labels in layout.coords.items() if dim in used}


def _sample_coords(shape: tuple[int, ...]) -> dict[str, object]:
    return {"chain": np.arange(shape[0]), "draw": np.arange(shape[1])}
