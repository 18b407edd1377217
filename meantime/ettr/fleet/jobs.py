"""What happens to a job, and its ledger."""

import jax
import jax.numpy as jnp

from meantime.ettr.fleet.agenda import Kind, Next
from meantime.ettr.fleet.state import Entry, Fleet, Jobs, Phase, Rules, Tasks
from meantime.ettr.fleet.ticks import LONGEST, NEVER


def update_jobs(fleet: Fleet, rules: Rules, event: Next, struck: jax.Array, from_off: jax.Array) -> Jobs:
    """Jobs after an event.

    Parameters
    ----------
    fleet
        Replicate before the event.
    rules
        Rules.
    event
        The event.
    struck
        Job that a failed node belonged to, negative if none.
    from_off
        Whether the nodes that a job gets have to start first.
    """
    jobs, tasks, now = fleet.jobs, rules.tasks, event.time
    places = jnp.arange(tasks.size.size)
    by_node = event.kind == Kind.NODE
    mine = jnp.where(by_node, places == struck, places == event.job)
    touched = mine & (event.kind != Kind.SWITCH_ON) & (event.kind != Kind.WAKE) & (event.kind != Kind.END)
    failed = mine & by_node
    given = mine & (event.kind == Kind.GIVE)
    started = mine & (event.kind == Kind.START)
    evicted = mine & (event.kind == Kind.PREEMPT)
    moved = mine & (event.kind == Kind.JOB)
    submitted = moved & (jobs.phase == Phase.COMING)
    ready = moved & (jobs.phase == Phase.WAITING)
    ended = moved & (jobs.phase == Phase.RUNNING)
    stopped = failed & (jobs.phase == Phase.RUNNING)

    cause = jnp.where(evicted, Entry.PREEMPTED, Entry.LOST)
    ledger, done = settle(jobs, tasks, now, touched & ~submitted, cause, ended)
    lack = jnp.where(evicted, 0, jobs.lack + failed - given)
    phase = jobs.phase
    phase = jnp.where(submitted | evicted, Phase.QUEUED, phase)
    phase = jnp.where(failed, Phase.SHORT, phase)
    phase = jnp.where(started | (given & (lack == 0)), Phase.WAITING, phase)
    phase = jnp.where(ready, Phase.RUNNING, phase)
    phase = jnp.where(ended, Phase.DONE, phase)

    start = jnp.where(from_off, rules.cold_start, 0)
    noticed = now + rules.detection + rules.swap
    when = jobs.when
    when = jnp.where(stopped, noticed, when)
    when = jnp.where(failed & ~stopped, jnp.maximum(when, noticed), when)
    when = jnp.where(given, jnp.maximum(when, now + rules.swap + start), when)
    when = jnp.where(started, now + start, when)
    when = jnp.where(ready, now + _ticks_to_end(tasks, done), when)
    return Jobs(
        phase=phase.astype(jnp.int32),
        lack=lack,
        when=when,
        since=jnp.where(touched, now, jobs.since),
        begun=jnp.where(started, now, jobs.begun),
        done=done,
        finished=jnp.where(ended, now, jobs.finished),
        failures=jobs.failures + stopped,
        preemptions=jobs.preemptions + evicted,
        ledger=ledger,
    )


def settle(
    jobs: Jobs, tasks: Tasks, now: jax.Array, which: jax.Array, cause: jax.Array, ended: jax.Array
) -> tuple[jax.Array, jax.Array]:
    """Enter the time since the last entry into the ledger of some jobs.

    Of the hours that a job ran, the restart and every segment that was finished and written count as what they
    were; the rest counts as `cause`. A job that `ended` finished its last segment too and has nothing left over.

    Returns
    -------
    tuple
        Ledgers, and segments finished so far.
    """
    spent = jnp.where(which, now - jobs.since, 0)
    ran = jnp.where(jobs.phase == Phase.RUNNING, spent, 0)
    restart = jnp.minimum(ran, tasks.restart)
    worked = ran - restart
    segment = tasks.interval + tasks.write
    kept = jnp.minimum(worked // segment, tasks.full - jobs.done)
    rest = worked - kept * segment
    productive = kept * tasks.interval + jnp.where(ended, tasks.last, 0)
    writing = kept * tasks.write + jnp.where(ended, tasks.write, 0)
    rest = jnp.where(ended, 0, rest)
    entries = {
        Entry.PRODUCTIVE: productive,
        Entry.WRITING: writing,
        Entry.RESTARTING: restart,
        Entry.LOST: jnp.where(cause == Entry.LOST, rest, 0),
        Entry.PREEMPTED: jnp.where(cause == Entry.PREEMPTED, rest, 0),
        Entry.UNSAVED: jnp.where(cause == Entry.UNSAVED, rest, 0),
        Entry.WAITING: jnp.where(jobs.phase == Phase.WAITING, spent, 0),
        Entry.SHORT: jnp.where(jobs.phase == Phase.SHORT, spent, 0),
        Entry.QUEUED: jnp.where(jobs.phase == Phase.QUEUED, spent, 0),
    }
    return jobs.ledger + jnp.stack([entries[entry] for entry in Entry]), jobs.done + kept


def _ticks_to_end(tasks: Tasks, done: jax.Array) -> jax.Array:
    """Ticks of a restart and of what is left of a job, `LONGEST` where they are more."""
    left = tasks.full - done
    segment = tasks.interval + tasks.write
    fits = left <= LONGEST // segment
    ticks = tasks.restart + jnp.where(fits, left, 0) * segment + tasks.last + tasks.write
    return jnp.where(fits & (ticks <= LONGEST), ticks, LONGEST)


def end_of_horizon(jobs: Jobs, rules: Rules) -> Jobs:
    """Close the ledgers of all jobs that are there at the end."""
    there = (jobs.phase != Phase.COMING) & (jobs.phase != Phase.DONE)
    ledger, done = settle(jobs, rules.tasks, rules.horizon, there, jnp.int32(Entry.UNSAVED), jnp.bool_(False))
    return jobs._replace(ledger=ledger, done=done, since=jnp.where(there, rules.horizon, jobs.since))


def new_jobs(tasks: Tasks) -> Jobs:
    """Jobs before anything happened."""
    zero = jnp.zeros_like(tasks.size)
    return Jobs(
        phase=zero + Phase.COMING,
        lack=zero,
        when=tasks.submit,
        since=tasks.submit,
        begun=zero,
        done=zero,
        finished=zero + NEVER,
        failures=zero,
        preemptions=zero,
        ledger=jnp.zeros((len(Entry), zero.size), jnp.int32),
    )
