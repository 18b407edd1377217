"""Distributions of down times by class, of both models of repairs."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import ndtr, ndtri
from scipy.stats import norm

from meantime.errors import InputError
from meantime.inference.provenance import provenance
from meantime.inference.tree import MAX_LIKELIHOODS
from meantime.models import REPAIR_MODELS

ROUNDS = 40
"""Halvings of the bracket of a quantile: from some 40 standard deviations to 1e-10 of one."""


def quantile_hours(draws: Mapping[str, Any], share: float) -> np.ndarray:
    """Return the hours within which a share of repairs is over, for each draw and class.

    Parameters
    ----------
    draws
        ``log_median`` and ``log_sd`` (..., class), and of `repair_tail` ``long_share`` (..., class), ``long_delay`` and
        ``long_stretch`` (...,).
    share
        Between 0 and 1.
    """
    centre, sd = np.asarray(draws["log_median"]), np.exp(np.asarray(draws["log_sd"]))
    if "long_share" not in draws:
        return np.exp(centre + sd * ndtri(share))
    long = np.asarray(draws["long_share"])
    delay, stretch = (np.asarray(draws[name])[..., None] for name in ("long_delay", "long_stretch"))
    low = np.minimum(ndtri(share), delay + stretch * ndtri(share)) + np.zeros(centre.shape)
    high = np.maximum(ndtri(share), delay + stretch * ndtri(share)) + np.zeros(centre.shape)
    for _ in range(ROUNDS):
        middle = (low + high) / 2
        below = (1 - long) * ndtr(middle) + long * ndtr((middle - delay) / stretch) < share
        low, high = np.where(below, middle, low), np.where(below, high, middle)
    return np.exp(centre + sd * (low + high) / 2)


def next_hours(draws: Mapping[str, Any], rng: np.random.Generator) -> np.ndarray:
    """Draw a repair to come of each class, for each draw, hours, (..., class)."""
    noise = rng.standard_normal(np.shape(draws["log_median"]))
    if "long_share" in draws:
        late = np.asarray(draws["long_delay"])[..., None] + np.asarray(draws["long_stretch"])[..., None] * noise
        noise = np.where(rng.random(noise.shape) < np.asarray(draws["long_share"]), late, noise)
    return np.exp(np.asarray(draws["log_median"]) + np.exp(np.asarray(draws["log_sd"])) * noise)


def repair_likelihoods(trees: Mapping[str, xr.DataTree]) -> dict[str, xr.DataArray] | None:
    """Return the log likelihood of every repair under every fit, if the fits are of repairs and not all `repair`.

    Parameters
    ----------
    trees
        Fits of the same data, by name.

    Returns
    -------
    dict or None
        Arrays (chain, draw, repair): of `repair` worked out anew, since a fit of it knows the mean and the variance of
        a class alone. None if any is of another model, or all are of `repair`.

    Raises
    ------
    InputError
        If the likelihoods are too many, or the fit holds none.
    """
    models = {name: provenance(tree)["model"] for name, tree in trees.items()}
    if not set(models.values()) <= set(REPAIR_MODELS) or "repair_tail" not in models.values():
        return None
    return {
        name: _of_normals(name, tree) if models[name] == "repair" else _held(name, tree) for name, tree in trees.items()
    }


def _held(name: str, tree: xr.DataTree) -> xr.DataArray:
    if "log_likelihood" not in tree.children:
        raise InputError(f"{name}: the fit holds no pointwise likelihood, being of more than 100 million values")
    return tree["log_likelihood"]["log_hours"].drop_vars(["class", "repair"])


def _of_normals(name: str, tree: xr.DataTree) -> xr.DataArray:
    posterior, table = tree["posterior"].to_dataset(), tree["fit_data"].to_dataset()
    place, count = table["value_class"].values, table["value_count"].values
    centre, sd = (posterior[key].transpose("chain", "draw", "class").values for key in ("log_median", "log_sd"))
    if centre.shape[0] * centre.shape[1] * int(count.sum()) > MAX_LIKELIHOODS:
        raise InputError(f"{name}: {int(count.sum()):,} repairs are too many to compare one by one; take fewer draws")
    values = norm.logpdf(np.log(table["value_hours"].values), centre[..., place], np.exp(sd[..., place]))
    return xr.DataArray(np.repeat(values, count, axis=-1), dims=("chain", "draw", "repair"))
