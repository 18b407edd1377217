"""The jobs table: one row a job attempt, checked row by row.

Columns: ``job_id`` str, ``attempt`` int (1, 2, ...), ``cluster`` str, ``submit``, ``start``, ``end`` UTC
timestamps (start null: never ran; end null: still running when the log was written), ``n_nodes`` and
``n_gpus`` int (null: not known), ``state`` one of `STATES` (null: the log has no states); and where
the log has them ``run_id``, ``name``, ``nodes`` (list of names), ``user``, ``qos``, ``partition``, ``cause``,
``preempted_by``.
"""

import concurrent.futures
import dataclasses
from collections.abc import Mapping, Sequence

import polars as pl

from meantime.datasets.attempts import number_attempts, repeated_numbers
from meantime.datasets.columns import (
    Check,
    Texts,
    category_column,
    divide,
    nulls,
    set_aside,
    simple_columns,
    text_column,
    whole_column,
)
from meantime.datasets.hostlist import expand_column
from meantime.datasets.log import Log, add_counts, empty_quarantine
from meantime.datasets.ragged import LINE
from meantime.datasets.times import UTC, Times, choose_hours, parse_times

STATES = (
    "COMPLETED",
    "FAILED",
    "CANCELLED",
    "PREEMPTED",
    "REQUEUED",
    "TIMEOUT",
    "OUT_OF_MEMORY",
    "NODE_FAIL",
    "RUNNING",
    "PENDING",
)
STATE = pl.Enum(STATES)
ACTIVE = ("RUNNING", "PENDING")
"""States of jobs that have not ended."""
MAX_SIZE = 10_000_000
"""Largest believable number of nodes or GPUs of a job."""

TIMES = ("submit", "start", "end")
SIZES = ("attempt", "n_nodes", "n_gpus")
REQUIRED = ("job_id", "attempt", "cluster", *TIMES, "n_nodes", "n_gpus", "state")
OPTIONAL = ("run_id", "name", "nodes", "user", "qos", "partition", "cause", "preempted_by")
EXTRA = ("elapsed",)
"""Not in the table, but used where a log has it: seconds from start to end."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Conventions:
    """How a log writes what its columns do not say.

    Attributes
    ----------
    cluster
        Name of the cluster where no column gives it.
    timezone
        Zone of times that name none.
    time_unit
        Unit of times that are plain numbers: ``"s"``, ``"ms"`` or ``"us"``, since 1970.
    time_format
        strftime format of times in an unusual form.
    no_state
        Words of the log for a state that is not known: the state of such a row is null.
    """

    cluster: str = "cluster"
    timezone: str = "UTC"
    time_unit: str = "s"
    time_format: str | None = None
    no_state: tuple[str, ...] = ()


def jobs_log(
    raw: pl.DataFrame,
    *,
    file: str,
    format: str,
    texts: Texts,
    states: Mapping[str, str],
    conventions: Conventions,
    quarantine: pl.DataFrame | None = None,
    folded: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
) -> Log:
    """Make the jobs table of one file from columns under their canonical names.

    Parameters
    ----------
    raw
        Columns of the jobs table, text or typed, and `LINE`; any may be absent but ``job_id``. Where
        ``end`` is absent, ``elapsed`` (seconds) gives it; else it settles hours that occur twice.
        ``nodes`` may be lists or Slurm host lists.
    file, format
        Name of the file and of its reader.
    texts
        Gives the text of lines, for the quarantine.
    states
        From the states of the log to `STATES`.
    conventions
        What the columns do not say.
    quarantine, folded, notes
        What has already been set aside, folded and decided.

    Returns
    -------
    Log
        Rows that are wrong are in its quarantine with all that is wrong with them.
    """
    frame, problems, remarks = _typed(raw, states, conventions)
    good, bad = divide(frame, problems, _checks("elapsed" in raw.columns))
    aside = [empty_quarantine() if quarantine is None else quarantine, set_aside(bad, file, texts)]
    never = pl.col("state") == "PENDING"
    good = good.with_columns(pl.when(never.fill_null(False)).then(None).otherwise(pl.col("start", "end")).name.keep())
    given = "attempt" in raw.columns
    table, more = number_attempts(good, given=given)
    if given:
        again = repeated_numbers(table)
        reason = pl.format("attempt '{}' of job '{}' occurs more than once", "attempt", "job_id")
        aside.append(set_aside(table.filter(again).with_columns(__why=reason), file, texts))
        table = table.filter(~again)
    put_aside = pl.concat(aside).sort("line", maintain_order=True)
    counts = add_counts(folded or {}, more)
    return Log(
        table=table.select(*REQUIRED, *(name for name in OPTIONAL if name in raw.columns)),
        quarantine=put_aside,
        rows_read=table.height + put_aside.height + sum(counts.values()),
        rows_folded=counts,
        source=file,
        format=format,
        kind="jobs",
        notes=(*notes, *remarks),
    )


def _typed(
    raw: pl.DataFrame, states: Mapping[str, str], conventions: Conventions
) -> tuple[pl.DataFrame, list[pl.Series], list[str]]:
    """Give every column its type; return why values did not convert, and remarks."""
    raw = simple_columns(raw, nested=("nodes",))
    has, height = set(raw.columns), raw.height
    new: dict[str, pl.Series] = {LINE: raw[LINE]}
    problems: list[pl.Series | None] = []
    remarks: list[str] = []
    for name in (*SIZES, *EXTRA):
        if name in has:
            column = whole_column(raw[name])
            new[name] = column.values
            problems.append(column.problem)
        elif name in SIZES:
            new[name] = nulls(height, pl.Int64)
    # Columns do not depend on each other, and polars works without the interpreter's lock.
    with concurrent.futures.ThreadPoolExecutor(len(TIMES) + 1) as pool:
        waiting = {name: pool.submit(_times, raw, name, conventions) for name in TIMES}
        listed = pool.submit(_nodes, raw["nodes"]) if "nodes" in has else None
        times = {name: future.result() for name, future in waiting.items()}
    problems += [parsed.problem for parsed in times.values()]
    new["submit"] = times["submit"].utc
    new["start"], new["end"], doubtful = choose_hours(times["start"], times["end"], new.get("elapsed"))
    if doubtful:
        zone = conventions.timezone
        remarks.append(f"{doubtful} rows have a time in the hour that occurs twice when clocks go back in {zone}")
    if "end" not in has and "elapsed" in has:
        new["end"] = new["start"] + (new["elapsed"] * 1_000_000).cast(pl.Duration("us"))
    if "state" in has:
        state = category_column(raw["state"], states, STATE)
        new["state"] = state.values
        problems.append(_without(state.problem, raw["state"], conventions.no_state))
    else:
        new["state"] = nulls(height, STATE)
    cluster = conventions.cluster
    new["cluster"] = (
        text_column(raw["cluster"]).fill_null(cluster) if "cluster" in has else pl.repeat(cluster, height, eager=True)
    )
    for name in ("job_id", *OPTIONAL):
        if name == "nodes" and listed is not None:
            new[name], lost = listed.result()
            remarks += [f"{lost} node lists were not understood and are left empty"] if lost else []
        elif name in has:
            new[name] = text_column(raw[name])
    frame = pl.DataFrame([series.alias(name) for name, series in new.items()])
    return frame, [problem for problem in problems if problem is not None], remarks


def _without(problem: pl.Series | None, raw: pl.Series, words: tuple[str, ...]) -> pl.Series | None:
    """Take back the problem of rows whose state is said not to be known."""
    if problem is None or not words:
        return problem
    return problem.set(raw.cast(pl.String).fill_null("").is_in(words), None)


def _times(raw: pl.DataFrame, name: str, conventions: Conventions) -> Times:
    if name not in raw.columns:
        return Times(utc=nulls(raw.height, UTC).alias(name))
    return parse_times(
        raw[name], timezone=conventions.timezone, unit=conventions.time_unit, form=conventions.time_format
    )


def _nodes(raw: pl.Series) -> tuple[pl.Series, int]:
    """Give the names of nodes, and how many lists were not understood."""
    if isinstance(raw.dtype, pl.List):
        return raw.cast(pl.List(pl.String)), 0
    text = text_column(raw)
    nodes = expand_column(text)
    named = text.is_not_null() & ~text.is_in(["None assigned", "(null)"])
    return nodes, int((named & nodes.is_null()).sum())


def _checks(has_elapsed: bool) -> list[Check]:
    """Say what a row of the jobs table may not be."""
    start, end, state = pl.col("start"), pl.col("end"), pl.col("state")
    ended = state.is_not_null() & ~state.is_in(ACTIVE)
    checks = [
        (pl.col("job_id").is_null(), pl.lit("job_id is missing")),
        (end < start, pl.format("end '{}' lies before start '{}'", end, start)),
        (start.is_not_null() & end.is_null() & ended, pl.format("state {} without an end", state.cast(pl.String))),
        (
            start.is_null() & state.is_in(["COMPLETED", "OUT_OF_MEMORY"]),
            pl.format("state {} without a start", state.cast(pl.String)),
        ),
        (pl.col("attempt") < 1, pl.format("attempt '{}' is below 1", "attempt")),
    ]
    for name in ("n_nodes", "n_gpus"):
        least = pl.when(start.is_not_null()).then(1 if name == "n_nodes" else 0).otherwise(0)
        checks.append(
            (~pl.col(name).is_between(least, MAX_SIZE), pl.format(f"{name} '{{}}' is impossible", pl.col(name)))
        )
    if has_elapsed:
        checks.append((pl.col("elapsed") < 0, pl.format("duration '{}' s is negative", "elapsed")))
    return checks
