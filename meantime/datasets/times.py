"""Times of a log, as people and schedulers write them, to UTC.

Accepted: ISO 8601 with ``T`` or a space, with or without fraction and zone (``Z``, ``+08:00``); seconds
since 1970 (Slurm's ``%s``); or any other form by its strftime format. Times without a zone are local
times of `timezone`; an hour that occurs twice when clocks go back is settled by the row's own elapsed
time or order, and a time that the clocks skipped is refused.
"""

import dataclasses
import datetime as dt
import zoneinfo

import polars as pl

from meantime.errors import InputError

UTC = pl.Datetime("us", "UTC")
MISSING = ("", "Unknown", "None", "N/A", "NA", "null", "NULL", "nan", "NaN", "NaT", "-")
"""Ways of writing that a value is not known."""
YEARS = (1980, 2200)
"""Years outside are refused: 1970 is a clock at zero, and milliseconds read as seconds lie far off."""

_ISO = "%Y-%m-%dT%H:%M:%S"
_LOCAL_FORMATS = ("%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M")
_ZONED_FORMATS = ("%Y-%m-%d %H:%M:%S%.f%#z", "%Y-%m-%dT%H:%M:%S%.f%#z")
_EDGES = (
    dt.datetime(YEARS[0], 1, 1, tzinfo=dt.UTC),
    dt.datetime(YEARS[1] + 1, 1, 1, tzinfo=dt.UTC) - dt.timedelta(microseconds=1),
)
_UNITS = {"s": 1_000_000, "ms": 1_000, "us": 1}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Times:
    """A column of times.

    Attributes
    ----------
    utc
        The times, null where missing or not understood; of two possible times the earlier one.
    late
        The later one where clocks went back, else null; None if no time is in doubt.
    problem
        Why a value was not understood, else null; None if all were.
    """

    utc: pl.Series
    late: pl.Series | None = None
    problem: pl.Series | None = None


def check_timezone(timezone: str) -> str:
    """Return the name of a time zone if this machine knows it."""
    try:
        zoneinfo.ZoneInfo(timezone)
    except (zoneinfo.ZoneInfoNotFoundError, ValueError, OSError) as error:
        raise InputError(f"time zone {timezone!r} is unknown; expected a name such as UTC or Europe/Berlin") from error
    return timezone


def parse_times(raw: pl.Series, *, timezone: str = "UTC", unit: str = "s", form: str | None = None) -> Times:
    """Turn a column of times into UTC.

    Parameters
    ----------
    raw
        Text, numbers (since 1970, in `unit`), dates or timestamps.
    timezone
        Zone of the times that name none.
    unit
        Unit of plain numbers: ``"s"``, ``"ms"`` or ``"us"``.
    form
        strftime format, if the text is in none of the accepted forms.
    """
    if unit not in _UNITS:
        raise InputError(f"time unit {unit!r} is unknown; expected one of {', '.join(_UNITS)}")
    if raw.dtype == pl.Null:
        return Times(utc=raw.cast(UTC))
    if raw.dtype == pl.String:
        missing = raw.is_null() | raw.is_in(MISSING)
        local, utc = _parse_text(raw, missing, unit, form)
    elif raw.dtype.is_numeric():
        missing = raw.is_null() | (raw.is_nan() if raw.dtype.is_float() else False)
        local, utc = None, _from_epoch(raw, unit)
    elif isinstance(raw.dtype, pl.Datetime | pl.Date):
        missing = raw.is_null()
        zoned = isinstance(raw.dtype, pl.Datetime) and raw.dtype.time_zone is not None
        local, utc = (None, raw.cast(UTC)) if zoned else (raw.cast(pl.Datetime("us")), None)
    else:
        raise InputError(f"column {raw.name!r} is of type {raw.dtype}; expected times")
    return _finish(raw, missing, local, utc, timezone)


def choose_hours(start: Times, end: Times, elapsed: pl.Series | None) -> tuple[pl.Series, pl.Series, int]:
    """Settle times in the hour that occurs twice, so that end - start is nearest to the elapsed seconds.

    Without elapsed seconds the earlier hour is taken, unless the end would lie before the start.

    Returns
    -------
    tuple
        Start, end, and the number of rows that were in doubt.
    """
    if start.late is None and end.late is None:
        return start.utc, end.utc, 0
    nothing = pl.Series([None] * len(start.utc), dtype=UTC)
    frame = pl.DataFrame(
        {
            "s": start.utc,
            "e": end.utc,
            "s2": start.late if start.late is not None else nothing,
            "e2": end.late if end.late is not None else nothing,
            "elapsed": elapsed if elapsed is not None else pl.Series([None] * len(nothing), dtype=pl.Int64),
        }
    ).with_row_index("i")
    doubtful = frame.filter(pl.col("s2").is_not_null() | pl.col("e2").is_not_null())
    pairs = pl.concat(
        [
            doubtful.select("i", pl.col(s).alias("s"), pl.col(e).alias("e"), "elapsed", pl.lit(order).alias("order"))
            for order, (s, e) in enumerate((("s", "e"), ("s", "e2"), ("s2", "e2"), ("s2", "e")))
        ]
    ).filter(pl.col("s").is_not_null() | (pl.col("order") < 2))
    run = (pl.col("e") - pl.col("s")).dt.total_seconds()
    best = (
        pairs.with_columns((run - pl.col("elapsed")).abs().alias("miss"), (run < 0).alias("backwards"))
        .filter((pl.col("order") == 0) | pl.col("e").is_not_null())
        .sort("i", "backwards", "miss", "order", nulls_last=True)
        .unique("i", keep="first", maintain_order=True)
    )
    fixed = frame.select("i", "s", "e").update(best.select("i", "s", "e"), on="i")
    return fixed["s"].alias(start.utc.name), fixed["e"].alias(end.utc.name), doubtful.height


def _parse_text(raw: pl.Series, missing: pl.Series, unit: str, form: str | None) -> tuple[pl.Series, pl.Series | None]:
    known = int((~missing).sum())
    local = raw.str.to_datetime(form or _ISO, strict=False, time_unit="us", ambiguous="raise")
    if local.dtype.time_zone is not None:  # type: ignore[attr-defined]
        return pl.Series([None] * len(raw), dtype=pl.Datetime("us")), local.cast(UTC)
    if form or local.len() - local.null_count() == known:
        return local, None
    text = pl.col("t")
    zoneless = [text.str.to_datetime(f, strict=False, time_unit="us") for f in _LOCAL_FORMATS]
    zoned = [
        text.str.replace(r"[zZ]$", "+00:00").str.to_datetime(f, strict=False, time_unit="us", time_zone="UTC")
        for f in _ZONED_FORMATS
    ]
    number = pl.when(text.str.contains(r"^\d{1,17}(\.\d+)?$")).then(text).cast(pl.Float64, strict=False)
    rest = pl.DataFrame({"t": raw, "local": local}).select(
        pl.coalesce("local", *zoneless).alias("local"), pl.coalesce(*zoned).alias("utc"), number.alias("number")
    )
    return rest["local"], rest["utc"].zip_with(rest["utc"].is_not_null(), _from_epoch(rest["number"], unit))


def _from_epoch(number: pl.Series, unit: str) -> pl.Series:
    micros = number.cast(pl.Float64) * _UNITS[unit]
    return micros.round().cast(pl.Int64, strict=False).cast(pl.Datetime("us")).dt.replace_time_zone("UTC")


def _finish(raw: pl.Series, missing: pl.Series, local: pl.Series | None, utc: pl.Series | None, timezone: str) -> Times:
    early, late, skipped = _localise(local, timezone) if local is not None else (None, None, None)
    if early is None:
        assert utc is not None
        early = utc
    elif utc is not None:
        early = early.zip_with(early.is_not_null(), utc)
    outside = ~early.is_between(*_EDGES)
    bad = ~missing & (early.is_null() | outside)
    if not bad.any():
        return Times(utc=early.alias(raw.name), late=late)
    name = raw.name
    frame = pl.DataFrame({"raw": raw.cast(pl.String), "bad": bad, "outside": outside.fill_null(False)})
    gap = pl.Series([False] * len(raw)) if skipped is None else skipped
    problem = frame.with_columns(gap=gap).select(
        pl.when(~pl.col("bad"))
        .then(None)
        .when("gap")
        .then(pl.format(f"{name} '{{}}' does not exist in {timezone}: clocks went forward", "raw"))
        .when("outside")
        .then(pl.format(f"{name} '{{}}' lies outside the years {YEARS[0]} to {YEARS[1]}", "raw"))
        .otherwise(pl.format(f"{name} '{{}}' is not a time", pl.col("raw").str.slice(0, 40)))
    )
    good = early.zip_with(~bad, pl.Series([None] * len(raw), dtype=UTC))
    return Times(utc=good.alias(name), late=late, problem=problem.to_series().alias(name))


def _localise(local: pl.Series, timezone: str) -> tuple[pl.Series, pl.Series | None, pl.Series | None]:
    if timezone == "UTC":
        return local.dt.replace_time_zone("UTC"), None, None
    early = local.dt.replace_time_zone(timezone, ambiguous="earliest", non_existent="null")
    late = local.dt.replace_time_zone(timezone, ambiguous="latest", non_existent="null")
    skipped = local.is_not_null() & early.is_null()
    early, late = early.cast(UTC), late.cast(UTC)
    twice = (early != late).fill_null(False)
    if not twice.any():
        return early, None, skipped
    return early, late.zip_with(twice, pl.Series([None] * len(late), dtype=UTC)), skipped
