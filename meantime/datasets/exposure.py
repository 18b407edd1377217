"""Exposure: how many node-days jobs of each size were at risk, and when, and on which node.

A job's node-days are its GPUs over the GPUs of a node, times its runtime in days: a job on part of a node
counts that part. Jobs still running at the end of the log count up to there, jobs that ran before its start only
from there. Runtimes are added in whole microseconds, so that a sum is the same in any order and on any engine.
"""

import datetime as dt
from typing import Any

import narwhals as nw
import numpy as np
import polars as pl

from meantime.datasets.fates import (
    FATE,
    USED,
    Census,
    Limits,
    exact_seconds,
    log_edge,
    take_census,
    whole_sum,
    with_fates,
)
from meantime.datasets.scan import collect, open_jobs
from meantime.datasets.times import UTC
from meantime.errors import InputError
from meantime.units import Duration, seconds

MAX_PERIODS = 100_000
"""Most periods that a log may be cut into."""
MAX_PARTS = 200_000_000
"""Most parts, over all groups of jobs, that periods may cut runs into."""

_SECONDS_PER_DAY = 86_400
_MONDAY = 4 * 86_400_000_000
"""1970-01-05 in microseconds: periods of a week begin on Mondays, those of days at midnight (UTC)."""


def size_bucket(gpus: int) -> int:
    """Label of the bucket of a job size: the power of two at its upper edge (5 to 8 GPUs: 8)."""
    return 1 << (int(gpus) - 1).bit_length()


def add_bucket(jobs: pl.DataFrame) -> pl.DataFrame:
    """Add ``job_size``, the bucket of ``n_gpus`` (which are 1 or more)."""
    gpus = jobs["n_gpus"].to_numpy()
    return jobs.with_columns(pl.Series("job_size", 2 ** np.ceil(np.log2(gpus)).astype(np.int64), dtype=pl.Int64))


def find_log_end(jobs: pl.DataFrame, log_end: str | dt.datetime | None) -> dt.datetime:
    """Give the end of the log in UTC: as given, else the latest time in the jobs table."""
    micros = log_edge(log_end, "log_end")
    if micros is not None:
        return as_time(micros)
    latest = jobs.select(pl.max_horizontal(pl.col("submit", "start", "end").max())).item()
    if latest is None:
        raise InputError("the log has no times; expected start and end of jobs")
    return latest


def add_runtime(jobs: pl.DataFrame, log_end: dt.datetime) -> pl.DataFrame:
    """Keep jobs that ran before the log's end; add ``until`` (end, at latest the log's) and ``censored``."""
    edge = pl.lit(log_end, dtype=UTC)
    return jobs.filter(pl.col("start").is_not_null() & (pl.col("start") <= edge)).with_columns(
        pl.min_horizontal(pl.col("end").fill_null(edge), edge).alias("until"),
        (pl.col("end").is_null() | (pl.col("end") > edge)).alias("censored"),
    )


def busy_exposure(
    jobs: Any,
    *,
    gpus_per_node: int = 8,
    min_gpus: int = 0,
    period: Duration | None = None,
    by_node: bool = False,
    log_start: str | dt.datetime | None = None,
    log_end: str | dt.datetime | None = None,
) -> pl.DataFrame:
    """Give the node-days of jobs by cluster and size (or node), and by period: a failure table without its failures.

    Parameters
    ----------
    jobs, gpus_per_node, min_gpus, period, by_node, log_start, log_end
        As in `meantime.datasets.failure_table.failure_table`.

    Returns
    -------
    pl.DataFrame
        See `sum_exposure`.

    Raises
    ------
    InputError
        If no job that counts has run.
    """
    opened = open_jobs(jobs)
    edges = log_edge(log_start, "log_start"), log_edge(log_end, "log_end")
    limits = Limits(min_gpus=max(1, min_gpus), log_start=edges[0], log_end=edges[1])
    fated = with_fates(opened, limits)
    census = take_census(fated, limits)
    if census.totals.is_empty():
        raise InputError(f"{opened.source}: no job that ran has {limits.min_gpus} GPUs or more")
    return sum_exposure(fated, census, gpus_per_node=gpus_per_node, period=period, by_node=by_node)


def sum_exposure(
    fated: nw.LazyFrame[Any],
    census: Census,
    *,
    gpus_per_node: int,
    period: Duration | None = None,
    by_node: bool = False,
) -> pl.DataFrame:
    """Sum node-days by cluster and job size, or by cluster and node; and by period where one is given.

    Parameters
    ----------
    fated, census
        Of `meantime.datasets.fates.with_fates` and `take_census`.
    gpus_per_node
        GPUs of a node.
    period
        Length of the periods that runs are divided among, or None.
    by_node
        Whether to sum by node instead of size. A job's GPUs are shared out evenly among the nodes of its list; jobs
        without a list are left out.

    Returns
    -------
    pl.DataFrame
        ``cluster``, ``job_size`` or ``node``, ``period`` (start of each) where periods are asked for, and
        ``exposure`` in node-days.
    """
    keys = ["cluster", "node" if by_node else "job_size"]
    if period is None and not by_node:
        groups = census.totals
    else:
        groups = _sum_spans(fated, census, by_node, None if period is None else period_length(period), period)
    if period is not None:
        keys.append("period")
    if not by_node:
        groups = add_bucket(groups)
    nodes = pl.col("n_gpus") / gpus_per_node if not by_node else pl.col("n_gpus") / pl.col("width") / gpus_per_node
    days = nodes * pl.col("seconds") / _SECONDS_PER_DAY
    return groups.sort(groups.columns).group_by(keys, maintain_order=True).agg(days.sum().alias("exposure"))


def period_length(period: Duration) -> int:
    """Length of a period in microseconds."""
    length = round(seconds(period, name="period") * 1e6)
    if length < 1_000_000:
        raise InputError(f"period is {period!r}; expected one second or more, such as 1d or 1w")
    return length


def last_period(length: int) -> pl.Expr:
    """Start of the period in which a run ends (microseconds); an end on the edge belongs to the period before it."""
    begin, until = pl.col("begin"), pl.col("until") - 1
    return pl.max_horizontal(until - (until - _MONDAY) % length, begin - (begin - _MONDAY) % length)


def as_time(micros: int) -> dt.datetime:
    """Give a time in UTC from microseconds since 1970."""
    return dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=micros)


def as_times(micros: pl.Expr) -> pl.Expr:
    """Turn microseconds since 1970 into timestamps."""
    return micros.cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


def _sum_spans(
    fated: nw.LazyFrame[Any], census: Census, by_node: bool, length: int | None, period: Duration | None
) -> pl.DataFrame:
    """Sum runtimes by cluster, GPUs, node and period: ``seconds``, and ``width``, the nodes that share the GPUs.

    Runs are grouped by the periods in which they begin and end. What they spend in these two is added up; the periods
    between they fill, so no run is divided by itself and the cost does not grow with the number of periods.
    """
    end = nw.lit(census.log_end, dtype=nw.Int64)
    until = nw.when(nw.col("running")).then(end).otherwise(nw.col("until"))
    runs = fated.filter(nw.col(FATE) == USED).with_columns(until.alias("until"))
    keys = ["cluster", "n_gpus"]
    if by_node:
        runs = runs.with_columns(nw.col("nodes").list.len().alias("width")).explode("nodes")
        runs = runs.rename({"nodes": "node"}).filter(~nw.col("node").is_null())
        keys += ["node", "width"]
    whole = nw.col("until") - nw.col("begin")
    if length is None:
        sums = runs.with_columns(whole.alias("span")).group_by(keys).agg(*whole_sum("span"))
        return collect(sums).select(*keys, exact_seconds("span").alias("seconds"))
    before = nw.col("until") - 1
    first = nw.col("begin") - (nw.col("begin") - _MONDAY) % length
    last = nw.max_horizontal(before - (before - _MONDAY) % length, first)
    runs = runs.with_columns(first.alias("first"), last.alias("last"))
    one = nw.col("first") == nw.col("last")
    head = nw.when(one).then(whole).otherwise(nw.col("first") + length - nw.col("begin"))
    tail = nw.when(one).then(nw.lit(0, dtype=nw.Int64)).otherwise(nw.col("until") - nw.col("last"))
    keys += ["first", "last"]
    groups = collect(
        runs.with_columns(head.alias("head"), tail.alias("tail"))
        .group_by(keys)
        .agg(nw.len().alias("rows"), *whole_sum("head"), *whole_sum("tail"))
    )
    return share_out(groups, keys, length, period)


def add_spans(runs: pl.DataFrame, length: int) -> pl.DataFrame:
    """Add to ``begin`` and ``until`` (microseconds) what `share_out` takes, each row a group of its own."""
    before, begin, until = pl.col("until") - 1, pl.col("begin"), pl.col("until")
    first = begin - (begin - _MONDAY) % length
    last = pl.max_horizontal(before - (before - _MONDAY) % length, first)
    runs = runs.with_columns(first.alias("first"), last.alias("last"), pl.lit(1, dtype=pl.Int64).alias("rows"))
    one = pl.col("first") == pl.col("last")
    head = pl.when(one).then(until - begin).otherwise(pl.col("first") + length - begin)
    tail = pl.when(one).then(0).otherwise(until - pl.col("last"))
    return runs.with_columns(
        expr.alias(f"{name}{unit}")
        for name, whole in (("head", head), ("tail", tail))
        for unit, expr in (("_s", whole // 1_000_000), ("_us", whole % 1_000_000))
    )


def share_out(groups: pl.DataFrame, keys: list[str], length: int, period: Duration | None) -> pl.DataFrame:
    """Give the runtime of groups of runs to their periods: `keys`, ``period``, ``seconds``."""
    parts = (pl.col("last") - pl.col("first")) // length + 1
    begin, end, total = groups.select(
        pl.col("first").min().alias("begin"), pl.col("last").max().alias("end"), parts.sum().alias("parts")
    ).row(0)
    if groups.height and ((end - begin) // length >= MAX_PERIODS or total > MAX_PARTS):
        raise InputError(
            f"period {period!r} cuts the log into {(end - begin) // length + 1:,} parts; expected a longer one"
        )
    kept = [name for name in keys if name not in ("first", "last")]
    between = pl.int_ranges(pl.col("first") + length, pl.col("last"), length)
    middle = groups.filter(parts > 2).select(*kept, between.alias("at"), pl.col("rows") * (length / 1e6))
    shared = [
        groups.select(*kept, pl.col("first").alias("at"), exact_seconds("head").alias("seconds")),
        groups.filter(parts > 1).select(*kept, pl.col("last").alias("at"), exact_seconds("tail").alias("seconds")),
        middle.explode("at").select(*kept, "at", pl.col("rows").alias("seconds")),
    ]
    return pl.concat(shared).with_columns(as_times(pl.col("at")).alias("period")).drop("at")
