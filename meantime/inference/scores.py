"""How good a predictive distribution of counts was, now that the count is known."""

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from meantime import intervals
from meantime.inference.likelihood import poisson_log_probability


@dataclass(frozen=True, slots=True)
class Scores:
    """Scores of predicted counts, one a target.

    Parameters
    ----------
    log_score
        Log probability of what came; higher is better.
    crps
        Continuous ranked probability score, failures; lower is better.
    lower, median, upper
        The 90 % interval and its middle, failures.
    covered
        Whether the count lies in the interval.
    pit
        Probability of a smaller count, ties broken at random: uniform for a right forecast.
    """

    log_score: np.ndarray
    crps: np.ndarray
    lower: np.ndarray
    median: np.ndarray
    upper: np.ndarray
    covered: np.ndarray
    pit: np.ndarray


def score_counts(observed: np.ndarray, mean: np.ndarray, rng: np.random.Generator) -> Scores:
    """Score Poisson mixtures: draws of means, and counts drawn about them.

    Parameters
    ----------
    observed
        Counts that came, shape (target,).
    mean
        Draws of their means, shape (sample, target); not a number where nothing was predicted: then all scores are
        not numbers, and `covered` is False.
    rng
        Draws counts and breaks ties.
    """
    samples = len(mean)
    known = np.isfinite(mean).all(0)
    mean = np.where(known, mean, 0.0)
    with np.errstate(divide="ignore"):
        log_score = logsumexp(poisson_log_probability(observed, mean), axis=0) - np.log(samples)
    counts = np.sort(rng.poisson(np.minimum(mean, 1e15)), axis=0).astype(float)
    lower, median, upper = np.quantile(counts, [intervals.LOWER, 0.5, intervals.UPPER], axis=0, method="inverted_cdf")
    below, equal = (counts < observed).mean(0), (counts == observed).mean(0)
    pit = np.clip(below + rng.random(len(observed)) * equal, 0, 1)
    nothing = np.where(known, 0.0, np.nan)
    return Scores(
        log_score=np.where(known, log_score, np.nan),
        crps=_crps(observed, counts) + nothing,
        lower=lower + nothing,
        median=median + nothing,
        upper=upper + nothing,
        covered=known & (lower <= observed) & (observed <= upper),
        pit=pit + nothing,
    )


def _crps(observed: np.ndarray, ordered: np.ndarray) -> np.ndarray:
    """Return E|X - y| - E|X - X'| / 2 of sorted samples (Gneiting and Raftery, JASA 102, 2007)."""
    samples = len(ordered)
    weights = (2 * np.arange(1, samples + 1) - samples - 1) / samples**2
    return np.abs(ordered - observed).mean(0) - weights @ ordered
