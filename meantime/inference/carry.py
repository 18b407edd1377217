"""Last quarter's posterior as this quarter's prior."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.carry_parts import (
    incident_priors,
    lifetime_priors,
    lifetime_steps_priors,
    moved,
    node_frailty_priors,
    repair_priors,
    repair_tail_priors,
    root_mean_square,
)
from meantime.inference.rebuild import model_of
from meantime.models import (
    ComponentGammaPriors,
    ComponentPriors,
    ComponentSizePriors,
    ConstantPriors,
    OverTimePriors,
)


def priors_from(tree: xr.DataTree, *, widen: float = 1.0) -> Any:
    """Summarise a fit's posterior as priors of the same model, by matching moments.

    A spread s with a half-normal prior of scale t has E[s^2] = t^2, and t is taken from the posterior's second
    moment; means and the Gamma distributions are matched by mean and variance.

    Parameters
    ----------
    tree
        A fit.
    widen
        Factor on standard deviations, 1 or more, for a fleet that has changed since: last quarter is worth
        1 / widen^2 of its data. (`component_gamma`: on that of the pool's rate; of its shape an exponential prior holds
        the mean alone, and so does that of the share of lemons or of long repairs.)

    Returns
    -------
    Any
        Priors of the fit's model, such as `meantime.models.ComponentPriors`, for `fit(..., priors=...)`.

    Raises
    ------
    InputError
        If `widen` is below 1.

    Notes
    -----
    What is lost: the rates of single components and clusters, of which the priors know the mean and the spread alone
    (`constant`: clusters are pooled into one Gamma distribution, exact for one cluster); the sign of the mean slope,
    whose prior stays centred on the law MTTF = 1 / (N r) with room for what was seen; the shapes of the posteriors
    of spreads; and all correlations. Of single nodes, classes and sizes of incidents the priors know the population
    alone. `over_time`: its level is that of the last period, and the next table is taken to be as long as this one, so
    that the common walk may have moved on by that time. Effects of covariates are those of one standard deviation of
    the fitted data. Data used for the fit must not be in the next table again.
    """
    name, _ = model_of(tree)
    if not (isinstance(widen, int | float) and 1 <= widen < math.inf):
        raise InputError(f"widen is {widen!r}; expected a factor, 1 or more")
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


def _over_time(tree: xr.DataTree, widen: float) -> OverTimePriors:
    levels, found = _levels(tree, widen), moved(tree)
    levels["level_sd"] = float(np.hypot(levels["level_sd"], np.sqrt(found.pop("walked"))))
    _, priors = model_of(tree)
    scales = {name: value * (widen if name.endswith("_sd") else 1.0) for name, value in found.items()}
    return OverTimePriors(**levels, **scales, own_spread=priors.own_spread)


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
    return root_mean_square(tree["posterior"].to_dataset()[name].values)


_SUMMARIES: dict[str, Callable[[xr.DataTree, float], Any]] = {
    "constant": _constant,
    "component": _component,
    "component_gamma": _component_gamma,
    "component_size": _component_size,
    "over_time": _over_time,
    "incident": incident_priors,
    "node_frailty": node_frailty_priors,
    "lifetime": lifetime_priors,
    "lifetime_steps": lifetime_steps_priors,
    "repair": repair_priors,
    "repair_tail": repair_tail_priors,
}
