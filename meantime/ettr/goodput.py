"""Goodput of a cluster: GPU-hours that failures of its jobs cost, of the first and of the second order."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function


class FailureLosses(NamedTuple):
    """What failures cost a cluster in a day, by size of the job that failed.

    Attributes
    ----------
    failures
        Failures per day of jobs of each size, shape (..., sizes).
    first
        GPU-hours a day that the failed jobs lose, shape (..., sizes).
    second
        GPU-hours a day that jobs preempted for their restart lose, shape (..., sizes, sizes): by size of the
        failed job, then by size of the preempted ones.
    """

    failures: Array
    first: Array
    second: Array


@array_function(
    core=("gpus", "running", "rate_per_node_day", "runtime", "at_most", "priority", "taken"), smallest_pad=1
)
def failure_losses(
    gpus: ArrayLike,
    running: ArrayLike,
    rate_per_node_day: ArrayLike,
    *,
    runtime: ArrayLike = jnp.inf,
    at_most: ArrayLike = 0.5,
    priority: ArrayLike = 0.0,
    taken: ArrayLike = 0.0,
    idle: ArrayLike = 0.0,
    gpus_per_node: ArrayLike = 8.0,
) -> FailureLosses:
    r"""GPU-hours a day lost to failures, and to the preemptions that they cause.

    After Kokolis et al. (2025, arXiv 2410.21680): a job that is ended loses its work since the last checkpoint, min(T,
    c) hours on all its GPUs, with T its runtime so far and c half a checkpoint interval (30 minutes of hourly
    checkpoints). Of the first order these are failures themselves::

        failures_i = running_i / gpus_per_node x rate_i           a day
        first_i    = failures_i x gpus_i x E[min(T_i, c)],        E[min(T, c)] = T (1 - e^(-c/T))

    for exponential runtimes of mean T. Of the second order are the jobs that a failed job preempts when it
    starts again: it takes `taken` x gpus_i GPUs from others, less the idle ones, first from the lowest
    priority; within one priority in proportion to what is running. It takes nothing from its own priority or
    above. A GPU taken from size j loses E[min(T_j, c)].

    Parameters
    ----------
    gpus
        GPUs of a job, by size, shape (..., sizes).
    running
        Mean number of GPUs in jobs of that size, shape (..., sizes).
    rate_per_node_day
        Failures per node-day of such jobs, shape (..., sizes): components, draws and the like on the axes before.
    runtime
        Mean runtime of such a job in hours when it ends, shape (..., sizes); infinite: longer than c.
    at_most
        Hours of work lost at most on average, c, shape (..., sizes) or a number.
    priority
        Priority, a higher number first, shape (..., sizes).
    taken
        Share of its GPUs that a restarted job has to take from others, shape (..., sizes).
    idle
        Idle GPUs, taken first.
    gpus_per_node
        GPUs of a node.

    Returns
    -------
    FailureLosses
        Sums over any axis are losses again: `first` plus `second` over its last axis is what the failures of that size
        and component cost in all; times the price of a GPU-hour it is money.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number (NumPy input only).
    """
    loss = _lost_hours(runtime, at_most)
    failures = running / gpus_per_node[..., None] * rate_per_node_day
    victims = _victims(running, priority, jnp.maximum(taken * gpus - idle[..., None], 0))
    second = failures[..., :, None] * victims * loss[..., None, :]
    return FailureLosses(failures, failures * gpus * loss, second)


def _lost_hours(runtime: jax.Array, at_most: jax.Array) -> jax.Array:
    """Mean of the smaller of an exponential runtime and a limit."""
    endless = jnp.isinf(runtime)
    mean = jnp.where(endless, 1, jnp.maximum(runtime, jnp.finfo(runtime.dtype).tiny))
    return jnp.where(endless, at_most, -mean * jnp.expm1(-at_most / mean))


def _victims(running: jax.Array, priority: jax.Array, needed: jax.Array) -> jax.Array:
    """GPUs that a restart takes from each size, shape (..., failed size, preempted size)."""
    running, priority, needed = jnp.broadcast_arrays(running, priority, needed)
    mine, theirs = priority[..., :, None], priority[..., None, :]
    below = jnp.sum(jnp.where(theirs < mine, running[..., None, :], 0), axis=-1)
    same = jnp.sum(jnp.where(theirs == mine, running[..., None, :], 0), axis=-1)
    from_priority = jnp.clip(needed[..., :, None] - below[..., None, :], 0, same[..., None, :])
    share = running / jnp.where(same > 0, same, 1)
    return jnp.where(theirs < mine, from_priority * share[..., None, :], 0)
