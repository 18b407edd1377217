"""Rows without quoting, some of which do not have the header's number of fields on one line.

A row continues over line ends until it has as many fields as the header, so that line breaks inside
a field survive (sacct does not escape them). A line that is complete by itself is always a row of its
own, so that one damaged row cannot swallow its neighbours.
"""

import numpy as np
import polars as pl

from meantime.datasets.header import Header

LINE = "__line"
"""Column with the line number of each row, 1 = first line of the file."""
MAX_LINES = 1000
"""Most lines that one row may span."""

type BadRow = tuple[int, str, str]
"""Line number, reason, text."""


def split_ragged(text: str, header: Header) -> tuple[pl.DataFrame, list[BadRow]]:
    """Split text into rows of as many fields as the header has (all strings, and `LINE`), and the others."""
    wanted = len(header.names) - 1
    lines = pl.Series("text", text.split("\n")).str.strip_chars_end("\r")
    counts = lines.str.count_matches(header.delimiter, literal=True).to_numpy()
    first = header.line + 1
    complete = counts == wanted
    merged, bad = _merge(lines, counts, np.flatnonzero(~complete), wanted)
    rows = pl.concat(
        [
            pl.DataFrame({LINE: np.flatnonzero(complete) + first, "text": lines.filter(pl.Series(complete))}),
            pl.DataFrame(
                {LINE: [i + first for i, _ in merged], "text": [part for _, part in merged]},
                schema={LINE: pl.Int64, "text": pl.String},
            ),
        ]
    ).sort(LINE)
    fields = rows["text"].str.split_exact(header.delimiter, wanted).struct.unnest()
    frame = fields.rename(dict(zip(fields.columns, header.columns, strict=True))).with_columns(rows[LINE])
    return frame, [(i + first, count_reason(delimiters + 1, wanted + 1), part) for i, delimiters, part in bad]


def count_reason(found: int, wanted: int) -> str:
    """Say that a row has the wrong number of fields."""
    hint = "cut short?" if found < wanted else "a delimiter inside a field?"
    return f"{found} fields where the header has {wanted} ({hint})"


def _merge(
    lines: pl.Series, counts: np.ndarray, incomplete: np.ndarray, wanted: int
) -> tuple[list[tuple[int, str]], list[tuple[int, int, str]]]:
    """Join runs of incomplete lines into rows; what does not add up is (first line, delimiters, text)."""
    merged: list[tuple[int, str]] = []
    bad: list[tuple[int, int, str]] = []
    parts: list[str] = []
    start = last = total = 0
    texts = lines.gather(incomplete).to_list()
    for i, text, count in zip(incomplete.tolist(), texts, counts[incomplete].tolist(), strict=True):
        if parts and (i != last + 1 or total + count > wanted or len(parts) >= MAX_LINES):
            bad.append((start, total, "\n".join(parts)))
            parts = []
        if not parts:
            if not text.strip():
                continue
            start, total = i, 0
        parts.append(text)
        last, total = i, total + count
        if total == wanted:
            merged.append((start, "\n".join(parts)))
            parts = []
    if parts:
        bad.append((start, total, "\n".join(parts)))
    return merged, bad
