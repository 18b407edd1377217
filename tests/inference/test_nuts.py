"""The sampler's driver on densities with known moments."""

import threading

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from meantime.inference.diagnostics import ess_bulk
from meantime.inference.nuts import BLOCK, Settings, build_sampler, run

COVARIANCE = np.array([[1.0, 0.6, 0.0], [0.6, 2.0, -0.3], [0.0, -0.3, 0.5]])
SETTINGS = Settings(tune=330)


@pytest.fixture(scope="module")
def sampler():
    """A Gaussian whose mean and precision are data."""

    def potential(z, data):
        gap = z - data["mean"]
        return 0.5 * gap @ data["precision"] @ gap

    return build_sampler(potential, lambda z, data: {"x": z, "sum": z.sum()}, SETTINGS)


def _run(sampler, mean, chains=4, draws=1000, seed=1, advance=lambda _: None):
    with jax.enable_x64(True):
        device = jax.devices("cpu")[0]
        data = jax.device_put({"mean": np.asarray(mean), "precision": np.linalg.inv(COVARIANCE)}, device)
        start = np.random.default_rng(seed).standard_normal((chains, 3))
        return run(sampler, start, data, SETTINGS, seed=seed, draws=draws, device=device, advance=advance)[:2]


def test_moments_of_a_gaussian(sampler):
    """Means within 4.5 Monte Carlo standard errors: three means, false alarm 2e-5 over seeds."""
    mean = np.array([10.0, -3.0, 0.5])
    draws, statistics = _run(sampler, mean)
    x = draws["x"]
    assert x.shape == (4, 1000, 3)
    assert x.dtype == np.float64
    np.testing.assert_allclose(draws["sum"], x.sum(-1), rtol=1e-12)
    errors = np.sqrt(np.diag(COVARIANCE) / ess_bulk(x.transpose(2, 0, 1)))
    assert (np.abs(x.mean((0, 1)) - mean) < 4.5 * errors).all()
    np.testing.assert_allclose(np.cov(x.reshape(-1, 3).T), COVARIANCE, atol=0.25)
    gap = x - mean
    expected = -0.5 * np.einsum("cdi,ij,cdj->cd", gap, np.linalg.inv(COVARIANCE), gap)
    np.testing.assert_allclose(statistics["lp"], expected, rtol=1e-8)


def test_statistics(sampler):
    _, statistics = _run(sampler, np.zeros(3))
    assert not statistics["diverging"].any()
    assert not statistics["reached_max_treedepth"].any()
    steps, depth = statistics["n_steps"], statistics["tree_depth"]
    assert (steps >= 2 ** (depth - 1)).all()
    assert (steps < 2**depth).all()
    assert 0.8 < statistics["acceptance_rate"].mean() <= 1
    assert len(np.unique(statistics["step_size"])) == 4  # tuned for each chain, then fixed
    assert (statistics["energy"] >= -statistics["lp"]).all()


def test_chains_do_not_depend_on_one_another(sampler):
    """The first two of four chains are those of a run of two: groups only share time."""
    four, two = (_run(sampler, np.zeros(3), chains=chains, draws=60)[0]["x"] for chains in (4, 2))
    np.testing.assert_array_equal(four[:2], two)
    assert len(np.unique(four[:, -1, 0])) == 4


def test_seeds(sampler):
    first, second, other = (_run(sampler, np.zeros(3), draws=60, seed=seed)[0]["x"] for seed in (1, 1, 2))
    np.testing.assert_array_equal(first, second)
    assert not np.array_equal(first, other)


def test_all_iterations_are_reported(sampler):
    done = []
    _run(sampler, np.zeros(3), draws=60, advance=done.append)
    assert sum(done) >= 4 * (SETTINGS.tune + 60)
    assert set(done) == {2 * BLOCK}


@pytest.mark.parametrize("last", [False, True], ids=["first group", "last group"])
def test_an_interrupt_stops_all_chains(sampler, last):
    """Whichever group it comes to: the pool's threads are named in the order in which they start."""
    done = []

    def interrupt(iterations):
        done.append(iterations)
        if threading.current_thread().name.endswith("_1") is last:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        _run(sampler, np.zeros(3), draws=100_000, advance=interrupt)
    assert len(done) < 200  # of 4,008 blocks


def test_compiled_once(sampler):
    _run(sampler, np.ones(3), draws=60)
    assert sampler.block._cache_size() == 1
    assert jnp.ones(1).dtype == np.float32
