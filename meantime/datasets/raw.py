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


def column_names(path: PathLike) -> tuple[list[str], str]:
    """Give the names of the columns of a file, and ``csv``, ``jsonl`` or ``parquet``."""
    if is_parquet(path):
        return list(_parquet(path, schema_only=True).columns), "parquet"
    data = read_bytes(path, head=True)
    if data.lstrip()[:1] in (b"{", b"["):
        return _read_jsonl(data[: _json_sample_end(data)], str(path)).frame.columns, "jsonl"
    return [name for name in find_header(data).names if name], "csv"


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


def _json_sample_end(data: bytes) -> int:
    """Find the end of the last whole line among the first hundred."""
    position = 0
    for _ in range(100):
        following = data.find(b"\n", position) + 1
        if following == 0:
            return position or len(data)
        position = following
    return position


def _read_jsonl(data: bytes, file: str) -> RawTable:
    if data.lstrip()[:1] == b"[":
        raise InputError(f"{file}: is one JSON array; expected JSON lines, one object a line (jq -c '.[]' makes them)")
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
    frame = pl.DataFrame(
        {name: _column([row.get(name) for row in rows]) for name in names if name != LINE}
    ).with_columns(pl.Series(LINE, [row[LINE] for row in rows], dtype=pl.Int64))
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
