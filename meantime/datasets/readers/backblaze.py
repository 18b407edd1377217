"""Drive statistics of Backblaze: a row a drive and day.

The input is the daily CSV files of a quarter (www.backblaze.com/cloud-storage/resources/hard-drive-test-data) ::

    curl -LO https://f001.backblazeb2.com/file/Backblaze-Hard-Drive-Data/data_Q1_2024.zip    # unzip

Give all days of interest together: a drive is one row of the lives table, its days are folded. Decisions:

- ``days`` is the number of days listed (Backblaze's own exposure), not the days from the first to the last.
- ``failure`` 1 on a day ends the life with the event ``drive``; a drive that is no longer listed without it, or still
  is, is right-censored.
- Ages are power-on hours (``smart_9_raw``) over 24 on the first and last day, where listed.
"""

import datetime as dt
from collections.abc import Sequence

import polars as pl

from meantime.datasets.columns import Check, divide, set_aside, text_column, whole_column
from meantime.datasets.lives import lives_log
from meantime.datasets.log import Log, add_counts, empty_quarantine
from meantime.datasets.ragged import LINE
from meantime.datasets.readers._columns import load
from meantime.datasets.source import PathLike
from meantime.errors import InputError

NEEDED = ("date", "serial_number", "model", "failure")
POWER_ON_HOURS = "smart_9_raw"
EVENT = "drive"

_YEARS = (dt.date(2013, 1, 1), dt.date(2200, 1, 1))


def read_backblaze(paths: PathLike | Sequence[PathLike], *, cluster: str = "backblaze") -> Log:
    """Read daily files (see the module's text for the download and the decisions).

    Parameters
    ----------
    paths
        One file or several; .gz, .xz and .zst are unpacked.
    cluster
        Name of the fleet.
    """
    given = [paths] if isinstance(paths, str) or not isinstance(paths, Sequence) else list(paths)
    if not given:
        raise InputError("no file was given; expected at least one day of drive statistics")
    days: list[pl.DataFrame] = []
    aside = [empty_quarantine()]
    folded: list[dict[str, int]] = []
    notes: list[str] = []
    for path in given:
        good, bad, more, said = _read_day(path)
        days.append(good)
        aside.append(bad)
        folded.append(more)
        notes += said
    rows = pl.concat(days)
    once = rows.unique(["unit", "date"], keep="first", maintain_order=True)
    drives = _drives(once, cluster)
    counts = {"drive-days": once.height - drives.height, "repeated days": rows.height - once.height}
    return lives_log(
        drives,
        file=", ".join(map(str, given)),
        format="backblaze",
        texts=lambda lines: [""] * len(lines),
        keep=["model"],
        quarantine=pl.concat(aside),
        folded=add_counts(*folded, counts),
        notes=tuple(dict.fromkeys(notes)),
    )


def _read_day(path: PathLike) -> tuple[pl.DataFrame, pl.DataFrame, dict[str, int], tuple[str, ...]]:
    """Read the columns that matter of one file; what is wrong is set aside."""
    raw = load(path, NEEDED, "the day of drive statistics")
    frame = raw.frame
    failure = whole_column(frame["failure"])
    hours = whole_column(frame[POWER_ON_HOURS]) if POWER_ON_HOURS in frame.columns else None
    date = frame["date"] if frame["date"].dtype == pl.Date else frame["date"].cast(pl.String).str.to_date(strict=False)
    typed = pl.DataFrame(
        [
            date.alias("date"),
            text_column(frame["date"].cast(pl.String)).alias("__date"),
            text_column(frame["serial_number"]).alias("unit"),
            text_column(frame["model"]).alias("model"),
            failure.values.alias("failure"),
            pl.Series("hours", [None] * frame.height, dtype=pl.Int64) if hours is None else hours.values.alias("hours"),
            frame[LINE],
        ]
    )
    checks: list[Check] = [
        (pl.col("unit").is_null(), pl.lit("serial_number is missing")),
        (pl.col("__date").is_null(), pl.lit("date is missing")),
        (pl.col("date").is_null() & pl.col("__date").is_not_null(), pl.format("date '{}' is not a date", "__date")),
        (~pl.col("date").is_between(*_YEARS), pl.format("date '{}' lies outside the years 2013 to 2200", "date")),
        (pl.col("failure").is_null() if failure.problem is None else pl.lit(False), pl.lit("failure is missing")),
        (~pl.col("failure").is_in([0, 1]), pl.format("failure is {}, neither 0 nor 1", "failure")),
        (pl.col("hours") < 0, pl.format("power-on hours '{}' are below 0", "hours")),
    ]
    columns = (failure, hours)
    problems = [column.problem for column in columns if column is not None and column.problem is not None]
    good, bad = divide(typed, problems, checks)
    quarantine = pl.concat([raw.quarantine, set_aside(bad, raw.file, raw.texts)])
    return good.drop("__date"), quarantine, raw.folded, raw.notes


def _drives(days: pl.DataFrame, cluster: str) -> pl.DataFrame:
    first, last = pl.col("date").min(), pl.col("date").max()
    hours = pl.col("hours").sort_by("date").drop_nulls()
    return (
        days.group_by("unit", maintain_order=True)
        .agg(
            pl.col("model").drop_nulls().first(),
            first.cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias("entry"),
            (last + pl.duration(days=1)).cast(pl.Datetime("us")).dt.replace_time_zone("UTC").alias("exit"),
            pl.len().cast(pl.Float64).alias("days"),
            (hours.first() / 24).alias("age_entry"),
            (hours.last() / 24).alias("age"),
            pl.when(pl.col("failure").max() == 1).then(pl.lit(EVENT)).alias("event"),
            pl.col(LINE).first(),
        )
        .with_columns(pl.lit(cluster).alias("cluster"), pl.max_horizontal("age_entry", "age").alias("age"))
    )
