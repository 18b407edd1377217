"""Random waits and jobs that the scheduler ends, in simulation and in closed form."""

from collections.abc import Callable

import numpy as np
import pytest

from meantime import ettr
from meantime.errors import InputError

PLAN = {"interval": 0.5, "write": 0.03, "restart": 0.1, "detection": 0.1, "queue": 0.2}
WAITS = [
    {},
    {"detection_sd": 0.1, "queue_sd": 0.4},
    {"hang_share": 0.3, "hang_timeout": 0.5},
    {"detection_sd": 0.05, "hang_share": 0.6, "hang_timeout": 1.5, "queue_sd": 0.1},
]


@pytest.mark.parametrize("seed", [61])
@pytest.mark.parametrize("waits", WAITS)
def test_mean_and_variance_agree_with_simulation(waits: dict[str, float], seed: int) -> None:
    """20,000 runs: mean and variance within 4.5 of their standard errors, once in 100,000 times beyond."""
    n = 20_000
    wall = ettr.simulate(seed, 0.6, **PLAN, **waits, productive=5.2, n_runs=n)
    mean, variance = ettr.wallclock_moments(0.6, **PLAN, **waits, productive=5.2)
    assert abs(wall.mean() - mean) < 4.5 * np.sqrt(variance / n)
    fourth = ((wall - mean) ** 4).mean()
    assert abs(((wall - mean) ** 2).mean() - variance) < 4.5 * np.sqrt((fourth - variance**2) / n)


def test_the_expectation_needs_the_mean_of_the_waits_alone() -> None:
    hang = {"hang_share": 0.3, "hang_timeout": 0.9}
    mean, _ = ettr.wallclock_moments(0.6, **PLAN, **hang, detection_sd=0.2, queue_sd=3.0, productive=5.2)
    detection = 0.7 * 0.1 + 0.3 * 0.9
    assert 5.2 / mean == pytest.approx(ettr.renewal(0.6, **PLAN | {"detection": detection}, productive=5.2), rel=1e-13)


def test_a_deviation_without_a_mean_is_nothing() -> None:
    plan = {"interval": 0.5, "write": 0.03, "restart": 0.1, "productive": 5.2}
    plain = ettr.wallclock_moments(0.6, **plan)
    assert ettr.wallclock_moments(0.6, **plan, detection_sd=0.3, queue_sd=0.2) == plain
    hours = [6.0, 8.0, 12.0]
    np.testing.assert_array_equal(
        ettr.wallclock_cdf(hours, 0.6, **plan, detection_sd=0.3, queue_sd=0.2), ettr.wallclock_cdf(hours, 0.6, **plan)
    )


def jobs_told(
    rng: np.random.Generator, plan: dict[str, np.ndarray], n: int, *, notice: bool
) -> tuple[np.ndarray, np.ndarray]:
    """Productive and wall-clock hours of n jobs of each plan, one after the other, from their definition."""
    shape = (n, plan["hazard"].size)
    failure = rng.exponential(1 / plan["hazard"], shape)
    with np.errstate(divide="ignore"):
        preempted = plan["protected"] + rng.exponential(1 / plan["preemption"], shape)
    end = np.minimum(np.minimum(failure, preempted), plan["lifetime"])
    cycle = plan["interval"] + plan["write"]
    reached_limit = (end == plan["lifetime"]) & notice
    # With notice the last write begins at the limit less its length: regular ones end before.
    regular = np.where(notice, np.minimum(end, plan["lifetime"] - plan["write"]), end) - plan["restart"]
    saved = np.floor(np.maximum(regular, 0) / cycle) * plan["interval"]
    rest = np.clip(regular - np.floor(np.maximum(regular, 0) / cycle) * cycle, 0, plan["interval"])
    wall = end + plan["queue"] + np.where(end == failure, plan["detection"], 0)
    return saved + np.where(reached_limit, rest, 0), wall


def random_limits(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Plans on 1,000 to 1,000,000 GPUs whose jobs live for up to 12 segments, some for ever."""
    lam = ettr.hazard_of(np.exp(rng.uniform(np.log(125), np.log(125_000), n)), np.exp(rng.uniform(-7.6, -3.9, n)))
    write, restart, detection, queue = rng.exponential([[0.05], [0.3], [0.3], [0.3]], (4, n)) / lam
    interval = np.minimum(ettr.optimal_interval(lam, write) * rng.uniform(0.3, 2, n), 3 / lam)
    short = restart + (interval + write) * rng.uniform(1.1, 12, n)
    return {
        "hazard": lam,
        "interval": interval,
        "write": write,
        "restart": restart,
        "detection": detection,
        "queue": queue,
        "lifetime": np.where(rng.random(n) < 0.3, np.inf, short),
        "preemption": lam * rng.exponential(1, n) * (rng.random(n) < 0.7),
        "protected": rng.exponential(2, n) / lam,
    }


@pytest.mark.parametrize("seed", [5])
@pytest.mark.parametrize("notice", [False, True])
@pytest.mark.parametrize(("plans", "runs"), [(50, 4000), pytest.param(200, 20000, marks=pytest.mark.slow)])
def test_limited_jobs_agree_with_their_story(
    plans: int, runs: int, notice: bool, seed: int, standard_normal: Callable[[np.ndarray], None]
) -> None:
    rng = np.random.default_rng(seed)
    plan = random_limits(rng, plans)
    saved, wall = jobs_told(rng, plan, runs, notice=notice)
    told = saved.mean(0) / wall.mean(0)
    error = (saved - told * wall).std(0) / np.sqrt(runs) / wall.mean(0)
    standard_normal((told - ettr.limited(**plan, notice=notice)) / error)


@pytest.mark.parametrize("seed", [8])
def test_simulated_runs_of_limited_jobs(seed: int) -> None:
    """A long run against the closed form: 4 errors of 200 runs, and 0.1 % for the beginning and the end."""
    limits = {"lifetime": 7.0, "preemption": 0.1, "protected": 2.0}
    wall = ettr.simulate(seed, 0.5, **PLAN, **limits, productive=2000.0, n_runs=200)
    value = 2000 / wall
    expected = ettr.limited(0.5, **PLAN, **limits)
    assert abs(value.mean() - expected) < 4 * value.std() / np.sqrt(200) + 1e-3 * expected


def test_limits_of_limited_jobs() -> None:
    assert ettr.limited(0.6, **PLAN) == pytest.approx(ettr.renewal(0.6, **PLAN), rel=1e-14)
    assert ettr.limited(0.6, **PLAN, lifetime=1e4) == pytest.approx(ettr.renewal(0.6, **PLAN), rel=1e-14)
    # A preemption that may come at any time and is noticed at once is a failure more.
    both = ettr.limited(0.4, **PLAN | {"detection": 0.0}, preemption=0.2)
    assert both == pytest.approx(ettr.renewal(0.6, **PLAN | {"detection": 0.0}), rel=1e-14)
    assert ettr.limited(0.0, **PLAN) == pytest.approx(0.5 / 0.53, rel=1e-14)
    # Nothing fails: 18 segments of 0.53 h fit into 10 h less a restart; with notice another 0.33 h do.
    assert ettr.limited(0.0, **PLAN, lifetime=10.0) == pytest.approx(9 / 10.2, rel=1e-14)
    rest = 10 - 0.03 - 0.1 - 18 * 0.53
    assert ettr.limited(0.0, **PLAN, lifetime=10.0, notice=True) == pytest.approx((9 + rest) / 10.2, rel=1e-13)
    assert ettr.limited(0.6, **PLAN, lifetime=0.5) == np.finfo(float).tiny
    assert ettr.limited(0.6, **PLAN, lifetime=0.5, notice=True) > 0.2
    # The paper's limit of 7 days costs little: half a segment and a restart a week.
    week = ettr.limited(0.01, 1.0, 0.05, 0.1, lifetime=168.0)
    assert 0 < ettr.renewal(0.01, 1.0, 0.05, 0.1) - week < 0.65 / 168
    with pytest.raises(InputError, match=r"lifetime is 0.0; expected hours, 'inf' for no limit"):
        ettr.limited(0.1, 1.0, lifetime=0.0)
