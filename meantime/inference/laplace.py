"""Where the Gaussian approximation of a pooled model is taken: its posterior mode, and rough scales."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from meantime.inference.geometry import Shapes
from meantime.models import Grid

ROUNDS = 12
"""Updates of the scales."""

NEWTON_STEPS = 3
"""Steps towards the mode in each round."""
_ABOUT_A_MEAN = ("sigma_component", "slope_sd")


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
        ``counts`` and ``response`` (cluster, size, component) and, with sizes, ``doublings`` (size,); and
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
        for name, prior_scale in scale_priors.items():
            found = _deviations(name, values, scales[name], work, counts)
            freedom = 1 - 1 / len(grid.components) if name in _ABOUT_A_MEAN else 1.0
            scales[name] = _estimate(*found, prior_scale, freedom)
    return work, scales


def _work(grid: Grid, log_rate: np.ndarray, mean: np.ndarray) -> dict[str, np.ndarray]:
    exposed = grid.exposure[:, :, None] > 0
    mean = np.where(exposed, np.clip(mean, 1e-8, None), 0.0)
    gap = np.divide(grid.failures - mean, mean, out=np.zeros_like(mean), where=exposed)
    work = {"counts": mean, "response": np.where(exposed, log_rate + np.clip(gap, -1.0, 3.0), 0.0)}
    if grid.job_sizes:
        work["doublings"] = grid.doublings
    return work


def _log_rate(values: Mapping[str, Any], grid: Grid) -> np.ndarray:
    log_rate = values["level"][None, None, :]
    if "slope" in values:
        log_rate = log_rate + values["slope"] * grid.doublings[None, :, None]
    if "cluster_deviation" in values:
        log_rate = log_rate + values["cluster_deviation"][:, None, :]
    return log_rate


def _deviations(
    name: str, values: Mapping[str, Any], scale: float, work: Mapping[str, np.ndarray], counts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return what a scale is the spread of, not shrunk, and the variance with which the counts know it."""
    weight = work["counts"].sum(1)
    if name == "sigma_cell":
        known = work["counts"] > 0
        mean = work["counts"][known]
        return (counts[known] - mean) / mean, 1 / mean
    if name == "sigma_component":
        shrunk, variance = values["level"] - values["mu"], 1 / weight.sum(0)
    elif name == "sigma_cluster":
        shrunk, variance = values["cluster_deviation"], 1 / np.maximum(weight, 1e-8)
    else:
        spread = weight.sum(0) * max(float(np.var(work["doublings"])), 0.1)
        shrunk, variance = values["slope"] - values["slope_mean"], 1 / spread
    return shrunk * (1 + variance / scale**2), variance


def _estimate(deviations: np.ndarray, variance: np.ndarray, prior_scale: float, freedom: float) -> float:
    """Return the posterior mean of a scale s, for deviations ~ N(0, s^2 + variance).

    `freedom` is the share of the evidence that is left where the deviations are about a mean which they
    helped to find.
    """
    grid = prior_scale * np.linspace(0.01, 4, 100)
    total = grid[:, None] ** 2 + variance.ravel()
    evidence = -0.5 * freedom * (np.log(total) + deviations.ravel() ** 2 / total).sum(1)
    density = evidence - 0.5 * (grid / prior_scale) ** 2
    weight = np.exp(density - density.max())
    return float((weight @ grid) / weight.sum())
