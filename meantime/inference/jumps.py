"""Change points of a walk: where counts show one, how likely each step holds one, and jumps to come."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import stats

from meantime.models import CHANGE_SPREAD

MOST_JUMPS = 20
"""Steps at most that `find_jumps` takes out of the walks."""

BEYOND = 1e-4
"""Probability of more changes than a walk has room for."""

UPDATES = 20
"""Updates of the scale of ordinary steps after each."""


def find_jumps(
    basis: np.ndarray,
    known: tuple[np.ndarray, np.ndarray],
    sigma_walk: np.ndarray,
    changes: Mapping[str, float],
    step_years: np.ndarray,
) -> tuple[np.ndarray, np.ndarray]:
    """Find the steps that counts show to be changes, one after the other. Only speed of sampling depends on it.

    Of each step the Gaussian approximation tells what the counts alone say of it. The likeliest is tried as a change,
    what ordinary steps are like is learned again without it, and it stays if Bayes' rule then makes a change of it more
    likely than not.

    Parameters
    ----------
    basis
        Of the steps of each cluster's walk, shape (cluster, step, entry).
    known
        What the counts know of the walks in that basis: from `walk_information`.
    sigma_walk
        Scale of the walk, a scalar, to begin with.
    changes
        ``change_rate`` and ``change_sd``.
    step_years
        Years of each step.

    Returns
    -------
    tuple
        ``slots`` (cluster, slot), as `whiten_walks` takes them; and the scale of the walk without them.
    """
    information = np.einsum("cse,ce,cre->csr", basis, known[0], basis)
    pull = np.einsum("cse,ce->cs", basis, known[1])
    prior_odds = np.log(np.expm1(changes["change_rate"] * step_years))

    def fit_walk(jump: np.ndarray, variance: float) -> tuple[float, np.ndarray]:
        """Return the variance of ordinary steps a year, and log odds that each step is a change."""
        for _ in range(UPDATES):
            wide = variance + changes["change_sd"] ** 2 / step_years
            before = np.where(jump, wide, variance)
            covariance = np.linalg.inv(information + np.eye(len(step_years)) / before[..., None])
            spread = np.diagonal(covariance, axis1=-2, axis2=-1)
            mean = np.einsum("csr,cr->cs", covariance, pull)
            found = variance
            variance = float((mean**2 + spread)[~jump].mean()) if not jump.all() else variance
        noise = 1 / np.maximum(1 / spread - 1 / before, 1e-12)  # of what the counts alone say of a step
        seen, narrow, broad = mean * noise / spread, noise + found, noise + wide
        odds = prior_odds + 0.5 * (np.log(narrow / broad) + seen**2 / narrow - seen**2 / broad)
        return variance, odds

    jump = np.zeros(pull.shape, dtype=bool)
    variance, odds = fit_walk(jump, float(sigma_walk) ** 2)
    for _ in range(MOST_JUMPS):
        best = np.unravel_index(np.where(jump, -np.inf, odds).argmax(), jump.shape)
        more = jump.copy()
        more[best] = True
        tried = fit_walk(more, variance)
        if jump.all() or tried[1][best] < 0:
            break
        jump, (variance, odds) = more, tried
    slots = np.full((len(jump), slot_count(changes["change_rate"], step_years)), len(step_years))
    for cluster, here in enumerate(jump):
        places = np.flatnonzero(here)[: slots.shape[1]]
        slots[cluster, : len(places)] = places
    return slots, np.asarray(np.sqrt(variance))


def slot_count(change_rate: float, step_years: np.ndarray) -> int:
    """Return how many changes a walk may hold at once: more have a prior probability below `BEYOND`.

    At three standard deviations of the prior of the rate of changes above its median, that is.
    """
    expected = change_rate * np.exp(3 * CHANGE_SPREAD) * step_years.sum()
    return int(min(stats.poisson.isf(BEYOND, expected), len(step_years)))


def split_density(
    xp: Any, values: Mapping[str, Any], scales: Mapping[str, Any], years: Any, slots: Any, drawn: bool
) -> Any:
    """Return what steps and their changes add to the log density of the steps alone.

    That is the log density of which steps hold a change, if those are `drawn`, and of the jumps there, given the steps.

    Parameters
    ----------
    xp
        `jax.numpy`.
    values
        From `whiten_walks`.
    scales
        ``sigma_walk``, ``change_rate`` and ``change_sd``.
    years
        Years of each step.
    slots
        Steps that hold a change, (cluster, slot).
    drawn
        Whether the sampler draws the slots; else they are only the place of a map.
    """
    drift = values["drift"][:, None] * years if "drift" in values else 0.0
    steps, plain = values["walk_step"] - drift, scales["sigma_walk"] ** 2 * years
    wide = plain + scales["change_sd"] ** 2
    holds = (slots[..., None] == np.arange(len(years))).any(1)
    total = _normal(xp, values["ordinary_step"], plain).sum()
    total = total + _normal(xp, values["jump"], scales["change_sd"] ** 2).sum()
    narrow, broad = _normal(xp, steps, plain), _normal(xp, steps, wide)
    if not drawn:
        return total - xp.where(holds, broad, narrow).sum()
    stays = -scales["change_rate"] * years
    changes = xp.log(-xp.expm1(stays))
    return total + (xp.where(holds, changes, stays) - xp.logaddexp(stays + narrow, changes + broad)).sum()


def _normal(xp: Any, x: Any, variance: Any) -> Any:
    return -0.5 * (xp.log(2 * np.pi * variance) + x**2 / variance)


def change_probability(draws: Mapping[str, np.ndarray], step_years: np.ndarray) -> np.ndarray:
    """Return the probability that a step holds a change, given the step, its drift and the spreads: Bayes' rule.

    Parameters
    ----------
    draws
        ``walk_step`` (..., cluster, step), ``sigma_walk``, ``change_rate`` and ``change_sd`` (...), and ``drift``
        (..., cluster) if there is one.
    step_years
        Years of each step, shape (step,).

    Returns
    -------
    numpy.ndarray
        Shape (..., cluster, step).
    """
    walk, rate, sd = (draws[name][..., None, None] for name in ("sigma_walk", "change_rate", "change_sd"))
    plain = walk**2 * step_years
    wide = plain + sd**2
    drift = draws["drift"][..., None] * step_years if "drift" in draws else 0.0
    square = (draws["walk_step"] - drift) ** 2
    prior_odds = np.log(np.expm1(rate * step_years))
    log_odds = prior_odds + 0.5 * (np.log(plain / wide) + square / plain - square / wide)
    return 1 / (1 + np.exp(-np.clip(log_odds, -700.0, 700.0)))


def draw_jumps(rate: np.ndarray, sd: np.ndarray, n_periods: int, years: float, rng: np.random.Generator) -> np.ndarray:
    """Draw the jumps of periods to come, most of them 0.

    Parameters
    ----------
    rate, sd
        Changes a year and the standard deviation of a jump, shape (chain, draw).
    n_periods, years
        How many steps, and how long each is.
    rng
        Draws them.

    Returns
    -------
    numpy.ndarray
        Shape (chain, draw, n_periods).
    """
    shape = (*rate.shape, n_periods)
    changes = rng.random(shape) < -np.expm1(-rate * years)[..., None]
    return np.where(changes, sd[..., None] * rng.standard_normal(shape), 0.0)
