"""Retired pages and remapped rows of GPU memory, as nvidia-smi prints them.

The input is, for all nodes together (pdsh, ansible) with a column for the host and the time::

    Q=gpu_uuid,gpu_bus_id,remapped_rows.correctable,remapped_rows.uncorrectable,remapped_rows.pending,\\
    remapped_rows.failure
    nvidia-smi --query-remapped-rows=$Q --format=csv |
      sed "1s/^/hostname, timestamp, /; 2,\\$s|^|$(hostname), $(date -u +%FT%TZ), |"

(and so ``--query-retired-pages=gpu_uuid,gpu_bus_id,retired_pages.address,retired_pages.cause``), or one node's plain
output with ``node`` and ``time`` given. Decisions:

- nvidia-smi shows a state, not when it came about: an event has the time of the look. A later look that shows the same
  for a GPU is folded, so with regular looks the time is late by at most their interval; what the first look shows may
  be of any age (noted).
- ``remapped_rows.failure`` is critical (``gpu_memory``, high); ``pending`` and uncorrectable errors remapped are low. A
  page retired for double bit errors is high, for single bit errors low.
- GPUs without a fault are folded, as are those that do not support the query (``[N/A]``).
"""

import datetime as dt

import polars as pl

from meantime.datasets.columns import text_column
from meantime.datasets.events import COLUMNS, events_log
from meantime.datasets.jobs import Conventions
from meantime.datasets.log import Log, make_quarantine
from meantime.datasets.ragged import LINE
from meantime.datasets.readers._columns import load
from meantime.datasets.source import PathLike
from meantime.datasets.times import check_timezone
from meantime.errors import InputError

REMAPPED = ("remapped_rows.uncorrectable", "remapped_rows.pending", "remapped_rows.failure")
RETIRED = ("retired_pages.address", "retired_pages.cause")
HOSTS = ("hostname", "host", "node")

_STATE = ["__node", "__gpu", "component", "severity", "source", "detail"]
_YES, _NO = ("yes", "1", "true"), ("no", "0", "false")
_NOT_SUPPORTED = ("[n/a]", "n/a", "[not supported]", "[unknown error]", "")
_IDENTITY = ("gpu_uuid", "gpu_serial", "gpu_bus_id", "gpu_name")


def is_nvidia_smi(names: list[str]) -> bool:
    """Tell whether column names are those of one of the two queries."""
    return not {*REMAPPED, RETIRED[1]}.isdisjoint(names)


def read_nvidia_smi(
    path: PathLike,
    *,
    node: str | None = None,
    time: str | dt.datetime | None = None,
    timezone: str = "UTC",
) -> Log:
    """Read retired pages or remapped rows (see the module's text for the commands and the decisions).

    Parameters
    ----------
    path
        The CSV, with its header; .gz, .xz and .zst are unpacked.
    node
        Name of the node, where no column ``hostname``, ``host`` or ``node`` says it.
    time
        When nvidia-smi ran, where no column ``timestamp`` says it.
    timezone
        Zone of times without one.

    Raises
    ------
    InputError
        If the file cannot be read, is neither query's, or does not say of which node and when.
    """
    raw = load(path, (), "the output of nvidia-smi")
    names = [name for name in raw.frame.columns if name != LINE]
    if not is_nvidia_smi(names):
        raise InputError(
            f"{raw.file}: is no list of remapped rows or retired pages (found {', '.join(names)[:200]}); expected "
            f"columns such as {REMAPPED[-1]} or {RETIRED[-1]}"
        )
    host = next((name for name in HOSTS if name in names), None)
    if host is None and node is None:
        raise InputError(f"{raw.file}: does not say of which node it is; give node=, or add a column hostname")
    if "timestamp" not in names and time is None:
        raise InputError(f"{raw.file}: does not say when it was taken; give time=, or add a column timestamp")
    stamp = time.isoformat() if isinstance(time, dt.datetime) else time
    frame = raw.frame.with_columns(
        (text_column(raw.frame[host].cast(pl.String).str.strip_chars()) if host else pl.lit(node)).alias("__node"),
        (_time(raw.frame["timestamp"]) if "timestamp" in names else pl.lit(stamp)).alias("__time"),
        _gpu(raw.frame).alias("__gpu"),
    )
    frame = frame.with_columns(_odd(frame).alias("__odd"))
    odd = frame.filter(pl.col("__odd").is_not_null())
    frame = frame.filter(pl.col("__odd").is_null())
    lines = odd[LINE].to_list()
    aside = make_quarantine(raw.file, lines, odd["__odd"].to_list(), raw.texts(lines))
    found = _retired(frame) if RETIRED[1] in names else _remapped(frame)
    ordered = found.sort("__time", maintain_order=True)
    first = ordered.unique(_STATE, keep="first", maintain_order=True).sort(LINE)
    renamed = {"time": "__time", "node": "__node"}
    return events_log(
        first.select(LINE, *(pl.col(renamed.get(name, name)).alias(name) for name in COLUMNS)),
        file=raw.file,
        format="nvidia-smi",
        texts=raw.texts,
        conventions=Conventions(timezone=check_timezone(timezone)),
        quarantine=pl.concat([raw.quarantine, aside]),
        folded={
            **raw.folded,
            "GPUs without a fault": frame.height - found.height,
            "seen before": found.height - first.height,
        },
        notes=[*raw.notes, "times are those of the look: the faults of the first look may be older"],
    )


def _odd(frame: pl.DataFrame) -> pl.Series:
    """Say which values are not understood, null where all are."""
    said = []
    for name in (*REMAPPED, RETIRED[1]):
        if name in frame.columns:
            value = _plain(frame, name)
            known = [*_NOT_SUPPORTED, *([*_YES, *_NO] if name in REMAPPED else [])]
            form = r"^\d{1,9}$" if name in REMAPPED else "(?:double|single) bit"
            reason = pl.select(pl.format("{} '{}' is not understood", pl.lit(name), value)).to_series()
            said.append(reason.set(value.is_in(known) | value.str.contains(form), None))
    return pl.select(pl.concat_str(*said, separator="; ", ignore_nulls=True).replace("", None)).to_series()


def _remapped(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep the GPUs with a fault, by the worst that is said of each."""
    absent = pl.Series([""] * frame.height, dtype=pl.String)
    rows, pending, failure = (_plain(frame, name) if name in frame.columns else absent for name in REMAPPED)
    told = frame.with_columns(
        rows.cast(pl.Int64, strict=False).fill_null(0).alias("__n"),
        pending.is_in(_YES).alias("__p"),
        failure.is_in(_YES).alias("__f"),
    )
    what = (
        pl.when("__f")
        .then(pl.lit("row remap failed"))
        .when("__p")
        .then(pl.lit("row remap pending"))
        .otherwise(pl.format("{} rows remapped after uncorrectable errors", "__n"))
    )
    severity = pl.when("__f").then(pl.lit("high")).otherwise(pl.lit("low"))
    found = told.filter(pl.col("__f") | pl.col("__p") | (pl.col("__n") > 0))
    return _events(found, severity, "nvidia-smi row remap", what)


def _retired(frame: pl.DataFrame) -> pl.DataFrame:
    """Keep the rows that name a page."""
    cause = _plain(frame, RETIRED[1])
    address = pl.col(RETIRED[0]).cast(pl.String).str.strip_chars() if RETIRED[0] in frame.columns else pl.lit("?")
    double = cause.str.contains("double", literal=True)
    found = frame.with_columns(cause.alias("__cause"), double.alias("__double")).filter(~cause.is_in(_NOT_SUPPORTED))
    severity = pl.when("__double").then(pl.lit("high")).otherwise(pl.lit("low"))
    return _events(found, severity, "nvidia-smi retired page", pl.format("{} at {}", "__cause", address))


def _plain(frame: pl.DataFrame, name: str) -> pl.Series:
    return frame[name].cast(pl.String).fill_null("").str.strip_chars().str.to_lowercase()


def _events(found: pl.DataFrame, severity: pl.Expr, source: str, what: pl.Expr) -> pl.DataFrame:
    return found.with_columns(
        pl.lit("gpu_memory").alias("component"),
        severity.alias("severity"),
        pl.lit(source).alias("source"),
        pl.concat_str("__gpu", what, separator=", ", ignore_nulls=True).alias("detail"),
    )


def _gpu(frame: pl.DataFrame) -> pl.Expr:
    names = [name for name in _IDENTITY if name in frame.columns]
    return pl.coalesce(pl.col(name).cast(pl.String).str.strip_chars() for name in names) if names else pl.lit("GPU")


def _time(raw: pl.Series) -> pl.Series:
    """Turn nvidia-smi's own ``2024/01/05 03:21:11.123`` into ISO."""
    return raw.cast(pl.String).str.strip_chars().str.replace(r"^(\d{4})/(\d\d)/(\d\d)", "$1-$2-$3")
