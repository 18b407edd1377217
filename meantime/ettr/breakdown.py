"""Where the wall-clock hours of a long run go: shares that add up to one."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.special import log_growth, ratio, truncated_exponential


class Breakdown(NamedTuple):
    """Shares of the wall-clock time of a run, adding up to 1.

    Attributes
    ----------
    productive
        Computing that counts: the ETTR.
    write
        Checkpoint writes that count.
    lost
        Computing and writes undone by a failure.
    restart
        Restarts, and those that a failure broke off.
    detection
        From a failure to its being noticed.
    queue
        In the queue after a failure, without nodes.
    """

    productive: Array
    write: Array
    lost: Array
    restart: Array
    detection: Array
    queue: Array


@array_function()
def breakdown(
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
) -> Breakdown:
    r"""Exact shares of the wall-clock time of an endless run.

    A segment of x = tau + w hours takes S hours in all (see `renewal`). Failures come at the rate
    h = lam / (1 + lam d) per hour of wall-clock time, by Wald's identity; a share e^(-lam u0) of them strikes
    segments, the rest restarts. With m(x) the mean time of a failure known to strike within x::

        productive = tau / S        write = w / S
        lost       = h e^(-lam u0) m(x)
        restart    = h {e^(-lam u0) u0 + (1 - e^(-lam u0)) m(u0)}
        detection  = h detection    queue = h queue

    Each is computed for itself; that they add up to 1 is a theorem and a test.

    Parameters
    ----------
    hazard
        Failures per hour of the whole job, lam.
    interval
        Productive hours between checkpoints, tau.
    write
        Hours during which a checkpoint blocks the run, w.
    restart
        Hours to initialise and load the last checkpoint, u0.
    detection
        Mean hours from a failure to its being noticed.
    queue
        Mean hours in the queue after each failure; d = detection + queue.

    Returns
    -------
    Breakdown
        Arrays of the broadcast shape. Times the hours of a day and the GPUs of the job they are GPU-hours; what
        a component takes of `lost`, `restart`, `detection` and `queue` is its share of the hazard.

    Raises
    ------
    InputError
        If a value is negative or not a number, or infinite where that has no meaning (NumPy input only).
    """
    endless = jnp.isinf(interval)
    stretch = jnp.where(endless, 1, interval) + write
    growth = jnp.where(endless & (hazard > 0), jnp.inf, log_growth(hazard * stretch))
    waits = 1 + hazard * (detection + queue)
    kept = jnp.exp(-hazard * restart - growth) / waits
    share = jnp.where(endless, 1, ratio(interval, stretch))
    share = jnp.where(stretch > 0, share, 1)
    failures = hazard / waits
    whole, broken = jnp.exp(-hazard * restart), -jnp.expm1(-hazard * restart)
    struck = jnp.where(endless, 1 / jnp.where(hazard > 0, hazard, 1), _time_of_failure(hazard, stretch))
    smallest = jnp.finfo(kept.dtype).tiny
    return Breakdown(
        jnp.maximum(share * kept, smallest),
        ratio(write, stretch) * jnp.where(endless, 0, kept),
        failures * whole * struck,
        failures * (whole * restart + broken * _time_of_failure(hazard, restart)),
        failures * detection,
        failures * queue,
    )


def _time_of_failure(hazard: jax.Array, hours: jax.Array) -> jax.Array:
    """Mean time of a failure that is known to strike within these hours."""
    return hours * truncated_exponential(hazard * hours)[0]
