"""Log probabilities of counts, for many draws at once."""

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammaln, xlogy


def poisson_log_probability(counts: ArrayLike, mean: ArrayLike) -> np.ndarray:
    """Return log P(n) of a Poisson distribution; a mean of 0 gives n = 0."""
    n, mu = np.asarray(counts, dtype=float), np.asarray(mean, dtype=float)
    return xlogy(n, mu) - mu - gammaln(n + 1)


def negative_binomial_log_probability(counts: ArrayLike, mean: ArrayLike, shape: ArrayLike) -> np.ndarray:
    """Return log P(n) of a Poisson of mean mu times Gamma(shape, shape): variance mu + mu^2 / shape."""
    n, mu, a = np.asarray(counts, dtype=float), np.asarray(mean, dtype=float), np.asarray(shape, dtype=float)
    excess = np.log1p(mu / a)
    return gammaln(n + a) - gammaln(a) - gammaln(n + 1) - a * excess + xlogy(n, mu / a) - n * excess
