"""Silent data corruption: the run computes on, and later rolls back past several checkpoints."""

import jax
import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.optimum import optimal_interval
from meantime.ettr.renewal import log_slowdown
from meantime.ettr.search import maximise
from meantime.ettr.special import log_growth


@array_function()
def corrupted(
    hazard: ArrayLike,
    corruption: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    latency: ArrayLike = 0.0,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    diagnosis: ArrayLike = 0.0,
) -> Array:
    r"""Exact expected ETTR of a long run that silent corruption strikes besides failures.

    Corruption comes at rate mu while the run computes and writes, and shows only at checkpoints: at the
    end of the segment that it struck, or K checkpoints later, K a random number with the mean
    `latency` (any distribution: by Wald's identity only the mean matters). Then the run goes back to
    the last checkpoint before the corruption: the struck segment and K further ones are lost. A
    segment takes S = (1/lam + d) e^(lam u0) (e^(lam x) - 1) hours whether clean or not, x = tau + w
    (see `renewal`), and its last, successful attempt is struck with probability c = 1 - e^(-mu x);
    what strikes an attempt that fails is thrown away with it. Between two roll-backs (1 - c)/c
    segments are kept on average and 1 + K lost, and the roll-back costs `diagnosis` + `queue` hours and a
    restart of H = (1/lam + d)(e^(lam u0) - 1). Hence::

        ETTR = (tau / S) e^(-mu x) / {1 + c [E[K] + (diagnosis + queue + H) / S]}

    which is `renewal` for an endless run, times a factor for corruption. A check that finds a tainted
    checkpoint with probability p has the latency (1 - p) / p.

    Parameters
    ----------
    hazard
        Failures per hour of the whole job that stop it at once, lam.
    corruption
        Silent corruptions per hour of the whole job, mu.
    interval
        Productive hours between checkpoints, tau.
    write
        Hours during which a checkpoint blocks the run, its check included, w.
    restart
        Hours to initialise and load a checkpoint, u0.
    latency
        Mean number of further checkpoints until a corruption is noticed, E[K].
    detection
        Hours from a failure to its being noticed; d = detection + queue.
    queue
        Hours in the queue after a failure and after a roll-back.
    diagnosis
        Hours from noticing a corruption to the decision to roll back.

    Returns
    -------
    Array
        Broadcast shape of the arguments, in (0, 1); the type's smallest normal number where it is smaller.
        All checkpoints back to the clean one are taken to be kept (`checkpoints_to_keep`).

    Raises
    ------
    InputError
        If a value is negative or not a number, or infinite where that has no meaning (NumPy input only).
    """
    loss = _log_loss(hazard, corruption, interval, write, restart, latency, detection, queue, diagnosis)
    ettr = jnp.exp(-loss)
    smallest = jnp.finfo(ettr.dtype).tiny
    return jnp.where(ettr < smallest, smallest, ettr)


@array_function()
def optimal_corrupted_interval(
    hazard: ArrayLike,
    corruption: ArrayLike,
    write: ArrayLike,
    restart: ArrayLike = 0.0,
    *,
    latency: ArrayLike = 0.0,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    diagnosis: ArrayLike = 0.0,
) -> Array:
    """Interval between checkpoints that maximises `corrupted`, by search.

    The loss is a sum of terms like (e^(r x) - 1) / tau, whose best intervals lie between that for the
    rate lam + mu and the longer of those for lam or mu alone, and of E[K] (e^(mu x) - 1)(e^(lam x) - 1) /
    tau, whose best interval is at least 1 / (lam + mu + 2 / w): a latency in checkpoints favours short intervals.

    Parameters
    ----------
    hazard
        Failures per hour of the whole job that stop it at once.
    corruption
        Silent corruptions per hour of the whole job.
    write
        Hours during which a checkpoint blocks the run, its check included, positive.
    restart, latency, detection, queue, diagnosis
        As in `corrupted`.

    Returns
    -------
    Array
        Productive hours between checkpoints, broadcast shape; infinite where nothing ever goes wrong.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number (NumPy input only).
    """
    fails, taints = hazard > 0, corruption > 0
    longest = jnp.maximum(
        jnp.where(fails, optimal_interval(hazard, write), 0), jnp.where(taints, optimal_interval(corruption, write), 0)
    )
    usable = (write > 0) & (fails | taints)
    w = jnp.where(usable, write, 1)
    low = 1 / (hazard + corruption + 2 / w)
    high = jnp.maximum(jnp.where(usable, longest, 1), low)

    def value(log_interval: jax.Array) -> jax.Array:
        tau = jnp.exp(log_interval)
        return -_log_loss(hazard, corruption, tau, w, restart, latency, detection, queue, diagnosis)

    best = jnp.exp(maximise(value, jnp.log(low), jnp.log(high)))
    return jnp.where(usable, best, jnp.where(write > 0, jnp.inf, 0))


@array_function()
def checkpoints_to_keep(latency: ArrayLike, probability: ArrayLike) -> Array:
    """Number of checkpoints to keep so that a corruption rarely outlives the last clean one.

    With a check that misses a tainted checkpoint with probability m = K / (1 + K), K the mean latency,
    the number missed is geometric. When the corruption is noticed, it has tainted that number + 1 checkpoints, so
    n kept checkpoints are too few with probability m^(n - 1).

    Parameters
    ----------
    latency
        Mean number of further checkpoints until a corruption is noticed.
    probability
        Largest acceptable probability that no clean checkpoint is left, above 0.

    Returns
    -------
    Array
        A whole number, at least 2.

    Raises
    ------
    InputError
        If a latency is negative, infinite or not a number, or a probability lies outside [0, 1] (NumPy input only).
    """
    missed = latency / (1 + latency)
    safe = jnp.where(missed > 0, missed, 0.5)
    certain = jnp.ceil(jnp.log(probability) / jnp.log(safe) - 1e-6)
    return 1 + jnp.maximum(jnp.where(missed > 0, certain, 1), 1)


def _log_loss(
    hazard: jax.Array,
    corruption: jax.Array,
    interval: jax.Array,
    write: jax.Array,
    restart: jax.Array,
    latency: jax.Array,
    detection: jax.Array,
    queue: jax.Array,
    diagnosis: jax.Array,
) -> jax.Array:
    """-log ETTR of `corrupted`."""
    forever = jnp.full_like(hazard, jnp.inf)
    clean = log_slowdown(hazard, interval, write, restart, detection, queue, forever, last_write=True)
    stretch = interval + write
    struck = -jnp.expm1(-corruption * stretch)
    again = _restart_share(hazard, restart, stretch)
    waiting = (diagnosis + queue) * jnp.exp(-clean) / interval
    return clean + corruption * stretch + jnp.log1p(struck * (latency + waiting + again))


def _restart_share(hazard: jax.Array, restart: jax.Array, stretch: jax.Array) -> jax.Array:
    """H / S = (1 - e^(-lam u0)) / (e^(lam x) - 1)."""
    shrunk = log_growth(hazard * restart) - hazard * restart
    return restart / stretch * jnp.exp(shrunk - log_growth(hazard * stretch))
