"""Runs: the attempts of one logical training task, stitched over requeues, preemptions and resubmissions.

Attempts belong to one run if they have the same ``run_id``; else if they are attempts of one job; and a job goes on
with the run of an earlier one of the same cluster, user, name and size if that did not complete, had ended when the
later one started, and ended at most `gap` before it was submitted (a chain of jobs may be submitted ahead). Tasks of
one job array are never one run. "Revisiting Reliability ..." (arXiv 2410.21680) calls this a job run: all scheduler
jobs of one training task, split by preemption, interruption or the lifetime limit.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from meantime.datasets.attribution import attribute
from meantime.datasets.exposure import find_log_end
from meantime.datasets.frames import as_events, as_jobs
from meantime.units import Duration, seconds

GAP = "1h"
OVER = ("COMPLETED",)
"""States after which a run is over, so that a later job of the same name is another run."""
_CHAIN = ["cluster", "user", "name", "n_gpus"]


def stitch_runs(
    jobs: Any, events: Any = None, *, gap: Duration = GAP, over: Sequence[str] = OVER, **attribution: Any
) -> pl.DataFrame:
    """Say to which run every attempt belongs, and how its time passed before and after its start.

    Parameters
    ----------
    jobs
        A log of jobs, or a data frame with the columns of the jobs table. Resubmissions are only found where it has
        ``name`` and ``user``.
    events
        Events, to tell interruptions by the infrastructure from others (see
        `meantime.datasets.attribution.attribute`); NODE_FAIL tells of itself.
    gap
        Longest time from the end of a job to the submission of the one that goes on with its run.
    over
        States after which a run is over.
    **attribution
        Which events explain the end of a job: ``before``, ``after``, ``severity`` and ``table``, as `attribute` takes
        them.

    Returns
    -------
    pl.DataFrame
        The jobs table in the order of ``cluster``, ``run`` and time, with ``run`` (str: the run id, else the id of its
        first job), ``run_attempt`` (1, 2, ...), ``infrastructure`` and ``component`` of what ended the attempt, and
        the times at which its parts begin, each from the end of the part before it:
        ``previous`` (the run's last attempt had ended; for the first, the submission), ``eligible`` (it was in the
        queue), ``begin`` (it ran), ``until`` (it had ended; running ones are cut at the log's end). An attempt that
        overlaps with one before it counts from the end of that.
    """
    log = as_jobs(jobs)
    table = log.table
    if table.is_empty():
        return table
    marked = attribute(table, as_events(events), **attribution).with_row_index("__order")
    edge = find_log_end(table, None)
    owners = _link(_units(marked), round(seconds(gap, name="gap") * 1e6), over)
    attempts = marked.with_columns(_unit(marked).alias("__unit")).join(owners, on=["cluster", "__unit"], how="left")
    first = pl.min_horizontal(pl.coalesce("submit", "end"), "start")
    attempts = attempts.sort("cluster", "run", pl.coalesce("start", "submit", "end"), "__order", nulls_last=True)
    until = pl.coalesce("end", pl.lit(edge)).clip(upper_bound=pl.lit(edge))
    until = pl.max_horizontal(until, pl.coalesce("start", "submit"))
    run = ["cluster", "run"]
    attempts = attempts.with_columns(until.cum_max().over(run).alias("until"))
    attempts = attempts.with_columns(pl.col("until").shift(1).over(run).fill_null(first).alias("previous"))
    begin = pl.max_horizontal(pl.coalesce("start", "until"), "previous").clip(upper_bound=pl.col("until"))
    attempts = attempts.with_columns(begin.alias("begin"))
    eligible = pl.max_horizontal(pl.coalesce("submit", "start"), "previous").clip(upper_bound=pl.col("begin"))
    return attempts.with_columns(
        eligible.alias("eligible"), pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(run).alias("run_attempt")
    ).drop("__unit", "__order", "co_causes", "failed_node")


def _unit(table: pl.DataFrame) -> pl.Expr:
    """Name what is one run for sure: rows of one run id, else of one job."""
    job = pl.format("job {}", "job_id")
    return pl.coalesce(pl.format("run {}", "run_id"), job) if "run_id" in table.columns else job


def _units(table: pl.DataFrame) -> pl.DataFrame:
    """Give one row for each unit: its times, how it ended, and what tells it from others."""
    optional = [name for name in ("user", "name") if name in table.columns]
    time = pl.coalesce("start", "submit")
    run_id = pl.col("run_id").first() if "run_id" in table.columns else pl.lit(None, dtype=pl.String)
    return (
        table.with_columns(_unit(table).alias("__unit"))
        .sort(time, "__order", nulls_last=True)
        .group_by("cluster", "__unit", maintain_order=True)
        .agg(
            pl.col("job_id").first(),
            run_id.alias("run_id"),
            *(pl.col(name).first() for name in optional),
            pl.col("n_gpus").max(),
            pl.col("submit").first(),
            pl.col("start").min(),
            pl.col("end").max(),
            pl.col("end").is_null().any().alias("open"),
            pl.col("state").last(),
        )
    )


def _link(units: pl.DataFrame, gap: int, over: Sequence[str]) -> pl.DataFrame:
    """Give each unit the name of its run: ``cluster``, ``__unit``, ``run``."""
    own = pl.coalesce("run_id", "job_id")
    if not {"user", "name"} <= set(units.columns):
        return units.select("cluster", "__unit", own.alias("run"))
    able = pl.all_horizontal(pl.col(*_CHAIN, "start").is_not_null()) & pl.col("run_id").is_null()
    chained = units.filter(able).sort(*_CHAIN, "start", "submit")
    array = pl.col("job_id").str.extract(r"^(\d+)_")
    before = {name: pl.col(name).shift(1).over(_CHAIN) for name in ("end", "open", "state", "__array")}
    submit = pl.coalesce("submit", "start")
    follows = (
        ~before["open"]
        & (pl.col("start") >= before["end"])
        & ((submit - before["end"]).dt.total_microseconds() <= gap)
        & ~before["state"].cast(pl.String).is_in(list(over)).fill_null(False)
        & ~(pl.col("__array") == before["__array"]).fill_null(False)
    )
    chained = (
        chained.with_columns(array.alias("__array"))
        .with_columns(follows.fill_null(False).alias("follows"))
        .with_columns((~pl.col("follows")).cum_sum().alias("chain"))
    )
    named = chained.select("cluster", "__unit", pl.col("job_id").first().over("chain").alias("run"))
    rest = units.filter(~able).select("cluster", "__unit", own.alias("run"))
    return pl.concat([named, rest])
