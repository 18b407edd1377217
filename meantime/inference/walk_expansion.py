"""Where the Gaussian approximation of `over_time` is taken: near its mode, at rough scales."""

from collections.abc import Mapping

import numpy as np

from meantime.inference.jumps import find_jumps
from meantime.inference.walks import add_up, prepare_walks, walk_information, whiten_walks
from meantime.models import TimeGrid

ROUNDS = 6
"""Updates of the scales, each with a new expansion."""


def expand_walks(
    grid: TimeGrid,
    shapes: Mapping[str, tuple[int, ...]],
    scale_priors: Mapping[str, float],
    own_spread: float,
    prior: Mapping[str, float],
    changes: Mapping[str, float] | None = None,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Find the expansion by Newton steps and EM updates of the walks' scales. Only speed depends on it.

    Parameters
    ----------
    grid
        Counts and exposure.
    shapes
        Shapes of z, as `whiten_walks` takes it, by name.
    scale_priors
        Scale of the half-normal prior of each scale, by name.
    own_spread
        Standard deviation of the log scales of own walks about their median.
    prior
        As `whiten_walks` takes it.
    changes
        ``change_rate`` and ``change_sd`` of a model with change points, at the median of their priors.

    Returns
    -------
    tuple
        What `whiten_walks` takes as `work`; and the scales found, with ``sigma_own_component`` (component,) and
        ``own_information``, the precision with which the counts know the logarithm of each.
    """
    counts = grid.failures.transpose(0, 2, 1)
    days = np.broadcast_to(grid.exposure[:, None, :], counts.shape)
    zeros = {name: np.zeros(shape) for name, shape in shapes.items() if name != "jump"}
    scales: dict[str, np.ndarray] = {name: np.asarray(0.5 * scale) for name, scale in scale_priors.items()}
    several = "own_step" in shapes
    if several:
        scales["sigma_own_component"] = np.full(counts.shape[1], scales["sigma_own"])
        scales["own_information"] = np.zeros(counts.shape[1])
    total = days.sum(2, keepdims=True)
    rate = np.broadcast_to((counts.sum(2, keepdims=True) + 0.5) / np.maximum(total, 1.0), counts.shape)
    for _ in range(ROUNDS):
        mean, response = _respond(counts, days, rate)
        work = prepare_walks(mean, response, grid.step_years, float(scales["sigma_cell"]))
        values, _ = whiten_walks(np, zeros, scales, work, prior)
        log_rate = values["level"] + values.get("cluster_deviation", 0.0)
        log_rate = np.broadcast_to(log_rate, counts.shape[:2])[..., None] + add_up(np, values["walk_step"])[:, None]
        if several:
            log_rate = log_rate + add_up(np, values["own_step"])
        rate = np.exp(np.clip(log_rate, np.log(rate) - 2, np.log(rate) + 2))
        scales = _rescale(scales, values, work, scale_priors, own_spread)
    if changes:
        information = walk_information(np, scales, work)
        work["slots"], scales["sigma_walk"] = find_jumps(
            work["walk_vector"], information, scales["sigma_walk"], changes, grid.step_years
        )
    return work, scales


def _respond(counts: np.ndarray, days: np.ndarray, rate: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    mean = np.maximum(days * rate, 1e-8)
    gap = np.clip((counts - mean) / mean, -1.0, 3.0)
    exposed = days > 0
    return np.where(exposed, mean, 0.0), np.where(exposed, np.log(rate) + gap, 0.0)


def _rescale(
    scales: Mapping[str, np.ndarray],
    values: Mapping[str, np.ndarray],
    work: Mapping[str, np.ndarray],
    scale_priors: Mapping[str, float],
    own_spread: float,
) -> dict[str, np.ndarray]:
    """Update the scales of the walks: expected squares of standardised steps, and the priors."""
    new = dict(scales)
    known, _ = walk_information(np, scales, work)
    steps = values.get("ordinary_step", values["walk_step"])
    new["sigma_walk"] = np.asarray(
        _half_normal_mode(_squares(steps, scales["sigma_walk"], known, work), known.size, scale_priors["sigma_walk"])
    )
    if "sigma_own" in scales:
        own = scales["sigma_own_component"]
        precision = work["own_value"]
        squares = np.array([_squares(values["own_step"][:, k], own[k], precision[:, k], work) for k in range(len(own))])
        seen = own[:, None] ** 2 * precision
        information = 2 * ((seen / (1 + seen)) ** 2).sum((0, 2))
        found = np.sqrt(squares / precision[:, 0].size)
        pooled = own_spread**-2
        log_own = (information * np.log(found) + pooled * np.log(scales["sigma_own"])) / (information + pooled)
        new["sigma_own_component"], new["own_information"] = np.exp(log_own), information
        new["sigma_own"] = np.minimum(np.exp(log_own.mean()), 2 * scale_priors["sigma_own"])
    return new


def _squares(steps: np.ndarray, scale: np.ndarray, precision: np.ndarray, work: Mapping[str, np.ndarray]) -> float:
    """Return the expected sum of squares of steps over the roots of their years."""
    mean = (steps / work["width"]) ** 2
    return float(mean.sum() + (scale**2 / (1 + scale**2 * precision)).sum())


def _half_normal_mode(squares: float, count: int, prior_scale: float) -> float:
    """Maximise -count log s - squares / (2 s^2) - s^2 / (2 prior_scale^2)."""
    return float(prior_scale * np.sqrt((np.sqrt(count**2 + 4 * squares / prior_scale**2) - count) / 2))
