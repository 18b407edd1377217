"""Hazards that change with time: the simulation against two stories, and the error of the renewal form."""

import random

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from meantime import ettr
from meantime.errors import InputError

PLAN = {"interval": 0.7, "write": 0.05, "restart": 0.2, "detection": 0.1, "queue": 0.3}


def ramp(productive: float, factor: float) -> tuple[np.ndarray, np.ndarray]:
    """A hazard of 0.1 per hour that grows by a factor, geometrically in 200 pieces, while the run lasts or so."""
    starts = np.linspace(0, 2 * productive, 201)[:-1]
    return starts, 0.1 * factor ** np.minimum(starts / productive / 1.3, 1)


@pytest.mark.parametrize("seed", [131])
def test_constant_hazard_is_the_simulation_of_single_runs(seed: int) -> None:
    """Kolmogorov-Smirnov, 4,000 runs each: false alarm once in 1,000 times."""
    starts = np.arange(0, 50, 0.37)
    varying = ettr.simulate_varying(seed, starts, 0.6, **PLAN, productive=10.0, n_runs=4000)
    constant = ettr.simulate(seed + 1, 0.6, **PLAN, productive=10.0, n_runs=4000)
    assert stats.ks_2samp(np.round(varying, 9), np.round(constant, 9)).pvalue > 1e-3


def thinned(rng: random.Random, hazard: list[float], starts: list[float], productive: float) -> float:
    """One run without writes and waits: failures by thinning a faster constant stream, segment by segment."""
    clock, done = 0.0, 0.0
    fastest = max(hazard)
    while done < productive - 1e-9:
        end = clock + 1.0
        while True:
            clock += rng.expovariate(fastest)
            if clock >= end:
                clock, done = end, done + 1.0
                break
            now = hazard[max(i for i, start in enumerate(starts) if start <= clock)]
            if rng.random() < now / fastest:
                break
    return clock


@pytest.mark.parametrize("seed", [132])
def test_simulation_agrees_with_a_thinned_stream(seed: int) -> None:
    """A quiet time, an outbreak, none at all, and again: 2,000 told runs, false alarm once in 1,000 times."""
    starts, hazard = [0.0, 2.0, 6.0, 9.0], [0.2, 2.5, 0.0, 1.0]
    rng = random.Random(seed)
    told = [thinned(rng, hazard, starts, 6.0) for _ in range(2000)]
    wall = ettr.simulate_varying(seed, starts, hazard, 1.0, productive=6.0, n_runs=20_000)
    assert stats.ks_2samp(np.round(told, 9), np.round(wall, 9)).pvalue > 1e-3


@pytest.mark.parametrize("seed", [133])
@pytest.mark.parametrize(
    ("factor", "productive", "followed", "mean_hazard", "first_hazard"),
    [(3, 300.0, 5e-4, 0.002, -0.071), (10, 300.0, 1e-3, 0.053, -0.298), (3, 50.0, 2e-3, 0.001, -0.072)],
)
def test_errors_of_the_renewal_form(
    factor: float, productive: float, followed: float, mean_hazard: float, first_hazard: float, seed: int
) -> None:
    """The bounds that the docstring states, and 4 errors of 10,000 runs (below 0.003 here)."""
    starts, hazard = ramp(productive, factor)
    wall = ettr.simulate_varying(seed, starts, hazard, **PLAN, productive=productive, n_runs=10_000)
    error = 4 * wall.std() / wall.mean() / 100
    assert error < 0.003
    assert ettr.varying_wallclock(starts, hazard, **PLAN, productive=productive) / wall.mean() == pytest.approx(
        1, abs=followed + error
    )
    for value, off in ((hazard[starts < wall.mean()].mean(), mean_hazard), (hazard[0], first_hazard)):
        plain = productive / ettr.renewal(value, **PLAN, productive=productive)
        assert plain / wall.mean() - 1 == pytest.approx(off, abs=0.002 + error)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [134])
def test_200_random_courses_of_the_hazard(seed: int) -> None:
    """Rates of weeks that wander, 1,000 to 1,000,000 GPUs, at least 30 failures: within 0.5 % and 4 errors."""
    rng = np.random.default_rng(seed)
    for _ in range(200):
        gpus = np.exp(rng.uniform(np.log(1e3), np.log(1e6)))
        lam = ettr.hazard_of(gpus / 8, np.exp(rng.uniform(-7.6, -3.9)))
        write, restart, detection, queue = rng.exponential([0.02, 0.05, 0.05, 0.05]) / lam
        interval = ettr.optimal_interval(lam, write) * rng.uniform(0.5, 1.5)
        plan = {"write": write, "restart": restart, "detection": detection, "queue": queue}
        productive = np.ceil(rng.uniform(30, 60) / lam / interval) * interval
        starts = np.arange(12) * productive / 8
        hazard = lam * np.exp(np.cumsum(rng.normal(0, 0.3, 12)))
        wall = ettr.simulate_varying(seed, starts, hazard, interval, **plan, productive=productive, n_runs=1000)
        value = ettr.varying_wallclock(starts, hazard, interval, **plan, productive=productive)
        assert value == pytest.approx(wall.mean(), rel=0.005, abs=4 * wall.std() / np.sqrt(1000))


@pytest.mark.parametrize("seed", [135])
def test_several_courses_at_once(seed: int) -> None:
    """Each course has its own mean: that of the exact form, within 4 errors of 4,000 runs."""
    hazards = np.array([0.2, 0.6])[:, None] * np.ones(3)
    wall = ettr.simulate_varying(seed, [0.0, 2.0, 9.0], hazards, **PLAN, productive=10.0, n_runs=4000)
    assert wall.shape == (2, 4000)
    exact = 10.0 / ettr.renewal(hazards[:, 0], **PLAN, productive=10.0)
    np.testing.assert_array_less(abs(wall.mean(axis=1) - exact), 4 * wall.std(axis=1) / np.sqrt(4000))


def test_float32_and_gradients_of_a_run_that_is_followed() -> None:
    """Against the float64 values, and their differences; the run ends within the fourth of five pieces."""
    starts, hazard = np.array([0.0, 20.0, 50.0, 90.0, 300.0]), np.array([0.1, 0.4, 0.2, 0.6, 0.3])
    plan = {name: np.float64(value) for name, value in {**PLAN, "productive": 80.0}.items()}

    def wall(hazard: object, plan: dict[str, object]) -> object:
        return ettr.varying_wallclock(starts, hazard, **plan)  # type: ignore[arg-type]

    low = wall(jnp.asarray(hazard, jnp.float32), {name: jnp.float32(value) for name, value in plan.items()})
    assert low.dtype == jnp.float32  # type: ignore[attr-defined]
    assert float(low) == pytest.approx(float(wall(hazard, plan)), rel=1e-6)  # type: ignore[arg-type]
    with jax.enable_x64(True):
        arrays = {name: jnp.asarray(value) for name, value in plan.items()}
        by_hazard, by_plan = jax.grad(wall, (0, 1))(jnp.asarray(hazard), arrays)  # type: ignore[arg-type]
    for name, value in plan.items():
        ahead, behind = (float(wall(hazard, plan | {name: value * (1 + h)})) for h in (1e-6, -1e-6))  # type: ignore[arg-type]
        assert float(by_plan[name]) * value == pytest.approx((ahead - behind) / 2e-6, rel=1e-5, abs=1e-6)
    for piece in range(5):
        ahead, behind = (float(wall(hazard * (1 + h * (np.arange(5) == piece)), plan)) for h in (1e-6, -1e-6))  # type: ignore[arg-type]
        assert float(by_hazard[piece]) * hazard[piece] == pytest.approx((ahead - behind) / 2e-6, rel=1e-5, abs=1e-6)
    assert by_hazard[4] == 0


def test_constant_hazard_is_nearly_the_exact_form() -> None:
    exact = 300 / ettr.renewal(0.4, **PLAN, productive=300.0)
    starts = np.arange(0, 1000, 24.0)
    assert ettr.varying_wallclock(starts, 0.4, **PLAN, productive=300.0) == pytest.approx(exact, rel=1e-3)
    assert ettr.varying_wallclock([0.0], [0.0], 0.7, 0.05, 0.2, productive=70.0) == pytest.approx(0.2 + 75)
    with pytest.raises(InputError, match=r"starts is \[1.0, 2.0\]; expected hours in one dimension that rise from 0"):
        ettr.simulate_varying(1, [1.0, 2.0], 0.1, 1.0, productive=1.0)
