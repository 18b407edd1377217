"""Jobs take all their nodes from the pool of idle ones, or give all of them back.

A step of a replicate changes one node at most, but for these: they look at every node of a replicate, so they
are done apart, for those replicates alone that need it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from meantime.ettr.fleet.state import Fleet, Owner, Rules, Settings
from meantime.ettr.fleet.ticks import NEVER, total


class Exchange(NamedTuple):
    """Nodes that a job takes (a positive number) or gives back (a negative one), if any (not zero)."""

    job: jax.Array
    number: jax.Array


class Pool(NamedTuple):
    """What an exchange changes."""

    owner: jax.Array
    due: jax.Array | None
    left: jax.Array | None
    soonest: jax.Array | None
    idle: jax.Array
    off: jax.Array | None


def exchange(fleet: Fleet, wanted: Exchange, rules: Rules, settings: Settings) -> Fleet:
    """Do what the replicates want; the first axis of all arrays is that of the replicates.

    A job gets idle nodes that are powered before those that are off, and of each those with the lowest numbers.
    Of the nodes that come back, those with the lowest numbers stay powered.
    """
    switched = settings.switched
    pool = Pool(
        owner=fleet.owner,
        due=fleet.due if switched else None,
        left=fleet.left,
        soonest=fleet.soonest if switched else None,
        idle=fleet.idle,
        off=fleet.off if switched else None,
    )

    def open_(state: tuple[Pool, jax.Array]) -> jax.Array:
        return jnp.any(state[1] != 0)

    def one(state: tuple[Pool, jax.Array]) -> tuple[Pool, jax.Array]:
        pool, number = state
        row = jnp.argmax(number != 0)
        mine = jax.tree.map(lambda array: array[row], pool)
        changed = _exchange(mine, wanted.job[row], number[row], fleet.now[row], rules)
        pool = jax.tree.map(lambda array, new: array.at[row].set(new), pool, changed)
        return pool, number.at[row].set(0)

    pool, _ = jax.lax.while_loop(open_, one, (pool, wanted.number))
    return fleet._replace(**{name: value for name, value in pool._asdict().items() if value is not None})


def _exchange(pool: Pool, job: jax.Array, number: jax.Array, now: jax.Array, rules: Rules) -> Pool:
    owner = pool.owner
    idle, mine = owner == Owner.IDLE, owner == job
    if pool.off is None:
        taken = idle & (_rank(idle) < number)
        owner = jnp.where(taken, job, jnp.where(mine & (number < 0), Owner.IDLE, owner))
        return pool._replace(owner=owner, idle=_count(owner == Owner.IDLE))
    off = owner == Owner.OFF
    powered = total(pool.idle)
    taken = (idle & (_rank(idle) < number)) | (off & (_rank(off) < number - powered))
    released = mine & (number < 0)
    surplus = released & (_rank(released) >= rules.warm_spares - powered)
    due = jnp.where(surplus, NEVER, jnp.where(taken & off, now + pool.left, pool.due))
    owner = jnp.where(taken, job, jnp.where(surplus, Owner.OFF, jnp.where(released, Owner.IDLE, owner)))
    return Pool(
        owner=owner,
        due=due,
        left=jnp.where(surplus, pool.due - now, pool.left),
        soonest=jnp.min(due, 1),
        idle=_count(owner == Owner.IDLE),
        off=_count(owner == Owner.OFF),
    )


def _rank(wanted: jax.Array) -> jax.Array:
    """How many of the wanted nodes have a lower number, for each node."""
    counts = wanted.astype(jnp.int32)
    inside = jnp.cumsum(counts, axis=1)
    blocks = inside[:, -1]
    return inside - counts + (jnp.cumsum(blocks) - blocks)[:, None]


def _count(wanted: jax.Array) -> jax.Array:
    return jnp.sum(wanted, axis=1, dtype=jnp.int32)
