"""The closed forms against event simulation, and the event simulation against a slower, simpler one."""

import itertools
import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from meantime import ettr
from meantime.errors import InputError

MINUTE = 1 / 60
RSC1 = 6.5e-3


def one_run(rng: random.Random, lam: float, plan: dict[str, float], *, last_write: bool) -> float:
    """A run told as a story: every restart, every stretch of work, every write on its own."""
    clock, saved, end = plan["queue"], 0.0, plan["productive"]
    while True:
        try:
            clock = survive(rng, clock, plan["restart"], lam)
            while saved < end - 1e-9:
                work = min(plan["interval"], end - saved)
                clock = survive(rng, clock, work, lam)
                if last_write or saved + work < end - 1e-9:
                    clock = survive(rng, clock, plan["write"], lam)
                saved += work
            return clock
        except Failure as failure:
            clock = failure.when + plan["detection"] + plan["queue"]


class Failure(Exception):
    def __init__(self, when: float) -> None:
        self.when = when


def survive(rng: random.Random, clock: float, hours: float, lam: float) -> float:
    gap = rng.expovariate(lam)
    if gap < hours:
        raise Failure(clock + gap)
    return clock + hours


STORIES = [
    (0.5, {"interval": 1.0, "write": 0.1, "restart": 0.2, "detection": 0.1, "queue": 0.3, "productive": 10.4}, True),
    (4.0, {"interval": 0.1, "write": 0.05, "restart": 0.1, "detection": 0.0, "queue": 0.0, "productive": 2.0}, False),
    (1.0, {"interval": 5.0, "write": 0.5, "restart": 0.0, "detection": 0.0, "queue": 0.1, "productive": 1.5}, False),
]


@pytest.mark.parametrize("seed", [11])
@pytest.mark.parametrize(("hazard", "plan", "last_write"), STORIES)
def test_simulation_agrees_with_the_story(hazard: float, plan: dict[str, float], last_write: bool, seed: int) -> None:
    """Two-sample Kolmogorov-Smirnov test of 4,000 against 40,000 runs; false-alarm rate 0.1 % a plan."""
    rng = random.Random(seed)
    told = [one_run(rng, hazard, plan, last_write=last_write) for _ in range(4000)]
    simulated = ettr.simulate(seed, hazard, **plan, n_runs=40_000, last_write=last_write)
    # Runs without a failure are all alike: rounding makes their ties exact.
    assert stats.ks_2samp(np.round(told, 9), np.round(simulated, 9)).pvalue > 1e-3


def grid() -> np.ndarray:
    """Plans: hazard, interval, write, restart, detection, queue, productive; 1,024 to 131,072 GPUs."""
    plans = []
    choices = itertools.product((1024, 16384, 131072), (0, 0.5, 5), (0, 5, 20), (0, 10), (0, 15))
    for number, (gpus, write, restart, detection, queue) in enumerate(choices):
        lam = ettr.hazard_of(gpus / 8, RSC1)
        best = ettr.optimal_interval(lam, max(write, 0.5) * MINUTE)
        interval = best * (0.5, 1, 2)[number % 3]
        productive = interval * (0.7, 3, 25.4)[number // 3 % 3]
        plans.append((lam, interval, *np.array([write, restart, detection, queue]) * MINUTE, productive))
    return np.array(plans).T


@pytest.mark.parametrize("seed", [2024])
def test_exact_form_agrees_with_simulation(seed: int) -> None:
    """108 plans, 4,000 runs each, differences in Monte Carlo standard errors.

    If the form is exact they are standard normal. Beyond 3 lie 0.29 of 108 on average and more than 4
    once in 100,000 times; beyond 4.5 any once in 1,400 times; the sum of squares leaves its bounds once in 1,000.
    """
    lam, interval, write, restart, detection, queue, productive = plans = grid()
    run = {"detection": detection, "queue": queue, "productive": productive}
    wall = ettr.simulate(seed, lam, interval, write, restart, **run, n_runs=4000)
    assert wall.shape == (4000, plans.shape[1])
    measured = productive / wall.mean(0)
    error = measured * wall.std(0, ddof=1) / wall.mean(0) / np.sqrt(4000)
    z = (measured - ettr.renewal(lam, interval, write, restart, **run)) / error
    assert (abs(z) > 3).sum() <= 4
    assert abs(z).max() < 4.5
    assert stats.chi2(z.size).cdf((z**2).sum()) == pytest.approx(0.5, abs=0.4995)

    mean, variance = ettr.wallclock_moments(lam, interval, write, restart, **run)
    np.testing.assert_allclose(productive / mean, ettr.renewal(lam, interval, write, restart, **run), rtol=1e-12)
    # The error of a variance from the fourth moment of the simulated runs themselves.
    fourth = ((wall - wall.mean(0)) ** 4).mean(0)
    z = (wall.var(0) - variance) / np.sqrt((fourth - wall.var(0) ** 2) / 4000)
    assert abs(z).max() < 6  # these are skewed, not normal: a bound of 6 in place of 4.5


@pytest.mark.parametrize("seed", [5])
def test_counts_and_reproducibility(seed: int) -> None:
    plan = {"interval": 0.5, "write": 0.01, "restart": 0.1, "productive": 100.0}
    wall, failures = ettr.simulate(seed, 0.6, **plan, n_runs=2000, with_failures=True)
    assert (ettr.simulate(seed, 0.6, **plan, n_runs=2000) == wall).all()
    # Failures come at the hazard while the run is scheduled (Wald): 4 errors, false-alarm rate 6e-5.
    assert abs(failures.sum() - 0.6 * wall.sum()) < 4 * np.sqrt(failures.sum())
    none, failures = ettr.simulate(seed, 0.0, **plan, n_runs=3, with_failures=True)
    assert none == pytest.approx(0.1 + 100 + 200 * 0.01)
    assert (failures == 0).all()


@pytest.mark.parametrize("seed", [3])
def test_with_a_jax_key_it_runs_inside_jit(seed: int) -> None:
    plan = {"interval": 0.5, "write": 0.01, "restart": 0.1, "productive": 30.0}

    @jax.jit
    def mean(key: jax.Array, hazard: jax.Array) -> jax.Array:
        wall = ettr.simulate(key, hazard, **plan, n_runs=4000)
        assert wall.dtype == jnp.float32
        return wall.mean(0)

    hazard = jnp.array([0.1, 0.6])
    expected, variance = ettr.wallclock_moments(np.array([0.1, 0.6]), **plan)
    # 4 errors, false-alarm rate 6e-5 each
    assert (abs(mean(jax.random.key(seed), hazard) - expected) < 4 * np.sqrt(variance / 4000)).all()


def test_runs_that_never_end_are_refused() -> None:
    with pytest.raises(InputError, match="10 of 10 simulated runs were unfinished after max_failures = 50"):
        ettr.simulate(1, 30.0, 10.0, productive=20.0, n_runs=10, max_failures=50)
    unfinished = ettr.simulate(jax.random.key(1), 30.0, 10.0, productive=20.0, n_runs=10, max_failures=50)
    assert np.isinf(unfinished).all()
    with pytest.raises(InputError, match="productive is inf"):
        ettr.simulate(1, 1.0, 1.0, productive=np.inf)
    with pytest.raises(InputError, match="interval is 0"):
        ettr.simulate(1, 1.0, 0.0, productive=1.0)
    with pytest.raises(InputError, match="n_runs is 0"):
        ettr.simulate(1, 1.0, 1.0, productive=1.0, n_runs=0)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [99])
def test_every_corner_of_the_plans(seed: int) -> None:
    """200 random plans, 1,000 to 1,000,000 GPUs; bounds as for the grid, more than 5 beyond 3 once in 70,000 times."""
    rng = np.random.default_rng(seed)
    gpus = np.exp(rng.uniform(np.log(1e3), np.log(1e6), 200))
    lam = ettr.hazard_of(gpus / 8, np.exp(rng.uniform(np.log(5e-4), np.log(0.02), 200)))
    write, restart, detection, queue = rng.exponential([[0.05], [0.5], [0.5], [0.5]], (4, 200)) / lam
    interval = np.minimum(ettr.optimal_interval(lam, write) * rng.uniform(0.3, 2, 200), 4 / lam)
    productive = interval * rng.uniform(0.3, 30, 200)
    run = {"detection": detection, "queue": queue, "productive": productive}
    wall = ettr.simulate(seed, lam, interval, write, restart, **run, n_runs=20_000)
    error = wall.std(0, ddof=1) / np.sqrt(20_000)
    z = (wall.mean(0) - productive / ettr.renewal(lam, interval, write, restart, **run)) / error
    assert (abs(z) > 3).sum() <= 5
    assert abs(z).max() < 4.7
    assert stats.chi2(z.size).cdf((z**2).sum()) == pytest.approx(0.5, abs=0.4995)


def test_no_plan_at_all() -> None:
    assert ettr.simulate(1, np.zeros((0, 2)), 1.0, productive=1.0, n_runs=3).shape == (3, 0, 2)
