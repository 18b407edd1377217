"""Exposure: how many node-days jobs of each size were at risk, and when.

A job's node-days are its GPUs over the GPUs of a node, times its runtime in days: a job on part of a node
counts that part. Jobs still running at the end of the log count up to there.
"""

import datetime as dt

import numpy as np
import polars as pl

from meantime.datasets.times import UTC, parse_times
from meantime.errors import InputError
from meantime.units import Duration, seconds

MAX_PERIODS = 100_000
"""Most periods that a log may be cut into."""
MAX_PARTS = 200_000_000
"""Most parts, over all jobs, that periods may cut runs into."""

_MICROS_PER_DAY = 86_400e6
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
    if log_end is None:
        latest = jobs.select(pl.max_horizontal(pl.col("submit", "start", "end").max())).item()
        if latest is None:
            raise InputError("the log has no times; expected start and end of jobs")
        return latest
    times = parse_times(pl.Series("log_end", [log_end if isinstance(log_end, str) else log_end.isoformat()]))
    value = times.utc[0]
    if value is None:
        raise InputError(f"log_end is {log_end!r}; expected a time such as 2024-03-01T00:00:00 (UTC)")
    return value


def add_runtime(jobs: pl.DataFrame, log_end: dt.datetime) -> pl.DataFrame:
    """Keep jobs that ran before the log's end; add ``until`` (end, at latest the log's) and ``censored``."""
    edge = pl.lit(log_end, dtype=UTC)
    return jobs.filter(pl.col("start").is_not_null() & (pl.col("start") <= edge)).with_columns(
        pl.min_horizontal(pl.col("end").fill_null(edge), edge).alias("until"),
        (pl.col("end").is_null() | (pl.col("end") > edge)).alias("censored"),
    )


def exposure_by(runs: pl.DataFrame, keys: list[str], *, gpus_per_node: int, period: Duration | None) -> pl.DataFrame:
    """Sum node-days by columns, and by period where one is given.

    Parameters
    ----------
    runs
        Jobs with ``until``, from `add_runtime`.
    keys
        Columns to sum by.
    gpus_per_node
        GPUs of a node.
    period
        Length of the periods that a run is divided among, or None.

    Returns
    -------
    pl.DataFrame
        `keys`, ``period`` (start of each) where periods are asked for, and ``exposure`` in node-days.
    """
    begin, until = pl.col("start"), pl.col("until")
    if period is not None:
        length = period_length(period)
        first, last = _period_index(pl.col("start"), length), last_period(length)
        begins, ends, parts = runs.select(
            first.min().alias("first"), last.max().alias("last"), (last - first + 1).sum().alias("parts")
        ).row(0)
        if ends - begins >= MAX_PERIODS or parts > MAX_PARTS:
            raise InputError(f"period {period!r} cuts the log into {ends - begins + 1:,} parts; expected a longer one")
        runs = runs.select(*keys, "n_gpus", "start", "until", pl.int_ranges(first, last + 1).alias("__i"))
        runs = runs.explode("__i").with_columns(period_start(pl.col("__i"), length).alias("period"))
        begin = pl.max_horizontal("start", "period")
        until = pl.min_horizontal("until", pl.col("period") + pl.duration(microseconds=length))
        keys = [*keys, "period"]
    days = (until - begin).dt.total_microseconds() / _MICROS_PER_DAY
    return runs.group_by(keys).agg((pl.col("n_gpus") * days).sum().alias("exposure") / gpus_per_node)


def period_length(period: Duration) -> int:
    """Length of a period in microseconds."""
    length = round(seconds(period, name="period") * 1e6)
    if length < 1_000_000:
        raise InputError(f"period is {period!r}; expected one second or more, such as 1d or 1w")
    return length


def last_period(length: int) -> pl.Expr:
    """Number of the period in which a run ends; an end on the edge belongs to the period before it."""
    before = pl.col("until") - pl.duration(microseconds=1)
    return pl.max_horizontal(_period_index(before, length), _period_index(pl.col("start"), length))


def period_start(index: pl.Expr, length: int) -> pl.Expr:
    """Start of the period of a number."""
    return (index * length + _MONDAY).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


def _period_index(time: pl.Expr, length: int) -> pl.Expr:
    return (time.dt.epoch("us") - _MONDAY) // length
