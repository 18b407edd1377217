"""Jobs take all their nodes from the pool of idle ones, or give all of them back.

A step of a replicate changes one node at most, but for these: they look at every node of a replicate, so they
are done apart, for those replicates alone that need it.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from meantime.ettr.fleet.counting import first, total
from meantime.ettr.fleet.state import Fleet, Owner, Rules, Settings
from meantime.ettr.fleet.ticks import NEVER


class Exchange(NamedTuple):
    """Nodes that a job takes (a positive number) or gives back (a negative one), if any (not zero)."""

    job: jax.Array
    number: jax.Array


type _Pool = dict[str, jax.Array]


def exchange(fleet: Fleet, wanted: Exchange, rules: Rules, settings: Settings) -> Fleet:
    """Do what the replicates want; the first axis of all arrays is that of the replicates.

    A job gets idle nodes that are powered before those that are off, and of each those with the lowest numbers.
    Of the nodes that come back, those with the lowest numbers stay powered.
    """
    names = ("owner", "idle", *(("due", "left", "soonest", "off") if settings.switched else ()))
    start = {name: getattr(fleet, name) for name in names}

    def open_(state: tuple[_Pool, jax.Array]) -> jax.Array:
        return jnp.any(state[1] != 0)

    def one(state: tuple[_Pool, jax.Array]) -> tuple[_Pool, jax.Array]:
        pool, number = state
        row = first(number != 0)
        # The barriers keep the arrays of all replicates out of what is computed from one, so that they change in place.
        mine = jax.lax.optimization_barrier(jax.tree.map(lambda array: array[row], pool))
        changed = _exchange(mine, wanted.job[row], number[row], fleet.now[row], rules)
        changed = jax.lax.optimization_barrier(changed)
        pool = jax.tree.map(lambda array, new: array.at[row].set(new), pool, changed)
        return pool, number.at[row].set(0)

    pool, _ = jax.lax.while_loop(open_, one, (start, wanted.number))
    return fleet._replace(**pool)


def _exchange(pool: _Pool, job: jax.Array, number: jax.Array, now: jax.Array, rules: Rules) -> _Pool:
    owner = pool["owner"]
    taken, released = _lowest(owner == Owner.IDLE, number), (owner == job) & (number < 0)
    if "left" not in pool:
        owner = jnp.where(taken, job, jnp.where(released, Owner.IDLE, owner))
        return {"owner": owner, "idle": _count(owner == Owner.IDLE)}
    powered = total(pool["idle"])
    started = _lowest(owner == Owner.OFF, number - powered)
    kept = _lowest(released, rules.warm_spares - powered)
    surplus = released & ~kept
    due = jnp.where(surplus, NEVER, jnp.where(started, now + pool["left"], pool["due"]))
    owner = jnp.where(taken | started, job, jnp.where(surplus, Owner.OFF, jnp.where(kept, Owner.IDLE, owner)))
    return {
        "owner": owner,
        "due": due,
        "left": jnp.where(surplus, pool["due"] - now, pool["left"]),
        "soonest": jnp.min(due, 1),
        "idle": _count(owner == Owner.IDLE),
        "off": _count(owner == Owner.OFF),
    }


def _lowest(wanted: jax.Array, number: jax.Array) -> jax.Array:
    """The `number` wanted nodes with the lowest numbers; all of them if there are fewer."""
    counts = _count(wanted)
    ends = jnp.cumsum(counts)
    number = jnp.minimum(number, ends[-1])
    block = first(ends >= number)
    inside = jnp.cumsum(wanted[block].astype(jnp.int32))
    place = first(inside >= number - ends[block] + counts[block])
    rows, columns = jnp.indices(wanted.shape, dtype=jnp.int32, sparse=True)
    before = (rows < block) | ((rows == block) & (columns <= place))
    return wanted & before & (number > 0)


def _count(wanted: jax.Array) -> jax.Array:
    return jnp.sum(wanted, axis=1, dtype=jnp.int32)
