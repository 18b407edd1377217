"""Lives and repairs of nodes: Weibull in hours of operation, log-normal stages."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from meantime.ettr.fleet.ticks import in_ticks


class Lives(NamedTuple):
    """How nodes live and are repaired; what differs from node to node has the shape (blocks, nodes of a block).

    Attributes
    ----------
    scale
        Weibull scale in hours of an ordinary node.
    shape
        Weibull shape.
    lemon_factor
        How many times as often a lemon fails: its scale is divided by it.
    automatic
        Median hours and standard deviation of the logarithm of the first stage of a repair.
    manual
        The same of the second stage.
    automatic_share
        Chance that the first stage is enough.
    renewed
        Whether a node is as good as new after the first stage, and after both.
    per_hour
        Ticks in an hour.
    """

    scale: jax.Array
    shape: jax.Array
    lemon_factor: jax.Array
    automatic: jax.Array
    manual: jax.Array
    automatic_share: jax.Array
    renewed: jax.Array
    per_hour: jax.Array


class Draw(NamedTuple):
    """What chance says to a node event: a cumulative hazard, ticks of a repair, and whether it was manual."""

    hazard: jax.Array
    repair: jax.Array
    manual: jax.Array


def draw(key: jax.Array, node: jax.Array, now: jax.Array, lives: Lives) -> Draw:
    """Draw what an event of a node at a time needs.

    Node and time choose the random numbers, so the life of a node does not depend on what other nodes and
    the jobs do, as long as it is powered for as long: two plans of one seed meet the same failures.
    """
    key = jax.random.fold_in(jax.random.fold_in(key, node), now)
    life, first, second, chance = jax.random.uniform(key, (4,), lives.shape.dtype)
    manual = chance >= lives.automatic_share
    hours = _stage(first, lives.automatic) + jnp.where(manual, _stage(second, lives.manual), 0)
    return Draw(-jnp.log1p(-life), in_ticks(hours, lives.per_hour), manual)


def _stage(uniform: jax.Array, stage: jax.Array) -> jax.Array:
    """Log-normal hours."""
    return stage[0] * jnp.exp(stage[1] * _normal(uniform))


def _normal(uniform: jax.Array) -> jax.Array:
    """Standard normal numbers from uniform ones on [0, 1)."""
    lowest = jnp.nextafter(jnp.array(-1, uniform.dtype), jnp.array(0, uniform.dtype))
    return math.sqrt(2) * jax.lax.erf_inv(jnp.maximum(2 * uniform - 1, lowest))


def life(hazard: jax.Array, used: jax.Array, scale: jax.Array, shape: jax.Array) -> jax.Array:
    """Hours until a node has used up a cumulative hazard more than the one that it has used already.

    The cumulative hazard at age a is (a / scale)^shape; the remaining life is its inverse at
    `used` + `hazard`, less the age, which is the inverse at `used`.
    """
    old = used > 0
    safe = jnp.where(old, used, 1)
    aged = safe ** (1 / shape) * jnp.expm1(jnp.log1p(hazard / safe) / shape)
    return scale * jnp.where(old, aged, hazard ** (1 / shape))


def stationary(key: jax.Array, shape: jax.Array, nodes: int) -> tuple[jax.Array, jax.Array]:
    """Ages and remaining lives in scales, as they are in a fleet that has run for ever.

    Such a node is in the midst of a length-biased life L, at a point uniform on (0, L). The density of L is
    x f(x) / mean, so (L / scale)^shape has the Gamma distribution of shape 1 + 1 / `shape`.

    Parameters
    ----------
    key
        A key for each replicate.
    shape
        Weibull shape.
    nodes
        Number of nodes.

    Returns
    -------
    tuple
        Ages and remaining lives, shape (replicates, nodes).
    """
    length = _gamma(key, 1 + 1 / shape, nodes) ** (1 / shape)
    place = jax.vmap(lambda one: jax.random.uniform(jax.random.fold_in(one, 0), (nodes,), shape.dtype))(key)
    return length * place, length * (1 - place)


def lemons(key: jax.Array, real: jax.Array, number: jax.Array) -> jax.Array:
    """Which nodes are lemons: `number` of the `real` ones at random."""
    lots = jnp.where(real, jax.random.bits(key, real.shape, jnp.uint32) >> 1, jnp.uint32(2**32 - 1))
    return jnp.argsort(jnp.argsort(lots)) < number


def _gamma(keys: jax.Array, shape: jax.Array, nodes: int) -> jax.Array:
    """Gamma distribution of a shape of at least 1/3, by Marsaglia and Tsang (2000), all nodes side by side."""
    d = shape - 1 / 3
    c = 1 / jnp.sqrt(9 * d)

    def rejected(state: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        return ~jnp.all(state[1])

    def again(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        turn, done, value = state

        def propose(key: jax.Array) -> jax.Array:
            return jax.random.uniform(jax.random.fold_in(key, turn), (2, nodes), shape.dtype)

        normal, test = jnp.moveaxis(jax.vmap(propose)(keys), 1, 0)
        x = _normal(normal)
        v = (1 + c * x) ** 3
        logarithm = jnp.log(jnp.where(v > 0, v, 1))
        good = (v > 0) & (jnp.log1p(-test) < x * x / 2 + d - d * v + d * logarithm)
        return turn + 1, done | good, jnp.where(done | ~good, value, d * v)

    start = (jnp.int32(1), jnp.zeros((keys.shape[0], nodes), bool), jnp.ones((keys.shape[0], nodes), shape.dtype))
    return jax.lax.while_loop(rejected, again, start)[2]
