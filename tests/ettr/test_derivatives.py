"""Derivatives against finite differences, and the JAX transformations."""

from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from meantime import ettr

ARGUMENTS = ("hazard", "interval", "write", "restart", "detection", "queue", "productive")
PLANS = [
    (0.03, 1.0, 0.05, 0.1, 0.02, 0.1, 50.3),
    (0.55, 0.7, 0.01, 0.08, 0.0, 0.0, 720.1),
    (4.4, 0.05, 0.008, 0.08, 0.1, 0.02, 20.02),
    (4.4, 3.0, 0.008, 0.08, 0.1, 0.02, 2.0),
    (0.55, 0.7, 0.01, 0.08, 0.3, 0.2, np.inf),
    (1e-9, 0.7, 0.01, 0.08, 0.3, 0.2, 40.0),
]
FORMS: dict[str, tuple[Callable[..., jax.Array], tuple[str, ...]]] = {
    "renewal": (ettr.renewal, ARGUMENTS),
    "without last write": (lambda **plan: ettr.renewal(**plan, last_write=False), ARGUMENTS),
    "kokolis": (ettr.kokolis, tuple(a for a in ARGUMENTS if a != "detection")),
    "mean of the wall": (lambda **plan: ettr.wallclock_moments(**plan)[0], ARGUMENTS),
    "variance of the wall": (lambda **plan: ettr.wallclock_moments(**plan)[1], ARGUMENTS),
}


# A run without end has no wall-clock time.
CASES = [(form, plan) for form in FORMS for plan in PLANS if np.isfinite(plan[-1]) or "wall" not in form]


@pytest.mark.parametrize(("form", "plan"), CASES, ids=str)
def test_gradients(form: str, plan: tuple[float, ...]) -> None:
    function, names = FORMS[form]
    values = {name: value for name, value in zip(ARGUMENTS, plan, strict=True) if name in names}
    with jax.enable_x64(True):
        arrays = {name: jnp.asarray(value) for name, value in values.items()}
        gradient = jax.grad(lambda p: function(**p))(arrays)
        for name, value in values.items():
            assert np.isfinite(gradient[name])
            if np.isinf(value):
                assert gradient[name] == 0
                continue
            # Interval and run length act through the last segment, a thousandth of the run: smaller steps for them.
            h = (1e-7 if name in ("interval", "productive") else 1e-5) * max(value, 1e-3)
            ahead, behind = (function(**arrays | {name: jnp.asarray(value + s * h)}) for s in (1, -1))
            if value < h:  # one-sided at an edge
                ahead, behind = (function(**arrays | {name: jnp.asarray(value + s * h)}) for s in (1, 0))
                expected, tolerance = (ahead - behind) / h, 1e-4
            else:
                expected, tolerance = (ahead - behind) / (2 * h), 1e-6
            scale = abs(function(**arrays)) / max(value, 1e-3)
            assert gradient[name] == pytest.approx(float(expected), rel=tolerance, abs=1e-9 * float(scale))


def test_gradients_are_finite_at_zero() -> None:
    """No hazard, free writes, no restart, no wait: one-sided derivatives of the exact form, in float32."""
    for productive in (np.inf, 10.0):

        def value(
            hazard: jax.Array, write: jax.Array, restart: jax.Array, wait: jax.Array, end: float = productive
        ) -> jax.Array:
            return ettr.renewal(hazard, 2.0, write, restart, detection=wait, productive=end)

        at = [jnp.float32(0.0)] * 4
        gradient = jax.grad(value, (0, 1, 2, 3))(*at)
        assert gradient == pytest.approx([-1.0, -0.5, -1 / productive, 0.0], rel=1e-6)


def test_jit_vmap_and_jacobian_agree_with_numpy() -> None:
    hazard, interval = np.array([0.01, 0.5, 4.0]), np.array([0.1, 1.0])
    expected = ettr.renewal(hazard[:, None], interval, 0.01, 0.08)
    assert isinstance(expected, np.ndarray)
    assert expected.dtype == np.float64
    plain = jax.jit(lambda h, t: ettr.renewal(h, t, 0.01, 0.08))
    nested = jax.vmap(jax.vmap(plain, (None, 0)), (0, None))(jnp.asarray(hazard), jnp.asarray(interval))
    assert nested.dtype == jnp.float32
    np.testing.assert_allclose(nested, expected, rtol=5e-7)  # a few roundings of float32
    forward = jax.jacfwd(plain)(jnp.asarray(hazard), 1.0)
    backward = jax.jacrev(plain)(jnp.asarray(hazard), 1.0)
    np.testing.assert_allclose(forward, backward, rtol=1e-5, atol=1e-7)
