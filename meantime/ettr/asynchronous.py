"""Asynchronous checkpoints, as the synchronous plan that takes exactly as long."""

from typing import NamedTuple

import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.optimum import optimal_interval


class SynchronousPlan(NamedTuple):
    """A plan for `renewal`, `simulate`, `wallclock_cdf` and the others, with `last_write`.

    Attributes
    ----------
    interval
        Productive hours between checkpoints.
    write
        Hours of a blocking write.
    restart
        Hours of a restart.
    """

    interval: Array
    write: Array
    restart: Array


@array_function()
def asynchronous(
    interval: ArrayLike,
    write: ArrayLike,
    persist: ArrayLike,
    restart: ArrayLike = 0.0,
    *,
    slowdown: ArrayLike = 0.0,
    productive: ArrayLike = jnp.inf,
) -> SynchronousPlan:
    r"""Synchronous plan with the same wall-clock time as one whose checkpoints are written in the background.

    After each interval of tau productive hours the run stands still for w hours (the copy to host
    memory), then computes on while the copy is written to the store for p hours, with a fraction sigma
    of its speed lost. The checkpoint counts once it is persisted; until then a failure throws the run
    back to the one before. One checkpoint is persisted at a time, so tau is at least (1 - sigma) p, what
    is computed meanwhile: with free copies (w = 0) the bandwidth of the store still bounds the interval.

    From a restart on, the first new checkpoint counts after u0 + tau + w + p hours and each further one
    after another x = tau + w + sigma p, the p hours of writing lying within the next interval. A
    synchronous run with the write w + sigma p and the restart u0 + (1 - sigma) p has its checkpoints at
    u0 + (1 - sigma) p + j x, the same hours. Failures strike both alike, so not only their mean but
    the whole distributions of their wall-clock times agree, and the end as well if the run ends
    with its last checkpoint persisted (`last_write`).

    Parameters
    ----------
    interval
        Productive hours between checkpoints, tau.
    write
        Hours for which a checkpoint blocks the run, w.
    persist
        Hours until a checkpoint is persisted, p, after the blocking part.
    restart
        Hours to initialise and load the last checkpoint, u0.
    slowdown
        Share of its speed that the run loses while a checkpoint is written, sigma, 0 to 1.
    productive
        Productive hours of the run. A checkpoint that could not be persisted before the work is done is
        not written: rather than with a rest below the floor, the run ends with equal intervals.

    Returns
    -------
    SynchronousPlan
        Interval (at least the floor), write and restart in hours, each of the broadcast shape.

    Raises
    ------
    InputError
        If a value is negative or not a number, or a slowdown is above 1 (NumPy input only).
    """
    beside = (1 - slowdown) * persist
    every = jnp.maximum(interval, beside)
    endless = jnp.isinf(productive)
    length = jnp.where(endless, 1, productive)
    segments = jnp.where(endless, 1, length / jnp.minimum(jnp.where(every > 0, every, 1), length))
    fewer = jnp.maximum(jnp.floor(segments * (1 + 4 * jnp.finfo(segments.dtype).eps)), 1)
    rest = length - fewer * every
    short = ~endless & (every > 0) & (rest > 0) & (rest < beside)
    return SynchronousPlan(jnp.where(short, length / fewer, every), write + slowdown * persist, restart + beside)


@array_function()
def optimal_asynchronous_interval(
    hazard: ArrayLike, write: ArrayLike, persist: ArrayLike, *, slowdown: ArrayLike = 0.0
) -> Array:
    """Interval between asynchronous checkpoints that maximises the expected ETTR of a long run, exactly.

    By the equivalence of `asynchronous` it is `optimal_interval` at the write w + sigma p, and the
    floor (1 - sigma) p where that is larger: the ETTR falls beyond its one maximum.

    Parameters
    ----------
    hazard
        Failures per hour of the whole job.
    write
        Hours for which a checkpoint blocks the run, w.
    persist
        Hours until a checkpoint is persisted, p, after the blocking part.
    slowdown
        Share of its speed that the run loses while a checkpoint is written, sigma, 0 to 1.

    Returns
    -------
    Array
        Productive hours between checkpoints, broadcast shape.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number, or a slowdown is above 1 (NumPy input only).
    """
    return jnp.maximum(optimal_interval(hazard, write + slowdown * persist), (1 - slowdown) * persist)
