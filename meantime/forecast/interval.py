"""The one checkpoint interval to choose when the failure rate is not known exactly."""

import jax
import jax.numpy as jnp

from meantime import ettr

SEARCHED = 24
"""Shares into which draws are condensed for the search of an interval (see `meantime.forecast.hazards.condense`)."""
_COARSE, _FINE = 25, 9


def best_interval(
    hazard: jax.Array,
    weights: jax.Array,
    write: jax.Array,
    restart: jax.Array,
    *,
    detection: jax.Array,
    queue: jax.Array,
    productive: jax.Array,
) -> jax.Array:
    """Find the interval that maximises the expected ETTR, averaged over the posterior.

    Every draw has its own best interval, but a person can set only one. Each draw's ETTR rises up to
    its own optimum and falls after it, so the average has its maximum between the smallest and the
    largest of them. The logarithm of the interval is searched there on a grid, then on a finer one, and
    last by the vertex of a parabola through the three best points, with segments of any number; then
    the run is cut into the whole number of equal segments next to it that is better. The maximum is
    flat: what the search loses is below 1e-6 of ETTR.

    Parameters
    ----------
    hazard
        Failures per hour, shape (draws,).
    weights
        Weights of the draws, adding up to 1, shape (draws,).
    write, restart, detection, queue, productive
        The plan in hours, shape (plans, 1) or (plans, draws).

    Returns
    -------
    jax.Array
        Hours, shape (plans, 1), at most `productive`.
    """
    terms = tuple(term[:, None, :] for term in (hazard[None, :], write, restart, detection, queue, productive))
    longest = productive.max(axis=-1, keepdims=True)
    own = jnp.minimum(ettr.optimal_interval(hazard, write), longest)
    own = jnp.log(jnp.maximum(own, jnp.finfo(own.dtype).tiny))
    low, high = own.min(axis=-1, keepdims=True), own.max(axis=-1, keepdims=True)
    centre, half = (low + high) / 2, (high - low) / 2
    for points in (_COARSE, _FINE):
        steps = centre + half * jnp.linspace(-1.0, 1.0, points)
        values = jnp.sum(_smooth(jnp.exp(steps)[:, :, None], *terms) * weights, axis=-1)
        at = jnp.clip(values.argmax(axis=-1, keepdims=True), 1, points - 2)
        centre, half = jnp.take_along_axis(steps, at, axis=-1), 2 * half / (points - 1)
    left, middle, right = (jnp.take_along_axis(values, at + step, axis=-1) for step in (-1, 0, 1))
    bend = left - 2 * middle + right
    shift = jnp.where(bend < 0, 0.5 * (left - right) / jnp.where(bend < 0, bend, -1.0), 0.0)
    best = jnp.exp(jnp.clip(centre + half * jnp.clip(shift, -1.0, 1.0), low, high))
    return best if productive.shape[-1] > 1 else _in_equal_segments(best, weights, *terms)


def _smooth(
    interval: jax.Array,
    hazard: jax.Array,
    write: jax.Array,
    restart: jax.Array,
    detection: jax.Array,
    queue: jax.Array,
    productive: jax.Array,
) -> jax.Array:
    """ETTR of a run cut into productive / interval segments, whole number or not.

    Its wall-clock time is that of so many segments of an endless run and of the start, q + (1/lam + d)(e^(lam u0) - 1).
    """
    endless = ettr.renewal(hazard, interval, write, restart, detection=detection, queue=queue)
    fails = hazard > 0
    lam = jnp.where(fails, hazard, 1.0)
    start = queue + jnp.where(fails, (1 / lam + detection + queue) * jnp.expm1(lam * restart), restart)
    return 1 / (1 / endless + start / productive)


def _in_equal_segments(interval: jax.Array, weights: jax.Array, *terms: jax.Array) -> jax.Array:
    hazard, write, restart, detection, queue, productive = terms
    length = productive[:, :, 0]
    quotient = length / interval
    choices = length / jnp.maximum(jnp.concatenate([jnp.floor(quotient), jnp.ceil(quotient)], axis=-1), 1.0)
    value = ettr.renewal(
        hazard, choices[:, :, None], write, restart, detection=detection, queue=queue, productive=productive
    )
    best = jnp.sum(value * weights, axis=-1).argmax(axis=-1, keepdims=True)
    return jnp.take_along_axis(choices, best, axis=-1)
