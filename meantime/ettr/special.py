"""Small functions of a dimensionless length y = hazard x time, accurate from y = 0 to 1,000,000.

They are written on logarithms and on `expm1`/`log1p`, so they neither overflow nor lose digits in
float32, and the unused branch of every `where` gets a harmless argument, so gradients stay finite.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

_BERNOULLI = (
    *(1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730),
    *(7 / 6, -3617 / 510, 43867 / 798, -174611 / 330, 854513 / 138),
)


def _log_sinhc_coefficients() -> list[float]:
    coefficients, factorial = [], 1.0
    for k, number in enumerate(_BERNOULLI, start=1):
        factorial *= (2 * k - 1) * (2 * k)
        coefficients.append(number / (2 * k * factorial))
    return coefficients


_SERIES = _log_sinhc_coefficients()
"""log(sinh(y/2) / (y/2)) = sum of _SERIES[k - 1] y^(2k), k = 1, 2, ..., for |y| < 2 pi."""


def namespace(values: Any) -> Any:
    """Return the module whose functions take these values: `jax.numpy` for JAX, else `numpy`."""
    return jnp if isinstance(values, jax.Array) else np


def fixed(values: jax.Array) -> jax.Array:
    """Return the values as constants, through which nothing is differentiated."""
    return jax.lax.stop_gradient(values) if isinstance(values, jax.Array) else values


def log_growth(y: jax.Array) -> jax.Array:
    """Compute log((e^y - 1) / y) for y >= 0.

    A task of length x that starts again whenever a failure strikes takes (e^(lam x) - 1) / lam on
    average, so this is the logarithm of its slow-down, zero at y = 0 and close to y/2 near it.

    Parameters
    ----------
    y
        Expected number of failures within the task, any shape, finite.

    Returns
    -------
    jax.Array
        Not negative, same shape.
    """
    xp = namespace(y)
    small = y < 1
    near = xp.where(small, y, 0)
    far = xp.where(small, 2, y)
    series = near * (0.5 + near * horner(_SERIES, near * near))
    value: jax.Array = xp.where(small, series, far - xp.log(far) + xp.log1p(-xp.exp(-far)))
    return value


def truncated_exponential(y: jax.Array) -> tuple[jax.Array, jax.Array, jax.Array]:
    """Cumulants of the time of a failure that is known to strike within a task of length 1.

    With failures at rate y and given that one comes before time 1, its time has the density
    y e^(-y t) / (1 - e^-y) on (0, 1): uniform as y -> 0, exponential for large y. Its cumulant
    generating function is g(t - y) - g(-y) with g(z) = log((e^z - 1) / z), hence::

        mean     = 1/y   - 1/(e^y - 1)
        variance = 1/y^2 - e^y / (e^y - 1)^2
        third    = 2/y^3 - e^y (e^y + 1) / (e^y - 1)^3

    Parameters
    ----------
    y
        Expected number of failures within the task, any shape, zero or positive.

    Returns
    -------
    tuple
        Mean, variance and third cumulant (the third central moment), each of the shape of `y`.
    """
    small = y < 1
    near = jnp.where(small, y, 0)
    far = jnp.where(small, 2, y)
    square = near * near
    first = [2 * k * c for k, c in enumerate(_SERIES, start=1)]
    second = [(2 * k - 1) * c for k, c in enumerate(first, start=1)]
    third = [(2 * k - 2) * c for k, c in enumerate(second, start=1)][1:]
    decay = jnp.exp(-far)
    alive = -jnp.expm1(-far)
    return (
        jnp.where(small, 0.5 - near * horner(first, square), 1 / far - decay / alive),
        jnp.where(small, horner(second, square), 1 / far**2 - decay / alive**2),
        jnp.where(small, -near * horner(third, square), 2 / far**3 - decay * (1 + decay) / alive**3),
    )


def product(rate: jax.Array, time: jax.Array) -> jax.Array:
    """Compute rate x time, with 0 x inf = 0: without failures the length of a wait plays no part."""
    xp = namespace(rate)
    value: jax.Array = rate * xp.where((rate == 0) & xp.isinf(time), 0, time)
    return value


def ratio(part: jax.Array, whole: jax.Array) -> jax.Array:
    """Compute part / whole, with 0 / 0 = 0: what costs nothing costs nothing, however often it is done."""
    value: jax.Array = part / namespace(part).where((part == 0) & (whole == 0), 1, whole)
    return value


def horner(coefficients: list[float], x: jax.Array) -> jax.Array:
    """Evaluate a polynomial, coefficients from the constant upwards."""
    total: jax.Array = namespace(x).full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        total = total * x + coefficient
    return total
