"""Calendar exposure: how many node-days each node was in service, whether busy or idle.

Busy node-days (`meantime.datasets.exposure`) are the right exposure of jobs. Idle hardware fails too, and where
one asks for failures of nodes per year of service, every day from a node's arrival to its retirement counts.
"""

import datetime as dt
from typing import Any

import narwhals as nw
import polars as pl

from meantime.datasets.exposure import add_spans, period_length, share_out
from meantime.datasets.fates import FATE, WRONG, Limits, log_edge, with_fates
from meantime.datasets.frames import to_polars
from meantime.datasets.scan import collect, open_events, open_jobs
from meantime.datasets.times import parse_times
from meantime.errors import InputError
from meantime.units import Duration, seconds

PATIENCE = "7d"
"""A node that was seen within so long of the log's start (end) counts from (to) there."""
_MICROS_PER_DAY = 86_400_000_000


def calendar_exposure(
    jobs: Any,
    events: Any = None,
    *,
    inventory: Any = None,
    log_start: str | dt.datetime | None = None,
    log_end: str | dt.datetime | None = None,
    period: Duration | None = None,
    patience: Duration = PATIENCE,
) -> pl.DataFrame:
    """Give the node-days in service of every node.

    Without an inventory a node is in service from the first job or event on it to the last, but from the log's
    start if it was first seen within `patience` of that, and to the log's end if it was last seen within `patience`
    of that: a node that stays silent for longer has been taken away.

    Parameters
    ----------
    jobs, events
        As in `meantime.datasets.failure_table.failure_table`; the jobs with node lists.
    inventory
        Data frame with ``node`` and, where known, ``cluster``, ``arrival`` and ``retirement`` (times; null: before the
        log's start, after its end). It decides for the nodes that it names.
    log_start, log_end
        Limits of the log (UTC). Default: its first and last times.
    period
        Length of periods to divide time into, or None.
    patience
        See above.

    Returns
    -------
    pl.DataFrame
        ``cluster``, ``node``, ``period`` (start of each) where periods are asked for, ``exposure`` in node-days.

    Raises
    ------
    InputError
        If the jobs have no node lists and there is no inventory, or the inventory cannot be understood.
    """
    seen = _sightings(jobs, events, need=inventory is None)
    if seen.is_empty() and inventory is None:
        raise InputError("no job has a node list, so it is not known which nodes were in service; give an inventory")
    if seen.is_empty() and (log_start is None or log_end is None):
        raise InputError("the log has no times; give log_start and log_end with the inventory")
    start, end = log_edge(log_start, "log_start"), log_edge(log_end, "log_end")
    first = start if start is not None else min(seen["first"].to_list())
    last = end if end is not None else max(seen["last"].to_list())
    wait = round(seconds(patience, name="patience") * 1e6)
    service = seen.select(
        "cluster",
        "node",
        pl.when(pl.col("first") <= first + wait).then(first).otherwise("first").alias("begin"),
        pl.when(pl.col("last") >= last - wait).then(last).otherwise("last").alias("until"),
    )
    if inventory is not None:
        known = _inventory(inventory, seen, first, last)
        service = pl.concat([known, service.join(known, on=["cluster", "node"], how="anti")])
    service = service.with_columns(pl.col("begin").clip(first, last), pl.col("until").clip(first, last)).sort(
        "cluster", "node"
    )
    if period is None:
        days = (pl.col("until") - pl.col("begin")) / _MICROS_PER_DAY
        return service.select("cluster", "node", days.alias("exposure"))
    length = period_length(period)
    shared = share_out(add_spans(service, length), ["cluster", "node"], length, period)
    return (
        shared.group_by("cluster", "node", "period")
        .agg((pl.col("seconds").sum() / 86_400).alias("exposure"))
        .sort("cluster", "node", "period")
    )


def _sightings(jobs: Any, events: Any, *, need: bool) -> pl.DataFrame:
    """Find when each node was first and last seen: ``cluster``, ``node``, ``first``, ``last`` (microseconds)."""
    opened = open_jobs(jobs)
    schema = {"cluster": pl.String, "node": pl.String, "first": pl.Int64, "last": pl.Int64}
    if "nodes" not in opened.columns:
        if need:
            raise InputError(f"{opened.source}: the jobs have no node lists; add NodeList to sacct -o, or map nodes")
        return pl.DataFrame(schema=schema)
    ran = with_fates(opened, Limits()).filter((nw.col(FATE) < WRONG) & ~nw.col("start").is_null())
    latest = collect(ran.select(nw.max_horizontal(nw.col("start").max(), nw.col("end").max()).alias("t"))).item()
    at = ran.select("cluster", "start", "end", "nodes").explode("nodes").filter(~nw.col("nodes").is_null())
    open_end = nw.col("end").is_null()
    last = nw.when(open_end).then(nw.lit(latest, dtype=nw.Int64)).otherwise(nw.col("end"))
    seen = collect(
        at.with_columns(last.alias("last"))
        .group_by("cluster", "nodes")
        .agg(nw.col("start").min().alias("first"), nw.col("last").max())
    ).rename({"nodes": "node"})
    reported = open_events(events)
    if reported is None:
        return seen.cast(schema).sort("cluster", "node")  # type: ignore[arg-type]
    checks = collect(
        reported.group_by("node").agg(nw.col("time").min().alias("first"), nw.col("time").max().alias("last"))
    )
    clusters = seen["cluster"].unique().to_list()
    known = checks.join(seen.select("cluster", "node"), on="node", how="left")
    if len(clusters) == 1:
        known = known.with_columns(pl.col("cluster").fill_null(clusters[0]))
    both = pl.concat([seen, known.drop_nulls("cluster").select(seen.columns)], how="vertical_relaxed")
    return both.group_by("cluster", "node").agg(pl.col("first").min(), pl.col("last").max()).sort("cluster", "node")


def _inventory(inventory: Any, seen: pl.DataFrame, first: int, last: int) -> pl.DataFrame:
    frame = to_polars(inventory, "the inventory")
    if "node" not in frame.columns:
        raise InputError(f"the inventory lacks the column node; found {', '.join(frame.columns)}")
    edges = {"arrival": first, "retirement": last}
    frame = frame.with_columns(
        pl.lit(None, dtype=pl.Datetime("us", "UTC")).alias(name) for name in edges if name not in frame.columns
    )
    times = []
    for name, edge in edges.items():
        parsed = parse_times(frame[name])
        if parsed.problem is not None:
            raise InputError(f"the inventory: {parsed.problem.drop_nulls()[0]}")
        times.append(parsed.utc.dt.epoch("us").fill_null(edge).alias("begin" if name == "arrival" else "until"))
    frame = frame.with_columns(times)
    if wrong := frame.filter(pl.col("until") < pl.col("begin"))["node"].to_list():
        raise InputError(f"the inventory: node {wrong[0]} retires before it arrives")
    if "cluster" not in frame.columns:
        clusters = seen["cluster"].unique().to_list() or ["cluster"]
        if len(clusters) > 1:
            raise InputError(f"the inventory lacks the column cluster; the jobs are of {', '.join(sorted(clusters))}")
        frame = frame.with_columns(pl.lit(clusters[0]).alias("cluster"))
    return frame.select(pl.col("cluster", "node").cast(pl.String), "begin", "until")
