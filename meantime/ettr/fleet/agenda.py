"""What happens next in a fleet: at once if somebody can be served, or else the next event."""

from enum import IntEnum
from typing import NamedTuple

import jax
import jax.numpy as jnp

from meantime.ettr.fleet.counting import first, last, total
from meantime.ettr.fleet.state import Fleet, Jobs, Phase, Rules, Settings
from meantime.ettr.fleet.ticks import NEVER


class Kind(IntEnum):
    """What happens in a step. Those up to `SWITCH_ON` take no time."""

    GIVE = 0
    """A job that lacks nodes gets an idle one."""
    START = 1
    """A queued job gets all its nodes."""
    PREEMPT = 2
    """A job loses all its nodes."""
    SWITCH_ON = 3
    """A node that was off starts, to become a warm spare."""
    NODE = 4
    JOB = 5
    WAKE = 6
    """A job may be preempted from now on."""
    END = 7


class Next(NamedTuple):
    """What happens, when, and to which job (if it is a job's)."""

    kind: jax.Array
    time: jax.Array
    job: jax.Array


def next_event(fleet: Fleet, rules: Rules, settings: Settings) -> Next:
    """Say what happens next.

    First the jobs that want nodes, by priority: one takes idle nodes if there are enough, or else has a job
    of lower priority preempted (the lowest first, among equals the last of the plan), if by that there would be
    enough. Then the spares. Then the earliest event: nodes before jobs.
    """
    jobs, tasks = fleet.jobs, rules.tasks
    idle = total(fleet.idle) + (total(fleet.off) if settings.switched else 0)
    short = jobs.phase == Phase.SHORT
    wanting = short | (jobs.phase == Phase.QUEUED)
    missing = jnp.where(short, 1, tasks.size) - idle
    served = wanting & (missing <= 0)
    takeable, wake = _takeable(fleet, rules, wanting) if settings.preemption else (None, NEVER)
    ready = served if takeable is None else wanting & (missing <= _below(takeable, tasks.below))
    chosen = first(ready)
    taking = jnp.where(short[chosen], Kind.GIVE, Kind.START)
    at_once = jnp.any(ready) & (fleet.now < rules.horizon)

    due = _due(jobs)
    nodes_next, jobs_next = jnp.min(fleet.soonest), jnp.min(due)
    time = jnp.minimum(jnp.minimum(nodes_next, jobs_next), jnp.minimum(wake, rules.horizon))
    kind = jnp.where(time == nodes_next, Kind.NODE, jnp.where(time == jobs_next, Kind.JOB, Kind.WAKE))
    kind = jnp.where(time >= rules.horizon, Kind.END, kind)
    if settings.switched:
        spares = total(fleet.idle) + fleet.starting
        wanted = (spares < rules.warm_spares) & jnp.any(fleet.off > 0) & (fleet.now < rules.horizon)
        kind = jnp.where(wanted, Kind.SWITCH_ON, kind)
        time = jnp.where(wanted, fleet.now, time)
    job = first(due == jobs_next)
    if takeable is not None:
        kind = jnp.where(at_once, Kind.PREEMPT, kind)
        job = jnp.where(at_once, last(takeable > 0), job)
    takes = at_once & served[chosen]
    kind = jnp.where(takes, taking, kind)
    job = jnp.where(takes, chosen, job)
    return Next(kind, jnp.where(at_once, fleet.now, time), job)


def _takeable(fleet: Fleet, rules: Rules, wanting: jax.Array) -> tuple[jax.Array, jax.Array]:
    """Nodes of each job that jobs of higher priority may take, and the time at which these may become more."""
    jobs, tasks = fleet.jobs, rules.tasks
    holding = (jobs.phase >= Phase.SHORT) & (jobs.phase <= Phase.RUNNING)
    ripe = jobs.begun + rules.protected
    takeable = jnp.where(holding & (ripe <= fleet.now), tasks.size - jobs.lack, 0)
    lower = jnp.arange(tasks.size.size) >= tasks.below[first(wanting)]
    awaited = holding & (ripe > fleet.now) & lower & jnp.any(wanting)
    return takeable, jnp.min(jnp.where(awaited, ripe, NEVER))


def _below(takeable: jax.Array, below: jax.Array) -> jax.Array:
    """Sum of `takeable` over the jobs of lower priority, for each job."""
    return jnp.append(jnp.cumsum(takeable[::-1])[::-1], 0)[below]


def _due(jobs: Jobs) -> jax.Array:
    moving = (jobs.phase == Phase.COMING) | (jobs.phase == Phase.WAITING) | (jobs.phase == Phase.RUNNING)
    return jnp.where(moving, jobs.when, NEVER)
