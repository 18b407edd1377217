"""The Standard Workload Format of the Parallel Workloads Archive, version 2.

The input is any log of https://www.cs.huji.ac.il/labs/parallel/workload/logs.html, for example ::

    curl -LO https://www.cs.huji.ac.il/labs/parallel/workload/l_kit_fh2/KIT-FH2-2016-1.swf.gz

18 columns separated by spaces, header comments behind ``;``, -1 where a value is not known. Decisions:

- The unit is the processor: it stands in the place of GPUs (``n_gpus``), as used, else as asked for. Give
  ``gpus_per_node`` = processors of a node; the notes say what the header tells of it.
- Status 1 is COMPLETED, 0 FAILED, 5 CANCELLED, -1 not known. A job that lists its partial executions (status 2, then
  3 for completed or 4 for failed) is these, as attempts (2: REQUEUED); its summary row is folded.
- Times count from ``UnixStartTime``; without one from 2000-01-01, and dates are not real (noted).
"""

import datetime as dt
import re

import polars as pl

from meantime.datasets.jobs import Conventions, jobs_log
from meantime.datasets.log import Log, make_quarantine
from meantime.datasets.ragged import LINE
from meantime.datasets.readers._columns import EPOCH
from meantime.datasets.records import line_texts
from meantime.datasets.source import PathLike, read_bytes
from meantime.errors import InputError

COLUMNS = (
    "job",
    "submit",
    "wait",
    "run",
    "procs",
    "cpu_time",
    "memory",
    "procs_asked",
    "time_asked",
    "memory_asked",
    "status",
    "user",
    "group",
    "executable",
    "queue",
    "partition",
    "preceding",
    "think_time",
)
STATES = {"1": "COMPLETED", "0": "FAILED", "5": "CANCELLED", "2": "REQUEUED", "3": "COMPLETED", "4": "FAILED"}
NO_DATE = dt.datetime(2000, 1, 1, tzinfo=dt.UTC)

_HEADER = re.compile(r"^;\s*(\w+):\s*(.*?)\s*$", re.MULTILINE)
_PARTIAL = ("2", "3", "4")


def read_swf(path: PathLike, *, cluster: str | None = None) -> Log:
    """Read an SWF log (see the module's text for the download and the decisions).

    Parameters
    ----------
    path
        The log; .gz, .xz and .zst are unpacked.
    cluster
        Name of the cluster. Default: ``Computer`` of the header, else ``cluster``.

    Raises
    ------
    InputError
        If the file cannot be read or no row has 18 columns.
    """
    file = str(path)
    data = read_bytes(path)
    text = data.decode("utf-8", errors="replace")
    facts = dict(_HEADER.findall(text[: 1024**2]))
    frame, bad = _fields(text, file)
    notes: list[str] = []
    start, known = _start_time(facts)
    if not known:
        notes.append("the header has no UnixStartTime: times count from 2000-01-01, dates are not real")
    notes.append("sizes are processors, in the place of GPUs" + _say_sizes(facts))
    frame, summaries = _without_summaries(frame)
    frame = _times(frame, start)
    raw = frame.select(
        LINE,
        pl.col("job").alias("job_id"),
        "attempt",
        pl.col("submit_at").alias("submit"),
        pl.col("start_at").alias("start"),
        pl.col("end_at").alias("end"),
        _known("procs").fill_null(_known("procs_asked")).alias("n_gpus"),
        pl.col("status").alias("state"),
        *(_known(name, pl.String).alias(name) for name in ("user", "partition")),
        _known("queue", pl.String).alias("qos"),
    )
    return jobs_log(
        raw,
        file=file,
        format="swf",
        texts=lambda lines: line_texts(data, lines),
        states=STATES,
        conventions=Conventions(cluster=cluster or facts.get("Computer") or "cluster", no_state=("-1",)),
        quarantine=bad,
        folded={"summaries of partial executions": summaries},
        notes=notes,
    )


def _fields(text: str, file: str) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Split the rows into columns of text; those without 18 numbers are set aside."""
    lines = pl.DataFrame({"text": text.split("\n")}).with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(LINE), pl.col("text").str.strip_chars(" \t\r\0")
    )
    rows = lines.filter((pl.col("text") != "") & ~pl.col("text").str.starts_with(";"))
    parts = rows["text"].str.replace_all(r"\s+", " ").str.split(" ")
    numbers = parts.list.eval(pl.element().str.contains(r"^-?\d{1,15}(\.\d+)?$")).list.all()
    right = (parts.list.len() == len(COLUMNS)) & numbers
    if rows.height and not right.any():
        raise InputError(
            f"{file}: line {rows[LINE][0]}: {rows['text'][0][:60]!r} is no row of SWF; expected 18 numbers, "
            "separated by spaces"
        )
    wrong = rows.filter(~right)
    reasons = [
        f"{count} columns where SWF has 18" if count != len(COLUMNS) else "a column is no number"
        for count in parts.filter(~right).list.len().to_list()
    ]
    frame = rows.filter(right).select(
        LINE, *(parts.filter(right).list.get(i).alias(name) for i, name in enumerate(COLUMNS))
    )
    return frame, make_quarantine(file, wrong[LINE].to_list(), reasons, wrong["text"].to_list())


def _start_time(facts: dict[str, str]) -> tuple[dt.datetime, bool]:
    try:
        seconds = int(facts.get("UnixStartTime", "0").split()[0])
    except (ValueError, IndexError):
        seconds = 0
    return (EPOCH + dt.timedelta(seconds=seconds), True) if 0 < seconds < 2**32 else (NO_DATE, False)


def _say_sizes(facts: dict[str, str]) -> str:
    counts = [facts.get(name, "").split(" ")[0] for name in ("MaxProcs", "MaxNodes")]
    if not all(count.isdigit() and int(count) for count in counts):
        return ""
    procs, nodes = map(int, counts)
    return f"; the header has {procs:,} on {nodes:,} nodes, about {procs / nodes:g} each (gpus_per_node)"


def _without_summaries(frame: pl.DataFrame) -> tuple[pl.DataFrame, int]:
    """Drop the row that sums up a job where its partial executions follow."""
    partial = pl.col("status").is_in(_PARTIAL)
    kept = frame.filter(partial | ~partial.any().over("job"))
    return kept.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over("job").alias("attempt")), (
        frame.height - kept.height
    )


def _times(frame: pl.DataFrame, start: dt.datetime) -> pl.DataFrame:
    """Add times since 1970; a later burst of a job is submitted when the burst before it ended."""
    offset = int((start - EPOCH).total_seconds())
    submit, wait, run = (_known(name, pl.Float64) for name in ("submit", "wait", "run"))
    never = run.is_null() & pl.col("status").is_in(["0", "5", "-1"])
    frame = frame.with_columns(
        (submit + offset).alias("submit_at"), wait.alias("__wait"), run.alias("__run"), never.alias("__never")
    )
    spent = (pl.col("__wait").fill_null(0) + pl.col("__run").fill_null(0)).cum_sum().shift(fill_value=0).over("job")
    begun = pl.col("submit_at").first().over("job")
    submitted = pl.when(pl.col("attempt") == 1).then("submit_at").otherwise(pl.coalesce("submit_at", begun + spent))
    frame = frame.with_columns(submitted.alias("submit_at"))
    began = pl.when(~pl.col("__never")).then(pl.col("submit_at") + pl.col("__wait"))
    return frame.with_columns(began.alias("start_at")).with_columns(
        (pl.col("start_at") + pl.col("__run")).alias("end_at")
    )


def _known(name: str, dtype: type[pl.DataType] = pl.Int64) -> pl.Expr:
    """Give a column with null in the place of -1."""
    number = pl.col(name).cast(pl.Float64)
    value = pl.col(name) if dtype == pl.String else number
    return pl.when(number >= 0).then(value).otherwise(None).cast(dtype)
