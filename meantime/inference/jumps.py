"""Change points of a walk: where counts show one, how likely each step holds one, and jumps to come."""

from collections.abc import Mapping

import numpy as np

MOST_JUMPS = 20
"""Steps at most that `find_jumps` takes out of the walks."""

UPDATES = 20
"""Updates of the scale of ordinary steps after each."""


def find_jumps(
    work: Mapping[str, np.ndarray],
    own_variance: np.ndarray | float,
    sigma_walk: np.ndarray,
    changes: Mapping[str, float],
    step_years: np.ndarray,
) -> tuple[dict[str, np.ndarray], np.ndarray]:
    """Find the steps that counts show to be changes, one after the other. Only speed of sampling depends on it.

    Of each step the Gaussian approximation tells what the counts alone say of it. The likeliest is tried as a change,
    what ordinary steps are like is learned again without it, and it stays if Bayes' rule then makes a change of it more
    likely than not.

    Parameters
    ----------
    work
        From `prepare_walks`, without jumps.
    own_variance
        Variances of the components' own walks in a year, shape (component, 1).
    sigma_walk
        Scale of the walk, a scalar, to begin with.
    changes
        ``change_rate`` and ``change_sd``.
    step_years
        Years of each step.

    Returns
    -------
    tuple
        ``jump`` (0 or 1), ``jump_centre`` and ``jump_spread``, shapes (cluster, step), as `prepare_walks`
        takes them; and the scale of the walk without them.
    """
    basis, hidden = work["walk_vector"], 1 + own_variance * work["walk_value"]
    information = np.einsum("cse,ce,cre->csr", basis, (work["walk_value"] / hidden).sum(1), basis)
    pull = np.einsum("cse,ce->cs", basis, (work["walk_pull"] / hidden).sum(1))
    prior_odds = np.log(np.expm1(changes["change_rate"] * step_years))

    def fit_walk(jump: np.ndarray, variance: float) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        """Return steps, their variances, the walk's variance, and log odds that each step is a change."""
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
        return mean, spread, variance, odds

    jump = np.zeros(pull.shape, dtype=bool)
    mean, spread, variance, odds = fit_walk(jump, float(sigma_walk) ** 2)
    for _ in range(MOST_JUMPS):
        best = np.unravel_index(np.where(jump, -np.inf, odds).argmax(), jump.shape)
        more = jump.copy()
        more[best] = True
        tried = fit_walk(more, variance)
        if jump.all() or tried[3][best] < 0:
            break
        jump, (mean, spread, variance, odds) = more, tried
    width = np.sqrt(step_years)
    found = {
        "jump": jump.astype(float),
        "jump_centre": np.where(jump, mean * width, 0.0),
        "jump_spread": np.where(jump, np.sqrt(spread) * width, 1.0),
    }
    return found, np.asarray(np.sqrt(variance))


def change_probability(draws: Mapping[str, np.ndarray], step_years: np.ndarray) -> np.ndarray:
    """Return the probability that a step holds a change, given the step and the spreads: Bayes' rule.

    Parameters
    ----------
    draws
        ``walk_step`` (..., cluster, step), ``sigma_walk``, ``change_rate`` and ``change_sd`` (...).
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
    square = draws["walk_step"] ** 2
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
