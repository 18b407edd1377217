"""What readers of tables share: columns under their published names, and times that count from no real date."""

import datetime as dt
from collections.abc import Sequence

import polars as pl

from meantime.datasets.columns import simple_columns
from meantime.datasets.ragged import LINE
from meantime.datasets.raw import RawTable, read_raw
from meantime.datasets.source import PathLike
from meantime.errors import InputError

EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)


def load(path: PathLike, needed: Sequence[str], what: str) -> RawTable:
    """Read a table whose columns are known by name.

    Parameters
    ----------
    path
        CSV, JSON lines or Parquet; .gz, .xz and .zst are unpacked.
    needed
        Columns that must be there.
    what
        What the file is, for the message.

    Raises
    ------
    InputError
        If the file cannot be read, or lacks a column.
    """
    raw = read_raw(path)
    names = {name: name.strip() for name in raw.frame.columns if name.strip() != name}
    taken = set(raw.frame.columns)
    frame = raw.frame.rename({old: new for old, new in names.items() if new not in taken})
    check_columns([name for name in frame.columns if name != LINE], needed, raw.file, what)
    return RawTable(
        frame=simple_columns(frame),
        file=raw.file,
        format=raw.format,
        texts=raw.texts,
        quarantine=raw.quarantine,
        folded=raw.folded,
        notes=raw.notes,
    )


def check_columns(found: Sequence[str], needed: Sequence[str], file: str, what: str) -> None:
    """Refuse a file that lacks columns, by their names."""
    if missing := [name for name in needed if name not in found]:
        shown = ", ".join(found)[:200] or "none"
        raise InputError(f"{file}: {what} lacks {', '.join(missing)} (found {shown}); expected {', '.join(needed)}")


def shift_seconds(seconds: pl.Series, origin: dt.datetime) -> pl.Series:
    """Turn seconds since `origin` into seconds since 1970; what is no number stays as it is, to be refused."""
    offset = (origin - EPOCH).total_seconds()
    number = seconds.cast(pl.Float64, strict=False)
    if seconds.dtype != pl.String:
        return (number + offset).alias(seconds.name)
    shifted = (number + offset).cast(pl.String)
    known = number.is_not_null() & number.is_finite().fill_null(False)
    return shifted.zip_with(known, seconds).alias(seconds.name)
