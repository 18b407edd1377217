"""The one checkpoint interval to choose when the hazard is not known exactly."""

import jax
import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.optimum import optimal_interval
from meantime.ettr.renewal import renewal
from meantime.ettr.search import maximise

_DRAWN = ("hazard", "write", "restart", "detection", "queue", "productive", "weights")


@array_function("quantile", core=_DRAWN, smallest_pad=1)
def robust_interval(
    hazard: ArrayLike,
    write: ArrayLike,
    restart: ArrayLike = 0.0,
    *,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    productive: ArrayLike = jnp.inf,
    weights: ArrayLike = 1.0,
    quantile: float | None = None,
) -> Array:
    r"""Interval that maximises the mean, or a quantile, of the expected ETTR over draws of hazard and plan.

    Every draw has its own best interval, but a person can set only one. Each draw's ETTR rises up to
    its own optimum and falls after it, so the mean and every quantile have their maximum between the smallest
    and the largest of them. The logarithm of the interval is searched there, with segments of any
    number; then a run of known length is cut into the whole number of equal segments next to it that is better.
    The maximum is flat: what the search loses is below 1e-6 of the mean ETTR, and below 1e-4 of a
    quantile over draws whose plans differ as well, which may have several maxima.

    Where the draws differ in the hazard alone, the q quantile of the ETTR is, whatever the interval, the
    ETTR at the 1 - q quantile of the hazard: the interval for a cautious planner is the exact optimum at a high hazard.

    Parameters
    ----------
    hazard
        Failures per hour of the whole job, draws on the last axis.
    write, restart, detection, queue, productive
        The plan in hours, as in `renewal`; the last axis has the draws or length 1 (a number will do).
    weights
        Weights of the draws, on the last axis; equal by default.
    quantile
        Probability of the quantile of the ETTR to maximise, say 0.1; None for the mean.

    Returns
    -------
    Array
        Hours, broadcast shape of the arguments without their last axes, at most the longest `productive`;
        infinite where nothing fails in an endless run, 0 where writes are free. Differentiable as
        `optimal_interval` is, while the number of segments stays the same.

    Raises
    ------
    InputError
        If a value is negative or not a number, or infinite where that has no meaning (NumPy input only).
    """
    terms = [jnp.asarray(value) for value in (hazard, write, restart, detection, queue, productive)]
    draws = jnp.broadcast_shapes(*(term.shape[-1:] for term in terms), weights.shape[-1:])[0]
    shape = jnp.broadcast_shapes(*(term.shape[:-1] for term in terms), weights.shape[:-1])
    if quantile is not None and all(term.shape[-1] == 1 for term in terms[1:]):
        hazard = _quantile(jnp.broadcast_to(terms[0], (*shape, draws)), weights, 1 - quantile)[..., None]
        terms, weights, quantile = [hazard, *terms[1:]], jnp.ones((1,), hazard.dtype), None
    *_, length = terms
    longest = jnp.broadcast_to(length.max(axis=-1), shape)

    def summary(values: jax.Array) -> jax.Array:
        if quantile is not None:
            return _quantile(values, weights, quantile)
        return jnp.sum(values * weights, axis=-1) / jnp.sum(jnp.broadcast_to(weights, values.shape), axis=-1)

    def value(log_interval: jax.Array) -> jax.Array:
        return summary(_smooth(jnp.exp(log_interval)[..., None], *terms))

    low, high, usable, free = _bracket(terms[0], terms[1], longest, shape)
    best = jnp.where(usable, jnp.exp(maximise(value, low, high)), jnp.where(free, 0, longest))
    if length.shape[-1] > 1:
        return best
    whole = jnp.isfinite(longest) & usable
    quotient = jnp.where(whole, longest, 1) / jnp.where(whole, best, 1)
    choices = jnp.maximum(jnp.stack([jnp.floor(quotient), jnp.ceil(quotient)]), 1)
    hazard, write, restart, detection, queue, _ = terms
    cuts = jnp.where(whole, longest, 1) / choices
    waits = {"detection": detection, "queue": queue}
    first, second = summary(renewal(hazard, cuts[..., None], write, restart, **waits, productive=length))
    return jnp.where(whole, jnp.where(second > first, cuts[1], cuts[0]), best)


def _bracket(
    hazard: jax.Array, write: jax.Array, longest: jax.Array, shape: tuple[int, ...]
) -> tuple[jax.Array, jax.Array, jax.Array, jax.Array]:
    """Logarithms of the bounds of the search, whether there is anything to search, and whether writes are free."""
    own = optimal_interval(hazard, write)
    own = jnp.broadcast_to(own, shape + own.shape[-1:])
    fails = jnp.isfinite(own)
    shortest = jnp.min(jnp.where(fails, own, jnp.inf), axis=-1)
    furthest = jnp.max(jnp.where(fails, own, 0), axis=-1)
    # A draw without failures wants an interval without end: there the others hold it back within this factor.
    furthest = jnp.where(fails.all(axis=-1), furthest, 1e4 * furthest)
    free = fails.any(axis=-1) & (furthest == 0)
    usable = fails.any(axis=-1) & ~free
    smallest = jnp.finfo(own.dtype).tiny
    low, high = (
        jnp.log(jnp.clip(jnp.where(usable, bound, 1), smallest, jnp.where(usable, longest, 1)))
        for bound in (shortest, furthest)
    )
    return jax.lax.stop_gradient(low), jax.lax.stop_gradient(high), usable, free


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
    endless = renewal(hazard, interval, write, restart, detection=detection, queue=queue)
    fails = hazard > 0
    lam = jnp.where(fails, hazard, 1.0)
    start = queue + jnp.where(fails, (1 / lam + detection + queue) * jnp.expm1(lam * restart), restart)
    return 1 / (1 / endless + start / productive)


def _quantile(values: jax.Array, weights: jax.Array, probability: float) -> jax.Array:
    """Weighted quantile along the last axis, linear between the middles of the weights; `numpy.quantile` if equal."""
    weights = jnp.broadcast_to(weights, values.shape)
    order = jnp.argsort(values, axis=-1)
    values, weights = (jnp.take_along_axis(array, order, axis=-1) for array in (values, weights))
    middle = jnp.cumsum(weights, axis=-1) - weights / 2
    middle = middle - middle[..., :1]
    passed = middle / jnp.maximum(middle[..., -1:], jnp.finfo(middle.dtype).tiny)
    flat = [array.reshape(-1, array.shape[-1]) for array in (passed, values)]
    return jax.vmap(lambda at, value: jnp.interp(probability, at, value))(*flat).reshape(values.shape[:-1])
