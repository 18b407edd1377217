"""Asynchronous checkpoints told as they happen, against the synchronous plan that should take as long."""

from collections.abc import Callable

import numpy as np
import pytest
from scipy import stats

from meantime import ettr
from meantime.errors import InputError


def timeline(lengths: list[np.ndarray], plan: dict[str, np.ndarray]) -> np.ndarray:
    """Hours after the start of a job at which each checkpoint is persisted, shape (segments, plans).

    Moment by moment: work at the reduced speed while the last checkpoint is being written, wait for it if it
    is not yet persisted, stand still for the copy, start to write the new one.
    """
    clock = plan["restart"].copy()
    persisted = np.full_like(clock, -np.inf)
    times = []
    for work in lengths:
        beside = np.maximum(persisted - clock, 0) * (1 - plan["slowdown"])  # work done until that is persisted
        slow = np.minimum(work, beside)
        clock = clock + slow / (1 - plan["slowdown"]) + (work - slow)
        clock = np.maximum(clock, persisted) + plan["write"]
        persisted = clock + plan["persist"]
        times.append(persisted)
    return np.array(times)


def told(rng: np.random.Generator, plan: dict[str, np.ndarray], segments: int, n: int) -> np.ndarray:
    """Wall-clock hours of n runs of each plan, the last segment of which has a length of its own."""
    plans = plan["hazard"].size
    regular = timeline([plan["interval"]] * (segments - 1), plan)
    endings = [timeline([plan["interval"]] * left + [plan["last"]], plan)[-1] for left in range(segments)]
    times, endings = np.array(regular).reshape(-1, plans), np.array(endings)
    wall, done, running = np.zeros((n, plans)), np.zeros((n, plans), int), np.ones((n, plans), bool)
    column = np.arange(plans)
    while running.any():
        failure = rng.exponential(1 / plan["hazard"], (n, plans))
        end = endings[segments - 1 - done, column]
        finished = failure >= end
        reached = np.minimum((times[:, None] <= failure).sum(0), segments - 1 - done)
        wall += np.where(running, np.where(finished, end, failure + plan["detection"]), 0)
        done = np.where(running & ~finished, done + reached, done)
        running &= ~finished
    return wall


def random_plans(rng: np.random.Generator, n: int, segments: int) -> dict[str, np.ndarray]:
    """Asynchronous plans on 1,000 to 1,000,000 GPUs, a fifth of them at the floor of the bandwidth."""
    lam = ettr.hazard_of(np.exp(rng.uniform(np.log(125), np.log(125_000), n)), np.exp(rng.uniform(-7.6, -3.9, n)))
    write, persist, restart, detection = rng.exponential([[0.02], [0.2], [0.1], [0.1]], (4, n)) / lam
    slowdown = rng.uniform(0, 0.6, n)
    floor = (1 - slowdown) * persist
    best = ettr.optimal_asynchronous_interval(lam, write, persist, slowdown=slowdown)
    interval = np.maximum(best * rng.uniform(0.5, 1.5, n), floor)
    interval = np.where(rng.random(n) < 0.2, floor, np.minimum(interval, np.maximum(floor, 2 / lam)))
    last = np.minimum(floor + (interval - floor) * rng.random(n), interval)
    return {
        "hazard": lam,
        "interval": interval,
        "write": write,
        "persist": persist,
        "restart": restart,
        "detection": detection,
        "slowdown": slowdown,
        "last": last,
        "productive": (segments - 1) * interval + last,
    }


def equivalent(plan: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    names = ("interval", "write", "persist", "restart", "slowdown", "productive")
    same = ettr.asynchronous(**{name: plan[name] for name in names})._asdict()
    return same | {name: plan[name] for name in ("hazard", "detection", "productive")}


@pytest.mark.parametrize("seed", [71])
@pytest.mark.parametrize(("plans", "runs"), [(50, 500), pytest.param(200, 5000, marks=pytest.mark.slow)])
def test_mean_of_what_is_told_is_that_of_the_synchronous_plan(
    plans: int, runs: int, seed: int, standard_normal: Callable[[np.ndarray], None]
) -> None:
    rng = np.random.default_rng(seed)
    plan = random_plans(rng, plans, segments=6)
    wall = told(rng, plan, 6, runs)
    mean, variance = ettr.wallclock_moments(**equivalent(plan))
    standard_normal((wall.mean(0) - mean) / np.sqrt(variance / runs))
    np.testing.assert_allclose(plan["productive"] / mean, ettr.renewal(**equivalent(plan)), rtol=1e-11)


@pytest.mark.parametrize("seed", [72])
def test_whole_distribution_is_that_of_the_synchronous_plan(seed: int) -> None:
    """Kolmogorov-Smirnov of 4,000 told runs on three plans: false alarms once in 1,000 a plan."""
    rng = np.random.default_rng(seed)
    plan = random_plans(rng, 3, segments=4)
    wall = told(rng, plan, 4, 4000)
    for number, runs in enumerate(wall.T):
        one = {name: value[number] for name, value in equivalent(plan).items()}
        shortest = ettr.wallclock_quantile(0.0, **one)
        assert runs.min() == pytest.approx(shortest, rel=1e-12)

        def cdf(hours: np.ndarray, one: dict[str, float] = one) -> np.ndarray:
            return ettr.wallclock_cdf(hours, **one)

        late = runs[runs > shortest * (1 + 1e-9)]
        none = ettr.wallclock_cdf(shortest, **one)
        assert abs((runs.size - late.size) / runs.size - none) < 4 * np.sqrt(none * (1 - none) / runs.size)
        assert stats.kstest((cdf(late) - none) / (1 - none), "uniform").pvalue > 1e-3


def test_the_best_interval_and_its_floor() -> None:
    lam, write, persist = 0.55, 0.002, np.array([0.0, 0.01, 0.1, 1.0])
    best = ettr.optimal_asynchronous_interval(lam, write, persist, slowdown=0.2)
    grid = np.geomspace(1e-4, 5, 200_001)[:, None]
    grid = np.where(grid >= 0.8 * persist, grid, np.nan)
    plan = ettr.asynchronous(np.nan_to_num(grid, nan=1.0), write, persist, 0.1, slowdown=0.2)
    value = np.where(np.isnan(grid), 0, ettr.renewal(lam, **plan._asdict()))
    np.testing.assert_allclose(best, grid[value.argmax(0), range(4)], rtol=2e-4)  # the maximum is flat, the grid fine
    assert best[0] == ettr.optimal_interval(lam, write)
    assert best[3] == pytest.approx(0.8)
    # Free copies, no slow-down: only the bandwidth keeps the interval from zero.
    assert ettr.optimal_asynchronous_interval(lam, 0.0, 0.3) == pytest.approx(0.3)
    assert ettr.asynchronous(0.0, 0.0, 0.3).interval == pytest.approx(0.3)


def test_without_a_background_it_is_the_plan_itself() -> None:
    assert ettr.asynchronous(0.5, 0.02, 0.0, 0.1, productive=10.2) == (0.5, 0.02, 0.1)
    # A rest of 0.2 h could not be persisted beside 0.3 h of work: 20 equal intervals instead.
    plan = ettr.asynchronous(0.5, 0.02, 0.3, 0.1, productive=10.2)
    assert plan.interval == pytest.approx(10.2 / 20)
    assert plan.restart == pytest.approx(0.4)
    assert ettr.asynchronous(0.5, 0.02, 0.3, 0.1, productive=0.2).interval == pytest.approx(0.5)
    with pytest.raises(InputError, match=r"slowdown is 1.5; expected a number from 0 to 1"):
        ettr.asynchronous(0.5, 0.02, 0.3, slowdown=1.5)
