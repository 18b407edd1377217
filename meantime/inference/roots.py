"""Inverses and roots whose derivatives reuse their values: fewer divisions, hence less for XLA to compile.

All take the array module (`numpy` or `jax.numpy`) first.
"""

from functools import cache
from typing import Any

import numpy as np


def inverse(xp: Any, x: Any) -> Any:
    """Return 1 / x."""
    return 1 / x if xp is np else _jax()[0](x)


def inverse_root(xp: Any, x: Any) -> tuple[Any, Any]:
    """Return 1 / sqrt(x), and the logarithm of x."""
    return (1 / np.sqrt(x), np.log(x)) if xp is np else _jax()[1](x)


@cache
def _jax() -> tuple[Any, Any]:
    import jax
    import jax.numpy as jnp

    @jax.custom_jvp
    def inverse(x: Any) -> Any:
        return 1 / x

    @inverse.defjvp
    def _(points: Any, steps: Any) -> Any:
        value = inverse(points[0])
        return value, -value * value * steps[0]

    @jax.custom_jvp
    def inverse_root(x: Any) -> Any:
        return jax.lax.rsqrt(x), jnp.log(x)

    @inverse_root.defjvp
    def _(points: Any, steps: Any) -> Any:
        value, log = inverse_root(points[0])
        square = value * value * steps[0]
        return (value, log), (-0.5 * value * square, square)

    return inverse, inverse_root
