"""Checkpoint intervals: the exact optimum by Lambert's W, and the approximations of Young and Daly."""

import jax
import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.special import horner, namespace, ratio

_SERIES_BELOW = 0.5
_TERMS = 20
_NEWTON_STEPS = 7


def _optimum_coefficients() -> list[float]:
    """Coefficients b of x = s (b_1 + b_2 s + ...), from x x' = s (1 - x), the derivative of -log(1 - x) - x = s^2/2."""
    b = [0.0, 1.0]
    for n in range(2, _TERMS + 1):
        b.append(-b[n - 1] / (n + 1) - sum(b[i] * b[n + 1 - i] for i in range(2, n)) / 2)
    return b[1:]


_SERIES = _optimum_coefficients()


@array_function(eager=True)
def optimal_interval(hazard: ArrayLike, write: ArrayLike) -> Array:
    r"""Interval between checkpoints that maximises the expected ETTR of a long run, exactly.

    `renewal` for an endless run is tau e^(-lam u0) / {(1/lam + d)(e^(lam (tau + w)) - 1)}: restart,
    detection and queue are factors without tau, so the optimum depends on lam and w alone. Setting
    the derivative to zero gives 1 - lam tau = e^(-lam (tau + w)), that is::

        tau* = (1 + W0(-e^(-lam w - 1))) / lam

    with Lambert's W on its principal branch (Daly 2006 solves the same equation by series). With a
    cheap write the argument comes close to the branch point -1/e and W loses its digits, so here x
    = lam tau is found from -log(1 - x) - x = lam w: by its power series in s = sqrt(2 lam w) for
    s < 1/2, x = s - s^2/3 + s^3/36 + s^4/270 + ..., else by Newton's iteration, which falls
    monotonically from 1 - e^(-1 - lam w).

    Parameters
    ----------
    hazard
        Failures per hour of the whole job, lam.
    write
        Hours during which a checkpoint blocks the run, w.

    Returns
    -------
    Array
        Hours of computation between two writes, broadcast shape of the arguments: 0 where writes
        are free, infinite where nothing fails, never more than the MTTF. Differentiable in JAX by
        the implicit function theorem; an infinite derivative (free writes, no failures) is given as
        the largest number of the type.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number (NumPy input only).
    """
    return _optimum(hazard, write) if namespace(hazard) is jnp else _solved(hazard, write)


@array_function(eager=True)
def young(hazard: ArrayLike, write: ArrayLike) -> Array:
    """Young's first-order optimal interval, ``sqrt(2 w / lam)`` (Young 1974).

    It balances the writes, w/tau, against the lost work, lam tau/2, and is good while lam w << 1.

    Parameters
    ----------
    hazard
        Failures per hour of the whole job, lam.
    write
        Hours during which a checkpoint blocks the run, w.

    Returns
    -------
    Array
        Hours of computation between two writes, broadcast shape; infinite where nothing fails and
        writes cost something.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number (NumPy input only).
    """
    return namespace(hazard).sqrt(2 * ratio(write, hazard))


@array_function(eager=True)
def daly(hazard: ArrayLike, write: ArrayLike) -> Array:
    """Daly's higher-order optimal interval (Daly 2006).

    With M = 1/lam, and valid for w < 2 M::

        sqrt(2 w M) [1 + sqrt(w / (2 M)) / 3 + (w / (2 M)) / 9] - w

    Beyond, where a write takes twice the MTTF, it is M by definition. These are the first three
    terms of the series of `optimal_interval` in sqrt(2 w / M).

    Parameters
    ----------
    hazard
        Failures per hour of the whole job, lam.
    write
        Hours during which a checkpoint blocks the run, w.

    Returns
    -------
    Array
        Hours of computation between two writes, broadcast shape; infinite where nothing fails and
        writes cost something.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number (NumPy input only).
    """
    xp = namespace(hazard)
    half = hazard * write / 2
    series = xp.sqrt(2 * ratio(write, hazard)) * (1 + xp.sqrt(half) / 3 + half / 9) - write
    return xp.where(half < 1, series, 1 / xp.where(half < 1, 1, hazard))


def _solved(hazard: jax.Array, write: jax.Array) -> jax.Array:
    xp = namespace(hazard)
    a = hazard * write
    s = xp.sqrt(2 * a)
    near = s < _SERIES_BELOW
    series = xp.sqrt(2 * ratio(write, hazard)) * horner(_SERIES, xp.where(near, s, 0))
    far = xp.where(near, 1, a)
    x = -xp.expm1(-1 - far)
    for _ in range(_NEWTON_STEPS):
        passed = -xp.expm1(-(x + far))
        x = x - (x - passed) / passed
    value: jax.Array = xp.where(near, series, x / xp.where(near, 1, hazard))
    return value


_optimum = jax.custom_jvp(_solved)


@_optimum.defjvp
def _optimum_jvp(
    primals: tuple[jax.Array, jax.Array], tangents: tuple[jax.Array, jax.Array]
) -> tuple[jax.Array, jax.Array]:
    """From -log(1 - x) - x = lam w: dx / d(lam w) = (1 - x) / x = 1 / (e^(lam (tau + w)) - 1)."""
    hazard, write = primals
    interval = _optimum(hazard, write)
    largest = jnp.finfo(interval.dtype).max
    fails, costs = hazard > 0, write > 0
    lam = jnp.where(fails, hazard, 1)
    length = lam * (jnp.where(fails, interval, 0) + write)
    slope = 1 / jnp.expm1(jnp.where(costs, length, 1))
    by_write = jnp.where(costs & fails, slope, largest)
    by_hazard = jnp.where(costs, (write * slope - interval) / lam, 0)
    by_hazard = jnp.where(costs & ~fails, -largest, by_hazard)
    return interval, by_hazard * tangents[0] + by_write * tangents[1]
