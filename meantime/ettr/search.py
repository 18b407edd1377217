"""Search for the maximum of a function of one number, for many plans side by side."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

_COARSE, _FINE = 25, 9


def maximise(
    value: Callable[[jax.Array], jax.Array], low: jax.Array, high: jax.Array, *, newton_steps: int = 2
) -> jax.Array:
    """Find the number between two bounds at which a function of it is largest, for each plan.

    A grid, a finer grid about its best point, the vertex of the parabola through the best three, and
    Newton steps. The last one is taken with its derivatives, so that the result has those of the
    implicit function theorem: with x0 held fixed, x0 - f'(x0) / f''(x0) moves with the plan as the maximum does.

    Parameters
    ----------
    value
        The function, element by element: an array of shape (..., *plans) to one of the same shape.
    low, high
        Bounds, shape (*plans,). The function should have one maximum between them.
    newton_steps
        Number of Newton steps; without any the result has no derivatives.

    Returns
    -------
    jax.Array
        Shape (*plans,).
    """
    fixed_low, fixed_high = jax.lax.stop_gradient((low, high))

    def held(x: jax.Array) -> jax.Array:
        return jax.lax.stop_gradient(value(x))

    centre, half = (fixed_low + fixed_high) / 2, (fixed_high - fixed_low) / 2
    for points in (_COARSE, _FINE):
        steps = jnp.linspace(-1.0, 1.0, points, dtype=centre.dtype).reshape(-1, *[1] * centre.ndim)
        x = centre + half * steps
        values = held(x)
        at = jnp.clip(values.argmax(axis=0, keepdims=True), 1, points - 2)
        centre, half = jnp.take_along_axis(x, at, axis=0)[0], 2 * half / (points - 1)
    left, middle, right = (jnp.take_along_axis(values, at + step, axis=0)[0] for step in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = jnp.where(bend < 0, 0.5 * (left - right) / jnp.where(bend < 0, bend, -1), 0)
    best = jnp.clip(centre + half * jnp.clip(shift, -1, 1), fixed_low, fixed_high)
    best = jnp.where(held(best) >= middle, best, jnp.clip(centre, fixed_low, fixed_high))
    for _ in range(newton_steps):
        best = _newton(value, jax.lax.stop_gradient(best), half)
    return jnp.clip(best, low, high)


def _newton(value: Callable[[jax.Array], jax.Array], x: jax.Array, largest: jax.Array) -> jax.Array:
    """One step from x, unless that leads away from the maximum."""

    def slope(x: jax.Array) -> jax.Array:
        return jax.jvp(value, (x,), (jnp.ones_like(x),))[1]

    first, second = jax.jvp(slope, (x,), (jnp.ones_like(x),))
    curved = second < 0
    step = jnp.where(curved, -first / jnp.where(curved, second, -1), 0)
    before, after = jax.lax.stop_gradient((value(x), value(x + step)))
    rounding = 16 * jnp.finfo(x.dtype).eps * jnp.abs(before)
    usable = (jnp.abs(step) <= largest) & (after >= before - rounding)
    return x + jnp.where(usable, step, 0)
