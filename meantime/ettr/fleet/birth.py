"""Fleets at hour zero."""

import jax
import jax.numpy as jnp

from meantime.ettr.fleet.jobs import new_jobs
from meantime.ettr.fleet.lives import lemons, life, stationary
from meantime.ettr.fleet.state import Account, Fleet, Owner, Rules, Settings
from meantime.ettr.fleet.ticks import NEVER, in_ticks


def new_fleet(keys: jax.Array, rules: Rules, settings: Settings) -> Fleet:
    """Fleets at hour zero: all nodes up, idle ones off as far as spares may be."""
    count, blocks, block = settings.replicates, settings.blocks, settings.block
    places = blocks * block
    streams, births, lots = jnp.moveaxis(jax.vmap(lambda key: jax.random.split(key, 3))(keys), 1, 0)
    lives = rules.lives
    dtype = lives.shape.dtype
    shape = (count, blocks, block)
    number = jnp.arange(places, dtype=jnp.int32)
    real = number < rules.nodes

    lemon = None
    scale = lives.scale
    if settings.lemons:
        lemon = jax.vmap(lambda key: lemons(key, real, rules.lemons))(lots).reshape(shape)
        scale = jnp.where(lemon, scale / lives.lemon_factor, scale)
    if settings.stationary:
        ages, rest = stationary(births, lives.shape, places)
        used = ((ages + rest) ** lives.shape).reshape(shape)
        hours = rest.reshape(shape) * scale
    else:
        hazard = jax.vmap(lambda key: jax.random.exponential(key, (places,), dtype))(births).reshape(shape)
        old = jnp.broadcast_to((rules.age / scale) ** lives.shape, shape)
        used = old + hazard
        hours = life(hazard, old, scale, lives.shape)
    number, real = number.reshape(blocks, block), real.reshape(blocks, block)
    due = jnp.where(real, in_ticks(hours, lives.per_hour, least=1), NEVER)
    owner = jnp.broadcast_to(jnp.where(real, Owner.IDLE, Owner.NONE).astype(jnp.int32), due.shape)
    zero = jnp.zeros(count, jnp.int32)
    left = None
    if settings.switched:
        spare = real & (number >= rules.warm_spares)
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
