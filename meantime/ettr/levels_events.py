"""Event simulation of runs with checkpoints on several levels."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from meantime.errors import InputError
from meantime.ettr.arrays import ArrayLike, as_numpy
from meantime.ettr.levels import Levels

type _State = tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]


def simulate_levels(
    seed: int,
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike,
    restart: ArrayLike = 0.0,
    *,
    every: ArrayLike,
    wait: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    blocks: int = 1,
    n_runs: int = 1,
    max_failures: int = 100_000,
) -> np.ndarray:
    """Simulate runs with nested checkpoint levels failure by failure, and return their wall-clock hours.

    The mechanism of `multilevel` without its formulas: the next failure and its class are drawn, the
    segments that fit before it are done, and the run goes back to its last checkpoint that this
    class can be recovered from. One step of the loop is one failure, for all runs side by side.

    Parameters
    ----------
    seed
        Seed.
    hazard, write, restart, wait, every
        As in `multilevel`, levels on the last axis; whole numbers in `every`.
    interval, queue
        As in `multilevel`.
    blocks
        Length of a run in blocks of the highest level: productive hours over the product of `every` and `interval`.
    n_runs
        Number of runs of each plan.
    max_failures
        Give up on a run after so many failures.

    Returns
    -------
    numpy.ndarray
        Hours, shape (n_runs, then that of the plans); infinite for a run that was given up.

    Raises
    ------
    InputError
        If a value cannot be used.
    """
    core = ("hazard", "write", "restart", "wait", "every")
    given = {"hazard": hazard, "write": write, "restart": restart, "wait": wait, "every": every}
    plan = as_numpy(given | {"interval": interval, "queue": queue}, core=core)
    if blocks < 1 or n_runs < 1:
        raise InputError(f"blocks is {blocks} and n_runs is {n_runs}; expected at least 1 of each")
    if (plan["every"] % 1 != 0).any():
        raise InputError(f"every is {every!r}; expected whole numbers")
    number = plan["every"].shape[-1] + 1
    shape = np.broadcast_shapes(*(a.shape[:-1] if name in core else a.shape for name, a in plan.items()))
    flat = {}
    for name, array in plan.items():
        own = () if name not in core else (number - (name == "every"),)
        flat[name] = np.broadcast_to(array, shape + own).reshape(-1, *own)
    with jax.enable_x64(True):
        wall = _simulate(jax.random.key(seed), blocks, n_runs, max_failures, **flat)
        return np.asarray(wall).T.reshape(n_runs, *shape)


@partial(jax.jit, static_argnames=("n_runs", "max_failures"))
def _simulate(key: jax.Array, blocks: int, n_runs: int, max_failures: int, **plans: jax.Array) -> jax.Array:
    def one(item: tuple[jax.Array, dict[str, jax.Array]]) -> jax.Array:
        index, plan = item
        return _runs(jax.random.fold_in(key, index), blocks, n_runs, max_failures, **plan)

    size = len(plans["interval"])
    return jax.lax.map(one, (jnp.arange(size), plans), batch_size=max(1, (1 << 14) // n_runs))


def _runs(
    key: jax.Array,
    blocks: int,
    n_runs: int,
    max_failures: int,
    *,
    interval: jax.Array,
    every: jax.Array,
    queue: jax.Array,
    **levels: jax.Array,
) -> jax.Array:
    hazard, write, restart, wait = Levels(**levels)
    lengths = jnp.concatenate([jnp.ones(1, every.dtype), jnp.cumprod(every)])
    end = blocks * lengths[-1]
    extra = jnp.diff(write, prepend=0)

    def hours(segments: jax.Array) -> jax.Array:
        """Hours of the first so many segments with their writes."""
        written = jnp.floor(segments[:, None] / lengths) @ extra
        return segments * interval + written

    blocks_take = [interval + write[0]]  # hours of a block of each level
    for level in range(1, len(write)):
        blocks_take.append(every[level - 1] * blocks_take[-1] + extra[level])

    def fitting(start: jax.Array, time: jax.Array) -> jax.Array:
        """Number of segments that are done `time` hours after `start`: whole blocks, from the highest level down."""
        left, done = hours(start) + time, jnp.zeros_like(start)
        for level in reversed(range(len(write))):
            count = jnp.floor(left / blocks_take[level])
            if level < len(write) - 1:
                count = jnp.minimum(count, every[level] - 1)
            left, done = left - count * blocks_take[level], done + count * lengths[level]
        return jnp.maximum(done, start)

    def until_failure(state: _State) -> _State:
        step, key, done, level, wall, running = state
        key, first, second = jax.random.split(key, 3)
        gap = jax.random.exponential(first, (n_runs,), dtype=wall.dtype) / hazard.sum()
        kind = jax.random.categorical(second, jnp.log(hazard), shape=(n_runs,))
        needed = restart[level] + hours(jnp.full_like(done, end)) - hours(done)
        finishes = gap >= needed
        reached = jnp.where(gap > restart[level], fitting(done, gap - restart[level]), done)
        again = jnp.where(gap > restart[level], kind, jnp.maximum(kind, level))
        back = jnp.floor(reached / lengths[kind]) * lengths[kind]
        wall = wall + jnp.where(running, jnp.where(finishes, needed, gap + wait[kind]), 0)
        return step + 1, key, back, again, wall, running & ~finishes

    def failing(state: _State) -> jax.Array:
        return (state[0] <= max_failures) & jnp.any(state[-1])

    ones = jnp.ones(n_runs, interval.dtype)
    start = (jnp.int32(0), key, 0 * ones, jnp.full(n_runs, len(write) - 1), queue * ones, jnp.ones(n_runs, bool))
    *_, wall, running = jax.lax.while_loop(failing, until_failure, start)
    return jnp.where(running, jnp.inf, wall)
