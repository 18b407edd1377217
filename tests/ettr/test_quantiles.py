"""Quantiles by monotonicity against quantiles of all the draws."""

import jax.numpy as jnp
import numpy as np
import pytest

from meantime import ettr
from meantime.errors import InputError

PROBABILITIES = [0.0, 0.05, 0.5, 0.95, 1.0]


@pytest.mark.parametrize("seed", [31])
@pytest.mark.parametrize("productive", [np.inf, 100.3])
@pytest.mark.parametrize("optimal", [False, True])
def test_equal_to_quantiles_of_the_draws(productive: float, optimal: bool, seed: int) -> None:
    rng = np.random.default_rng(seed)
    hazard = rng.lognormal(-1, 0.8, (1001, 5, 1))
    interval = None if optimal else np.geomspace(0.02, 4, 7)
    plan = {"restart": 0.1, "detection": 0.05, "queue": 0.1, "productive": productive}
    write = 0.01 if not optimal else np.geomspace(0.001, 0.1, 7)
    every = ettr.optimal_interval(hazard, write) if interval is None else interval
    expected = np.quantile(ettr.renewal(hazard, every, write, **plan), PROBABILITIES, axis=0)
    value = ettr.quantiles(hazard, PROBABILITIES, interval, write, **plan)
    assert value.shape == (5, 5, 7)
    np.testing.assert_allclose(value, expected, rtol=1e-13)


def test_axes_and_scalars() -> None:
    hazard = np.random.default_rng(1).lognormal(size=(3, 500))
    value = ettr.quantiles(hazard, 0.5, 0.2, 0.01, axis=1)
    assert value.shape == (3,)
    assert value == pytest.approx(np.median(ettr.renewal(hazard, 0.2, 0.01), axis=1), rel=1e-13)
    assert np.ndim(ettr.quantiles(hazard[0], 0.5, 0.2)) == 0
    # A plan with more dimensions than the draws broadcasts in front of them.
    value = ettr.quantiles(hazard[0], [0.1, 0.9], np.array([[0.1], [0.2]]), np.array([0.01, 0.02, 0.03]))
    assert value.shape == (2, 2, 3)
    assert (value[0] < value[1]).all()


def test_jax_draws_stay_in_jax() -> None:
    hazard = np.random.default_rng(1).lognormal(size=(1001, 3)).astype(np.float32)
    value = ettr.quantiles(jnp.asarray(hazard), [0.05, 0.5], 0.2, 0.01)
    assert value.dtype == jnp.float32
    np.testing.assert_allclose(value, ettr.quantiles(hazard, [0.05, 0.5], 0.2, 0.01), rtol=1e-6)


def test_what_is_refused() -> None:
    for probabilities in ([0.5, 1.2], [np.nan], [[0.5]]):
        with pytest.raises(InputError, match="expected numbers from 0 to 1"):
            ettr.quantiles([1.0, 2.0], probabilities, 0.2)
    with pytest.raises(InputError, match="at least one draw"):
        ettr.quantiles(np.zeros((0, 3)), 0.5, 0.2)
    with pytest.raises(InputError, match=r"hazard is -1.0 at index \(1,\)"):
        ettr.quantiles([1.0, -1.0], 0.5, 0.2)
