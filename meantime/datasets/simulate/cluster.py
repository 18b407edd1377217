"""A simulated cluster like Meta's RSC-1, with the truth behind its log."""

import dataclasses
from typing import Any

import numpy as np

from meantime.datasets.simulate.attempts import NONE, Attempts, Engine, join_attempts
from meantime.datasets.simulate.events import draw_events
from meantime.datasets.simulate.frames import Simulation, assemble
from meantime.datasets.simulate.hazards import draw_hazards
from meantime.datasets.simulate.large import run_large
from meantime.datasets.simulate.lemons import break_on_lemons, draw_lemons
from meantime.datasets.simulate.mix import CODE, HIGH, draw_jobs
from meantime.datasets.simulate.nodes import Placement, evict, place
from meantime.datasets.simulate.plan import ClusterPlan
from meantime.datasets.simulate.small import run_small
from meantime.errors import InputError


def simulate_cluster(*, seed: int, plan: ClusterPlan | None = None, **changes: Any) -> Simulation:
    """Simulate the job log and the health-check events of a GPU cluster.

    Hardware failures follow the model ``component_size`` exactly: an attempt on n GPUs fails with
    hazard n / gpus_per_node x sum over components k of rate_k(s), where s is the power of two at or
    above n and log rate_k(s) = level_k + slope_k log2(s / 64), times the cell's multiplier. The causes
    compete as exponentials, and every other end of an attempt is independent of them.

    Parameters
    ----------
    seed
        Everything is drawn from it: the same seed and plan give the same result.
    plan
        What to simulate. Default: `ClusterPlan`, 100,000 jobs on 2,000 nodes of 8 GPUs.
    **changes
        Fields of `ClusterPlan` to change, such as ``n_jobs=10_000`` or ``slopes=0.05``.

    Returns
    -------
    Simulation
        The jobs and events tables, the true failure table, and the truth.

    Raises
    ------
    InputError
        For a field that does not exist or a value that makes no sense.

    Notes
    -----
    Simplified: jobs below 1/64 of the cluster wait a random time instead of for free nodes (where more nodes are
    asked for than there are, attempts share some, as do those that give way to a restart;
    ``truth.attrs["shared_nodes"]``); a failed node goes
    back to work at once; a failure ends one attempt, also where small jobs share the node; submissions
    know no day and night; the log begins with an empty cluster. With lemons, what they break is not
    worked through again (see `meantime.datasets.simulate.lemons.break_on_lemons`).

    Examples
    --------
    >>> cluster = simulate_cluster(seed=1, n_jobs=2000, n_nodes=100)
    >>> cluster.jobs.height >= 2000
    True
    """
    plan = _change(plan or ClusterPlan(), changes)
    rng = np.random.default_rng(seed)
    hazards = draw_hazards(rng, plan.rates, plan.slopes, plan.cell_sd)
    jobs = draw_jobs(rng, plan)
    engine = Engine(rng, plan, hazards)
    large, restarts = run_large(engine, jobs, np.flatnonzero(jobs.qos == HIGH))
    small = run_small(engine, jobs, np.flatnonzero(jobs.qos != HIGH), restarts)
    started, waiting = _cut(join_attempts([large, small]), plan.log_seconds)
    placement = place(
        started.start,
        np.minimum(started.end, plan.log_seconds),
        jobs.nodes[started.job],
        jobs.gpus[started.job],
        n_nodes=plan.n_nodes,
        gpus_per_node=plan.gpus_per_node,
    )
    placement = evict(placement, started.job, started.start, started.end, started.preempted_by)
    lemon = draw_lemons(rng, plan.n_nodes, plan.lemon_share)
    node = np.full(len(started), NONE)
    if lemon.any() and len(started):
        started, placement, node = break_on_lemons(engine, jobs, started, placement, lemon)
    failed = np.flatnonzero(started.cause != NONE)
    node[failed] = np.where(node[failed] == NONE, _random_nodes(rng, placement, failed), node[failed])
    events = draw_events(
        rng,
        plan,
        hazards.components,
        start=started.start[failed],
        end=started.end[failed],
        cause=started.cause[failed],
        node=node[failed],
    )
    return assemble(
        seed=seed,
        plan=plan,
        hazards=hazards,
        jobs=jobs,
        started=started,
        waiting=waiting,
        placement=placement,
        lemon=lemon,
        failed_node=node,
        events=events,
    )


def _change(plan: ClusterPlan, changes: dict[str, Any]) -> ClusterPlan:
    names = [field.name for field in dataclasses.fields(ClusterPlan)]
    if unknown := sorted(set(changes) - set(names)):
        raise InputError(f"a simulated cluster has no {unknown[0]!r}; expected {', '.join(names)}")
    return dataclasses.replace(plan, **changes)


def _cut(attempts: Attempts, log_seconds: int) -> tuple[Attempts, Attempts]:
    """Cut at the end of the log: attempts that had started, and those that waited or never ran."""
    attempts = attempts.take(attempts.submit < log_seconds)
    open_end = attempts.end >= log_seconds
    began = attempts.start < log_seconds
    attempts.state[open_end] = np.where(began, CODE["RUNNING"], CODE["PENDING"])[open_end]
    attempts.cause[open_end] = NONE
    attempts.preempted_by[open_end] = NONE
    attempts.end = np.where(open_end, np.where(began, log_seconds, np.inf), attempts.end)
    attempts.start = np.where(began, attempts.start, np.inf)
    return attempts.take(began), attempts.take(~began)


def _random_nodes(rng: np.random.Generator, placement: Placement, rows: np.ndarray) -> np.ndarray:
    position = np.floor(rng.random(len(rows)) * placement.count[rows]).astype(np.int64)
    return placement.node[placement.offset[rows] + position]
