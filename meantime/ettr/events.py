"""Event simulation of single runs, against which the closed forms are tested."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from meantime.errors import InputError
from meantime.ettr.arrays import Array, ArrayLike, as_jax, as_numpy
from meantime.ettr.segments import check_one_run, cut

type _State = tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]

_TOGETHER = 1 << 14
"""About so many runs go through the event loop side by side, when there are several plans."""


def simulate(
    key: int | jax.Array,
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    productive: ArrayLike,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    n_runs: int = 1,
    last_write: bool = True,
    max_failures: int = 1_000_000,
    with_failures: bool = False,
) -> Array:
    """Simulate runs failure by failure and return their wall-clock hours.

    The mechanism alone, none of the closed forms: the time of the next failure is drawn, the restart
    and as many segments (computation and write) as fit before it are done, the rest is lost, the run
    waits `detection` + `queue` hours and starts again, until its productive hours are finished. One step of
    the loop is one failure, for all runs side by side; nothing grows with the length of a run.

    Parameters
    ----------
    key
        A seed (NumPy in float64 comes back) or a JAX key (JAX in the current precision).
    hazard
        Failures per hour of the whole job.
    interval
        Productive hours between checkpoints, positive; more than `productive`: a single segment.
    write
        Hours during which a checkpoint blocks the run.
    restart
        Hours to initialise and load the last checkpoint.
    productive
        Productive hours of the run, finite.
    detection
        Hours from a failure to its being noticed.
    queue
        Hours in the queue, at submission and after each failure.
    n_runs
        Number of runs of each plan.
    last_write
        Whether the run ends with a checkpoint write.
    max_failures
        Give up on a run after so many failures.
    with_failures
        Return the number of failures of each run as well.

    Returns
    -------
    Array or tuple
        Wall-clock hours, shape (n_runs, *broadcast shape of the plan); with `with_failures` the
        pair of hours and numbers of failures. A run that was given up is infinite (JAX key only).
        In float32 gaps beyond about 16 MTTFs are never drawn, so leave segments of more than 8
        MTTFs to float64.

    Raises
    ------
    InputError
        If a value cannot be used, or (with a seed) a run was given up; nothing is checked with a JAX key.
    """
    plan = {
        "hazard": hazard,
        "interval": interval,
        "write": write,
        "restart": restart,
        "detection": detection,
        "queue": queue,
        "productive": productive,
    }
    settings = {"n_runs": n_runs, "last_write": last_write, "max_failures": max_failures}
    if isinstance(key, jax.Array):
        wall, failures = _simulate(key, **as_jax(plan), **settings)
        return (wall, failures) if with_failures else wall
    checked = as_numpy(plan)
    check_one_run(checked["interval"], checked["productive"])
    if n_runs < 1:
        raise InputError(f"n_runs is {n_runs}; expected at least 1")
    with jax.enable_x64(True):
        wall, failures = (np.array(out) for out in _simulate(jax.random.key(key), **checked, **settings))
    lost = int(np.isinf(wall).sum())
    if lost:
        raise InputError(
            f"{lost} of {wall.size} simulated runs were unfinished after max_failures = {max_failures} failures; "
            "expected a shorter interval, a shorter run or a larger max_failures"
        )
    return (wall, failures) if with_failures else wall


@partial(jax.jit, static_argnames=("n_runs", "last_write", "max_failures"))
def _simulate(
    key: jax.Array, n_runs: int, last_write: bool, max_failures: int, **plan: jax.Array
) -> tuple[jax.Array, jax.Array]:
    shape = jnp.broadcast_shapes(*(value.shape for value in plan.values()))
    flat = {name: jnp.broadcast_to(value, shape).ravel() for name, value in plan.items()}
    size = flat["hazard"].size

    def one_plan(item: tuple[jax.Array, dict[str, jax.Array]]) -> tuple[jax.Array, jax.Array]:
        index, values = item
        return _runs(jax.random.fold_in(key, index), n_runs, last_write, max_failures, **values)

    together = max(1, min(size, _TOGETHER // n_runs))
    wall, failures = jax.lax.map(one_plan, (jnp.arange(size), flat), batch_size=together)
    return wall.T.reshape(n_runs, *shape), failures.T.reshape(n_runs, *shape)


def _runs(
    key: jax.Array,
    n_runs: int,
    last_write: bool,
    max_failures: int,
    *,
    hazard: jax.Array,
    interval: jax.Array,
    write: jax.Array,
    restart: jax.Array,
    detection: jax.Array,
    queue: jax.Array,
    productive: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Wall-clock hours and failures of all runs of one plan; `done` counts the segments kept so far."""
    full, interval, last = cut(interval, productive)
    segment = interval + write
    ending = last + (write if last_write else 0)
    mean_gap = jnp.where(hazard == 0, jnp.inf, 1 / jnp.where(hazard == 0, 1, hazard))

    def failing(state: _State) -> jax.Array:
        step, _, _, _, _, running = state
        return (step <= max_failures) & jnp.any(running)

    def until_failure(state: _State) -> _State:
        step, key, done, wall, failures, running = state
        key, draw = jax.random.split(key)
        gap = jax.random.exponential(draw, (n_runs,), dtype=wall.dtype)
        gap = jnp.where(jnp.isinf(mean_gap), jnp.inf, gap * mean_gap)
        left = full - done
        needed = restart + left * segment + ending
        finishes = gap >= needed
        kept = jnp.clip(jnp.floor((gap - restart) / segment), 0, left)
        wall = wall + jnp.where(running, jnp.where(finishes, needed, gap + detection + queue), 0)
        failures = failures + (running & ~finishes)
        return step + 1, key, done + kept, wall, failures, running & ~finishes

    start = (
        jnp.int32(0),
        key,
        jnp.zeros(n_runs, hazard.dtype),
        jnp.broadcast_to(queue, (n_runs,)),
        jnp.zeros(n_runs, jnp.int32),
        jnp.ones(n_runs, bool),
    )
    _, _, _, wall, failures, running = jax.lax.while_loop(failing, until_failure, start)
    return jnp.where(running, jnp.inf, wall), failures
