"""Last quarter's posterior as this quarter's prior."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.rebuild import model_of
from meantime.models import ComponentGammaPriors, ComponentPriors, ComponentSizePriors, ConstantPriors


def priors_from(tree: xr.DataTree, *, widen: float = 1.0) -> Any:
    """Summarise a fit's posterior as priors of the same model, by matching moments.

    A spread s with a half-normal prior of scale t has E[s^2] = t^2, and t is taken from the posterior's second
    moment; means and the Gamma distributions are matched by mean and variance.

    Parameters
    ----------
    tree
        A fit of `constant`, `component`, `component_gamma` or `component_size`.
    widen
        Factor on standard deviations, 1 or more, for a fleet that has changed since. (`component_gamma`: on
        that of the pool's rate; of its shape an exponential prior holds the mean alone.)

    Returns
    -------
    ConstantPriors, ComponentPriors, ComponentGammaPriors or ComponentSizePriors
        For `fit(..., priors=...)`.

    Raises
    ------
    InputError
        If the model has no such summary, or `widen` is below 1.

    Notes
    -----
    What is lost: the rates of single components and clusters, of which the priors know the mean and the spread alone
    (`constant`: clusters are pooled into one Gamma distribution, exact for one cluster); the sign of the mean slope,
    whose prior stays centred on the law MTTF = 1 / (N r) with room for what was seen; the shapes of the posteriors
    of spreads; and all correlations. Data used for the fit must not be in the next table again.
    """
    name, _ = model_of(tree)
    if not (isinstance(widen, int | float) and 1 <= widen < math.inf):
        raise InputError(f"widen is {widen!r}; expected a factor, 1 or more")
    if name not in _SUMMARIES:
        raise InputError(f"the model {name!r} has no summary as priors; {', '.join(_SUMMARIES)} have")
    return _SUMMARIES[name](tree, float(widen))


def _constant(tree: xr.DataTree, widen: float) -> ConstantPriors:
    rate = tree["posterior"].to_dataset()["rate"].values
    mean, variance = rate.mean(), rate.var() * widen**2
    if "exact" in tree and tree["exact"].sizes["cluster"] == 1:
        shape, days = (float(tree["exact"].to_dataset()[key][0]) for key in ("shape", "rate"))
        return ConstantPriors(shape=shape / widen**2, rate=days / widen**2)
    return ConstantPriors(shape=float(mean**2 / variance), rate=float(mean / variance))


def _component(tree: xr.DataTree, widen: float) -> ComponentPriors:
    return ComponentPriors(**_levels(tree, widen))


def _component_size(tree: xr.DataTree, widen: float) -> ComponentSizePriors:
    scales = {prior: widen * _root_mean_square(tree, name) for prior, name in _SIZE_SCALES.items()}
    return ComponentSizePriors(**_levels(tree, widen), **scales)


_SIZE_SCALES = {"slope_mean_sd": "slope_mean", "slope_sd": "slope_sd", "cell_sd": "sigma_cell"}


def _component_gamma(tree: xr.DataTree, widen: float) -> ComponentGammaPriors:
    shape, rate = (tree["posterior"].to_dataset()[name].values for name in ("pool_shape", "pool_rate"))
    mean, variance = float(rate.mean()), float(rate.var()) * widen**2
    return ComponentGammaPriors(
        shape_rate=float(1 / shape.mean()), rate_shape=mean**2 / variance, rate_rate=mean / variance
    )


def _levels(tree: xr.DataTree, widen: float) -> dict[str, float]:
    mu = tree["posterior"].to_dataset()["mu"].values
    _, priors = model_of(tree)
    found = {
        "total_rate": float(np.exp(mu.mean()) * tree["posterior"].sizes["component"]),
        "level_sd": float(widen * mu.std()),
        "component_sd": widen * _root_mean_square(tree, "sigma_component"),
    }
    if "sigma_cluster" in tree["posterior"]:
        found["cluster_sd"] = widen * _root_mean_square(tree, "sigma_cluster")
    else:
        found["cluster_sd"] = priors.cluster_sd
    return found


def _root_mean_square(tree: xr.DataTree, name: str) -> float:
    return float(np.sqrt((tree["posterior"].to_dataset()[name].values ** 2).mean()))


_SUMMARIES: dict[str, Callable[[xr.DataTree, float], Any]] = {
    "constant": _constant,
    "component": _component,
    "component_gamma": _component_gamma,
    "component_size": _component_size,
}
