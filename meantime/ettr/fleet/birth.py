"""Fleets at hour zero."""

import jax
import jax.numpy as jnp

from meantime.ettr.fleet.jobs import new_jobs
from meantime.ettr.fleet.lives import lemons, life, stationary
from meantime.ettr.fleet.state import Account, Fleet, Owner, Rules, Settings
from meantime.ettr.fleet.ticks import NEVER, in_ticks


def new_fleet(keys: jax.Array, rules: Rules, settings: Settings) -> Fleet:
    """Fleets at hour zero: all nodes up, idle ones off as far as spares may be."""
    count, nodes, blocks, block = settings.replicates, settings.nodes, settings.blocks, settings.block
    streams, births, places = jnp.moveaxis(jax.vmap(lambda key: jax.random.split(key, 3))(keys), 1, 0)
    lives, padding = rules.lives, blocks * block - nodes
    dtype = lives.shape.dtype

    def in_blocks(array: jax.Array, fill: int) -> jax.Array:
        return jnp.pad(array, ((0, 0), (0, padding)), constant_values=fill).reshape(count, blocks, block)

    lemon = None
    scale = lives.scale
    if settings.lemons:
        chosen = jax.vmap(lambda key: lemons(key, nodes, settings.lemons))(places)
        lemon = in_blocks(chosen, 0)
        scale = jnp.where(lemon, scale / lives.lemon_factor, scale)
    if settings.stationary:
        ages, rest = stationary(births, lives.shape, nodes)
        ages, rest = in_blocks(ages, 0), in_blocks(rest, 0)
        used = (ages + rest) ** lives.shape
        hours = rest * scale
    else:
        hazard = jax.vmap(lambda key: jax.random.exponential(key, (nodes,), dtype))(births)
        old = (rules.age / scale) ** lives.shape
        used = old + in_blocks(hazard, 0)
        hours = life(in_blocks(hazard, 1), jnp.broadcast_to(old, used.shape), scale, lives.shape)
    due = in_ticks(hours, lives.per_hour, least=1)
    real = jnp.arange(blocks * block).reshape(blocks, block) < nodes
    due = jnp.where(real, due, NEVER)
    owner = jnp.broadcast_to(jnp.where(real, Owner.IDLE, Owner.NONE).astype(jnp.int32), due.shape)
    zero = jnp.zeros(count, jnp.int32)
    left = None
    if settings.switched:
        spare = real & (jnp.arange(blocks * block).reshape(blocks, block) >= rules.warm_spares)
        left = jnp.where(spare, due, 0)
        due = jnp.where(spare, NEVER, due)
        owner = jnp.where(spare, jnp.int32(Owner.OFF), owner)
    jobs = new_jobs(rules.tasks)
    return Fleet(
        key=streams,
        now=zero,
        owner=owner,
        due=due,
        left=left,
        used=used if settings.ages else None,
        lemon=lemon,
        soonest=jnp.min(due, -1),
        idle=jnp.sum(owner == Owner.IDLE, -1, dtype=jnp.int32),
        off=jnp.sum(owner == Owner.OFF, -1, dtype=jnp.int32),
        starting=zero,
        repair=zero,
        failures=zero,
        lemon_failures=zero,
        manual=zero,
        accounts=jnp.zeros((count, len(Account), 3), jnp.int32),
        jobs=jax.tree.map(lambda array: jnp.broadcast_to(array, (count, *array.shape)), jobs),
    )
