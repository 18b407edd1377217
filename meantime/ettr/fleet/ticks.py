"""The clock of a fleet: whole ticks, so that every ledger sums to the last digit in 32 bits.

A tick is a power of two of an hour, at most horizon / 2^27 long (0.03 s for 30 days, 0.4 s for a year).
Times are int32; hours made from them are exact in float64, and so are their sums.
"""

import math

import jax
import jax.numpy as jnp
import numpy as np

NEVER = np.int32(2**31 - 1)
LONGEST = 1 << 30
"""Longest duration in ticks, beyond any horizon; the sum of it and a time is still before `NEVER`."""

_LIMB = 10
_MASK = (1 << _LIMB) - 1


def ticks_per_hour(horizon: float) -> float:
    """Ticks in an hour: the power of two that puts 2^27 to 2^28 of them into the horizon."""
    return 2.0 ** math.floor(math.log2(2.0**28 / horizon))


def in_ticks(hours: jax.typing.ArrayLike, per_hour: jax.typing.ArrayLike, least: int = 0) -> jax.Array:
    """Hours rounded to ticks, clipped to `least` and `LONGEST`."""
    return jnp.clip(jnp.round(jnp.asarray(hours) * per_hour), least, LONGEST).astype(jnp.int32)


def add_product(limbs: jax.Array, count: jax.Array, ticks: jax.Array) -> jax.Array:
    """Add count x ticks to a total that is kept in three limbs of ten bits, exactly.

    Parameters
    ----------
    limbs
        The total, least limb first, shape (..., 3).
    count
        Whole numbers below 2^20, shape (...).
    ticks
        Whole numbers up to 2^28.
    """
    low = limbs[..., 0] + count * (ticks & _MASK)
    middle = limbs[..., 1] + count * ((ticks >> _LIMB) & _MASK) + (low >> _LIMB)
    high = limbs[..., 2] + count * (ticks >> 2 * _LIMB) + (middle >> _LIMB)
    return jnp.stack([low & _MASK, middle & _MASK, high], -1)


def as_hours(ticks: np.ndarray, per_hour: float) -> np.ndarray:
    """Hours of ticks, exact."""
    return np.asarray(ticks, np.float64) / per_hour


def total_hours(limbs: np.ndarray, per_hour: float) -> np.ndarray:
    """Hours of the totals of `add_product`, exact; the axis of the limbs goes."""
    return np.asarray(limbs, np.float64) @ np.array([1.0, 2.0**_LIMB, 4.0**_LIMB]) / per_hour
