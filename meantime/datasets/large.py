"""Logs in Parquet that are larger than memory: scanned, not read."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from meantime.datasets.events import REQUIRED as EVENT_COLUMNS
from meantime.datasets.frames import JOB_COLUMNS
from meantime.datasets.source import PathLike, is_parquet
from meantime.errors import InputError

LARGE = 5_000_000
"""Rows from which `is_large` says that a log had better be scanned: read, they take several gigabytes."""

_NEEDED = {"jobs": JOB_COLUMNS, "events": (*EVENT_COLUMNS, "severity")}
_TIMES = {"jobs": ("submit", "start", "end"), "events": ("time",)}


def scan_parquet(paths: PathLike | Sequence[PathLike], kind: str = "jobs") -> pl.LazyFrame:
    """Scan Parquet files that hold a jobs or events table, for `failure_table`, `sensitivity` and `summarise`.

    They must have the columns of the table under their own names, with timestamps as times and the states of
    `meantime.datasets.jobs.STATES`; other files are read with `meantime.datasets.read`, whose tables, written as
    Parquet, can be scanned.

    Parameters
    ----------
    paths
        The files.
    kind
        ``"jobs"`` or ``"events"``.

    Raises
    ------
    InputError
        If one is no Parquet file, is damaged, lacks a column, or has other columns than the first.
    """
    files = [paths] if isinstance(paths, str) or not isinstance(paths, Sequence) else list(paths)
    schemas = [_schema(path, kind) for path in files]
    for path, schema in zip(files, schemas, strict=True):
        if schema != schemas[0]:
            raise InputError(f"{path}: has other columns than {files[0]}; files that are scanned together are alike")
    return pl.scan_parquet([Path(path) for path in files], glob=False)


def is_large(paths: Sequence[PathLike], kind: str = "jobs", *, rows: int = LARGE) -> bool:
    """Say whether files can be scanned and have so many rows or more."""
    try:
        scan = scan_parquet(paths, kind)
        return int(scan.select(pl.len()).collect().item()) >= rows
    except (InputError, pl.exceptions.PolarsError):
        return False


def _schema(path: PathLike, kind: str) -> dict[str, Any]:
    if not is_parquet(path):
        raise InputError(f"{path}: is no Parquet file; only Parquet can be scanned")
    try:
        schema: dict[str, Any] = dict(pl.scan_parquet(Path(path), glob=False).collect_schema())
    except pl.exceptions.PolarsError as error:
        raise InputError(f"{path}: is a damaged Parquet file ({str(error)[:100]})") from error
    if why := _lacks(schema, kind):
        raise InputError(f"{path}: cannot be scanned as {kind}: {why}")
    return schema


def _lacks(schema: dict[str, Any], kind: str) -> str | None:
    if missing := [name for name in _NEEDED[kind] if name not in schema]:
        return f"no column {', '.join(missing)}; found {', '.join(schema)[:200]}"
    odd = [name for name in _TIMES[kind] if name in schema and not isinstance(schema[name], pl.Datetime)]
    return f"column {odd[0]} is of type {schema[odd[0]]}; expected timestamps" if odd else None
