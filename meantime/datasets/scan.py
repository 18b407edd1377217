"""Jobs and events as every engine gives them: a lazy frame with its times in whole microseconds.

A log that was read, or a data frame in memory, has been checked row by row. A lazy frame (``polars.scan_parquet``,
a PySpark data frame) may be larger than memory: it is never collected. Its rows are checked on the way, and what
comes back are sums and the few rows that failed. The expressions are narwhals', so each engine runs its own plan.
"""

import dataclasses
from typing import Any

import narwhals as nw
import polars as pl

from meantime.datasets.events import REQUIRED as EVENT_COLUMNS
from meantime.datasets.frames import JOB_COLUMNS, as_events, as_jobs
from meantime.datasets.jobs import TIMES
from meantime.datasets.log import Log
from meantime.datasets.taxonomy import SEVERITIES
from meantime.errors import InputError

ROW = "__row"
"""Number of a row, in frames of polars."""
_KEPT = ("cluster", "job_id", "attempt", *TIMES, "n_nodes", "n_gpus", "state", "nodes", "cause")
_WHOLE = ("attempt", "n_nodes", "n_gpus")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Jobs to be counted.

    Attributes
    ----------
    frame
        Columns of the jobs table as far as given (``cluster`` always), times as int64 microseconds since 1970.
    identity
        Columns that tell rows apart.
    log
        What the reader gave, if the rows were checked when they were read; else None.
    source, format
        Where the rows came from.
    """

    frame: nw.LazyFrame[Any]
    identity: tuple[str, ...]
    log: Log | None
    source: str
    format: str

    @property
    def columns(self) -> list[str]:
        """Names of the columns."""
        return self.frame.collect_schema().names()


def is_lazy(frame: Any) -> bool:
    """Say whether a frame is of a lazy engine: polars' LazyFrame, PySpark, DuckDB."""
    return isinstance(nw.from_native(frame, pass_through=True), nw.LazyFrame)


def open_jobs(jobs: Any) -> Jobs:
    """Make jobs ready to be counted: a log, any data frame, or a lazy one.

    Raises
    ------
    InputError
        If it is none of these, or its columns are missing or of a wrong type.
    """
    if not is_lazy(jobs):
        log = as_jobs(jobs)
        native = log.table.lazy()
        return _jobs(nw.from_native(native), log=log, source=log.source, format=log.format)
    frame = nw.from_native(jobs)
    _expect(frame, JOB_COLUMNS, "jobs")
    engine = frame.implementation.value
    return _jobs(frame, log=None, source=f"{engine} frame", format=f"lazy frame ({engine})")


def open_events(events: Any) -> nw.LazyFrame[Any] | None:
    """Make events ready to be joined: ``node``, ``time`` (microseconds), ``component``, ``high``; None stays None.

    Of a lazy frame, rows in which one of these is missing stay, but explain nothing (see `is_usable`).
    """
    if events is None:
        return None
    if not is_lazy(events):
        table = as_events(events)
        assert table is not None
        frame = nw.from_native(table.lazy())
    else:
        frame = nw.from_native(events)
        _expect(frame, (*EVENT_COLUMNS, "severity"), "events")
        found = collect(frame.select(nw.col("severity").cast(nw.String)).unique())["severity"].drop_nulls().to_list()
        if unknown := sorted(set(found) - set(SEVERITIES)):
            raise InputError(f"events: severity {unknown[0]!r} is unknown; expected {', '.join(SEVERITIES)}")
    severity = nw.col("severity").cast(nw.String)
    return _micros(frame, ("time",), "events").select("node", "time", "component", (severity == "high").alias("high"))


def is_usable() -> nw.Expr:
    """Say which events of `open_events` have all that they need."""
    return ~nw.any_horizontal(
        *(nw.col(name).is_null() for name in ("node", "time", "component", "high")), ignore_nulls=False
    )


def collect(frame: nw.LazyFrame[Any]) -> pl.DataFrame:
    """Run a plan, on the engine that it belongs to."""
    if frame.implementation.is_polars():
        return frame.collect(engine="streaming").to_native()
    return frame.collect("polars").to_native()


def _jobs(frame: nw.LazyFrame[Any], *, log: Log | None, source: str, format: str) -> Jobs:
    names = frame.collect_schema().names()
    if "cluster" not in names:
        frame = frame.with_columns(nw.lit("cluster").alias("cluster"))
    kept = [name for name in _KEPT if name in names or name == "cluster"]
    frame = _micros(frame.select(kept), [name for name in TIMES if name in names], "jobs")
    frame = _check_types(frame)
    if frame.implementation.is_polars():
        numbered = nw.from_native(frame.to_native().with_row_index(ROW))
        return Jobs(frame=numbered, identity=(ROW,), log=log, source=source, format=format)
    identity = tuple(name for name in ("cluster", "job_id", "attempt", "start") if name in kept)
    return Jobs(frame=frame, identity=identity, log=log, source=source, format=format)


def _micros(frame: nw.LazyFrame[Any], names: Any, what: str) -> nw.LazyFrame[Any]:
    """Turn timestamps into microseconds since 1970; one without a zone is UTC."""
    schema = frame.collect_schema()
    for name in names:
        if not isinstance(schema[name], nw.Datetime):
            raise InputError(
                f"{what}: column {name} is of type {schema[name]}; expected timestamps, as meantime.datasets.read gives"
            )
    if not frame.implementation.is_pyspark() and not frame.implementation.is_pyspark_connect():
        return frame.with_columns(nw.col(name).dt.timestamp("us").alias(name) for name in names)
    from pyspark.sql import functions as spark

    native = frame.to_native()
    for name in names:
        zoned = getattr(schema[name], "time_zone", None) is not None
        whole = (
            spark.unix_micros(native[name])
            if zoned
            else spark.expr(f"timestampdiff(MICROSECOND, timestamp_ntz'1970-01-01 00:00:00', `{name}`)")
        )
        native = native.withColumn(name, whole)
    return nw.from_native(native)


def _check_types(frame: nw.LazyFrame[Any]) -> nw.LazyFrame[Any]:
    schema = frame.collect_schema()
    for name in _WHOLE:
        if name in schema and not schema[name].is_integer():
            raise InputError(f"jobs: column {name} is of type {schema[name]}; expected whole numbers")
    if "nodes" in schema and not isinstance(schema["nodes"], nw.List):
        raise InputError(f"jobs: column nodes is of type {schema['nodes']}; expected lists of names")
    texts = [name for name in ("job_id", "state") if name in schema and schema[name] != nw.String]
    whole = [name for name in _WHOLE if name in schema and schema[name] != nw.Int64]
    casts = [nw.col(name).cast(nw.String) for name in texts] + [nw.col(name).cast(nw.Int64) for name in whole]
    return frame.with_columns(casts) if casts else frame


def _expect(frame: nw.LazyFrame[Any], names: tuple[str, ...], what: str) -> None:
    found = frame.collect_schema().names()
    if missing := [name for name in names if name not in found]:
        raise InputError(f"the {what} table lacks {', '.join(missing)}; found {', '.join(found)}")
