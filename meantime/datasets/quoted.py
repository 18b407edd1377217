"""Rows of CSV with quotes: fields may hold delimiters, line breaks and doubled quotes."""

import csv
from collections.abc import Iterator

import polars as pl

from meantime.datasets.header import Header
from meantime.datasets.ragged import LINE, MAX_LINES, BadRow, count_reason


class _Endless(Exception):
    """A quote was opened and not closed within MAX_LINES lines."""


def split_quoted(text: str, header: Header) -> tuple[pl.DataFrame, list[BadRow]]:
    """Split CSV text into rows of as many fields as the header has (all strings, and `LINE`), and the others.

    A row of several lines that does not fit, or a quote that is not closed within 1,000 lines, spoils
    the line that begins it and no other.
    """
    lines = text.split("\n")
    rows: list[list[str]] = []
    numbers: list[int] = []
    bad: list[BadRow] = []
    limit = csv.field_size_limit(max(len(text), 131072))
    try:
        start = 0
        while start < len(lines):
            start = _read_from(start, lines, header, rows, numbers, bad)
    finally:
        csv.field_size_limit(limit)
    columns = zip(*rows, strict=True) if rows else [()] * len(header.names)
    frame = pl.DataFrame(
        {name: list(column) for name, column in zip(header.columns, columns, strict=True)},
        schema=dict.fromkeys(header.columns, pl.String),
    )
    return frame.with_columns(pl.Series(LINE, numbers, dtype=pl.Int64)), bad


def _read_from(
    start: int, lines: list[str], header: Header, rows: list[list[str]], numbers: list[int], bad: list[BadRow]
) -> int:
    """Read rows from line `start` on; return the line to go on from (beyond the end when done)."""
    wanted, first = len(header.names), header.line + 1
    here = start

    def feed() -> Iterator[str]:
        for i in range(start, len(lines)):
            if i - here > MAX_LINES:
                raise _Endless
            yield lines[i] + "\n"

    reader = csv.reader(feed(), delimiter=header.delimiter)
    try:
        for row in reader:
            stop = start + reader.line_num
            if stop == len(lines) and _is_open(lines[here:stop]):
                raise _Endless
            if len(row) == wanted:
                rows.append(row)
                numbers.append(here + first)
            elif row:
                bad.append((here + first, count_reason(len(row), wanted), lines[here]))
                if stop > here + 1:
                    return here + 1
            here = stop
    except (_Endless, csv.Error) as error:
        reason = "a quote that is never closed" if isinstance(error, _Endless) else f"not CSV: {error}"
        bad.append((here + first, reason, lines[here]))
        return here + 1
    return len(lines)


def _is_open(lines: list[str]) -> bool:
    return sum(line.count('"') for line in lines) % 2 == 1
