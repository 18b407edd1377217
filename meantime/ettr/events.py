"""Event simulation of single runs, against which the closed forms are tested."""

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from meantime.errors import InputError
from meantime.ettr.arrays import Array, ArrayLike, as_jax, as_numpy
from meantime.ettr.segments import check_one_run, cut
from meantime.ettr.waits import Waits, draw_waits

type _State = tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]

_TOGETHER = 1 << 14
"""About so many runs go through the event loop side by side, when there are several plans."""


class Settings(NamedTuple):
    """What a simulation is compiled for."""

    n_runs: int
    last_write: bool
    max_failures: int
    random_waits: bool
    limited: bool


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
    detection_sd: ArrayLike = 0.0,
    queue_sd: ArrayLike = 0.0,
    hang_share: ArrayLike = 0.0,
    hang_timeout: ArrayLike = 0.0,
    lifetime: ArrayLike = jnp.inf,
    preemption: ArrayLike = 0.0,
    protected: ArrayLike = 0.0,
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
        Mean hours from a failure to its being noticed.
    queue
        Mean hours in the queue, at submission and after each end of a job.
    detection_sd, queue_sd
        Standard deviations of the two in hours; both have Gamma distributions.
    hang_share
        Share of the failures that show as a standing run, noticed by a time-out in place of `detection`.
    hang_timeout
        Hours of that time-out.
    lifetime
        Hours after which the scheduler ends a job.
    preemption
        Preemptions per hour of a job older than `protected` hours.
    protected
        Hours for which a job cannot be preempted.
    n_runs
        Number of runs of each plan.
    last_write
        Whether the run ends with a checkpoint write.
    max_failures
        Give up on a run after so many failures.
    with_failures
        Return the number of failures of each run as well (preemptions and ends of life not counted).

    Returns
    -------
    Array or tuple
        Wall-clock hours, shape (n_runs, then the broadcast shape of the plan); with `with_failures` the
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
        "detection_sd": detection_sd,
        "queue_sd": queue_sd,
        "hang_share": hang_share,
        "hang_timeout": hang_timeout,
        "lifetime": lifetime,
        "preemption": preemption,
        "protected": protected,
        "productive": productive,
    }
    settings = Settings(
        n_runs=n_runs,
        last_write=last_write,
        max_failures=max_failures,
        random_waits=any(not _is(0, value) for value in (detection_sd, queue_sd, hang_share)),
        limited=not (_is(np.inf, lifetime) and _is(0, preemption)),
    )
    if isinstance(key, jax.Array):
        wall, failures = _simulate(key, settings, **as_jax(plan))
        return (wall, failures) if with_failures else wall
    checked = as_numpy(plan)
    check_one_run(checked["interval"], checked["productive"])
    if n_runs < 1:
        raise InputError(f"n_runs is {n_runs}; expected at least 1")
    with jax.enable_x64(True):
        wall, failures = (np.array(out) for out in _simulate(jax.random.key(key), settings, **checked))
    lost = int(np.isinf(wall).sum())
    if lost:
        raise InputError(
            f"{lost} of {wall.size} simulated runs were unfinished after max_failures = {max_failures} failures; "
            "expected a shorter interval, a shorter run or a larger max_failures"
        )
    return (wall, failures) if with_failures else wall


def _is(number: float, value: ArrayLike) -> bool:
    """Tell whether an argument is known to be this number, which a traced one is not."""
    return not isinstance(value, jax.Array) and bool(np.all(np.asarray(value) == number))


@partial(jax.jit, static_argnames="settings")
def _simulate(key: jax.Array, settings: Settings, **plan: jax.Array) -> tuple[jax.Array, jax.Array]:
    shape = jnp.broadcast_shapes(*(value.shape for value in plan.values()))
    flat = {name: jnp.broadcast_to(value, shape).ravel() for name, value in plan.items()}
    size = flat["hazard"].size

    def one_plan(item: tuple[jax.Array, dict[str, jax.Array]]) -> tuple[jax.Array, jax.Array]:
        index, values = item
        hazard = values.pop("hazard")
        return runs_of(
            jax.random.fold_in(key, index), settings, lambda key, wall: gap(key, hazard, wall.shape), **values
        )

    together = max(1, min(size, _TOGETHER // settings.n_runs))
    wall, failures = jax.lax.map(one_plan, (jnp.arange(size), flat), batch_size=together)
    return wall.T.reshape(settings.n_runs, *shape), failures.T.reshape(settings.n_runs, *shape)


def runs_of(
    key: jax.Array,
    settings: Settings,
    next_failure: Callable[[jax.Array, jax.Array], jax.Array],
    *,
    interval: jax.Array,
    write: jax.Array,
    restart: jax.Array,
    lifetime: jax.Array,
    preemption: jax.Array,
    protected: jax.Array,
    productive: jax.Array,
    **waits: jax.Array,
) -> tuple[jax.Array, jax.Array]:
    """Wall-clock hours and failures of all runs of one plan; `done` counts the segments kept so far.

    `next_failure` draws the hours to the next failure of jobs that start at the given wall-clock hours.
    """
    n_runs, last_write, max_failures, random_waits, limited = settings
    after = Waits(**waits)
    full, interval, last = cut(interval, productive)
    segment = interval + write
    ending = last + (write if last_write else 0)

    def failing(state: _State) -> jax.Array:
        step, _, _, _, _, running = state
        return (step <= max_failures) & jnp.any(running)

    def until_failure(state: _State) -> _State:
        step, key, done, wall, failures, running = state
        key, draw = jax.random.split(key)
        failure = next_failure(draw, wall)
        stop = jnp.minimum(lifetime, protected + gap(jax.random.fold_in(draw, 1), preemption, wall.shape))
        end = jnp.minimum(failure, stop) if limited else failure
        left = full - done
        needed = restart + left * segment + ending
        finishes = end >= needed
        kept = jnp.clip(jnp.floor((end - restart) / segment), 0, left)
        wait, again = after.detection + after.queue, after.queue
        if random_waits:
            wait, again = draw_waits(jax.random.fold_in(draw, 2), after, n_runs)
        failed = failure <= end
        wait = jnp.where(failed, wait, again) if limited else wait
        wall = wall + jnp.where(running, jnp.where(finishes, needed, end + wait), 0)
        failures = failures + (running & ~finishes & failed)
        return step + 1, key, done + kept, wall, failures, running & ~finishes

    first = draw_waits(jax.random.fold_in(key, 0), after, n_runs)[1] if random_waits else after.queue
    start = (
        jnp.int32(0),
        key,
        jnp.zeros(n_runs, interval.dtype),
        jnp.broadcast_to(first, (n_runs,)),
        jnp.zeros(n_runs, jnp.int32),
        jnp.ones(n_runs, bool),
    )
    _, _, _, wall, failures, running = jax.lax.while_loop(failing, until_failure, start)
    return jnp.where(running, jnp.inf, wall), failures


def gap(key: jax.Array, rate: jax.Array, shape: tuple[int, ...]) -> jax.Array:
    """Hours to the next event of a Poisson process, infinite where its rate is zero."""
    drawn = jax.random.exponential(key, shape, dtype=rate.dtype)
    return jnp.where(rate == 0, jnp.inf, drawn / jnp.where(rate == 0, 1, rate))
