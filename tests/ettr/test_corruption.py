"""Silent corruption, told attempt by attempt, against the closed form."""

from collections.abc import Callable

import numpy as np
import pytest

from meantime import ettr


def told(
    rng: np.random.Generator, plan: dict[str, np.ndarray], n: int, missed: Callable[[np.ndarray], np.ndarray]
) -> tuple[np.ndarray, np.ndarray]:
    """Productive and wall-clock hours from one roll-back to the next, n of them of each plan."""
    shape = (n, plan["hazard"].size)
    lam, length = plan["hazard"], plan["interval"] + plan["write"]
    kept, wall = np.zeros(shape), np.zeros(shape)
    loading, tainted, running = np.ones(shape, bool), np.zeros(shape, bool), np.ones(shape, bool)
    left = np.zeros(shape)
    while running.any():
        failure, corruption = rng.exponential(1 / lam, shape), rng.exponential(1 / plan["corruption"], shape)
        task = np.where(loading, plan["restart"], length)
        fails = failure < task
        wall += np.where(running, np.where(fails, failure + plan["detection"] + plan["queue"], task), 0)
        segment_done = running & ~fails & ~loading
        struck = segment_done & ~tainted & (corruption < length)
        left = np.where(struck, missed(plan["latency"] + 0 * left), left - (segment_done & tainted))
        tainted |= struck
        kept += segment_done & ~tainted
        noticed = segment_done & tainted & (left == 0)
        wall += np.where(noticed, plan["diagnosis"] + plan["queue"], 0)
        running &= ~noticed
        loading = fails
    return kept * plan["interval"], wall


def random_plans(rng: np.random.Generator, n: int) -> dict[str, np.ndarray]:
    """Plans on 1,000 to 1,000,000 GPUs; one to twenty segments between corruptions."""
    lam = ettr.hazard_of(np.exp(rng.uniform(np.log(125), np.log(125_000), n)), np.exp(rng.uniform(-7.6, -3.9, n)))
    write, restart, detection, queue, diagnosis = rng.exponential([[0.05], [0.2], [0.2], [0.2], [0.5]], (5, n)) / lam
    interval = np.minimum(ettr.optimal_interval(lam, write) * rng.uniform(0.3, 2, n), 2 / lam)
    return {
        "hazard": lam,
        "corruption": 1 / (interval * rng.uniform(1, 20, n)),
        "interval": interval,
        "write": write,
        "restart": restart,
        "latency": rng.exponential(2, n),
        "detection": detection,
        "queue": queue,
        "diagnosis": diagnosis,
    }


@pytest.mark.parametrize("seed", [81])
@pytest.mark.parametrize("law", ["geometric", "poisson"])
@pytest.mark.parametrize(("plans", "runs"), [(50, 300), pytest.param(200, 3000, marks=pytest.mark.slow)])
def test_closed_form_agrees_with_the_story(
    plans: int, runs: int, law: str, seed: int, standard_normal: Callable[[np.ndarray], None]
) -> None:
    """What is kept from one roll-back to the next, with two distributions of the latency of the same mean."""
    rng = np.random.default_rng(seed)
    plan = random_plans(rng, plans)
    draw = {"geometric": lambda mean: rng.geometric(1 / (1 + mean)) - 1, "poisson": rng.poisson}[law]
    saved, wall = told(rng, plan, runs, draw)
    ratio = saved.mean(0) / wall.mean(0)
    error = (saved - ratio * wall).std(0) / np.sqrt(runs) / wall.mean(0)
    standard_normal((ratio - ettr.corrupted(**plan)) / error)


def test_limits() -> None:
    plan = {"interval": 0.7, "write": 0.05, "restart": 0.1, "detection": 0.1, "queue": 0.2}
    # One is compiled, the other worked out by NumPy: the last bit of either may differ.
    same = pytest.approx(ettr.renewal(0.3, **plan), rel=4 * np.finfo(float).eps)
    assert ettr.corrupted(0.3, 0.0, **plan, latency=5.0) == same
    # No crashes, noticed at once: a failure that strikes at the end of its segment.
    x, mu = 0.75, 0.4
    expected = 0.7 * np.exp(-mu * x) / (x + (1 - np.exp(-mu * x)) * (0.3 + 0.2 + 0.1))
    assert ettr.corrupted(0.0, mu, **plan, diagnosis=0.3) == pytest.approx(expected, rel=1e-13)
    values = ettr.corrupted(0.3, 0.1, **plan, latency=np.array([0.0, 1.0, 10.0, 1e6]))
    assert (np.diff(values) < 0).all()
    assert 0 < values[-1] < 1e-4


@pytest.mark.parametrize("seed", [82])
def test_no_interval_is_better_than_the_best(seed: int) -> None:
    plan = random_plans(np.random.default_rng(seed), 50)
    del plan["interval"]
    best = ettr.optimal_corrupted_interval(**plan)
    value = ettr.corrupted(interval=best, **plan)
    for factor in np.geomspace(0.1, 10, 80):
        assert (ettr.corrupted(interval=best * factor, **plan) <= value * (1 + 1e-12)).all()
    longer = ettr.corrupted(interval=best * 1.001, **plan) / value - 1
    shorter = ettr.corrupted(interval=best / 1.001, **plan) / value - 1
    np.testing.assert_allclose(longer, shorter, rtol=0.02)  # the same loss either side: the vertex, to 1e-5


def test_edges_of_the_best_interval() -> None:
    assert ettr.optimal_corrupted_interval(0.3, 0.0, 0.05) == pytest.approx(ettr.optimal_interval(0.3, 0.05), rel=1e-6)
    assert ettr.optimal_corrupted_interval(0.0, 0.0, 0.05) == np.inf
    assert ettr.optimal_corrupted_interval(0.3, 0.1, 0.0) == 0
    # Latency counted in checkpoints: the longer it is, the shorter they should be apart.
    best = ettr.optimal_corrupted_interval(0.3, 0.1, 0.05, latency=np.array([0.0, 2.0, 20.0]))
    assert (np.diff(best) < 0).all()


@pytest.mark.parametrize("seed", [83])
def test_checkpoints_to_keep(seed: int) -> None:
    """A million geometric latencies: the shares that outlive n and n - 1 checkpoints straddle the probability."""
    assert ettr.checkpoints_to_keep(0.0, 0.01) == 2
    rng = np.random.default_rng(seed)
    for latency, probability in [(0.25, 0.01), (3.0, 0.02), (9.0, 0.1)]:
        keep = ettr.checkpoints_to_keep(latency, probability)
        tainted = rng.geometric(1 / (1 + latency), 1_000_000)
        error = 4 * np.sqrt(probability / 1_000_000)  # false alarms: 6e-5
        assert (tainted + 1 > keep).mean() < probability + error
        assert (tainted + 1 > keep - 1).mean() > probability - error
