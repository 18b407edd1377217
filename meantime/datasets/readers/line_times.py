"""Times and hosts at the beginning of log lines: syslog, journal and dmesg."""

import datetime as dt
import json
from typing import Any

import polars as pl

from meantime.datasets.ragged import LINE
from meantime.datasets.times import parse_times
from meantime.errors import InputError

NO_YEAR = "the line has no year; give year="
NO_BOOT = "the line has seconds since boot; give boot_time="
NO_NODE = "the line names no host; give node="
NO_TIME = "the line begins with no time that is understood"

_ISO = r"^(?P<iso>\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?)\s+(?P<rest>.*)$"
_OLD = r"^(?:<\d+>)?(?P<old>[A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d) (?P<rest>.*)$"
_DMESG = r"^\[\s*(?P<boot>\d+\.\d+)\] (?P<rest>.*)$"
_DMESG_T = r"^\[(?P<long>[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] (?P<rest>.*)$"
_HOST = r"^(?P<host>[^\s:\[]+) (?P<tag>kernel|[\w./-]+(?:\[\d+\])?): (?P<message>.*)$"


def add_times(
    lines: pl.DataFrame,
    *,
    node: str | None,
    year: int | None,
    boot_time: str | dt.datetime | None,
    file: str,
) -> pl.DataFrame:
    """Find time, host and message of every line.

    Parameters
    ----------
    lines
        ``text`` and `LINE`, in order.
    node, year, boot_time
        What lines may not say, see `meantime.datasets.readers.kernel_log.read_kernel_log`.
    file
        For messages.

    Returns
    -------
    pl.DataFrame
        The columns of `lines`, and ``time`` (text of a time), ``node``, ``message`` and ``problem`` (null, or why there
        is no time or host).

    Raises
    ------
    InputError
        If there are lines, and every one lacks what the same option would give; or an option is wrong.
    """
    boot = _boot(boot_time)
    if year is not None and not 1990 <= year <= 2200:
        raise InputError(f"year is {year!r}; expected the year of the first line, such as 2024")
    journal = bool(lines.height) and lines["text"].str.starts_with("{").all()
    frame = _journal(lines) if journal else _texts(lines, year, boot)
    frame = frame.with_columns(pl.col("node").fill_null(pl.lit(node, dtype=pl.String)))
    frame = frame.with_columns(
        pl.coalesce("problem", pl.when(pl.col("node").is_null()).then(pl.lit(NO_NODE))).alias("problem")
    )
    problems = set(frame["problem"].to_list())
    if frame.height and len(problems) == 1 and (only := problems.pop()) in (NO_YEAR, NO_BOOT, NO_NODE):
        raise InputError(f"{file}: line {frame[LINE][0]}: {only} (e.g. {_EXAMPLES[only]})")
    return frame


_EXAMPLES = {NO_YEAR: "year=2024", NO_BOOT: "boot_time='2024-01-05T03:00:00'", NO_NODE: "node='gpu-017'"}


def _boot(boot_time: str | dt.datetime | None) -> dt.datetime | None:
    if boot_time is None:
        return None
    text = boot_time if isinstance(boot_time, str) else boot_time.isoformat()
    found = parse_times(pl.Series("boot_time", [text])).utc[0]
    if found is None:
        raise InputError(f"boot_time is {boot_time!r}; expected a time such as 2024-01-05T03:00:00")
    return found


def _texts(lines: pl.DataFrame, year: int | None, boot: dt.datetime | None) -> pl.DataFrame:
    text = pl.col("text")
    frame = lines.with_columns(
        pl.coalesce(text.str.extract_groups(p).struct.field("rest") for p in (_ISO, _OLD, _DMESG_T, _DMESG)).alias(
            "__rest"
        ),
        text.str.extract_groups(_ISO).struct.field("iso").str.replace(",", ".", literal=True).alias("__iso"),
        text.str.extract_groups(_OLD).struct.field("old").alias("__old"),
        text.str.extract_groups(_DMESG_T).struct.field("long").alias("__long"),
        text.str.extract_groups(_DMESG).struct.field("boot").cast(pl.Float64).alias("__boot"),
    )
    form = "%Y-%m-%dT%H:%M:%S%.f"
    long = pl.col("__long").str.to_datetime("%a %b %e %H:%M:%S %Y", strict=False).dt.to_string(form)
    since = pl.lit(boot, dtype=pl.Datetime("us", "UTC")) + pl.duration(microseconds=pl.col("__boot") * 1_000_000)
    booted = since.dt.to_string(form) + "+00:00" if boot is not None else pl.lit(None, dtype=pl.String)
    frame = frame.with_columns(_with_years(frame["__old"], year).alias("__dated"))
    time = pl.coalesce("__iso", "__dated", long, booted)
    hosted = pl.col("__rest").str.extract_groups(_HOST)
    problem = (
        pl.when(pl.col("__old").is_not_null() & (year is None))
        .then(pl.lit(NO_YEAR))
        .when(pl.col("__boot").is_not_null() & (boot is None))
        .then(pl.lit(NO_BOOT))
        .when(time.is_null())
        .then(pl.lit(NO_TIME))
    )
    return frame.select(
        *lines.columns,
        time.alias("time"),
        hosted.struct.field("host").alias("node"),
        pl.coalesce(hosted.struct.field("message"), "__rest", "text").alias("message"),
        problem.alias("problem"),
    )


def _with_years(old: pl.Series, year: int | None) -> pl.Series:
    """Add years to times such as ``Jan  5 03:21:11``; where months go back by six or more a year begins."""
    if year is None:
        return pl.Series([None] * old.len(), dtype=pl.String)
    month = old.str.slice(0, 3).replace_strict(_MONTHS, default=None, return_dtype=pl.Int64)
    jump = month.forward_fill().diff().fill_null(0) <= -6
    years = year + jump.cast(pl.Int64).cum_sum()
    dated = pl.select(pl.concat_str(years.cast(pl.String), old, separator=" ")).to_series()
    return dated.str.to_datetime("%Y %b %e %H:%M:%S", strict=False).dt.to_string("%Y-%m-%dT%H:%M:%S")


_MONTHS = {
    name: i
    for i, name in enumerate(
        ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"), start=1
    )
}


def _journal(lines: pl.DataFrame) -> pl.DataFrame:
    """Read lines of journalctl -o json; a message with bytes that are not text is a list of numbers."""
    rows = []
    for text in lines["text"].to_list():
        try:
            entry = json.loads(text)
        except (ValueError, RecursionError):
            entry = None
        rows.append(_entry(entry) if isinstance(entry, dict) else (None, None, text, "not a JSON object"))
    columns = {name: [row[i] for row in rows] for i, name in enumerate(("time", "node", "message", "problem"))}
    return lines.with_columns(pl.Series(name, values, dtype=pl.String) for name, values in columns.items())


def _entry(entry: dict[str, Any]) -> tuple[str | None, str | None, str, str | None]:
    stamp = entry.get("_SOURCE_REALTIME_TIMESTAMP") or entry.get("__REALTIME_TIMESTAMP")
    host, message = entry.get("_HOSTNAME"), entry.get("MESSAGE")
    if isinstance(message, list) and all(isinstance(b, int) and 0 <= b < 256 for b in message):
        message = bytes(message).decode("utf-8", errors="replace")
    if not isinstance(stamp, str) or not stamp.isdigit() or len(stamp) > 17:
        return None, host if isinstance(host, str) else None, str(message), "no __REALTIME_TIMESTAMP"
    time = dt.datetime.fromtimestamp(int(stamp) // 1_000_000, tz=dt.UTC) + dt.timedelta(
        microseconds=int(stamp) % 1_000_000
    )
    return time.isoformat(), host if isinstance(host, str) else None, str(message), None
