"""Where the Gaussian approximation of a pooled model is taken: its posterior mode, and rough scales."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from meantime.inference.geometry import Shapes
from meantime.inference.whitening import level_information, line_basis, line_information
from meantime.models import Grid

ROUNDS = 12
"""Updates of the scales."""

NEWTON_STEPS = 3
"""Steps towards the mode in each round."""


def expansion(
    grid: Grid,
    whiten: Callable[..., tuple[dict[str, Any], Any]],
    shapes: Shapes,
    scale_priors: Mapping[str, float],
    prior: Mapping[str, float],
) -> tuple[dict[str, np.ndarray], dict[str, float]]:
    """Find the expansion point of a pooled model by Newton steps and moment updates of the scales.

    Milliseconds of NumPy. Only the speed of sampling depends on it, never the result.

    Parameters
    ----------
    grid
        Counts and exposure.
    whiten
        `whitening.whiten_levels` or `whitening.whiten_lines`: at z = 0 it solves for the conditional mode.
    shapes
        Shapes of its z, by name.
    scale_priors
        Scale of the half-normal prior of each scale, by name.
    prior
        Its prior.

    Returns
    -------
    tuple
        ``counts`` and ``response`` (cluster, size, component) and, with sizes, ``basis`` (see `line_basis`); and
        the posterior mean of each scale, roughly.
    """
    days, counts = grid.exposure[:, :, None], grid.failures
    zeros = {name: np.zeros(shape) for name, shape in shapes.items()}
    scales = {name: 0.5 * scale for name, scale in scale_priors.items()}
    work = _work(grid, np.log((counts + 0.5) / np.where(days > 0, days, 1.0)), counts + 0.5)
    for _ in range(ROUNDS):
        for _ in range(NEWTON_STEPS):
            values, _ = whiten(np, zeros, scales, work, prior)
            log_rate = np.broadcast_to(_log_rate(values, grid), counts.shape)
            work = _work(grid, log_rate, days * np.exp(log_rate))
        spread = _spread(values, scales, work, counts)
        scales = {name: _estimate(*spread[name], scale_priors[name]) for name in scales}
    return work, scales


def _work(grid: Grid, log_rate: np.ndarray, mean: np.ndarray) -> dict[str, np.ndarray]:
    exposed = grid.exposure[:, :, None] > 0
    mean = np.where(exposed, np.clip(mean, 1e-8, None), 0.0)
    gap = np.divide(grid.failures - mean, mean, out=np.zeros_like(mean), where=exposed)
    work = {"counts": mean, "response": np.where(exposed, log_rate + np.clip(gap, -1.0, 3.0), 0.0)}
    if grid.job_sizes:
        work["basis"] = line_basis(grid.doublings, work["response"])
    return work


def _log_rate(values: Mapping[str, Any], grid: Grid) -> np.ndarray:
    log_rate = values["level"][None, None, :]
    if "slope" in values:
        log_rate = log_rate + values["slope"] * grid.doublings[None, :, None]
    if "cluster_deviation" in values:
        log_rate = log_rate + values["cluster_deviation"][:, None, :]
    return log_rate


def _spread(
    values: Mapping[str, Any], scales: Mapping[str, float], work: Mapping[str, np.ndarray], counts: np.ndarray
) -> dict[str, tuple[np.ndarray, np.ndarray, float]]:
    """Return, for each scale, what it is the spread of, as the counts alone estimate it, and how well they know it.

    That is: estimates that are not drawn to their mean, the variance of each, and the share of evidence
    left where they are about a mean that they helped to find.
    """
    clusters, _, components = counts.shape
    if "slope_sd" in scales:
        found = line_information(scales, work)
        level = found.level - found.across**2 / (found.slope + scales["slope_sd"] ** -2)
        slope = found.slope - found.across**2 / (found.level + scales["sigma_component"] ** -2)
        weight = found.weight
    else:
        level, _, weight, *_ = level_information(scales, work)
    about_a_mean = 1 - 1 / components
    spread = {"sigma_component": (values["level"] - values["mu"], 1 / level, about_a_mean)}
    if "sigma_cluster" in scales:
        spread["sigma_cluster"] = (values["cluster_deviation"], 1 / np.maximum(weight, 1e-8), 1 - 1 / clusters)
    if "slope_sd" in scales:
        spread["slope_sd"] = (values["slope"] - values["slope_mean"], 1 / slope, about_a_mean)
    raw = {
        name: (drawn * (1 + variance / scales[name] ** 2), variance, freedom)
        for name, (drawn, variance, freedom) in spread.items()
    }
    if "sigma_cell" in scales:
        known = work["counts"] > 0
        mean = work["counts"][known]
        raw["sigma_cell"] = ((counts[known] - mean) / mean, 1 / mean, 1.0)
    return raw


def _estimate(deviations: np.ndarray, variance: np.ndarray, freedom: float, prior_scale: float) -> float:
    """Return the posterior mean of a scale s, for deviations ~ N(0, s^2 + variance) and a half-normal prior."""
    grid = prior_scale * np.linspace(0.01, 4, 100)
    total = grid[:, None] ** 2 + variance.ravel()
    evidence = -0.5 * freedom * (np.log(total) + deviations.ravel() ** 2 / total).sum(1)
    density = evidence - 0.5 * (grid / prior_scale) ** 2
    weight = np.exp(density - density.max())
    return float((weight @ grid) / weight.sum())
