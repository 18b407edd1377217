"""What a simulation returns: the log as tables, and the truth behind it."""

import dataclasses
import datetime as dt

import numpy as np
import polars as pl
import xarray as xr

from meantime.datasets.jobs import STATE, STATES
from meantime.datasets.simulate.attempts import NONE, Attempts, join_attempts
from meantime.datasets.simulate.events import CHECKS, Events
from meantime.datasets.simulate.hazards import SIZES, Hazards, bucket_index
from meantime.datasets.simulate.mix import QOS, Jobs
from meantime.datasets.simulate.nodes import Placement
from meantime.datasets.simulate.plan import ClusterPlan
from meantime.datasets.simulate.truth import true_parameters, true_table
from meantime.datasets.taxonomy import SEVERITIES, SEVERITY
from meantime.datasets.times import UTC

FIRST_JOB = 1_000_001
"""Id of the job submitted first."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Simulation:
    """A simulated cluster: its log and the truth behind it.

    Attributes
    ----------
    jobs
        The jobs table, one row an attempt, by job and attempt; with ``nodes``, ``user``, ``qos``,
        ``partition`` and ``preempted_by``. It has no ``cause``.
    events
        The events table.
    failures
        One row a hardware failure of an attempt: ``job_id``, ``attempt``, ``time`` (its end), ``node``,
        ``component`` (the true cause), ``n_gpus``, ``job_size`` (bucket), ``state``.
    table
        The true failure table (cluster, component, job_size), exposure up to `log_end`.
    truth
        ``level`` (component), log rate per node-day of 64-GPU jobs; ``slope`` (component), its change
        per doubling; ``cell`` and ``rate`` (component, job_size) for all powers of two up to 1,048,576;
        ``lemon_factor`` (job_size), by which lemons raised the average rate of that size in this log
        (1 without lemons); ``lemon`` (node). Attributes: the seed, ``shared_nodes`` (the share of node
        places on a full node, see `meantime.datasets.simulate.nodes.place`), ``first_order_gpu_hours`` and
        ``second_order_gpu_hours`` (see `meantime.datasets.simulate.truth.true_losses`).
    log_end
        Latest time in the jobs table; running attempts are censored there.
    plan, seed
        What was simulated.
    """

    jobs: pl.DataFrame
    events: pl.DataFrame
    failures: pl.DataFrame
    table: xr.Dataset
    truth: xr.Dataset
    log_end: dt.datetime
    plan: ClusterPlan
    seed: int


def node_names(plan: ClusterPlan) -> pl.Series:
    """Name the nodes of a cluster: rsc0001, rsc0002, ..."""
    width = max(4, len(str(plan.n_nodes)))
    return "rsc" + pl.Series("node", np.arange(1, plan.n_nodes + 1)).cast(pl.String).str.zfill(width)


def assemble(
    *,
    seed: int,
    plan: ClusterPlan,
    hazards: Hazards,
    jobs: Jobs,
    started: Attempts,
    waiting: Attempts,
    placement: Placement,
    lemon: np.ndarray,
    failed_node: np.ndarray,
    events: Events,
) -> Simulation:
    """Turn the arrays of a simulation into its tables.

    Parameters
    ----------
    started, waiting
        Attempts that started, and those that did not. ``placement`` and ``failed_node`` are of those
        that started, in the same order.
    lemon
        Shape (n_nodes,), bool.
    """
    names = node_names(plan)
    everything = join_attempts([started, waiting])
    rows = _attempt_rows(plan, jobs, everything)
    lists = pl.DataFrame({"row": placement.row, "nodes": names.gather(placement.node)})
    lists = lists.group_by("row", maintain_order=True).agg("nodes").with_columns(pl.col("row").cast(pl.UInt32))
    blamed = np.concatenate([failed_node, np.full(len(waiting), NONE)])
    rows = rows.with_columns(
        component=_labels(pl.Series(hazards.components, dtype=pl.String), everything.cause),
        node=_labels(names, blamed),
    )
    rows = rows.join(lists, on="row", how="left").sort("job", "submit")
    rows = rows.with_columns(attempt=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("job"))
    log_end = rows.select(pl.max_horizontal(pl.max("submit"), pl.max("start"), pl.max("end"))).item()
    failures = rows.filter(pl.col("component").is_not_null())
    kept = ["job_id", "attempt", "cluster", "submit", "start", "end", "n_nodes", "n_gpus", "state"]
    return Simulation(
        jobs=rows.select([*kept, "nodes", "user", "qos", "partition", "preempted_by"]),
        events=_event_rows(plan, hazards, names, events),
        failures=failures.select(
            "job_id", "attempt", pl.col("end").alias("time"), "node", "component", "n_gpus", "job_size", "state"
        ),
        table=true_table(plan, hazards, rows, log_end, seed),
        truth=true_parameters(plan, hazards, jobs, started, placement, lemon, names, rows, seed),
        log_end=log_end,
        plan=plan,
        seed=seed,
    )


def _attempt_rows(plan: ClusterPlan, jobs: Jobs, attempts: Attempts) -> pl.DataFrame:
    job = attempts.job
    gpus = jobs.gpus[job]
    origin = pl.lit(plan.start.astimezone(dt.UTC)).cast(UTC)
    never = pl.lit(None, dtype=pl.Int64)
    ids = (pl.Series(np.arange(len(jobs.gpus))) + FIRST_JOB).cast(pl.String)
    frame = pl.DataFrame({"job": job, "submit": attempts.submit, "start": attempts.start, "end": attempts.end})
    running = attempts.state == STATES.index("RUNNING")
    frame = frame.with_columns(end=pl.when(pl.Series(running)).then(np.inf).otherwise("end"))
    times = [
        (
            origin + pl.duration(seconds=pl.when(pl.col(name).is_finite()).then(name).otherwise(never).cast(pl.Int64))
        ).alias(name)
        for name in ("submit", "start", "end")
    ]
    return frame.with_row_index("row").with_columns(
        *times,
        job_id=ids.gather(job),
        cluster=pl.lit(plan.cluster),
        n_nodes=pl.Series(jobs.nodes[job].astype(np.int64)),
        n_gpus=pl.Series(gpus.astype(np.int64)),
        state=pl.Series(STATES, dtype=STATE).gather(attempts.state),
        user="user" + pl.Series(jobs.user[job]).cast(pl.String).str.zfill(3),
        qos=pl.Series(QOS).gather(jobs.qos[job]),
        partition=pl.lit("train"),
        preempted_by=_labels(ids, attempts.preempted_by),
        job_size=pl.Series(SIZES[bucket_index(gpus)]),
    )


def _labels(names: pl.Series, index: np.ndarray) -> pl.Series:
    """Look names up; null where the index is `NONE`."""
    known = pl.Series(index != NONE)
    return names.gather(np.maximum(index, 0)).to_frame("name").select(pl.when(known).then("name"))["name"]


def _event_rows(plan: ClusterPlan, hazards: Hazards, names: pl.Series, events: Events) -> pl.DataFrame:
    origin = pl.lit(plan.start.astimezone(dt.UTC)).cast(UTC)
    told = [CHECKS.get(name, ("check", f"{name} failed")) for name in hazards.components]
    return pl.DataFrame({"time": events.time.astype(np.int64)}).select(
        time=origin + pl.duration(seconds="time"),
        node=names.gather(events.node),
        component=pl.Series(hazards.components, dtype=pl.String).gather(events.component),
        severity=pl.Series(SEVERITIES, dtype=SEVERITY).gather(events.high.astype(np.int64)),
        source=pl.Series([source for source, _ in told]).gather(events.component),
        detail=pl.Series([detail for _, detail in told]).gather(events.component),
    )
