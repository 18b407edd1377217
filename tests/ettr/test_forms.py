"""All closed forms between their limits, in both precisions, and their derivatives."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime import ettr

SECOND, YEAR = 1 / 3600, 8766.0
durations = st.floats(np.log(SECOND), np.log(YEAR)).map(lambda x: float(np.clip(np.exp(x), SECOND, YEAR)))
shares = st.floats(0, 1)

type Plan = dict[str, Any]


def limited(p: Plan) -> Any:
    limits = {"lifetime": p["e"], "preemption": 1 / p["f"], "protected": p["g"]}
    return ettr.limited(p["lam"], p["a"], p["b"], p["c"], detection=p["d"], queue=p["d"], **limits)


def corrupted(p: Plan) -> Any:
    waits = {"detection": p["d"], "queue": p["e"], "diagnosis": p["f"]}
    return ettr.corrupted(p["lam"], p["lam"] * p["x"], p["a"], p["b"], p["c"], latency=3 * p["y"], **waits)


def multilevel(p: Plan) -> Any:
    last = [p["lam"] * p["x"], p["lam"] * (1 - p["x"])], [p["b"], p["c"]], [p["d"], p["e"]], [p["f"], p["g"]]
    hazard, write, restart, wait = (jnp.stack(v, -1) if isinstance(v[0], jax.Array) else np.stack(v, -1) for v in last)
    every = 1 + 20 * p["y"]
    return ettr.multilevel(hazard, p["a"], write, restart, every=every[..., None], wait=wait)


def asynchronous(p: Plan) -> Any:
    plan = ettr.asynchronous(p["a"], p["b"], p["c"], p["d"], slowdown=p["x"])
    return ettr.renewal(p["lam"], *plan, detection=p["e"])


def breakdown(p: Plan) -> Any:
    return ettr.breakdown(p["lam"], p["a"], p["b"], p["c"], detection=p["d"], queue=p["e"]).productive


def elastic(p: Plan) -> Any:
    """A pool for a job of the same hazard, repairs of up to 20 times the MTTF: the loop is as long as the load."""
    return ettr.elastic_run(64.0, 4.0, p["lam"] * 24 / 64, 20 * p["y"] / p["lam"], group=8.0).width


def standing(p: Plan) -> Any:
    pool = ettr.spare_pool(64.0, 4.0, p["lam"] * 24 / 64, 20 * p["y"] / p["lam"], standby=p["x"])
    return 1 - pool.short


FORMS: dict[str, Callable[[Plan], Any]] = {
    form.__name__: form for form in (limited, corrupted, multilevel, asynchronous, breakdown, elastic, standing)
}


@settings(max_examples=100, deadline=None)
@given(gpus=st.integers(1, 1_000_000), rate=st.floats(1e-4, 1.0), hours=st.tuples(*[durations] * 7), x=shares, y=shares)
def test_nothing_leaves_the_unit_interval(gpus: int, rate: float, hours: tuple[float, ...], x: float, y: float) -> None:
    """From 1 to 1,000,000 GPUs, from 1 second to 1 year of every duration, in float64 and float32."""
    lam = ettr.hazard_of(gpus / 8, rate)
    plan = dict(zip("abcdefg", hours, strict=True)) | {"lam": lam, "x": x, "y": y}
    wide = {name: np.float64(value) for name, value in plan.items()}
    narrow = {name: jnp.float32(value) for name, value in plan.items()}
    for name, form in FORMS.items():
        value, low = form(wide), form(narrow)
        assert 0 < value <= 1, name  # 1 only where the loss is below the rounding of 1
        assert value < 1 or name in ("elastic", "standing"), name
        assert low.dtype == jnp.float32
        assert 0 < low <= 1, name


@settings(max_examples=50, deadline=None)
@given(gpus=st.integers(8, 1_000_000), rate=st.floats(1e-4, 1.0), hours=st.tuples(*[durations] * 4), x=shares)
def test_best_intervals_are_positive_numbers(gpus: int, rate: float, hours: tuple[float, ...], x: float) -> None:
    lam = ettr.hazard_of(gpus / 8, rate)
    write, more, restart, persist = hours
    assert 0 < ettr.optimal_asynchronous_interval(lam, write, persist, slowdown=x) < np.inf
    assert 0 < ettr.optimal_corrupted_interval(lam, lam * x, write, restart, latency=10 * x) < np.inf
    assert 0 < ettr.robust_interval(np.array([lam, lam * (x + 0.01)]), write, restart) < np.inf
    best = ettr.optimal_levels(np.array([lam * x, lam * (1 - x)]), np.array([write, write + more]), restart)
    assert 0 < best.interval < np.inf
    assert 1 <= best.every <= 1e6
    assert best.every % 1 == 0


QUICK = ("corrupted", "limited")


@pytest.mark.parametrize("seed", [151])
@pytest.mark.parametrize(
    "name", [name if name in QUICK else pytest.param(name, marks=pytest.mark.slow) for name in FORMS]
)
def test_float32_and_gradients(name: str, seed: int) -> None:
    """200 plans: float32 against float64, and every partial derivative against differences of the float64 values.

    Twenty or so roundings of 6e-8 in the loss, amplified where probabilities of 1 in 1e4 are complements.
    Differences: 1e-6 of truncation and rounding, more where a segment is one more or one less.
    """
    rng = np.random.default_rng(seed)
    lam = ettr.hazard_of(np.exp(rng.uniform(np.log(125), np.log(125_000), 200)), np.exp(rng.uniform(-7.6, -3.9, 200)))
    hours = np.exp(rng.uniform(np.log(0.03), np.log(0.5), (7, 200))) / lam
    hours[4] *= 8  # the lifetime of jobs
    plan = dict(zip("abcdefg", hours, strict=True)) | {"lam": lam, "x": rng.random(200), "y": rng.random(200)}
    form = FORMS[name]
    value = form(plan)
    low = form({key: jnp.asarray(column, jnp.float32) for key, column in plan.items()})
    np.testing.assert_allclose(low, value, rtol=1e-5, atol=1e-6)
    with jax.enable_x64(True):
        arrays = {key: jnp.asarray(column) for key, column in plan.items()}
        gradient = {key: np.asarray(part) for key, part in jax.grad(lambda p: form(p).sum())(arrays).items()}
    for key, column in plan.items():
        step = 1e-6 * column
        ahead, behind = (form(plan | {key: column + sign * step}) for sign in (1, -1))
        slope = (ahead - behind) / 2e-6
        assert np.isfinite(gradient[key]).all()
        off = np.abs(gradient[key] * column - slope) > 1e-5 * (value + np.abs(slope)) + 1e-8
        assert off.mean() < (0.02 if name == "limited" else 0.001), key


def test_gradients_of_losses_and_incidents() -> None:
    """Linear in the rates, so the gradient is the value over the rate; by the hit it is a difference of two counts."""
    rates = jnp.array([1e-3, 5e-3])
    with jax.enable_x64(True):
        rates = jnp.asarray(np.array([1e-3, 5e-3]))

        def lost(rate: jax.Array) -> jax.Array:
            losses = ettr.failure_losses(
                jnp.array([8.0, 1024.0]), jnp.array([800.0, 4096.0]), rate, priority=jnp.array([0.0, 1.0]), taken=0.1
            )
            return losses.first.sum() + losses.second.sum()

        assert rates @ jax.grad(lost)(rates) == pytest.approx(float(lost(rates)), rel=1e-12)

        def hazard(rate: jax.Array) -> jax.Array:
            return ettr.incident_hazard(2048.0, 256.0, jnp.array([1.0, 80.0]), rate)

        assert rates @ jax.grad(hazard)(rates) == pytest.approx(float(hazard(rates)), rel=1e-12)

        def wall(hazards: jax.Array) -> jax.Array:
            return ettr.varying_wallclock(jnp.array([0.0, 24.0]), hazards, 0.7, 0.05, 0.2, productive=60.0)

        slope = jax.grad(wall)(jnp.asarray(np.array([0.1, 0.3])))
        for place in (0, 1):
            step = np.eye(2)[place] * 1e-6
            difference = (wall(np.array([0.1, 0.3]) + step) - wall(np.array([0.1, 0.3]) - step)) / 2e-6
            assert slope[place] == pytest.approx(float(difference), rel=1e-6)
