"""Pointwise likelihoods of different models, brought to the same cells of the table."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.designs import STRATUM_DIMS
from meantime.inference.likelihood import poisson_log_probability
from meantime.inference.repair_times import repair_likelihoods
from meantime.inference.tree import MAX_LIKELIHOODS


def stratum_dims(tree: xr.DataTree) -> tuple[str, ...]:
    """Return what tells the strata of a fit apart: ``("cluster", "job_size")`` for `component_size`."""
    coords = tree["observed_data"].coords
    return tuple(dim for dim in STRATUM_DIMS if dim in coords)


def common_likelihoods(trees: Mapping[str, xr.DataTree]) -> dict[str, xr.DataArray]:
    """Return the log likelihood of every fit on the cells of the one that tells most apart.

    A model of fewer dimensions says of the finer cells that they have its rate: given the rate, their
    counts are independent Poisson counts, whose sum is what it was fitted to. So its likelihood on those
    cells is that of its posterior rates, and the posterior is the same.

    Parameters
    ----------
    trees
        Fits of the same data, by name.

    Returns
    -------
    dict
        Arrays (chain, draw, stratum, component), or (chain, draw, repair), or as the ``log_likelihood`` of the
        fits, if all are of the same counts.

    Raises
    ------
    InputError
        If a fit holds no likelihood, or two have no cells in common.
    """
    if (found := repair_likelihoods(trees)) is not None:
        return found
    held = {name: _held(name, tree) for name, tree in trees.items()}
    observed = {name: tree["observed_data"].to_dataset() for name, tree in trees.items()}
    finest = max(trees, key=lambda name: observed[name]["failures"].size if "failures" in observed[name] else 0)
    target = observed[finest]
    found = {}
    for name, tree in trees.items():
        if observed[name].equals(target):
            found[name] = held[name]
        else:
            found[name] = _refined(name, tree, finest, target)
    return found


def _held(name: str, tree: xr.DataTree) -> xr.DataArray:
    if "log_likelihood" not in tree.children:
        raise InputError(f"{name}: the fit holds no pointwise likelihood, being of more than 100 million values")
    variables = list(tree["log_likelihood"].data_vars.values())
    if len(variables) != 1:
        raise InputError(f"{name}: the fit holds {len(variables)} likelihoods; expected one")
    return variables[0]


def _refined(name: str, tree: xr.DataTree, finest: str, target: xr.Dataset) -> xr.DataArray:
    """Return the log likelihood of the target's counts under Poisson distributions of the fit's rates."""
    posterior = tree["posterior"].to_dataset()
    refusal = f"{name} and {finest} have no cells in common"
    if "rate" not in posterior or "failures" not in target or "stratum" not in target.dims:
        raise InputError(f"{refusal}: they are models of different things")
    rate = posterior["rate"]
    known = [dim for dim in rate.dims if dim not in ("chain", "draw", "component")]
    if missing := [str(dim) for dim in known if dim not in target.coords]:
        raise InputError(f"{refusal}: {name} tells each {missing[0]} apart and {finest} does not")
    components = target["component"].values.tolist()
    if "component" not in rate.dims:
        if len(components) > 1:
            raise InputError(
                f"{refusal}: {name} knows no components; sum the table's components to one and fit both to that"
            )
        rate = rate.expand_dims(component=components, axis=-1)
    cells = target["failures"].size * rate.sizes["chain"] * rate.sizes["draw"]
    if cells > MAX_LIKELIHOODS:
        raise InputError(f"{name}: {cells:,} likelihoods on the cells of {finest} are too many to compare")
    at = {str(dim): target[dim] for dim in known}
    mean = rate.sel({**at, "component": components}).transpose("chain", "draw", "stratum", "component")
    exposure = _exposure(tree["fit_data"].to_dataset(), target)
    values = poisson_log_probability(target["failures"].values, exposure[:, None] * mean.values)
    return xr.DataArray(values, dims=mean.dims, coords={**mean.coords, **target["failures"].coords})


def _exposure(table: xr.Dataset, target: xr.Dataset) -> np.ndarray:
    """Return the node-days of the strata of observed data."""
    dims = [dim for dim in STRATUM_DIMS if dim in target.coords]
    days = table["exposure"].sum([dim for dim in table["exposure"].dims if dim not in dims])
    return days.sel({dim: target[dim] for dim in dims}).values
