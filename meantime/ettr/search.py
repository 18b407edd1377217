"""Search for the maximum of a function of one number, for many plans side by side."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

_POINTS, _STAGES = 21, 2


def maximise(
    value: Callable[[jax.Array], jax.Array], low: jax.Array, high: jax.Array, *, polish: bool = True
) -> jax.Array:
    """Find the number between two bounds at which a function of it is largest, for each plan.

    A grid, a finer grid about its best point, the vertex of the parabola through the best three, and
    a Newton step. That is taken with its derivatives, so that the result has those of the implicit function
    theorem: with x0 held fixed, x0 - f'(x0) / f''(x0) moves with the plan as the maximum does.

    Parameters
    ----------
    value
        The function, element by element: an array of shape ``(..., *plans)`` to one of the same shape.
    low, high
        Bounds, shape ``(*plans,)``. The function should have one maximum between them.
    polish
        Whether to take the Newton step; without it the result has no derivatives.

    Returns
    -------
    jax.Array
        Shape ``(*plans,)``.
    """
    fixed_low, fixed_high = jax.lax.stop_gradient((low, high))
    steps = jnp.linspace(-1.0, 1.0, _POINTS, dtype=low.dtype).reshape(-1, *[1] * low.ndim)

    def refine(_: int, state: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        centre, half = state[:2]
        x = centre + half * steps
        values = jax.lax.stop_gradient(value(x))
        at = jnp.clip(values.argmax(axis=0, keepdims=True), 1, _POINTS - 2)
        near = jnp.concatenate([jnp.take_along_axis(values, at + step, axis=0) for step in (-1, 0, 1)])
        return jnp.take_along_axis(x, at, axis=0)[0], 2 * half / (_POINTS - 1), near

    start = ((fixed_low + fixed_high) / 2, (fixed_high - fixed_low) / 2, jnp.zeros((3, *low.shape), low.dtype))
    centre, half, (left, middle, right) = jax.lax.fori_loop(0, _STAGES, refine, start)
    bend = left - 2 * middle + right
    shift = jnp.where(bend < 0, 0.5 * (left - right) / jnp.where(bend < 0, bend, -1), 0)
    best = jnp.clip(centre + half * jnp.clip(shift, -1, 1), fixed_low, fixed_high)
    best = jax.lax.stop_gradient(best)
    return jnp.clip(_newton(value, best, half), low, high) if polish else best


def _newton(value: Callable[[jax.Array], jax.Array], x: jax.Array, largest: jax.Array) -> jax.Array:
    """One step from x, if it leads to a maximum that is not far."""

    def slope(x: jax.Array) -> jax.Array:
        return jax.jvp(value, (x,), (jnp.ones_like(x),))[1]

    first, second = jax.jvp(slope, (x,), (jnp.ones_like(x),))
    curved = second < 0
    step = jnp.where(curved, -first / jnp.where(curved, second, -1), 0)
    return x + jnp.where(jnp.abs(step) <= largest, step, 0)
