"""The exact form between its limits: never outside (0, 1), never NaN, smooth at zero and at infinity."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime import ettr

SECOND, YEAR = 1 / 3600, 8766.0
durations = st.floats(SECOND, YEAR) | st.floats(np.log(SECOND), np.log(YEAR)).map(
    lambda x: float(np.clip(np.exp(x), SECOND, YEAR))
)
plans = st.tuples(*[durations] * 6)
gpus = st.integers(1, 1_000_000)
rates = st.floats(1e-4, 1.0)


@settings(max_examples=400, deadline=None)
@given(gpus=gpus, rate=rates, plan=plans, endless=st.booleans(), last_write=st.booleans())
def test_nothing_leaves_the_unit_interval(
    gpus: int, rate: float, plan: tuple[float, ...], endless: bool, last_write: bool
) -> None:
    """From 1 to 1,000,000 GPUs, from 1 second to 1 year of every duration."""
    interval, write, restart, detection, queue, productive = plan
    hazard = ettr.hazard_of(gpus / 8, rate)
    run = {"detection": detection, "queue": queue, "productive": np.inf if endless else productive}
    value = ettr.renewal(hazard, interval, write, restart, **run, last_write=last_write)
    assert 0 < value < 1
    best = ettr.optimal_interval(hazard, write)
    assert 0 < best <= 1 / hazard
    assert 0 < ettr.renewal(hazard, best, write, restart, **run) < 1
    assert value <= ettr.renewal(hazard, best, write, restart, **run) * (1 + 1e-12) or not endless
    assert np.isfinite(ettr.kokolis(hazard, interval, write, restart, queue=queue, productive=run["productive"]))

    narrow = [jnp.float32(x) for x in (hazard, interval, write, restart)]
    low = ettr.renewal(*narrow, **{name: jnp.float32(x) for name, x in run.items()}, last_write=last_write)
    assert low.dtype == jnp.float32
    assert 0 < low <= 1  # in float32 a loss below 6e-8 is lost in rounding


@settings(max_examples=100, deadline=None)
@given(gpus=gpus, rate=rates, plan=plans, seed=st.integers(0, 2**32))
def test_realised_ettr_is_a_number_in_the_unit_interval(
    gpus: int, rate: float, plan: tuple[float, ...], seed: int
) -> None:
    interval, write, restart, detection, queue, productive = plan
    run = {"detection": detection, "queue": queue, "productive": productive}
    wall = ettr.sample_wallclock(seed, ettr.hazard_of(gpus / 8, rate), interval, write, restart, **run)
    assert productive < wall < np.inf


def test_without_failures_only_the_planned_losses_are_left() -> None:
    for last_write, writes in ((True, 11), (False, 10)):
        value = ettr.renewal(0.0, 2.0, 0.1, 0.3, detection=9.0, queue=0.5, productive=21.0, last_write=last_write)
        assert value == pytest.approx(21 / (0.5 + 0.3 + 21 + writes * 0.1), rel=1e-14)
    assert ettr.renewal(0.0, 2.0, 0.1, 0.3, detection=9.0, queue=0.5) == pytest.approx(2 / 2.1, rel=1e-15)
    assert ettr.renewal(0.0, 2.0) == 1


def test_the_segments_of_a_run_are_counted_exactly() -> None:
    def written_out(lam: float, tau: float, w: float, u0: float, d: float, q: float, run: float) -> float:
        wall, left = q + (1 / lam + d) * np.expm1(lam * u0), run
        while left > 1e-9:
            part = min(tau, left)
            wall += (1 / lam + d) * np.exp(lam * u0) * np.expm1(lam * (part + w))
            left -= part
        return run / wall

    for tau, run in [(0.5, 10.0), (0.7, 10.0), (1 / 12, 30.0), (0.1, 0.3), (3.0, 2.0), (2.0, 2.0)]:
        plan = (0.4, tau, 0.02, 0.1)
        value = ettr.renewal(*plan, detection=0.05, queue=0.2, productive=run)
        assert value == pytest.approx(written_out(*plan, 0.25, 0.2, run), rel=1e-12)


def test_limits_are_approached_smoothly() -> None:
    plan = {"interval": 0.7, "write": 0.02, "restart": 0.1, "detection": 0.05, "queue": 0.2}
    assert ettr.renewal(1e-12, **plan) == pytest.approx(ettr.renewal(0.0, **plan), rel=1e-11)
    assert ettr.renewal(0.4, **plan, productive=1e12) == pytest.approx(ettr.renewal(0.4, **plan), rel=1e-11)
    assert ettr.renewal(0.4, 1e-12, 0.0, 0.1) == pytest.approx(ettr.renewal(0.4, 0.0, 0.0, 0.1), rel=1e-11)
    assert ettr.renewal(0.4, 1.0, 1e-12, 0.1) == pytest.approx(ettr.renewal(0.4, 1.0, 0.0, 0.1), rel=1e-11)
    assert ettr.renewal(0.4, 0.0, 0.0, 0.1, productive=9.0) == pytest.approx(
        ettr.renewal(0.4, 1e-9, 0.0, 0.1, productive=9.0), rel=1e-8
    )
    assert ettr.kokolis(0.4, 1.0, 0.01, 0.1, queue=0.2, productive=1e12) == pytest.approx(
        ettr.kokolis(0.4, 1.0, 0.01, 0.1, queue=0.2), rel=1e-11
    )


def test_the_paper_form_is_the_first_order_of_the_exact_one() -> None:
    """With hazard and write small together the two differ at second order: a tenth of both, a hundredth of it."""
    gaps = []
    for small in (1e-3, 1e-4):
        plan = (small, 1.0, small, 0.5)
        gaps.append(abs(ettr.renewal(*plan) - ettr.kokolis(*plan)))
    assert gaps[0] / gaps[1] == pytest.approx(100, rel=0.02)


def test_hopeless_plans_have_the_smallest_ettr() -> None:
    tiny = np.finfo(np.float64).tiny
    assert ettr.renewal(34.0, 8766.0) == tiny
    assert ettr.renewal(0.1, np.inf) == tiny
    assert ettr.renewal(0.1, 0.0, 0.1) == tiny
    assert ettr.renewal(jnp.float32(34.0), 8766.0) == np.finfo(np.float32).tiny


@pytest.mark.parametrize("seed", [7])
def test_float32_agrees_with_float64(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plan = np.exp(rng.uniform(np.log(SECOND), np.log(100), (6, 20_000))).astype(np.float32)
    hazard = np.exp(rng.uniform(np.log(1e-5), np.log(34), 20_000)).astype(np.float32)
    productive = np.where(rng.random(20_000) < 0.5, np.inf, plan[5]).astype(np.float32)

    def value(*arrays: object) -> jax.Array:
        *plan, detection, queue, productive = arrays
        return ettr.renewal(*plan, detection=detection, queue=queue, productive=productive)

    arrays = (hazard, *plan[:5], productive)
    wide, narrow = value(*arrays), value(*(jnp.asarray(a) for a in arrays))
    quotient = productive / plan[0]
    with np.errstate(invalid="ignore"):
        cut_alike = ~(np.abs(quotient - np.round(quotient)) < 1e-5 * quotient)  # elsewhere one write more or less
    keep = cut_alike & (wide > 1e-30)
    assert keep.mean() > 0.5
    # The loss -log(ETTR) is a sum of a dozen rounded terms: a few units of 6e-8 in it, and in the ETTR one more.
    loss = -np.log(wide[keep])
    assert np.max(np.abs(np.log(narrow[keep].astype(float)) + loss) / (1 + loss)) < 1e-6
