"""Warm-up: windows, the step size against NumPyro's own, variances."""

import jax
import numpy as np
import pytest
from numpyro.infer.hmc_util import dual_averaging

from meantime.inference import warmup


def test_windows_are_those_of_stan():
    """A first of 75, windows of 25, 50, ... of which the last takes what is left, and 50 for the step size."""
    assert warmup.window_ends(1000, 25) == [75, 100, 150, 250, 450, 950]
    assert warmup.window_ends(500, 25) == [75, 100, 150, 250, 450]


@pytest.mark.parametrize("tune", [1, 5, 20, 40, 60, 70, 100, 149, 330])
def test_short_warm_ups(tune):
    ends = warmup.window_ends(tune, 25)
    assert ends == sorted(set(ends))
    assert all(end % 25 == 0 and 0 < end < tune for end in ends)


def test_dual_averaging_is_that_of_numpyro(rng):
    start = np.array([0.5, 0.1])
    state = warmup.begin(start)
    paces = warmup.paces(np.arange(1, 31))
    begin, update = dual_averaging()
    with jax.enable_x64(True):
        theirs = [begin(np.log(10 * step)) for step in start]
        for t in range(30):
            shortfall = rng.uniform(-0.2, 0.8, 2)
            state = warmup.tuned(np, state, {name: values[t] for name, values in paces.items()}, shortfall)
            theirs = [update(gap, one) for gap, one in zip(shortfall, theirs, strict=True)]
            np.testing.assert_allclose(state[2], [float(one[0]) for one in theirs], rtol=1e-12)
            np.testing.assert_allclose(state[3], [float(one[1]) for one in theirs], rtol=1e-12)


def test_the_step_size_stands_after_the_warm_up():
    state = warmup.begin(np.array([0.5]))
    pace = {name: values[0] for name, values in warmup.paces(np.zeros(1, dtype=int)).items()}
    assert warmup.tuned(np, state, pace, np.array([0.7])) == state


def test_variances(rng):
    z = rng.normal(0, [1.0, 0.01, 30.0], (200, 2, 3))
    np.testing.assert_allclose(warmup.variances(z), [[1.0, 1e-4, 900.0]] * 2, rtol=0.4)  # 4 standard errors of 0.1
    assert (warmup.variances(np.ones((25, 2, 3))) > 0).all()
