"""The exact expected ETTR of a run under a constant hazard, the default form of meantime."""

import jax
import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.segments import cut
from meantime.ettr.special import fixed, log_growth, namespace, product, ratio


@array_function("last_write", eager=True)
def renewal(
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    productive: ArrayLike = jnp.inf,
    last_write: bool = True,
) -> Array:
    r"""Exact expected ETTR: productive hours over expected wall-clock hours.

    Failures arrive at rate lam while the run is scheduled and strike computation, checkpoint writes
    and restarts alike. A failure throws the run back to its last finished checkpoint, costs d =
    `detection` + `queue` hours during which nothing can fail, and then a restart of u0 hours.

    A task of length x that starts again at every failure, each of which costs c more, takes
    (1/lam + c)(e^(lam x) - 1) on average: it fails e^(lam x) - 1 times, and by Wald's identity the
    time at risk is that number over lam. A restart is such a task with c = d. A segment of length
    tau + w is one with c = d + the wall of a restart, so it takes
    S(tau + w) = (1/lam + d) e^(lam u0) (e^(lam (tau + w)) - 1). Hence, with R productive hours,
    n = ceil(R / tau) segments of which the last is s = R - (n - 1) tau long, and first queue q::

        E[wall] = q + (1/lam + d)(e^(lam u0) - 1) + (n - 1) S(tau + w) + S(s + w)
        ETTR    = R / E[wall]      ->  tau / S(tau + w)  as R -> infinity

    This is Daly's total wall-clock time (2006) with the wait after a failure, the queue, and the
    first restart and last segment made explicit. Detection and queue may be random: by Wald's identity only
    their means enter, whatever their distributions; the variance matters for one run (`wallclock_moments`).
    It is the ratio of expectations; the ETTR that one run gets is random around it (`sample_wallclock`,
    `wallclock_cdf`).

    Parameters
    ----------
    hazard
        Failures per hour of the whole job, lam.
    interval
        Productive hours between checkpoints, tau. More than `productive`: a single segment. Zero is
        the limit of checkpoints without end, which makes sense where `write` is zero.
    write
        Hours during which a checkpoint blocks the run, w.
    restart
        Hours to initialise and load the last checkpoint, u0.
    detection
        Mean hours from a failure to its being noticed.
    queue
        Mean hours in the queue, at submission (once, q) and after each failure (part of d).
    productive
        Productive hours of the run, R; infinite by default.
    last_write
        Whether the run ends with a checkpoint write.

    Returns
    -------
    Array
        Broadcast shape of the arguments. In (0, 1) but for two limits of floating point: it is 1
        where nothing is lost, or less than rounding, and a value too small for the type (e^-87 in
        float32, e^-708 in float64) is given as the type's smallest normal number. Never NaN.

    Raises
    ------
    InputError
        If a value is negative or not a number, or infinite where that has no meaning (NumPy input
        only: nothing is checked under JAX tracing).
    """
    loss = log_slowdown(hazard, interval, write, restart, detection, queue, productive, last_write)
    xp = namespace(loss)
    smallest = xp.finfo(loss.dtype).tiny
    ettr = xp.exp(-loss)
    return xp.where(ettr < smallest, smallest, ettr)


def log_slowdown(
    hazard: jax.Array,
    interval: jax.Array,
    write: jax.Array,
    restart: jax.Array,
    detection: jax.Array,
    queue: jax.Array,
    productive: jax.Array,
    last_write: bool,
) -> jax.Array:
    """Compute log(E[wall] / R), from the arguments of `renewal` as JAX arrays of one type.

    The largest exponential factor, that of the restart and of the longest segment, is taken out of
    the sum and kept as a logarithm; everything that remains is 1 + a sum of small terms. Infinite
    only where no progress is possible (a hazard and no checkpoint in an endless run, or writes alone).
    """
    xp = namespace(hazard)
    hopeless = (interval == 0) & (write > 0)
    hopeless = hopeless | (xp.isinf(interval) & xp.isinf(productive) & (hazard > 0))
    interval = xp.where(hopeless, 1, interval)
    endless = xp.isinf(productive) | (interval == 0)
    whole = xp.where(endless, 1, productive)
    full, length, last = cut(xp.where(endless, 1, interval), whole)
    final_write = write if last_write else xp.zeros_like(write)

    several = endless | (full > 0)
    longest = xp.where(several, xp.where(endless, interval, length) + write, last + final_write)
    segment = log_growth(product(hazard, longest))
    shorter = xp.where(endless, 0, log_growth(hazard * (last + final_write)) - segment)
    writes = xp.where(endless, ratio(write, interval), (full * write + final_write * xp.exp(shorter)) / whole)
    short_last = xp.where(endless, 0, last / whole * xp.expm1(shorter))

    stretch = hazard * restart
    restart_growth = log_growth(stretch)
    share = xp.where(xp.isinf(productive), 0, 1 / xp.where(xp.isinf(productive), 1, productive))
    first_restart = restart * share * xp.exp(restart_growth - stretch - segment)
    wait = hazard * (detection + queue)
    first_queue = queue * share * xp.exp(-stretch - segment)
    rest = first_queue + wait + (1 + wait) * (writes + short_last + first_restart)
    loss = stretch + segment + xp.log1p(rest)
    loss = xp.where(loss < 0, loss - fixed(loss), loss)
    value: jax.Array = xp.where(hopeless, xp.inf, loss)
    return value
