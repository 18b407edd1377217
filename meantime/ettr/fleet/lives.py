"""Lives and repairs of nodes: Weibull in hours of operation, log-normal stages."""

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
    life, stages, chance = jax.random.split(key, 3)
    dtype = lives.shape.dtype
    normal = jax.random.normal(stages, (2,), dtype)
    manual = jax.random.uniform(chance, (), dtype) >= lives.automatic_share
    first = lives.automatic[0] * jnp.exp(lives.automatic[1] * normal[0])
    second = lives.manual[0] * jnp.exp(lives.manual[1] * normal[1])
    repair = in_ticks(first + jnp.where(manual, second, 0), lives.per_hour)
    return Draw(jax.random.exponential(life, (), dtype), repair, manual)


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
    places, lengths = jnp.moveaxis(jax.vmap(jax.random.split)(key), 1, 0)
    length = _gamma(lengths, 1 + 1 / shape, nodes) ** (1 / shape)
    place = jax.vmap(lambda one: jax.random.uniform(one, (nodes,), shape.dtype))(places)
    return length * place, length * (1 - place)


def lemons(key: jax.Array, nodes: int, number: int) -> jax.Array:
    """Which nodes are lemons: `number` of them at random."""
    order = jnp.argsort(jax.random.bits(key, (nodes,)))
    return jnp.zeros(nodes, bool).at[order[:number]].set(True)


def _gamma(keys: jax.Array, shape: jax.Array, nodes: int) -> jax.Array:
    """Gamma distribution of a shape of at least 1/3, by Marsaglia and Tsang (2000), all nodes side by side."""
    d = shape - 1 / 3
    c = 1 / jnp.sqrt(9 * d)

    def rejected(state: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        return ~jnp.all(state[1])

    def again(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        turn, done, value = state

        def propose(key: jax.Array) -> tuple[jax.Array, jax.Array]:
            normals, tests = jax.random.split(jax.random.fold_in(key, turn))
            normal = jax.random.normal(normals, (nodes,), shape.dtype)
            return normal, jax.random.exponential(tests, (nodes,), shape.dtype)

        x, test = jax.vmap(propose)(keys)
        v = (1 + c * x) ** 3
        logarithm = jnp.log(jnp.where(v > 0, v, 1))
        good = (v > 0) & (-test < x * x / 2 + d - d * v + d * logarithm)
        return turn + 1, done | good, jnp.where(done | ~good, value, d * v)

    start = (jnp.int32(0), jnp.zeros((keys.shape[0], nodes), bool), jnp.ones((keys.shape[0], nodes), shape.dtype))
    return jax.lax.while_loop(rejected, again, start)[2]
