"""Tables as they lie in files, CSV, JSON lines or Parquet, before their columns mean anything."""

import dataclasses
import json
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import polars as pl

from meantime.datasets.columns import Texts
from meantime.datasets.frames import row_texts
from meantime.datasets.header import find_header
from meantime.datasets.json_items import split_items
from meantime.datasets.log import empty_quarantine, make_quarantine
from meantime.datasets.ragged import LINE
from meantime.datasets.records import line_texts, read_records
from meantime.datasets.source import ACCEPTED, PathLike, is_parquet, read_bytes
from meantime.errors import InputError


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class RawTable:
    """Rows of a file with `LINE` (of a Parquet file: number of the row), and the account of the others."""

    frame: pl.DataFrame
    file: str
    format: str
    texts: Texts
    quarantine: pl.DataFrame = dataclasses.field(default_factory=empty_quarantine)
    folded: dict[str, int] = dataclasses.field(default_factory=dict)
    notes: tuple[str, ...] = ()


def parquet_names(path: PathLike) -> list[str]:
    """Give the names of the columns of a Parquet file."""
    return list(_parquet(path, schema_only=True).columns)


def read_raw(path: PathLike, *, delimiter: str | None = None) -> RawTable:
    """Read a table of whatever columns.

    Raises
    ------
    InputError
        If the file cannot be read as CSV, JSON lines or Parquet.
    """
    file = str(path)
    if is_parquet(path):
        frame = _parquet(path)
        texts = row_texts(frame)
        return RawTable(
            frame=frame.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(LINE)),
            file=file,
            format="parquet",
            texts=texts,
        )
    data = read_bytes(path)
    if data.lstrip()[:1] in (b"{", b"["):
        return _read_jsonl(data, file)
    header = find_header(data, delimiter)
    records = read_records(data, header, file=file)
    return RawTable(
        frame=records.frame,
        file=file,
        format="csv",
        texts=partial(line_texts, data),
        quarantine=records.quarantine,
        folded=records.folded,
        notes=records.notes,
    )


def _parquet(path: PathLike, *, schema_only: bool = False) -> pl.DataFrame:
    try:
        return pl.read_parquet(Path(path), n_rows=0 if schema_only else None, glob=False)
    except (pl.exceptions.PolarsError, OSError) as error:
        reason = str(error).splitlines()[0][:200]
        raise InputError(f"{path}: is a damaged Parquet file ({reason}); expected {ACCEPTED}") from error


def _read_jsonl(data: bytes, file: str) -> RawTable:
    if data.lstrip()[:1] == b"[":
        return _read_array(data, file)
    texts = partial(line_texts, data)
    lines = data.count(b"\n") + (not data.endswith(b"\n"))
    try:
        frame = pl.read_ndjson(data, infer_schema_length=None)
    except pl.exceptions.PolarsError:
        frame = pl.DataFrame()
    if frame.height == lines and LINE not in frame.columns:
        numbered = frame.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(LINE))
        return RawTable(frame=numbered, file=file, format="jsonl", texts=texts)
    return _read_jsonl_slowly(data, file, texts)


def _read_array(data: bytes, file: str) -> RawTable:
    """Read one JSON array of objects; `LINE` is the number of the object."""
    items = split_items(data.decode("utf-8", errors="replace"), None, lambda _: True, "object", file=file)
    if not items.objects:
        raise InputError(f"{file}: the JSON array holds no object; expected {ACCEPTED}")
    names = dict.fromkeys(name for item in items.objects for name in item if name != LINE)
    columns = {name: _column([_plain(item.get(name)) for item in items.objects]) for name in names}
    frame = pl.DataFrame({**columns, LINE: pl.Series(items.numbers, dtype=pl.Int64)})
    return RawTable(frame=frame, file=file, format="json", texts=items.texts, quarantine=items.quarantine)


def _read_jsonl_slowly(data: bytes, file: str, texts: Texts) -> RawTable:
    """Read line by line; values become text, lists of names stay lists."""
    rows: list[dict[str, object]] = []
    bad: list[tuple[int, str, str]] = []
    for number, line in enumerate(data.decode("utf-8", errors="replace").split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            bad.append((number, f"not JSON: {error}"[:100], line))
            continue
        if isinstance(row, dict):
            rows.append({**{name: _plain(value) for name, value in row.items()}, LINE: number})
        else:
            bad.append((number, "not a JSON object", line))
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: _column([row.get(name) for row in rows]) for name in names if name != LINE}
    frame = pl.DataFrame({**columns, LINE: pl.Series([row[LINE] for row in rows], dtype=pl.Int64)})
    quarantine = make_quarantine(file, [b[0] for b in bad], [b[1] for b in bad], [b[2] for b in bad])
    if frame.is_empty():
        raise InputError(f"{file}: no line is a JSON object; expected {ACCEPTED}")
    return RawTable(frame=frame, file=file, format="jsonl", texts=texts, quarantine=quarantine)


def _plain(value: object) -> object:
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, list):
        return [str(part) for part in value]
    return str(value) if isinstance(value, bool | int | float) else json.dumps(value)


def _column(values: Sequence[object]) -> pl.Series:
    if any(isinstance(value, list) for value in values):
        return pl.Series([value if isinstance(value, list) else None for value in values], dtype=pl.List(pl.String))
    return pl.Series(values, dtype=pl.String)
