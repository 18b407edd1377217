"""Training logs: how long restarts, checkpoints and the detection of failures really take.

`read_training` reads the events that a training framework writes (`meantime.datasets.training_events` lists them),
`training_samples` turns them into samples that a `meantime.forecast.Plan` takes as distributions, and
`meantime.datasets.training_ledger.training_ledger` into the ledger of each run.
"""

import dataclasses
import json
import zoneinfo
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl

from meantime.datasets.log import add_counts, make_quarantine
from meantime.datasets.source import PathLike, read_bytes
from meantime.datasets.times import UTC, check_timezone
from meantime.datasets.training_events import ATTEMPT, STOP, Entry, understand
from meantime.errors import InputError

SCHEMA: dict[str, Any] = {
    "run": pl.String,
    "time": UTC,
    "event": pl.String,
    "step": pl.Int64,
    "failed_at": UTC,
    "status": pl.String,
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainingLog:
    """Events of training runs.

    Attributes
    ----------
    table
        ``run``, ``time``, ``event`` (one of `meantime.datasets.training_events.EVENTS`), ``step``, ``failed_at``,
        ``status``; by run and time.
    quarantine, rows_read, rows_folded, source, format, notes
        As in `meantime.datasets.log.Log`: every row is in the table, folded, or in quarantine.
    """

    table: pl.DataFrame
    quarantine: pl.DataFrame
    rows_read: int
    rows_folded: Mapping[str, int]
    source: str
    format: str
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        accounted = self.table.height + sum(self.rows_folded.values()) + self.quarantine.height
        if self.rows_read != accounted:
            raise AssertionError(f"{self.source}: {self.rows_read} rows read but {accounted} accounted for")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TrainingSamples:
    """Samples of durations, 1-D arrays of timedelta64[us] (empty where a log does not tell).

    Attributes
    ----------
    start
        From the start of a run to its first work.
    restart
        From the start of a further attempt to its first work.
    checkpoint_write
        From the start to the end of writing a checkpoint.
    checkpoint_interval
        Between the ends of checkpoints of one attempt.
    detection
        From a failure until it was noticed. Where a log does not say when it failed, from the last sign of life: a
        little too long.
    queue
        From noticing a failure (where that is not known, from the last sign of life) to the next attempt's start.
    step
        Between steps of one attempt, without checkpoints between them.
    """

    start: np.ndarray
    restart: np.ndarray
    checkpoint_write: np.ndarray
    checkpoint_interval: np.ndarray
    detection: np.ndarray
    queue: np.ndarray
    step: np.ndarray

    def plan_fields(self) -> dict[str, np.ndarray]:
        """Give the samples that there are under the names of a plan's fields: ``Plan(**samples.plan_fields())``."""
        names = ("restart", "checkpoint_write", "detection", "queue")
        return {name: getattr(self, name) for name in names if getattr(self, name).size}


def read_training(path: PathLike, *, timezone: str = "UTC") -> TrainingLog:
    """Read a log of training events: JSON lines, or one JSON array; packed as .gz, .xz or .zst, or not.

    Parameters
    ----------
    path
        The file.
    timezone
        Zone of times that name none.

    Raises
    ------
    InputError
        If the file cannot be read, or no row of it is an event.
    """
    zone = zoneinfo.ZoneInfo(check_timezone(timezone))
    file = str(path)
    entries: list[Entry] = []
    bad: list[tuple[int, str, str]] = []
    rows = _rows(read_bytes(path), file)
    for line, text, content in rows:
        try:
            entries.append(understand(json.loads(text) if content is None else content, zone))
        except json.JSONDecodeError as error:
            bad.append((line, f"not JSON: {error.msg}", text))
        except (ValueError, RecursionError) as error:
            bad.append((line, str(error)[:200], text))
    if not entries:
        why = f"; the first row: {bad[0][1]}" if bad else ""
        raise InputError(f"{file}: no row is a training event{why}")
    table, folded, notes = _settle(entries)
    return TrainingLog(
        table=table,
        quarantine=make_quarantine(file, [row[0] for row in bad], [row[1] for row in bad], [row[2] for row in bad]),
        rows_read=len(entries) + len(bad),
        rows_folded=folded,
        source=file,
        format=" + ".join(sorted({entry.form for entry in entries})),
        notes=tuple(notes),
    )


def training_samples(log: TrainingLog) -> TrainingSamples:
    """Collect the durations that a training log tells of."""
    found: dict[str, list[int]] = {field.name: [] for field in dataclasses.fields(TrainingSamples)}
    table = log.table.with_columns(pl.col("time", "failed_at").dt.epoch("us"))
    for _, rows in table.group_by("run", maintain_order=True):
        _sample_run(list(rows.select("time", "event", "failed_at").iter_rows()), found)
    return TrainingSamples(**{name: np.array(values, dtype="timedelta64[us]") for name, values in found.items()})


def _rows(data: bytes, file: str) -> list[tuple[int, str, Any]]:
    """Give number, text and (of an array) content of every row."""
    text = data.decode("utf-8", errors="replace")
    if text.lstrip()[:1] != "[":
        return [(number, line, None) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    try:
        return [(number, json.dumps(row)[:200], row) for number, row in enumerate(json.loads(text), start=1)]
    except (ValueError, RecursionError) as error:
        raise InputError(f"{file}: is a damaged JSON array ({str(error)[:100]}); expected JSON lines") from error


def _settle(entries: list[Entry]) -> tuple[pl.DataFrame, dict[str, int], list[str]]:
    """Sort events by run and time, say which attempt is the first of its run, and which end the last."""
    notes: list[str] = []
    told = [entry for entry in entries if entry.event is not None]
    main = {entry.run for entry in told if entry.rank == 0}
    kept = [entry for entry in told if entry.rank == 0 or entry.run not in main]
    folded = {"phases": len(entries) - len(told), "other ranks": len(told) - len(kept)}
    frame = pl.DataFrame(
        {name: [getattr(entry, name) for entry in kept] for name in (*SCHEMA, "form")},
        schema={**SCHEMA, "time": pl.Int64, "failed_at": pl.Int64, "form": pl.String},
    ).with_columns(pl.col("time", "failed_at").cast(pl.Datetime("us")).dt.replace_time_zone("UTC"))
    distinct = frame.unique(maintain_order=True)
    folded["duplicates"] = frame.height - distinct.height
    ordered = _finish_steps(distinct.sort("run", "time", maintain_order=True)).select(list(SCHEMA))
    number = pl.int_range(pl.len())
    first = number == number.filter(pl.col("event") == ATTEMPT).min()
    ends = number >= number.filter(pl.col("event") != STOP).max()
    named = pl.col("event").replace({ATTEMPT: "restart_start", STOP: "failure_detected"})
    event = (
        pl.when((pl.col("event") == ATTEMPT) & first.over("run"))
        .then(pl.lit("run_start"))
        .when((pl.col("event") == STOP) & ends.over("run"))
        .then(pl.lit("run_end"))
        .otherwise(named)
    )
    table = ordered.with_columns(event.alias("event"))
    started = table.group_by("run").agg((pl.col("event") == "run_start").any())
    if absent := started.height - int(started["event"].sum()):
        notes.append(f"{absent} runs have no start in the log: the time before their first event is not known")
    return table, add_counts(folded), notes


def _finish_steps(frame: pl.DataFrame) -> pl.DataFrame:
    """Turn starts of steps, which ml-goodput-measurement records, into ends of those before.

    The first step of an attempt ends its start instead.
    """
    step = (pl.col("form") == "ml-goodput-measurement") & (pl.col("event") == "step")
    attempt = (pl.col("event") == ATTEMPT).cum_sum().over("run")
    begun = step & (pl.col("attempt") > 0) & (step.cast(pl.Int64).cum_sum().over("run", "attempt") == 1)
    return frame.with_columns(attempt.alias("attempt")).with_columns(
        pl.when(begun).then(pl.lit("restart_end")).otherwise("event").alias("event"),
        pl.when(step).then(pl.col("step") - 1).otherwise("step").alias("step"),
    )


def _sample_run(rows: list[tuple[int, str, int | None]], found: dict[str, list[int]]) -> None:
    """Add the durations of one run; rows are time, event, time of failure."""
    steps = [later - time for (time, event, _), (later, following, _) in pairwise(rows) if event == following == "step"]
    found["step"] += steps
    usual = int(np.median(steps)) if steps else 0
    beginning: tuple[int, str] | None = None
    writing = saved = noticed = None
    alive: int | None = None
    for time, event, failed_at in rows:
        if event in ("run_start", "restart_start"):
            if event == "restart_start" and (noticed is not None or alive is not None):
                found["queue"].append(time - (noticed if noticed is not None else alive or time))
            beginning, writing, saved, noticed = (
                (time, "start" if event == "run_start" else "restart"),
                None,
                None,
                None,
            )
        elif event == "failure_detected":
            known = failed_at if failed_at is not None else alive
            if known is not None and known <= time and noticed is None:
                found["detection"].append(time - known)
            noticed, beginning = time, None
        elif beginning is not None:
            # A step that ends the start has itself taken a while.
            worked = usual if event == "step" else 0
            found[beginning[1]].append(max(time - beginning[0] - worked, 0))
            beginning = None
        if event == "checkpoint_start":
            writing = time
        elif event == "checkpoint_end":
            if writing is not None:
                found["checkpoint_write"].append(time - writing)
            if saved is not None:
                found["checkpoint_interval"].append(time - saved)
            writing, saved = None, time
        alive = time
