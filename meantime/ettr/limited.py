"""Expected ETTR where the scheduler ends jobs: a maximum lifetime, and preemption after a protected time."""

import jax
import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.special import product


@array_function("notice")
def limited(
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    lifetime: ArrayLike = jnp.inf,
    preemption: ArrayLike = 0.0,
    protected: ArrayLike = 0.0,
    notice: bool = False,
) -> Array:
    r"""Exact expected ETTR of a long run whose jobs end by failure, preemption or their maximum lifetime.

    A job (one allocation) begins with a restart of u0 hours and then finishes a segment of x = tau + w
    every x hours. It ends at the first failure (rate lam), at a preemption (rate mu, not before P hours),
    or after L hours; its survival function is S(t) = e^(-lam t - mu (t - P)^+) for t < L. Jobs are
    independent and alike, so by the renewal-reward theorem the ETTR is the productive time that one
    job saves over the time that it takes with the wait after it::

        E[saved]  = tau sum of S(u0 + j x) over j >= 1 with u0 + j x <= L       (two geometric sums)
        E[length] = A = integral of S over (0, L)
        E[wait]   = lam A (detection + queue) + (1 - lam A) queue

    since failures end a job lam A times on average (Wald), and else it waits in the queue alone. With
    `notice` the run writes a last checkpoint just in time for the limit, L - w to L; it then keeps
    what it had computed by L - w if nothing strikes before L. Preemption comes without notice. As L ->
    infinity and mu -> 0 this is `renewal` for an endless run.

    Parameters
    ----------
    hazard
        Failures per hour of the whole job, lam.
    interval
        Productive hours between checkpoints, tau, positive.
    write
        Hours during which a checkpoint blocks the run, w.
    restart
        Hours to initialise and load the last checkpoint, u0.
    detection
        Mean hours from a failure to its being noticed.
    queue
        Mean hours in the queue after each job.
    lifetime
        Hours after which the scheduler ends a job, L.
    preemption
        Preemptions per hour of a job older than `protected`, mu.
    protected
        Hours for which a job cannot be preempted, P.
    notice
        Whether the run saves its work before the limit.

    Returns
    -------
    Array
        Broadcast shape of the arguments, in (0, 1); the type's smallest normal number where no
        segment fits into a job. Runs of finite length are simulated (`simulate`).

    Raises
    ------
    InputError
        If a value is negative or not a number, or infinite where that has no meaning (NumPy input only).
    """
    stretch = interval + write
    safe = jnp.where(stretch > 0, stretch, 1)
    protected = jnp.minimum(protected, lifetime)
    end = lifetime - write if notice else lifetime
    whole, early = (_whole_segments(t - restart, safe) for t in (end, protected))
    early = jnp.minimum(early, whole)

    def survival(t: jax.Array) -> jax.Array:
        return -product(hazard, t) - product(preemption, jnp.maximum(t - protected, 0))

    first, later = restart + safe, restart + (early + 1) * safe
    log_first = survival(first)
    both = hazard + preemption
    before = _geometric(hazard * safe, early)
    after = jnp.where(whole > early, jnp.exp(survival(later) - log_first), 0)
    segments = before + after * _geometric(both * safe, whole - early)
    log_saved = log_first + jnp.log(interval * jnp.where(whole > 0, segments, 1))
    log_saved = jnp.where((whole > 0) & (interval > 0), log_saved, -jnp.inf)
    if notice:
        rest = jnp.clip(end - restart - jnp.where(jnp.isinf(whole), 0, whole) * safe, 0, interval)
        rest = jnp.where(jnp.isinf(lifetime), 0, rest)
        log_rest = survival(lifetime) + jnp.log(jnp.where(rest > 0, rest, 1))
        log_saved = jnp.logaddexp(log_saved, jnp.where(rest > 0, log_rest, -jnp.inf))

    length = _time(hazard, protected)
    length += jnp.exp(-product(hazard, protected)) * _time(both, lifetime - protected)
    never = jnp.isinf(length)  # neither failures nor limits: one job for ever
    length = jnp.where(never, 1, length)
    taken = length + queue + hazard * length * detection
    ettr = jnp.where(never, interval / safe, jnp.exp(log_saved - jnp.log(taken)))
    smallest = jnp.finfo(ettr.dtype).tiny
    return jnp.where(ettr < smallest, smallest, jnp.minimum(ettr, 1))


def _whole_segments(hours: jax.Array, length: jax.Array) -> jax.Array:
    """How many segments fit; a quotient within rounding of a whole number is that number."""
    quotient = jnp.maximum(hours, 0) / length
    return jnp.floor(quotient * (1 + 4 * jnp.finfo(quotient.dtype).eps))


def _geometric(y: jax.Array, terms: jax.Array) -> jax.Array:
    """Sum of e^(-y j) over j = 0 ... terms - 1, of which there may be none or infinitely many."""
    safe = jnp.where(y == 0, 1, y)
    return jnp.where(y == 0, terms, jnp.expm1(-safe * terms) / jnp.expm1(-safe))


def _time(rate: jax.Array, limit: jax.Array) -> jax.Array:
    """Mean of the smaller of an exponential time and a limit."""
    safe = jnp.where(rate == 0, 1, rate)
    return jnp.where(rate == 0, limit, -jnp.expm1(-safe * limit) / safe)
