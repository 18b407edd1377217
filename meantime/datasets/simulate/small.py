"""Jobs that are not large, all attempts of one round at a time; some give way to restarts of large jobs."""

import numpy as np

from meantime.datasets.simulate.attempts import NONE, Attempts, Engine, join_attempts
from meantime.datasets.simulate.large import Restarts
from meantime.datasets.simulate.mix import CODE, LOW, LOW_SHARE, Jobs
from meantime.units import seconds

_MAX_ROUNDS = 1000
_OLD_ENOUGH = 0.4
"""Rough share of the nodes of low priority whose job has run long enough to be preempted."""


def run_small(engine: Engine, jobs: Jobs, which: np.ndarray, restarts: Restarts) -> Attempts:
    """Run the jobs `which` (indices): each waits, runs, and where interrupted waits and runs again.

    Waits are drawn, not the result of contention. A restart of a large job evicts each running
    attempt of low priority, once it may be preempted, with the probability that frees about
    ``cascade`` times the large job's nodes.
    """
    rng, plan = engine.rng, engine.plan
    withdrawn = which[jobs.withdrawn[which]]
    active = which[~jobs.withdrawn[which]]
    parts = [_withdrawn(jobs, withdrawn)]
    submit = jobs.submit[active]
    needed = jobs.work[active]
    again = np.zeros(len(active), dtype=bool)
    pressure = _pressure(engine, restarts)
    for _ in range(_MAX_ROUNDS):
        start = submit + np.ceil(rng.exponential(seconds(plan.queue), len(active)))
        evicted, instigator = _next_eviction(engine, start, jobs.qos[active], restarts, pressure)
        total = needed + np.where(again, engine.restart, 0.0)
        runtime, state, cause, hit = engine.draw(
            jobs.gpus[active], total, jobs.ending[active], jobs.qos[active], evicted
        )
        preempted_by = np.where(hit, instigator, NONE)
        end = start + runtime
        parts.append(
            Attempts(
                job=active, submit=submit, start=start, end=end, state=state, cause=cause, preempted_by=preempted_by
            )
        )
        saved = engine.progress(runtime, again)
        needed = np.where(saved < needed, needed - saved, needed)
        keep = engine.goes_on(state, cause) & (end < plan.log_seconds)
        active, submit, needed = active[keep], end[keep], needed[keep]
        again = np.ones(len(active), dtype=bool)
        if not len(active):
            break
    return join_attempts(parts)


def _withdrawn(jobs: Jobs, which: np.ndarray) -> Attempts:
    count = len(which)
    submit = jobs.submit[which]
    return Attempts(
        job=which,
        submit=submit,
        start=np.full(count, np.inf),
        end=submit + jobs.work[which],
        state=np.full(count, CODE["CANCELLED"]),
        cause=np.full(count, NONE),
        preempted_by=np.full(count, NONE),
    )


def _pressure(engine: Engine, restarts: Restarts) -> np.ndarray:
    """Cumulative hazard of eviction after each restart."""
    plan = engine.plan
    small_time = sum(time for size, (_, time) in plan.mix.items() if size < plan.large_gpus)
    preemptable = max(_OLD_ENOUGH * LOW_SHARE * small_time * plan.utilisation * plan.n_nodes, 1)
    chance = np.minimum(0.5, plan.cascade * restarts.nodes / preemptable)
    return np.cumsum(-np.log1p(-chance))


def _next_eviction(
    engine: Engine, start: np.ndarray, qos: np.ndarray, restarts: Restarts, pressure: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    if not len(pressure):
        return np.full(len(start), np.inf), np.full(len(start), NONE)
    first = np.searchsorted(restarts.time, start + seconds(engine.plan.preempt_after))
    before = np.where(first > 0, pressure[np.maximum(first - 1, 0)], 0.0)
    index = np.searchsorted(pressure, before + engine.rng.exponential(1.0, len(start)))
    found = (index < len(pressure)) & (qos == LOW)
    index = np.where(found, index, 0)
    return np.where(found, restarts.time[index] - start, np.inf), np.where(found, restarts.job[index], NONE)
