"""What happens to a node."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from meantime.ettr.fleet.agenda import Kind, Next
from meantime.ettr.fleet.counting import first, total
from meantime.ettr.fleet.lives import Draw, draw, life
from meantime.ettr.fleet.state import Fleet, Owner, Rules, Settings
from meantime.ettr.fleet.ticks import NEVER, in_ticks


class NodeChange(NamedTuple):
    """The replicate after its node changed, the job that a failure struck (negative: none), and whether
    nodes that a job gets were off."""

    fleet: Fleet
    struck: jax.Array
    from_off: jax.Array


def update_node(fleet: Fleet, rules: Rules, settings: Settings, event: Next) -> NodeChange:
    """Change the one node that an event is about: it fails, comes back, starts, or goes to a job."""
    now, by_node = event.time, event.kind == Kind.NODE
    given, switched_on = event.kind == Kind.GIVE, event.kind == Kind.SWITCH_ON
    changes = by_node | given | switched_on
    idle_now = total(fleet.idle)
    wanted = jnp.where(event.kind == Kind.START, rules.tasks.size[event.job], given.astype(jnp.int32))
    from_off = settings.switched & (wanted > idle_now)
    off_wanted = switched_on | (given & from_off)
    block = first(jnp.where(given, fleet.idle > 0, fleet.soonest == now))
    if settings.switched:
        block = jnp.where(off_wanted, first(fleet.off > 0), block)
    due_row, owner_row = fleet.due[block], fleet.owner[block]
    sought = jnp.where(off_wanted, Owner.OFF, Owner.IDLE)
    place = first(jnp.where(by_node, due_row == now, owner_row == sought))
    owner, due = owner_row[place], due_row[place]

    fails = by_node & (owner >= Owner.IDLE)
    repaired = by_node & (owner == Owner.REPAIR)
    arrives = by_node & (owner == Owner.STARTING)
    node = block * settings.block + place
    chance = draw(fleet.key, node, now, rules.lives)
    used = jnp.zeros_like(chance.hazard) if fleet.used is None else fleet.used[block, place]
    scale = rules.lives.scale[block, place]
    lemon = jnp.bool_(False) if fleet.lemon is None else fleet.lemon[block, place]
    scale = jnp.where(lemon, scale / rules.lives.lemon_factor, scale)
    new_life = in_ticks(life(chance.hazard, used, scale, rules.lives.shape), rules.lives.per_hour, least=1)

    new_owner = jnp.where(fails, Owner.REPAIR, jnp.where(given, event.job, Owner.IDLE))
    new_due = jnp.where(fails, now + chance.repair, jnp.where(repaired, now + new_life, due))
    left = fleet.left
    if left is not None:
        surplus = repaired & (idle_now >= rules.warm_spares)
        kept = left[block, place]
        new_owner = jnp.where(surplus, Owner.OFF, jnp.where(switched_on, Owner.STARTING, new_owner))
        new_due = jnp.where(arrives | (given & from_off), now + kept, new_due)
        new_due = jnp.where(switched_on, now + rules.cold_start, jnp.where(surplus, NEVER, new_due))
        left = left.at[block, place].set(jnp.where(surplus, new_life, kept))
    new_owner = jnp.where(changes, new_owner, owner).astype(jnp.int32)
    new_due = jnp.where(changes, new_due, due)
    row = jnp.where(jnp.arange(settings.block) == place, new_due, due_row)
    here = jnp.arange(settings.blocks) == block

    def moved(state: Owner) -> jax.Array:
        return (new_owner == state).astype(jnp.int32) - (owner == state).astype(jnp.int32)

    changed = fleet._replace(
        owner=fleet.owner.at[block, place].set(new_owner),
        due=fleet.due.at[block, place].set(new_due),
        left=left,
        used=None
        if fleet.used is None
        else fleet.used.at[block, place].set(_used(used, chance, fails, repaired, rules)),
        soonest=jnp.where(here, jnp.min(row), fleet.soonest),
        idle=fleet.idle + jnp.where(here, moved(Owner.IDLE), 0),
        off=fleet.off + jnp.where(here, moved(Owner.OFF), 0),
        starting=fleet.starting + moved(Owner.STARTING),
        repair=fleet.repair + moved(Owner.REPAIR),
        failures=fleet.failures + fails,
        lemon_failures=fleet.lemon_failures + (fails & lemon),
        manual=fleet.manual + (fails & chance.manual),
    )
    return NodeChange(changed, jnp.where(fails, owner, Owner.NONE), from_off)


def _used(used: jax.Array, chance: Draw, fails: jax.Array, repaired: jax.Array, rules: Rules) -> jax.Array:
    """Cumulative hazard of a node: at its failure, or while it is in repair that which its age stands for."""
    renewed = rules.lives.renewed[chance.manual.astype(jnp.int32)]
    return jnp.where(repaired, used + chance.hazard, jnp.where(fails & renewed, 0, used))
