"""The events table: what health checks and kernels reported about nodes.

Columns: ``time`` UTC timestamp, ``node`` str, ``component`` str (see `meantime.datasets.taxonomy`; other
names are kept), ``severity`` ``low`` or ``high``, ``source`` str (check or XID), ``detail`` str. The
input is CSV, JSON lines or Parquet with these columns; ``detail`` may be absent, ``source`` too, and
``severity`` where the taxonomy knows the component.
"""

from collections.abc import Mapping, Sequence

import polars as pl

from meantime.datasets.columns import Texts, category_column, divide, nulls, set_aside, simple_columns, text_column
from meantime.datasets.jobs import Conventions
from meantime.datasets.log import Log, add_counts, empty_quarantine
from meantime.datasets.ragged import LINE
from meantime.datasets.taxonomy import SEVERITY, taxonomy
from meantime.datasets.times import parse_times

REQUIRED = ("time", "node", "component")
COLUMNS = (*REQUIRED, "severity", "source", "detail")
_SEVERITIES = {"low": "low", "high": "high", "LOW": "low", "HIGH": "high", "Low": "low", "High": "high"}


def events_log(
    raw: pl.DataFrame,
    *,
    file: str,
    format: str,
    texts: Texts,
    conventions: Conventions,
    quarantine: pl.DataFrame | None = None,
    folded: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
) -> Log:
    """Make the events table of one file from columns under their canonical names, and `LINE`.

    Rows that are equal in every column are one (``duplicates``).
    """
    frame, problems = _typed(raw, conventions)
    missing = [(pl.col(name).is_null(), pl.lit(f"{name} is missing")) for name in ("node", "component")]
    missing.append((pl.col("__no_time"), pl.lit("time is missing")))
    good, bad = divide(frame, problems, missing)
    put_aside = pl.concat([empty_quarantine() if quarantine is None else quarantine, set_aside(bad, file, texts)]).sort(
        "line", maintain_order=True
    )
    table = good.select(*COLUMNS).unique(keep="first", maintain_order=True)
    counts = add_counts(folded or {}, {"duplicates": good.height - table.height})
    return Log(
        table=table,
        quarantine=put_aside,
        rows_read=table.height + put_aside.height + sum(counts.values()),
        rows_folded=counts,
        source=file,
        format=format,
        kind="events",
        notes=tuple(notes),
    )


def _typed(raw: pl.DataFrame, conventions: Conventions) -> tuple[pl.DataFrame, list[pl.Series]]:
    raw = simple_columns(raw)
    times = parse_times(
        raw["time"], timezone=conventions.timezone, unit=conventions.time_unit, form=conventions.time_format
    )
    new = {LINE: raw[LINE], "time": times.utc}
    for name in ("node", "component", "source", "detail"):
        new[name] = text_column(raw[name]) if name in raw.columns else nulls(raw.height, pl.String)
    severity = _severity(raw, new["component"])
    problems = [problem for problem in (times.problem, severity[1]) if problem is not None]
    unsaid = times.utc.is_null() if times.problem is None else times.utc.is_null() & times.problem.is_null()
    new["severity"], new["__no_time"] = severity[0], unsaid
    return pl.DataFrame([series.alias(name) for name, series in new.items()]), problems


def _severity(raw: pl.DataFrame, component: pl.Series) -> tuple[pl.Series, pl.Series | None]:
    """Take the severity of the log, else that of the taxonomy."""
    table = taxonomy()
    usual = component.replace_strict(
        dict(zip(table["component"], table["severity"], strict=True)), default="", return_dtype=pl.String
    ).fill_null("")
    given = text_column(raw["severity"]) if "severity" in raw.columns else nulls(raw.height, pl.String)
    column = category_column(given.zip_with(given.is_not_null(), usual).alias("severity"), _SEVERITIES, SEVERITY)
    return column.values, column.problem
