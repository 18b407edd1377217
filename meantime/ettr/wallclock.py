"""Mean and variance of the wall-clock hours of one run, in closed form."""

import jax
import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.segments import cut
from meantime.ettr.special import truncated_exponential


@array_function("last_write")
def wallclock_moments(
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    productive: ArrayLike,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    last_write: bool = True,
) -> tuple[Array, Array]:
    r"""Mean and variance of the wall-clock hours of one run, both exact.

    A task of length x that starts again at every failure fails a geometric number of times F, with
    mean m = e^(lam x) - 1 and variance m + m^2, and each failure costs an independent time C, so::

        E[task] = x + m E[C]        Var[task] = m Var[C] + (m + m^2) E[C]^2

    For the restart C is a truncated exponential time on (0, u0) plus d, for a segment a truncated
    exponential time on (0, tau + w) plus d plus a whole restart. First restart and segments are
    independent, so their means and variances add up; the mean is that of `renewal`.

    Parameters
    ----------
    hazard
        Failures per hour of the whole job, lam.
    interval
        Productive hours between checkpoints, tau, positive; more than `productive`: a single segment.
    write
        Hours during which a checkpoint blocks the run, w.
    restart
        Hours to initialise and load the last checkpoint, u0.
    productive
        Productive hours of the run, finite.
    detection
        Hours from a failure to its being noticed; d = detection + queue.
    queue
        Hours in the queue, at submission and after each failure.
    last_write
        Whether the run ends with a checkpoint write.

    Returns
    -------
    tuple
        Mean (hours) and variance (hours squared), each of the broadcast shape of the arguments.
        Infinite where they exceed the floating type.

    Raises
    ------
    InputError
        If a value is negative or not a number, or infinite where that has no meaning (NumPy input only).
    """
    full, length, last = cut(interval, productive)
    wait = detection + queue
    nothing = jnp.zeros_like(hazard)
    restarting = _task(hazard, restart, wait, nothing)
    recovery = (wait + restarting[0], restarting[1])
    segment = _task(hazard, length + write, *recovery)
    ending = _task(hazard, last + (write if last_write else nothing), *recovery)
    mean = queue + restarting[0] + jnp.where(full > 0, full * segment[0], 0) + ending[0]
    variance = restarting[1] + jnp.where(full > 0, full * segment[1], 0) + ending[1]
    return mean, variance


def _task(
    hazard: jax.Array, length: jax.Array, recovery_mean: jax.Array, recovery_variance: jax.Array
) -> tuple[jax.Array, jax.Array]:
    failures = jnp.expm1(hazard * length)
    mean, variance, _ = truncated_exponential(hazard * length)
    cost = length * mean + recovery_mean
    spread = length * length * variance + recovery_variance
    return length + failures * cost, failures * spread + failures * (1 + failures) * cost * cost
