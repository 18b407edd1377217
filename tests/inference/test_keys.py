"""Random numbers of compiled samplers: against published outputs, and for uniformity."""

import jax
import numpy as np
import pytest
from scipy import stats

from meantime.inference.keys import GAMMA, key_kind, mixed


def test_published_outputs():
    """The first outputs of SplitMix64 from the state 1234567, as in its reference program and its many ports."""
    states = np.uint64(1234567) + GAMMA * np.arange(1, 6, dtype=np.uint64)
    assert mixed(states).tolist() == [
        6457827717110365317,
        3203168211198807973,
        9817491932198370423,
        4593380528125082431,
        16408922859458223821,
    ]


@pytest.fixture(scope="module")
def uniforms():
    """Of 2,000 keys, children of one: 20 numbers each, then 20 of a child of each."""
    with jax.enable_x64(True):
        root = jax.random.wrap_key_data(np.array([3, 5], dtype=np.uint32), impl=key_kind())

        def numbers(key):
            child = jax.random.split(key)[1]
            return jax.random.uniform(key, (20,)), jax.random.uniform(child, (20,))

        return np.concatenate(jax.jit(jax.vmap(numbers))(jax.random.split(root, 2000)), axis=1)


def test_uniform(uniforms):
    """Of all, and of the first number of every key: false alarm 2e-4 over seeds; the seed is fixed."""
    for values in (uniforms.ravel(), uniforms[:, 0]):
        assert stats.kstest(values, "uniform").pvalue > 1e-4


def test_independent(uniforms):
    """Correlations between numbers of a key, its child's among them, and between neighbouring keys: within 5 / sqrt(n).

    780 + 400 correlations: false alarm 7e-4 over seeds.
    """
    limit = 5 / np.sqrt(len(uniforms))
    within = np.corrcoef(uniforms.T) - np.eye(40)
    assert np.abs(within).max() < limit
    between = np.corrcoef(uniforms[:-1, :20].T, uniforms[1:, :20].T)[:20, 20:]
    assert np.abs(between).max() < limit


def test_other_widths_and_folding():
    with jax.enable_x64(True):
        key = jax.random.key(7, impl=key_kind())
        bits = jax.random.bits(key, (4000,), "uint8")
        assert bits.dtype == np.uint8
        assert abs(float(np.mean(bits)) - 127.5) < 5 * 74 / np.sqrt(4000)
        folded = {tuple(jax.random.key_data(jax.random.fold_in(key, i)).tolist()) for i in range(5)}
        assert len(folded) == 5
