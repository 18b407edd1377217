"""Tables that users bring in memory: any data frame that narwhals knows."""

from typing import Any

import narwhals as nw
import polars as pl

from meantime.datasets.events import REQUIRED as EVENT_COLUMNS
from meantime.datasets.events import events_log
from meantime.datasets.jobs import STATES, Conventions, jobs_log
from meantime.datasets.log import Log
from meantime.datasets.ragged import LINE
from meantime.errors import InputError

JOB_COLUMNS = ("job_id", "start", "end")
"""Columns without which there is no jobs table."""


def to_polars(frame: Any, what: str) -> pl.DataFrame:
    """Turn a data frame (polars, pandas, Arrow, DuckDB, ...; lazy or not) into one of polars."""
    if isinstance(frame, pl.DataFrame):
        return frame
    try:
        native = nw.from_native(frame)
        return (native.collect() if isinstance(native, nw.LazyFrame) else native).to_polars()
    except TypeError as error:
        raise InputError(
            f"{what} are of type {type(frame).__name__}; expected a log that was read, or a data frame"
        ) from error
    except ModuleNotFoundError as error:
        raise InputError(f"{what}: this data frame needs {error.name} to be converted; install it") from error


def as_jobs(jobs: Any) -> Log:
    """Take a log of jobs as it is; check a data frame of the jobs table's columns row by row."""
    if isinstance(jobs, Log):
        if jobs.kind != "jobs":
            raise InputError(f"{jobs.source}: holds {jobs.kind}; expected jobs")
        return jobs
    frame = to_polars(jobs, "jobs")
    if missing := [name for name in JOB_COLUMNS if name not in frame.columns]:
        raise InputError(f"the jobs table lacks {', '.join(missing)}; found {', '.join(frame.columns)}")
    return jobs_log(
        frame.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(LINE)),
        file="data frame",
        format="data frame",
        texts=row_texts(frame),
        states={state: state for state in STATES},
        conventions=Conventions(),
    )


def as_events(events: Any) -> pl.DataFrame | None:
    """Give the events table of a log of events or a data frame; None stays None."""
    if events is None:
        return None
    if isinstance(events, Log):
        if events.kind != "events":
            raise InputError(f"{events.source}: holds {events.kind}; expected events")
        return events.table
    frame = to_polars(events, "events")
    if missing := [name for name in EVENT_COLUMNS if name not in frame.columns]:
        raise InputError(f"the events table lacks {', '.join(missing)}; found {', '.join(frame.columns)}")
    log = events_log(
        frame.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(LINE)),
        file="data frame",
        format="data frame",
        texts=row_texts(frame),
        conventions=Conventions(),
    )
    if log.quarantine.height:
        first = log.quarantine.row(0, named=True)
        raise InputError(f"events, row {first['line']}: {first['reason']} ({log.quarantine.height} such rows in all)")
    return log.table


def row_texts(frame: pl.DataFrame) -> Any:
    """Give the text of rows of a data frame by number, from 1."""

    def texts(lines: Any) -> list[str]:
        rows = frame.select(pl.all().exclude(LINE))[[line - 1 for line in lines]].rows(named=True)
        return [", ".join(f"{name}={value}" for name, value in row.items()) for row in rows]

    return texts
