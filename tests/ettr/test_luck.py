"""Realised wall-clock times against event simulation and closed-form moments."""

import itertools

import numpy as np
import pytest
from scipy import stats

from meantime import ettr
from meantime.errors import InputError
from meantime.ettr.luck import _EXACT_UP_TO, _lost, _task

RSC1 = 6.5e-3
PLANS = [
    # interval, write, restart, detection, queue, productive
    (1.0, 0.0, 0.1, 0.0, 0.0, 50.3),
    (0.1, 0.01, 0.1, 0.05, 0.02, 20.05),
    (0.5, 0.05, 0.02, 0.0, 0.3, 3.2),
    (0.02, 0.002, 0.3, 0.02, 0.0, 4.0),
    (9.0, 0.02, 0.1, 0.1, 0.1, 0.5),
]
CASES = list(itertools.product((1024, 16384, 131072), PLANS))


@pytest.mark.parametrize("seed", [17])
@pytest.mark.parametrize(("gpus", "plan"), CASES)
def test_same_distribution_as_the_event_simulation(gpus: int, plan: tuple[float, ...], seed: int) -> None:
    """Kolmogorov-Smirnov, 20,000 runs each: false-alarm rate 0.01 % a plan, 0.15 % in all.

    Mean and variance against the closed forms at 4.5 and 6 standard errors (below 0.02 % in all).
    """
    *four, queue, productive = plan
    interval, write, restart, detection = four
    run = {"detection": detection, "queue": queue, "productive": productive}
    lam, n = ettr.hazard_of(gpus / 8, RSC1), 20_000
    drawn = ettr.sample_wallclock(seed, np.full(n, lam), interval, write, restart, **run)
    simulated = ettr.simulate(seed, lam, interval, write, restart, **run, n_runs=n)
    assert stats.ks_2samp(np.round(drawn, 9), np.round(simulated, 9)).pvalue > 1e-4
    mean, variance = ettr.wallclock_moments(lam, interval, write, restart, **run)
    assert abs(drawn.mean() - mean) < 4.5 * np.sqrt(variance / n)
    spread = np.sqrt((((drawn - mean) ** 4).mean() - variance**2) / n)
    assert abs(((drawn - mean) ** 2).mean() - variance) < 6 * spread


@pytest.mark.parametrize("seed", [23])
@pytest.mark.parametrize("y", [1e-9, 0.3, 2.0, 30.0])
@pytest.mark.parametrize("count", [1, _EXACT_UP_TO, _EXACT_UP_TO + 1, 400])
def test_sums_of_lost_times(y: float, count: int, seed: int) -> None:
    """One or many truncated exponentials: KS against draws of another library; false alarms 0.01 % each."""
    n = 20_000
    drawn = _lost(np.random.default_rng(seed), np.full(n, float(count)), _task(np.full(n, y), np.ones(n)))
    truncated = stats.truncexpon(b=y, scale=1 / y) if y > 1e-6 else stats.uniform()
    terms = truncated.rvs(size=(n, count), random_state=np.random.default_rng(seed + 1))
    assert stats.ks_2samp(drawn, terms.sum(1)).pvalue > 1e-4


def test_long_run_of_131072_gpus_is_close_to_its_expectation() -> None:
    """The law of large numbers: a year-long run strays by about its closed-form spread and no more."""
    lam = ettr.hazard_of(131072 / 8, RSC1)
    plan = {"interval": 0.05, "write": 30 / 3600, "restart": 5 / 60, "productive": 8766.0}
    mean, variance = ettr.wallclock_moments(lam, **plan)
    assert np.sqrt(variance) / mean < 0.01
    wall = ettr.sample_wallclock(1, np.full(4000, lam), **plan)
    assert stats.kstest((wall - mean) / np.sqrt(variance), "norm").pvalue > 1e-4  # by now it is normal


def test_without_failures_there_is_no_luck() -> None:
    assert ettr.sample_wallclock(0, 0.0, 2.0, 0.1, 0.3, queue=0.5, productive=21.0) == pytest.approx(22.9)
    walls = ettr.sample_wallclock(0, np.zeros(5), 2.0, 0.1, 0.3, productive=21.0, last_write=False)
    assert walls == pytest.approx(22.3)


def test_seeds_and_shapes() -> None:
    hazard = np.full((4, 1), 0.4)
    interval = np.array([0.5, 1.0, 100.0])
    first = ettr.sample_wallclock(5, hazard, interval, productive=20.0)
    assert first.shape == (4, 3)
    assert (first == ettr.sample_wallclock(5, hazard, interval, productive=20.0)).all()
    assert (first != ettr.sample_wallclock(6, hazard, interval, productive=20.0)).any()
    assert np.isscalar(ettr.sample_wallclock(5, 0.4, 1.0, productive=20.0))
    with pytest.raises(InputError, match="productive is inf"):
        ettr.sample_wallclock(5, 0.4, 1.0, productive=np.inf)
    with pytest.raises(InputError, match="interval is 0"):
        ettr.sample_wallclock(5, 0.4, 0.0, productive=1.0)
