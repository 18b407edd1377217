"""Large jobs: they wait for free nodes, are requeued first after a failure, and are not preempted."""

import dataclasses
import heapq

import numpy as np

from meantime.datasets.simulate.attempts import NONE, Attempts, Engine
from meantime.datasets.simulate.mix import CODE, Jobs

_ROOM = 1.2
"""Nodes that large jobs may hold together, over those they are meant to hold on average."""
_PATIENCE = 12 * 3600.0
_SCHEDULING = 60.0
_MAX_ATTEMPTS = 1000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Restarts:
    """Restarts of large jobs after hardware failures: time (ascending), nodes, job."""

    time: np.ndarray
    nodes: np.ndarray
    job: np.ndarray


def run_large(engine: Engine, jobs: Jobs, which: np.ndarray) -> tuple[Attempts, Restarts]:
    """Run the jobs `which` (indices) through a first-come queue with backfilling.

    Requeued jobs go first. A job at the head of the queue for half a day stops those behind it from
    passing. These are about one job in a hundred (of RSC-1's mix), so this is a plain event loop.
    """
    plan = engine.plan
    share = sum(time for size, (_, time) in plan.mix.items() if size >= plan.large_gpus)
    capacity = int(min(1.0, _ROOM * share * plan.utilisation) * plan.n_nodes)
    capacity = max(capacity, int(jobs.nodes[which].max(initial=0)))
    queue = _Queue(engine, jobs, capacity)
    events: list[tuple[float, int, int]] = [(float(jobs.submit[job]), _SUBMIT, int(job)) for job in which]
    heapq.heapify(events)
    while events and events[0][0] <= plan.log_seconds:
        time, kind, job = heapq.heappop(events)
        queue.free += int(jobs.nodes[job]) if kind == _END else 0
        if (kind == _SUBMIT and not queue.withdraw(time, job)) or (kind == _END and queue.resubmit(time, job)):
            heapq.heappush(events, (time + _SCHEDULING, _READY, job))
        if kind == _READY:
            queue.waiting.append((queue.attempt[job] == 0, time, job))
            queue.waiting.sort()
        for started, end in queue.start_all(time):
            heapq.heappush(events, (end, _END, started))
    queue.waiting += [(True, time, job) for time, kind, job in events if kind == _READY]
    return queue.finish()


_SUBMIT, _READY, _END = range(3)


class _Queue:
    def __init__(self, engine: Engine, jobs: Jobs, capacity: int) -> None:
        self.engine, self.jobs, self.free = engine, jobs, capacity
        self.waiting: list[tuple[bool, float, int]] = []
        self.attempt: dict[int, int] = {}
        self.remaining: dict[int, float] = {}
        self.submitted: dict[int, float] = {}
        self.rows: list[tuple[float, ...]] = []
        self.last: dict[int, tuple[float, int, int]] = {}
        self.restarts: list[tuple[float, int, int]] = []

    def withdraw(self, time: float, job: int) -> bool:
        self.attempt[job] = 0
        self.submitted[job] = time
        self.remaining[job] = float(self.jobs.work[job])
        if self.jobs.withdrawn[job]:
            self.rows.append((job, time, np.inf, time + self.jobs.work[job], CODE["CANCELLED"], NONE))
        return bool(self.jobs.withdrawn[job])

    def resubmit(self, time: float, job: int) -> bool:
        runtime, state, cause = self.last[job]
        arrays = np.array([state]), np.array([cause])
        if self.attempt[job] >= _MAX_ATTEMPTS or not self.engine.goes_on(*arrays)[0]:
            return False
        saved = float(self.engine.progress(np.array([runtime]), np.array([self.attempt[job] > 1]))[0])
        self.remaining[job] = max(self.remaining[job] - saved, 1.0)
        self.submitted[job] = time
        return True

    def start_all(self, time: float) -> list[tuple[int, float]]:
        started: list[tuple[int, float]] = []
        kept: list[tuple[bool, float, int]] = []
        blocked = False
        for entry in self.waiting:
            job = entry[2]
            if blocked or self.jobs.nodes[job] > self.free:
                blocked = blocked or time - entry[1] > _PATIENCE
                kept.append(entry)
                continue
            started.append((job, self._start(time, job)))
        self.waiting = kept
        return started

    def _start(self, time: float, job: int) -> float:
        engine, jobs = self.engine, self.jobs
        self.free -= int(jobs.nodes[job])
        start = float(np.ceil(time))
        if self.attempt[job] and self.last[job][2] != NONE:
            self.restarts.append((start, int(jobs.nodes[job]), job))
        needed = self.remaining[job] + (engine.restart if self.attempt[job] else 0.0)
        one = slice(job, job + 1)
        runtime, state, cause, _ = engine.draw(jobs.gpus[one], np.array([needed]), jobs.ending[one], jobs.qos[one])
        self.attempt[job] += 1
        self.last[job] = (float(runtime[0]), int(state[0]), int(cause[0]))
        end = start + float(runtime[0])
        self.rows.append((job, self.submitted[job], start, end, int(state[0]), int(cause[0])))
        return end

    def finish(self) -> tuple[Attempts, Restarts]:
        self.rows += [(job, self.submitted[job], np.inf, np.inf, CODE["PENDING"], NONE) for _, _, job in self.waiting]
        job, submit, start, end, state, cause = np.array(self.rows or np.empty((0, 6)), dtype=float).T
        attempts = Attempts(
            job=job.astype(np.int64),
            submit=submit,
            start=start,
            end=end,
            state=state.astype(np.int64),
            cause=cause.astype(np.int64),
            preempted_by=np.full(len(job), NONE),
        )
        time, nodes, restarted = np.array(self.restarts or np.empty((0, 3)), dtype=float).T
        return attempts, Restarts(time=time, nodes=nodes, job=restarted.astype(np.int64))
