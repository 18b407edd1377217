"""What becomes of every row of a jobs table: counted, or set aside, and why.

One pass over the rows gives how many there are of each kind, the log's first and last times, and the node-days by
cluster and number of GPUs.
"""

import dataclasses
import datetime as dt
import re
from functools import reduce
from typing import Any

import narwhals as nw
import polars as pl

from meantime.datasets.jobs import ACTIVE, MAX_SIZE
from meantime.datasets.scan import Jobs, collect
from meantime.datasets.times import YEARS, parse_times
from meantime.errors import InputError

FATE = "__fate"
USED, NEVER_RAN, OUTSIDE, GPUS_NOT_KNOWN, WITHOUT_GPUS, BELOW_MIN_GPUS = range(6)
_INSIDE = (USED, NEVER_RAN, GPUS_NOT_KNOWN, WITHOUT_GPUS)
WRONG = 10
"""Fates from here on are rows that cannot be right, by the number of their reason."""

_SECOND = 1_000_000
_ABSENT = {"submit": nw.Int64(), "n_gpus": nw.Int64(), "state": nw.String()}
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")
_EDGES = tuple(int(dt.datetime(year, 1, 1, tzinfo=dt.UTC).timestamp()) * _SECOND for year in YEARS)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    """Which jobs count: times in microseconds since 1970, None where the log itself decides."""

    min_gpus: int = 0
    log_start: int | None = None
    log_end: int | None = None


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Census:
    """How many rows have which fate, and what those that count add up to.

    Attributes
    ----------
    rows
        Rows by fate.
    totals
        One row for each ``cluster`` and ``n_gpus`` of the rows that count: ``seconds`` of runtime inside the limits,
        ``rows``, ``running``.
    states
        One row for each ``state`` (null where not known) of the rows inside the limits: ``attempts``, and the
        ``gpu_seconds`` of those that count.
    log_end
        The limit, or the latest time of the log; microseconds since 1970.
    """

    rows: dict[int, int]
    totals: pl.DataFrame
    states: pl.DataFrame
    log_end: int

    @property
    def read(self) -> int:
        """All rows."""
        return sum(self.rows.values())

    @property
    def wrong(self) -> int:
        """Rows that cannot be right."""
        return sum(count for fate, count in self.rows.items() if fate >= WRONG)


def with_fates(jobs: Jobs, limits: Limits) -> nw.LazyFrame[Any]:
    """Add `FATE`, ``running``, and the part inside the limits: ``begin``, ``until`` (null where still running)."""
    frame, names = jobs.frame, jobs.columns
    if absent := [nw.lit(None, dtype=kind).alias(name) for name, kind in _ABSENT.items() if name not in names]:
        frame = frame.with_columns(absent)
    start, end, gpus = nw.col("start"), nw.col("end"), nw.col("n_gpus")
    until, begin, running, outside = end, start, end.is_null(), []
    if limits.log_end is not None:
        edge = nw.lit(limits.log_end, dtype=nw.Int64)
        outside.append((OUTSIDE, start > edge))
        running = running | (end > edge)
    if limits.log_start is not None:
        edge = nw.lit(limits.log_start, dtype=nw.Int64)
        outside.append((OUTSIDE, end <= edge))
        begin = nw.when(start < edge).then(edge).otherwise(start)
    rules = [
        *([] if jobs.log is not None else impossible("state" in names)),
        (NEVER_RAN, start.is_null()),
        *outside,
        (GPUS_NOT_KNOWN, gpus.is_null()),
        (WITHOUT_GPUS, gpus == 0),
        *([(BELOW_MIN_GPUS, gpus < limits.min_gpus)] if limits.min_gpus > 1 else []),
    ]
    fate = reduce(
        lambda otherwise, rule: nw.when(rule[1]).then(nw.lit(rule[0], dtype=nw.Int32)).otherwise(otherwise),
        reversed(rules),
        nw.lit(USED, dtype=nw.Int32),
    )
    return frame.with_columns(fate.alias(FATE), running.alias("running"), begin.alias("begin"), until.alias("until"))


def take_census(fated: nw.LazyFrame[Any], limits: Limits) -> Census:
    """Count the rows of `with_fates`, and add up the runtime of those that count."""
    log_end = limits.log_end if limits.log_end is not None else _latest(fated)
    begin = nw.col("begin")
    # Of runs that go on, the sum of their starts is kept: what they add up to follows from the log's end.
    span = nw.when(nw.col("running")).then(begin).otherwise(nw.col("until") - begin)
    groups = collect(
        fated.with_columns(span.alias("span"))
        .group_by("cluster", "n_gpus", FATE, "running", "state")
        .agg(nw.len().alias("rows"), *whole_sum("span"))
    ).with_columns(pl.col("rows").cast(pl.Int64))
    used = pl.col(FATE) == USED
    edge = {"span_s": log_end // _SECOND, "span_us": log_end % _SECOND}
    going_on = (pl.col("rows") * value - pl.col(name) for name, value in edge.items())
    groups = groups.with_columns(
        pl.when("running").then(sum_).otherwise(pl.col(name)).alias(name)
        for name, sum_ in zip(edge, going_on, strict=True)
    )
    totals = (
        groups.filter(used)
        .group_by("cluster", "n_gpus")
        .agg(pl.col("span_s", "span_us", "rows").sum(), pl.col("rows").filter("running").sum().alias("running"))
        .sort("cluster", "n_gpus")
    )
    return Census(
        rows=dict(groups.group_by(FATE).agg(pl.col("rows").sum()).iter_rows()),
        totals=totals.select("cluster", "n_gpus", "rows", "running", exact_seconds("span").alias("seconds")),
        states=_by_state(groups.filter(pl.col(FATE).is_in(_INSIDE))),
        log_end=log_end,
    )


def _by_state(groups: pl.DataFrame) -> pl.DataFrame:
    """Add up rows and GPU time by state, in whole numbers: the same in whatever order the rows came."""
    gpu_time = [
        pl.when(pl.col(FATE) == USED).then(pl.col(name) * pl.col("n_gpus")).otherwise(0).alias(name)
        for name in ("span_s", "span_us")
    ]
    summed = groups.with_columns(gpu_time).group_by("state").agg(pl.col("rows", "span_s", "span_us").sum())
    return summed.select("state", pl.col("rows").alias("attempts"), exact_seconds("span").alias("gpu_seconds"))


def _latest(fated: nw.LazyFrame[Any]) -> int:
    """Find the latest time of rows that can be right."""
    times = ["submit", "start", "end"]
    fine = fated.filter(nw.col(FATE) < WRONG).select(nw.col(times).max())
    latest = [time for time in collect(fine).row(0) if time is not None]
    if not latest:
        raise InputError("the log has no times; expected start and end of jobs")
    return int(max(latest))


def whole_sum(name: str) -> list[nw.Expr]:
    """Sum microseconds without loss or overflow: whole seconds (``_s``) and what is left (``_us``) apart."""
    return [(nw.col(name) // _SECOND).sum().alias(f"{name}_s"), (nw.col(name) % _SECOND).sum().alias(f"{name}_us")]


def exact_seconds(name: str) -> pl.Expr:
    """Give the seconds of a `whole_sum`; the same figure in whatever order the rows were added."""
    return pl.col(f"{name}_s") + pl.col(f"{name}_us") / _SECOND


REASONS = {
    WRONG: "end lies before start",
    WRONG + 1: "n_gpus is impossible",
    WRONG + 2: f"a time lies outside the years {YEARS[0]} to {YEARS[1]}",
    WRONG + 3: "a state that has ended without an end",
}
"""Why rows of a lazy frame cannot be right. Rows of other frames were checked when they were read."""


def impossible(states: bool) -> list[tuple[int, nw.Expr]]:
    """Say which rows of a lazy frame cannot be right, by `REASONS`, and which never ran."""
    start, end, state = nw.col("start"), nw.col("end"), nw.col("state")
    first, last = (nw.lit(edge, dtype=nw.Int64) for edge in _EDGES)
    rules = [
        (WRONG, end < start),
        (WRONG + 1, (nw.col("n_gpus") < 0) | (nw.col("n_gpus") > MAX_SIZE)),
        (WRONG + 2, (start < first) | (end > last)),
    ]
    if not states:
        return rules
    open_end = end.is_null() & ~start.is_null()
    return [*rules, (NEVER_RAN, open_end & (state == ACTIVE[1])), (WRONG + 3, open_end & (state != ACTIVE[0]))]


def log_edge(time: str | dt.datetime | None, name: str) -> int | None:
    """Give a limit of the log in microseconds since 1970 (UTC)."""
    if time is None:
        return None
    text = time if isinstance(time, str) else time.isoformat()
    text = f"{text}T00:00:00" if _DATE.fullmatch(text) else text
    parsed = parse_times(pl.Series(name, [text]))
    if parsed.utc[0] is None:
        raise InputError(f"{name} is {time!r}; expected a time such as 2024-03-01T00:00:00 (UTC)")
    return int(parsed.utc.dt.epoch("us")[0])
