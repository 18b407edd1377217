"""Checkpoints on several levels, each failure recoverable from one of them: the exact nested form."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.special import log_growth

_RARE = 1e-30
"""Failures per hour added to every class, so that a class without failures is the limit of one with few."""


@array_function(core=("hazard", "write", "restart", "wait", "every"))
def multilevel(
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike,
    restart: ArrayLike = 0.0,
    *,
    every: ArrayLike,
    wait: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    productive: ArrayLike = jnp.inf,
) -> Array:
    r"""Exact expected ETTR of a run with nested checkpoint levels.

    Levels l = 1 ... L are ordered from the fastest (local, peer memory) to the safest (remote store). The
    run writes a checkpoint after each tau productive hours; every k_1-th of them is on level 2, every
    k_2-th of those on level 3, and so on, with a blocking write of w_l hours. Failures of class l, at
    rate lam_l, can be recovered from level l and those above: they throw the run back to its last
    checkpoint of level l or more, cost a wait of d_l hours and a restart of r_l hours. A failure during
    a restart repeats it, on the higher of the two levels. What a restart has loaded is taken to be
    on the lower levels again.

    A block of level l ends with a checkpoint of level l or more and holds k_(l-1) blocks of the level
    below. Let A_l be its time at risk (waits apart) when failures of class up to l are dealt with
    inside. From outside only the transform a_l(s) = E[e^(-s A_l)] matters: it is the probability that no failure of a
    higher class, at rate s, strikes meanwhile. Conditioning on the first failure of class l::

        b = product of a_(l-1)(s + lam_l) over the blocks inside,   a_0(s) = e^(-s (tau + w))
        1/a_l(s) = 1 + (1/b - 1) [s + lam_l (1 - rho_l(s))] / (s + lam_l)
        1/rho_l(s) = 1 + s (e^((s + Lam_l) r_l) - 1) / (s + Lam_l),   Lam_l = lam_1 + ... + lam_l

    with rho_l the transform of a restart on level l, which failures up to class l repeat. On the highest level
    no class is left outside, so a block takes E[A_L] = (1/b - 1) [1/lam_L + (e^(Lam r_L) - 1)/Lam], and by Wald's
    identity the waits add D = sum of lam_l d_l hours to each hour at risk. With k = k_1 ... k_(L-1) and R
    productive hours, the run begins with a queue and a restart on the highest level::

        E[wall] = q + (1 + D) (e^(Lam r_L) - 1)/Lam + R / (k tau) (1 + D) E[A_L]
        ETTR    = R / E[wall]     ->  k tau / {(1 + D) E[A_L]}  as R -> infinity

    It is exact for a whole number R / (k tau) of blocks. With one level it is `renewal`. The sum of the
    losses of the levels to first order, 1 - sum of [w_l / tau_l + lam_l (tau_l / 2 + r_l)], adds
    losses that exclude each other: it is too low where they are large.

    Parameters
    ----------
    hazard
        Failures per hour by class, lam_l, shape (..., L).
    interval
        Productive hours between checkpoints of any level, tau, shape (...).
    write
        Hours for which a checkpoint of each level blocks the run, w_l, shape (..., L).
    restart
        Hours to restart from each level, r_l, shape (..., L) or (..., 1).
    every
        How many checkpoints of a level make one of the next, k_l, shape (..., L - 1), at least 1; whole
        numbers, others interpolate. An empty list for one level.
    wait
        Hours of detection and queue after a failure of each class, d_l, shape (..., L) or (..., 1).
    queue
        Hours in the queue at submission, q, shape (...).
    productive
        Productive hours of the run, R, shape (...); infinite by default.

    Returns
    -------
    Array
        Shape (...), in (0, 1); the type's smallest normal number where it is smaller.

    Raises
    ------
    InputError
        If a value is negative or not a number, infinite where that has no meaning, or `every` is below 1
        (NumPy input only).
    """
    levels = _filled(Levels(hazard, write, restart, wait), every)
    loss = log_slowdown_of_levels(levels, interval, every)
    total = levels.hazard.sum(axis=-1)
    waits = 1 + (levels.hazard * levels.wait).sum(axis=-1)
    start = queue + waits * levels.restart[..., -1] * _exp(log_growth(total * levels.restart[..., -1]))
    loss = loss + jnp.log1p(start / productive * jnp.exp(-loss))
    ettr = jnp.exp(-loss)
    smallest = jnp.finfo(ettr.dtype).tiny
    return jnp.where(ettr < smallest, smallest, jnp.minimum(ettr, 1))


class Levels(NamedTuple):
    """Failure classes and checkpoint levels, all of shape (..., L)."""

    hazard: jax.Array
    write: jax.Array
    restart: jax.Array
    wait: jax.Array


def log_slowdown_of_levels(levels: Levels, interval: jax.Array, every: jax.Array) -> jax.Array:
    """Compute -log ETTR of an endless run (see `multilevel`), shape (...)."""
    number = levels.hazard.shape[-1]
    rates = levels.hazard + _RARE
    upto = jnp.cumsum(rates, axis=-1)

    def outside(level: int, last: int, s: jax.Array) -> jax.Array:
        """-log a_level(s) of a block that ends with a checkpoint of level `last`."""
        rate = rates[..., level - 1]
        within = inside(level, last, s + rate)
        redone = _restart_deficit(s, upto[..., level - 1], levels.restart[..., level - 1])
        share = (s + rate * redone) / (s + rate)
        short = within < 1
        near, far = jnp.where(short, within, 0), jnp.where(short, 1, within)
        return jnp.where(short, jnp.log1p(share * jnp.expm1(near)), _log1p_exp(jnp.log(share) + _log_expm1(far)))

    def inside(level: int, last: int, s: jax.Array) -> jax.Array:
        """-log of the transform of all that lies inside such a block."""
        if level == 1:
            return s * (interval + levels.write[..., last - 1])
        below = level - 1
        return (every[..., below - 1] - 1) * outside(below, below, s) + outside(below, last, s)

    rate, restart = rates[..., -1], levels.restart[..., -1]
    within = inside(number, number, rate)
    restarts = _log1p_exp_times(rate * restart, log_growth(upto[..., -1] * restart))
    waits = jnp.log1p((levels.hazard * levels.wait).sum(axis=-1))
    ideal = rate * interval * jnp.prod(every, axis=-1)
    return jnp.log(within / ideal) + log_growth(within) + restarts + waits


def _filled(levels: Levels, every: jax.Array) -> Levels:
    number = every.shape[-1] + 1
    return Levels(*(jnp.broadcast_to(values, (*values.shape[:-1], number)) for values in levels))


def _restart_deficit(s: jax.Array, rate: jax.Array, restart: jax.Array) -> jax.Array:
    """1 - rho(s) of a restart that failures at this rate repeat."""
    z = s * restart * _exp(log_growth((s + rate) * restart))
    return jnp.where(z > 1, 1 / (1 + 1 / jnp.where(z > 1, z, 1)), z / (1 + jnp.where(z > 1, 0, z)))


def _exp(x: jax.Array) -> jax.Array:
    """e^x, no larger than the square root of what the type can hold."""
    return jnp.exp(jnp.minimum(x, 0.5 * math.log(float(jnp.finfo(x.dtype).max))))


def _log_expm1(x: jax.Array) -> jax.Array:
    return jnp.log(x) + log_growth(x)


def _log1p_exp(x: jax.Array) -> jax.Array:
    return jnp.logaddexp(jnp.zeros_like(x), x)


def _log1p_exp_times(factor: jax.Array, exponent: jax.Array) -> jax.Array:
    """log(1 + factor e^exponent) for a factor that may be zero and an exponent that may be large."""
    large = exponent > 30
    direct = jnp.log1p(factor * jnp.exp(jnp.where(large, 0, exponent)))
    positive = jnp.where(factor > 0, factor, 1)
    return jnp.where(large & (factor > 0), _log1p_exp(jnp.log(positive) + exponent), direct)
