"""Log probabilities against SciPy's."""

import numpy as np
from scipy import stats

from meantime.inference.likelihood import negative_binomial_log_probability, poisson_log_probability


def test_poisson(rng):
    counts, mean = rng.integers(0, 50, 200), rng.uniform(0.01, 60, 200)
    np.testing.assert_allclose(poisson_log_probability(counts, mean), stats.poisson.logpmf(counts, mean), rtol=1e-10)
    assert poisson_log_probability(0, 0.0) == 0
    assert poisson_log_probability(1, 0.0) == -np.inf


def test_negative_binomial(rng):
    counts, mean, shape = rng.integers(0, 50, 200), rng.uniform(0.01, 60, 200), rng.uniform(0.2, 50, 200)
    expected = stats.nbinom.logpmf(counts, shape, shape / (shape + mean))
    np.testing.assert_allclose(negative_binomial_log_probability(counts, mean, shape), expected, rtol=1e-8)


def test_negative_binomial_tends_to_poisson():
    """At the greatest shape that the model allows, 1e8, the difference is of order mean^2 / shape."""
    found = negative_binomial_log_probability(7, 5.0, 1e8)
    np.testing.assert_allclose(found, stats.poisson.logpmf(7, 5.0), atol=1e-6)
