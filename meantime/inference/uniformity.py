"""Whether numbers between 0 and 1 are uniform: the band that their empirical distribution stays in.

After Säilynoja, Bürkner and Vehtari, "Graphical test for discrete uniformity and its applications in
goodness-of-fit evaluation and multiple sample comparison" (Statistics and Computing 32, 2022): at each of
the points i / n the number of values below is binomial; the pointwise level is chosen so that the whole
curve stays inside its bounds with the wanted probability.
"""

from functools import lru_cache
from typing import NamedTuple

import numpy as np

SIMULATIONS = 20_000
"""Uniform samples by which the pointwise level is found."""

SEED = 214


class Band(NamedTuple):
    """Points, and bounds of the share of values at or below each, (point,)."""

    points: np.ndarray
    lower: np.ndarray
    upper: np.ndarray


def uniform_p_value(values: np.ndarray) -> np.ndarray:
    """Return how often uniform values would leave a band that just holds these.

    Parameters
    ----------
    values
        Numbers between 0 and 1, shape (..., n).

    Returns
    -------
    numpy.ndarray
        Probabilities, shape (...). They are as small as 1 / 20,001 at most.
    """
    values = np.asarray(values, dtype=float)
    least = _least_probability(values.reshape(-1, values.shape[-1]))
    null = _null(values.shape[-1])
    below = np.searchsorted(null, least * (1 + 1e-9), side="right")
    return ((below + 1) / (len(null) + 1)).reshape(values.shape[:-1])


def uniform_band(n: int, false_alarm: float) -> Band:
    """Return the band that the empirical distribution of n uniform values leaves with a stated probability.

    Parameters
    ----------
    n
        How many values.
    false_alarm
        Probability that uniform values leave the band somewhere.
    """
    from scipy.stats import binom

    level = np.quantile(_null(n), false_alarm)
    points = _points(n)
    lower = binom.ppf(level / 2, n, points)
    upper = binom.ppf(1 - level / 2, n, points)
    return Band(points, lower / n, upper / n)


def _points(n: int) -> np.ndarray:
    return np.arange(1, n) / n if n > 1 else np.array([0.5])


def _least_probability(values: np.ndarray) -> np.ndarray:
    """Return, for each row, the smallest two-sided binomial probability over the points."""
    table = _two_sided(values.shape[1])
    points = _points(values.shape[1])
    ordered = np.sort(values, axis=1)
    counts = np.stack([np.searchsorted(row, points, side="right") for row in ordered])
    return table[counts, np.arange(len(points))].min(axis=1)


@lru_cache(maxsize=8)
def _two_sided(n: int) -> np.ndarray:
    """Return min(1, 2 P(X <= c), 2 P(X >= c)) for every count c (rows) at every point (columns)."""
    from scipy.stats import binom

    counts, points = np.arange(n + 1)[:, None], _points(n)
    tails = np.minimum(binom.cdf(counts, n, points), binom.sf(counts - 1, n, points))
    return np.minimum(1.0, 2 * tails)


@lru_cache(maxsize=8)
def _null(n: int) -> np.ndarray:
    """Return the sorted statistic of simulated uniform samples."""
    rng = np.random.default_rng([SEED, n])
    rows = max(1, 2_000_000 // n)
    parts = [
        _least_probability(rng.random((min(rows, SIMULATIONS - start), n))) for start in range(0, SIMULATIONS, rows)
    ]
    return np.sort(np.concatenate(parts))
