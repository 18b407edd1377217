"""The inverted distribution of the wall-clock time against simulation, elementary cases and exact moments."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime import ettr
from meantime.errors import InputError

RANDOM = {"detection_sd": 0.3, "queue_sd": 0.5, "hang_share": 0.2, "hang_timeout": 2.0}
PLANS = [
    {"hazard": 0.5, "interval": 1.0, "write": 0.1, "restart": 0.2, "detection": 0.1, "queue": 0.3, "productive": 10.4},
    {"hazard": 4.0, "interval": 0.1, "write": 0.05, "restart": 0.1, "detection": 0.0, "queue": 0.0, "productive": 2.0},
    {"hazard": 0.02, "interval": 0.1, "write": 0.05, "restart": 2, "detection": 3.0, "queue": 0.0, "productive": 20.0},
    {"hazard": 4.0, "interval": 0.02, "write": 0.001, "restart": 0.1, "detection": 0.3, "queue": 0, "productive": 99.0},
    {"hazard": 2.5, "interval": 2.0, "write": 0.1, "restart": 0.2, "detection": 0.0, "queue": 0.0, "productive": 4.0},
    {"hazard": 0.5, "interval": 1.0, "write": 0.1, "restart": 0.2, "detection": 0.1, "queue": 0.3, "productive": 10.4}
    | RANDOM,
    {"hazard": 0.1, "interval": 5.0, "write": 0.0, "restart": 0.0, "detection": 0.0, "queue": 0.4, "productive": 5.0}
    | {"queue_sd": 0.8},
]


@pytest.mark.parametrize("seed", [41])
@pytest.mark.parametrize("plan", PLANS)
def test_cdf_and_quantiles_agree_with_simulation(plan: dict[str, float], seed: int) -> None:
    """Distance of Kolmogorov and Smirnov from 20,000 simulated runs: above 2.23 / sqrt(n) once in 10,000 times a plan.

    The hours are moved by a thousandth of their spread either way, the blur of the inversion.
    """
    n = 20_000
    wall = np.sort(ettr.simulate(seed, **plan, n_runs=n))
    hours = np.linspace(wall[0] - 0.01, wall[-1], 500)
    blur = 2e-3 * wall.std()
    below = np.searchsorted(wall - blur - 1e-9, hours, side="right") / n
    above = np.searchsorted(wall + blur - 1e-9, hours, side="right") / n
    probability = ettr.wallclock_cdf(hours, **plan)
    assert (probability <= below + 2.23 / np.sqrt(n)).all()
    assert (probability >= above - 2.23 / np.sqrt(n)).all()
    levels = np.array([0.0, 0.05, 0.5, 0.9, 0.999])
    at = ettr.wallclock_quantile(levels, **plan)
    assert ettr.wallclock_cdf(at[2], **plan) >= 0.5 - 1e-6
    # A simulated share below the quantile is binomial: 4.5 errors, false alarms once in 10,000 a plan.
    shares = np.array([(wall <= t + blur).mean() for t in at])
    assert (shares > levels - 4.5 * np.sqrt(levels * (1 - levels) / n) - 1e-12).all()


@pytest.mark.parametrize("plan", PLANS)
def test_mean_and_variance_of_the_distribution_are_the_exact_ones(plan: dict[str, float]) -> None:
    """E[W] and E[W^2] as integrals of 1 - F, against the closed form. The blur of a steep start costs 1e-4."""
    mean, variance = ettr.wallclock_moments(**plan)
    hours = np.linspace(0, mean + 40 * np.sqrt(variance), 200_001)
    survival = 1 - ettr.wallclock_cdf(hours, **plan)
    assert np.trapezoid(survival, hours) == pytest.approx(mean, rel=2e-4)
    second = np.trapezoid(2 * hours * survival, hours)
    assert second - mean**2 == pytest.approx(variance, rel=2e-3)


def test_up_to_one_failure_it_is_elementary() -> None:
    """One segment of x hours, no restart, a fixed wait: until a second failure fits in, F is e^-lx (2 - e^-lz)."""
    lam, x, wait = 0.3, 2.0, 3.0
    z = np.linspace(0.05, 1.95, 50)  # the blur of 0.01 h shows at the ends, where the density jumps
    plan = {"interval": 9.0, "productive": x, "detection": wait}
    exact = np.exp(-lam * x) * (2 - np.exp(-lam * z))
    np.testing.assert_allclose(ettr.wallclock_cdf(x + wait + z, lam, **plan), exact, atol=1e-5)
    before = np.array([1.9, 2.0, 2.1, 4.9])
    np.testing.assert_allclose(
        ettr.wallclock_cdf(before, lam, **plan), np.where(before < 2, 0, np.exp(-lam * x)), atol=1e-7
    )
    assert ettr.wallclock_quantile(0.5, lam, **plan) == 2.0
    p = np.exp(-lam * x) * (2 - np.exp(-lam * 0.8))
    assert ettr.wallclock_quantile(p, lam, **plan) == pytest.approx(x + wait + 0.8, abs=1e-4)


def test_without_failures_and_with_few() -> None:
    plan = {"interval": 2.0, "write": 0.1, "restart": 0.3, "queue": 0.5, "productive": 21.0}
    np.testing.assert_array_equal(ettr.wallclock_cdf([22.8, 22.9, 23.0], 0.0, **plan), [0, 1, 1])
    np.testing.assert_allclose(ettr.wallclock_quantile([0, 0.5, 1.0], 0.0, **plan), 22.9)
    # A failure in a million runs: its probability keeps its digits beside the atom.
    rare = ettr.wallclock_cdf(23.3, 1e-8, **plan)
    assert 1 - rare == pytest.approx(1e-8 * 22.4, rel=0.05)


def test_a_year_on_131072_gpus_is_nearly_normal() -> None:
    lam = ettr.hazard_of(131072 / 8, 6.5e-3)
    plan = {"interval": 0.05, "write": 30 / 3600, "restart": 5 / 60, "productive": 8766.0}
    mean, variance = ettr.wallclock_moments(lam, **plan)
    quantiles = ettr.wallclock_quantile([0.023, 0.5, 0.977], lam, **plan)
    np.testing.assert_allclose((quantiles - mean) / np.sqrt(variance), [-2, 0, 2], atol=0.03)


def test_float32() -> None:
    hours = [12.0, 18.0, 25.0, 40.0]
    narrow = ettr.wallclock_cdf(jnp.asarray(hours), **PLANS[5])
    assert narrow.dtype == jnp.float32
    np.testing.assert_allclose(narrow, ettr.wallclock_cdf(hours, **PLANS[5]), atol=1e-5)


@pytest.mark.slow
def test_gradient() -> None:
    plan = PLANS[5]
    with jax.enable_x64(True):
        arrays = {name: jnp.asarray(value) for name, value in plan.items()}
        gradient = jax.grad(lambda p: ettr.wallclock_cdf(22.0, **p))(arrays)
    for name, value in plan.items():
        h = 1e-4 * value
        ahead, behind = (ettr.wallclock_cdf(22.0, **plan | {name: value + s * h}) for s in (1, -1))
        # The points of the series move with the plan in the differences, and not in the derivative.
        assert gradient[name] == pytest.approx((ahead - behind) / (2 * h), rel=5e-3, abs=1e-5)


def test_shapes_and_refusals() -> None:
    plan = {"interval": np.array([[0.5], [1.0]]), "productive": 10.0}
    hours = [10.0, 12.0, 15.0, 20.0]
    several = ettr.wallclock_cdf(hours, np.array([0.1, 0.2, 0.3]), **plan)
    assert several.shape == (4, 2, 3)
    np.testing.assert_allclose(several[:, 1, 2], ettr.wallclock_cdf(hours, 0.3, 1.0, productive=10.0), rtol=1e-12)
    assert isinstance(ettr.wallclock_cdf(12.0, 0.1, 1.0, productive=10.0), float)
    with pytest.raises(InputError, match=r"hours has shape \(1, 2\); expected a number or one dimension"):
        ettr.wallclock_cdf([[1.0, 2.0]], 0.1, 1.0, productive=10.0)
    with pytest.raises(InputError, match=r"probabilities is 1.5; expected a number from 0 to 1"):
        ettr.wallclock_quantile(1.5, 0.1, 1.0, productive=10.0)
    with pytest.raises(InputError, match="productive is inf; expected a finite number of hours"):
        ettr.wallclock_cdf(1.0, 0.1, 1.0, productive=np.inf)
    with pytest.raises(InputError, match="resolution is 5; expected an even number"):
        ettr.wallclock_cdf(1.0, 0.1, 1.0, productive=10.0, resolution=5)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [42])
def test_200_random_plans(seed: int) -> None:
    """1,000 to 1,000,000 GPUs, waits of all kinds, 4,000 runs each: shares of runs below five quantiles.

    Binomial, so 1,000 of them lie beyond 3 errors 2.7 times on average (more than 9 once in 1,000 times) and one
    beyond 4.7 once in 400 times. Mean and variance as in the other comparisons: 4.7 errors of the mean, once in 2,000.
    """
    rng, n = np.random.default_rng(seed), 4000
    lam = ettr.hazard_of(np.exp(rng.uniform(np.log(125), np.log(125_000), 200)), np.exp(rng.uniform(-7.6, -3.9, 200)))
    write, restart, detection, queue = rng.exponential([[0.05], [0.3], [0.3], [0.3]], (4, 200)) / lam
    interval = np.minimum(ettr.optimal_interval(lam, write) * rng.uniform(0.3, 2, 200), 2 / lam)
    plan = {
        "hazard": lam,
        "interval": interval,
        "write": write,
        "restart": restart,
        "detection": detection,
        "queue": queue,
        "detection_sd": detection * rng.choice([0, 0.3, 1, 2], 200),
        "queue_sd": queue * rng.choice([0, 0.3, 1, 2], 200),
        "hang_share": rng.choice([0, 0.1, 0.5], 200),
        "hang_timeout": rng.exponential(1, 200) / lam,
        "productive": interval * rng.uniform(0.3, 30, 200),
    }
    wall = ettr.simulate(seed, **plan, n_runs=n)
    mean, variance = ettr.wallclock_moments(**plan)
    assert (abs(wall.mean(0) - mean) < 4.7 * np.sqrt(variance / n)).all()
    levels = np.array([0.1, 0.25, 0.5, 0.75, 0.9])[:, None]
    quantiles = ettr.wallclock_quantile(levels[:, 0], **plan)
    blur = 3e-3 * np.sqrt(variance)
    below, above = ((wall <= quantiles[:, None] + sign * blur).mean(1) for sign in (-1, 1))
    error = np.sqrt(levels * (1 - levels) / n)
    z = np.maximum((levels - above) / error, (below - levels) / error)  # how far outside either blurred share
    assert (z > 3).sum() <= 9
    assert z.max() < 4.7


durations = st.floats(np.log(1 / 3600), np.log(8766.0)).map(lambda x: float(np.exp(x)))


@settings(max_examples=60, deadline=None)
@given(
    gpus=st.integers(1, 1_000_000), rate=st.floats(1e-4, 1.0), plan=st.tuples(*[durations] * 9), hang=st.floats(0, 1)
)
def test_it_is_a_distribution_whatever_the_plan(gpus: int, rate: float, plan: tuple[float, ...], hang: float) -> None:
    """From 1 to 1,000,000 GPUs, from 1 second to 1 year of every duration."""
    names = ("interval", "write", "restart", "detection", "queue", "detection_sd", "queue_sd", "hang_timeout")
    *values, productive = plan
    run = dict(zip(names, values, strict=True)) | {"productive": productive, "hang_share": hang}
    hazard = ettr.hazard_of(gpus / 8, rate)
    quantiles = ettr.wallclock_quantile([0.0, 0.01, 0.5, 0.99], hazard, **run)
    assert np.isfinite(quantiles).all()
    assert (np.diff(quantiles) >= 0).all()
    assert quantiles[0] >= productive
    probability = ettr.wallclock_cdf(np.append(quantiles, 1e300), hazard, **run)
    assert ((probability >= 0) & (probability <= 1)).all()
    assert (np.diff(probability) >= -1e-9).all()
