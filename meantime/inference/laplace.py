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

_BOUNDS = {
    "sigma_component": (0.2, 3.0),
    "sigma_cluster": (0.05, 3.0),
    "slope_sd": (0.02, 0.5),
    "sigma_cell": (0.05, 1.5),
}


def expansion(
    grid: Grid,
    whiten: Callable[..., tuple[dict[str, Any], Any]],
    shapes: Shapes,
    scales: Mapping[str, float],
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
    scales
        Where the scales start, by name.
    prior
        Its prior.

    Returns
    -------
    tuple
        ``counts`` and ``response`` (cluster, size, component) and, with sizes, ``doublings`` (size,); and
        the scales found.
    """
    days, counts = grid.exposure[:, :, None], grid.failures
    zeros = {name: np.zeros(shape) for name, shape in shapes.items()}
    scales = dict(scales)
    work = _work(grid, np.log((counts + 0.5) / np.where(days > 0, days, 1.0)), counts + 0.5)
    for _ in range(ROUNDS):
        for _ in range(NEWTON_STEPS):
            values, _ = whiten(np, zeros, scales, work, prior)
            log_rate = np.broadcast_to(_log_rate(values, grid), counts.shape)
            work = _work(grid, log_rate, days * np.exp(log_rate))
        scales = {name: float(np.clip(_moment(name, values, work, counts), *_BOUNDS[name])) for name in scales}
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


def _moment(name: str, values: Mapping[str, Any], work: Mapping[str, np.ndarray], counts: np.ndarray) -> float:
    """Return a moment estimate of a scale: the spread seen plus that which the counts leave open."""
    weight = work["counts"].sum(1)
    if name == "sigma_component":
        return float(np.sqrt(np.mean((values["level"] - values["mu"]) ** 2 + 1 / (weight.sum(0) + 1))))
    if name == "sigma_cluster":
        return float(np.sqrt(np.mean(values["cluster_deviation"] ** 2 + 1 / (weight + 20))))
    if name == "slope_sd":
        spread = weight.sum(0) * max(float(np.var(work["doublings"])), 0.1)
        return float(np.sqrt(np.mean((values["slope"] - values["slope_mean"]) ** 2 + 1 / (spread + 100))))
    mean = work["counts"]
    return float(np.sqrt(max(((counts - mean) ** 2 - mean).sum(), 0.0) / (mean**2).sum()))
