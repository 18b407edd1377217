"""The best intervals of all checkpoint levels together."""

import itertools
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.levels import Levels, log_slowdown_of_levels
from meantime.ettr.optimum import optimal_interval
from meantime.ettr.search import maximise

_SWEEPS = 4
_MOST = 1e6
"""More checkpoints of a level to one of the next are not looked for."""
_REACH = 4.0
"""Largest move of one logarithm in one search."""


class LevelPlan(NamedTuple):
    """Checkpoints of several levels, for `multilevel`.

    Attributes
    ----------
    interval
        Productive hours between checkpoints of any level, shape (...).
    every
        How many checkpoints of a level make one of the next, whole numbers, shape (..., L - 1).
    """

    interval: Array
    every: Array


@array_function(core=("hazard", "write", "restart"), smallest_pad=1)
def optimal_levels(hazard: ArrayLike, write: ArrayLike, restart: ArrayLike = 0.0) -> LevelPlan:
    """Intervals of all levels that together maximise the ETTR of a long run with nested checkpoints.

    The loss of `multilevel` is minimised over the logarithms of the interval and of the k_l as real
    numbers: in turn for all levels together, and for the interval of each level alone. To first
    order these do not interact, so a few rounds are enough. Then the k_l are rounded up and down, the
    interval is searched again for every combination, and the best one is taken; another one can be
    better by less than 1e-3 of the ETTR. Waits after failures are a factor of the ETTR and play no part.

    Parameters
    ----------
    hazard
        Failures per hour by class, shape (..., L).
    write
        Hours for which a checkpoint of each level blocks the run, positive, shape (..., L).
    restart
        Hours to restart from each level, shape (..., L) or (..., 1).

    Returns
    -------
    LevelPlan
        Interval in hours, shape (...), and the numbers `every`, shape (..., L - 1): 1 where the lower level
        is not worth its writes, at most 1e6. The interval is differentiable with the numbers held fixed.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number (NumPy input only).
    """
    number = jnp.broadcast_shapes(hazard.shape[-1:], write.shape[-1:], restart.shape[-1:])[0]
    shape = jnp.broadcast_shapes(hazard.shape[:-1], write.shape[:-1], restart.shape[:-1])
    nothing = jnp.zeros((1,), hazard.dtype)
    given = Levels(*(jnp.broadcast_to(v, (*shape, number)) for v in (hazard, write, restart, nothing)))
    place = _best_place(jax.lax.stop_gradient(given))
    every = _roundings(jnp.exp(place[..., 1:]))

    def value(log_interval: jax.Array) -> jax.Array:
        return -log_slowdown_of_levels(given, jnp.exp(log_interval), every)

    at_first = jnp.broadcast_to(place[..., 0], every.shape[:-1])
    best = maximise(value, at_first - 1, at_first + 1)
    chosen = value(best).argmax(axis=0)[None]
    interval = jnp.take_along_axis(jnp.exp(best), chosen, axis=0)[0]
    return LevelPlan(interval, jnp.take_along_axis(every, chosen[..., None], axis=0)[0])


def _roundings(exact: jax.Array) -> jax.Array:
    """Whole numbers about the exact ones, shape (2^(L - 1), ..., L - 1).

    The first is rounded down and up, the second so that the product of both is nearly kept, and so on.
    """
    choices = []
    for ways in itertools.product((jnp.floor, jnp.ceil), repeat=exact.shape[-1]):
        columns: list[jax.Array] = []
        owed = jnp.ones(exact.shape[:-1], exact.dtype)
        for level, way in enumerate(ways):
            wanted = owed * exact[..., level]
            columns.append(jnp.clip(way(wanted), 1, _MOST))
            owed = wanted / columns[-1]
        choices.append(jnp.stack(columns, axis=-1) if columns else exact)
    return jnp.stack(choices)


def _best_place(levels: Levels) -> jax.Array:
    """Logarithms of the best interval and numbers, as real numbers, shape (..., L)."""
    number = levels.hazard.shape[-1]
    moves = np.eye(number)
    for level in range(1, number):
        moves[level - 1, level] = -1
    directions = jnp.asarray(np.vstack([np.eye(number)[:1], moves]), levels.hazard.dtype)

    def turn(count: int, place: jax.Array) -> jax.Array:
        direction = directions[count % len(directions)]
        room = jnp.where(direction > 0, jnp.log(_MOST) - place, place)[..., 1:]
        back = jnp.where(direction > 0, place, jnp.log(_MOST) - place)[..., 1:]
        ahead, behind = (
            jnp.min(jnp.where(direction[1:] == 0, _REACH, space), axis=-1, initial=_REACH) for space in (room, back)
        )

        def value(step: jax.Array) -> jax.Array:
            moved = place + step[..., None] * direction
            return -log_slowdown_of_levels(levels, jnp.exp(moved[..., 0]), jnp.exp(moved[..., 1:]))

        return place + maximise(value, -behind, ahead, polish=False)[..., None] * direction

    return jax.lax.fori_loop(0, _SWEEPS * len(directions), turn, _first_guess(levels))


def _first_guess(levels: Levels) -> jax.Array:
    """Each level alone: its failures against what its writes cost beyond those of the level below."""
    total = levels.hazard.sum(axis=-1, keepdims=True)
    rates = jnp.maximum(levels.hazard, 1e-9 * total)
    writes = jnp.diff(levels.write, axis=-1, prepend=0)
    alone = jnp.log(optimal_interval(rates, jnp.maximum(writes, 1e-3 * levels.write)))
    alone = jax.lax.cummin(alone, axis=alone.ndim - 1, reverse=True)
    return jnp.concatenate([alone[..., :1], jnp.clip(jnp.diff(alone, axis=-1), 0, jnp.log(_MOST))], axis=-1)
