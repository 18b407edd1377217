"""The first-order ETTR estimate of the paper that meantime is built after, kept for comparison."""

import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.special import namespace, product, ratio


@array_function(eager=True)
def kokolis(
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    queue: ArrayLike = 0.0,
    productive: ArrayLike = jnp.inf,
) -> Array:
    r"""Expected ETTR to first order in the hazard (Kokolis et al. 2025, arXiv 2410.21680).

    The long-run form, for q -> 0 and R -> infinity, is::

        [1 - lam (u0 + tau/2)] / (1 + w/tau)

    and with a queue q at submission and after each failure, and R productive hours::

        [1 - lam (u0 + tau/2)] / {(1 + w/tau + u0/R)(1 + lam q) + (q/R)[1 - lam (u0 + tau/2)]}

    which follows from U = u0 (1 + F) + F tau/2 + R w/tau of unproductive hours with F = lam (R + U)
    failures, and q (1 + F) hours queued. A failure loses half an interval and one restart; failures
    within restarts and writes are left out.

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
    queue
        Hours in the queue, at submission and after each failure, q.
    productive
        Productive hours of the run, R; infinite by default.

    Returns
    -------
    Array
        Broadcast shape of the arguments. Not clipped: the estimate is negative once
        lam (u0 + tau/2) exceeds 1, as it does at 100,000 GPUs with hourly checkpoints, and with a
        queue and finite R it means nothing there. `renewal` is exact and stays in (0, 1).

    Raises
    ------
    InputError
        If a value is negative or not a number, or infinite where that has no meaning (NumPy input
        only: nothing is checked under JAX tracing).
    """
    xp = namespace(hazard)
    lost = hazard * restart + product(hazard, interval) / 2
    share = xp.where(xp.isinf(productive), 0, 1 / xp.where(xp.isinf(productive), 1, productive))
    scheduled = 1 + ratio(write, interval) + restart * share
    return (1 - lost) / (scheduled * (1 + hazard * queue) + queue * share * (1 - lost))
