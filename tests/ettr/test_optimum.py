"""The optimal interval against 60-digit arithmetic, numerical optimisation and published values."""

from decimal import Decimal, localcontext

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, special

from meantime import ettr


def precise(write: float) -> float:
    """1 + W0(-e^(-w - 1)) by Newton's iteration with 60 digits."""
    with localcontext(prec=60):
        a = Decimal(write)
        x = 1 - (-1 - a).exp()
        for _ in range(100):
            x -= (x + (-(x + a)).exp() - 1) / (1 - (-(x + a)).exp())
        return float(x)


WRITES = np.geomspace(1e-12, 1e3, 121)


def test_all_digits_in_float64() -> None:
    expected = np.array([precise(w) for w in WRITES])
    # A few units in the last place, also near the branch point, where the plain Lambert W has lost half its digits.
    np.testing.assert_allclose(ettr.optimal_interval(1.0, WRITES), expected, rtol=1e-15)
    plain = 1 + special.lambertw(-np.exp(-WRITES - 1)).real
    assert abs(plain[0] / expected[0] - 1) > 1e-6
    np.testing.assert_allclose(ettr.optimal_interval(1.0, WRITES[60:]), plain[60:], rtol=1e-9)


def test_float32_keeps_its_digits() -> None:
    writes = jnp.asarray(WRITES, jnp.float32)
    expected = np.array([precise(float(w)) for w in writes])
    interval = ettr.optimal_interval(jnp.float32(1.0), writes)
    assert interval.dtype == jnp.float32
    np.testing.assert_allclose(interval, expected, rtol=4e-7)  # three to four units in the last place


@pytest.mark.parametrize("hazard", [0.002, 0.55, 4.4, 34.0])
@pytest.mark.parametrize("write", [1 / 3600, 1 / 12, 0.5])
def test_it_maximises_the_ettr_whatever_restart_and_waits_are(hazard: float, write: float) -> None:
    interval = ettr.optimal_interval(hazard, write)
    for restart, detection, queue in [(0, 0, 0), (0.3, 0, 0), (0.05, 0.2, 0.1)]:

        def loss(tau: float, u0: float = restart, d: float = detection, q: float = queue) -> float:
            return -np.log(ettr.renewal(hazard, tau, write, u0, detection=d, queue=q))

        found = optimize.minimize_scalar(loss, bounds=(interval / 10, interval * 10), options={"xatol": 1e-10})
        # A minimum located by its values is known to the square root of their rounding, here 1e-7 or so.
        assert found.x == pytest.approx(interval, rel=2e-6)


def test_free_writes_and_no_failures() -> None:
    assert ettr.optimal_interval(0.1, 0.0) == 0
    assert ettr.optimal_interval(0.0, 0.1) == np.inf
    assert ettr.optimal_interval(0.0, 0.0) == 0
    assert ettr.optimal_interval(1e-200, 1e-200) == pytest.approx(np.sqrt(2), rel=1e-14)
    assert ettr.renewal(0.5, 0.0, 0.0, 0.2, detection=0.3) == pytest.approx(np.exp(-0.1) / 1.15, rel=1e-14)
    assert ettr.renewal(0.0, np.inf, 0.1, 0.2, detection=0.3) == 1


@pytest.mark.parametrize(("mttf", "minutes"), [(24, 117), (6, 57), (0.25, 9.1)])
def test_daly_as_published(mttf: float, minutes: float) -> None:
    """Dumps of 5 minutes: the optima stated under figures 3 to 5 of Daly (2006)."""
    assert ettr.daly(1 / mttf, 5 / 60) * 60 == pytest.approx(minutes, abs=0.5 if minutes > 10 else 0.05)


def test_young_and_daly_approach_the_optimum_at_their_orders() -> None:
    small, smaller = 1e-4, 1e-6
    for estimate, order in ((ettr.young, 1 / 2), (ettr.daly, 3 / 2)):
        errors = [estimate(1.0, w) / ettr.optimal_interval(1.0, w) - 1 for w in (small, smaller)]
        slope = np.log(errors[0] / errors[1]) / np.log(small / smaller)
        assert slope == pytest.approx(order, abs=0.02)
    assert ettr.daly(2.0, 1.0) == 0.5  # a write of twice the MTTF or more: the MTTF
    assert ettr.daly(0.0, 1.0) == np.inf
    assert ettr.young(0.0, 1.0) == np.inf


def test_derivatives() -> None:
    with jax.enable_x64(True):
        gradient = jax.jit(jax.grad(ettr.optimal_interval, (0, 1)))
        curvature = jax.hessian(ettr.optimal_interval, (0, 1))
        for hazard, write in [(0.01, 1e-6), (0.5, 0.01), (4.0, 0.2), (3.0, 4.0)]:
            h = 1e-5
            for index, step in enumerate(((hazard * h, 0), (0, write * h))):
                ahead = (hazard + step[0], write + step[1])
                behind = (hazard - step[0], write - step[1])
                difference = (ettr.optimal_interval(*ahead) - ettr.optimal_interval(*behind)) / (2 * sum(step))
                # Central differences: h^2 = 1e-10 of truncation, 1e-16 / h = 1e-11 of rounding, some curvature.
                assert gradient(hazard, write)[index] == pytest.approx(float(difference), rel=1e-7)
                second = (gradient(*ahead)[index] - gradient(*behind)[index]) / (2 * sum(step))
                assert curvature(hazard, write)[index][index] == pytest.approx(float(second), rel=1e-7)


def test_derivatives_are_finite_at_the_edges() -> None:
    for hazard, write in [(0.0, 0.1), (0.1, 0.0), (0.0, 0.0)]:
        at = (jnp.float32(hazard), jnp.float32(write))
        assert np.isfinite(jax.grad(ettr.optimal_interval, (0, 1))(*at)).all()
        tangents = jax.jvp(ettr.optimal_interval, at, (jnp.float32(1.0), jnp.float32(0.0)))
        assert not np.isnan(tangents).any()
