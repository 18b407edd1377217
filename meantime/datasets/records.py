"""From text to rows of fields, at full speed where the text is regular and with care where it is not."""

import dataclasses
from collections.abc import Collection, Iterable

import numpy as np
import polars as pl

from meantime.datasets.header import Header
from meantime.datasets.log import add_counts, empty_quarantine, make_quarantine
from meantime.datasets.quoted import split_quoted
from meantime.datasets.ragged import LINE, split_ragged
from meantime.errors import InputError

_LOSSY = "\N{REPLACEMENT CHARACTER}"


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Records:
    """Rows with as many fields as the header (all strings, and `LINE`), and the account of the others."""

    frame: pl.DataFrame
    quarantine: pl.DataFrame
    folded: dict[str, int]
    notes: tuple[str, ...]

    @property
    def rows_read(self) -> int:
        """Rows found in the text."""
        return self.frame.height + self.quarantine.height + sum(self.folded.values())


def read_records(data: bytes, header: Header, *, file: str, needed: Collection[str] | None = None) -> Records:
    """Split the rows below the header into fields.

    Parameters
    ----------
    data, header
        The text, and what its header says.
    file
        Name of the file, for messages.
    needed
        Columns that will be used; the others are left out where the text is regular. Default: all.

    Raises
    ------
    InputError
        If no row holds the header's delimiter, or a name occurs twice in the header over different values.
    """
    stop = _last_text(data)
    if stop <= header.start:
        frame = pl.DataFrame(schema={**dict.fromkeys(header.columns, pl.String), LINE: pl.Int64})
        return Records(frame=frame, quarantine=empty_quarantine(), folded={}, notes=())
    regular = _read_regular(data, header, stop, _chosen(header, needed))
    if regular is not None:
        _check_repeats(regular, header, file)
        return Records(frame=regular, quarantine=empty_quarantine(), folded={}, notes=())
    text = data[header.start : stop].decode("utf-8", errors="replace")
    frame, bad = split_quoted(text, header) if header.quoted else split_ragged(text, header)
    if frame.is_empty() and header.delimiter not in text:
        raise InputError(
            f"{file}: the header's {len(header.names)} fields are separated by {header.delimiter!r}, "
            "which no row holds; expected one delimiter throughout"
        )
    if frame.is_empty() and len(bad) > 1 and len({reason for _, reason, _ in bad}) == 1:
        raise InputError(f"{file}: no row fits the header's {len(header.names)} fields: {bad[0][1]}")
    _check_repeats(frame, header, file)
    return _set_aside(frame, bad, header, file)


def line_texts(data: bytes, lines: Iterable[int]) -> list[str]:
    """Fetch lines of the text by number (1 = first line), as they stand in the file."""
    ends = np.flatnonzero(np.frombuffer(data, dtype=np.uint8) == ord("\n"))
    starts = np.concatenate([[0], ends + 1])
    stops = np.append(ends, len(data))
    return [data[starts[i - 1] : stops[i - 1]].decode("utf-8", errors="replace").rstrip("\r") for i in lines]


def _last_text(data: bytes) -> int:
    """Find where the last line with text ends."""
    stop = len(data)
    while stop and data[stop - 1] in b"\r\n":
        stop -= 1
    return stop


def _chosen(header: Header, needed: Collection[str] | None) -> list[int]:
    """Number the columns to read: all, if a name occurs twice, so that its columns can be compared."""
    repeated = any(name and column != name for column, name in zip(header.columns, header.names, strict=True))
    if needed is None or repeated:
        return list(range(len(header.columns)))
    return [i for i, column in enumerate(header.columns) if column in needed]


def _read_regular(data: bytes, header: Header, stop: int, chosen: list[int]) -> pl.DataFrame | None:
    """Read the common case, or return None where any row needs a closer look.

    The delimiters of all rows add up to those of the header in every row, and polars refuses a row
    with more of them: so each row has exactly as many.
    """
    delimiter, start = header.delimiter.encode(), header.start
    lines = data.count(b"\n", start, stop) + 1
    if len(delimiter) > 1 or len(header.names) < 2:
        return None
    if data.count(delimiter, start, stop) != (len(header.names) - 1) * lines:
        return None
    if data.find(b"\0", start) >= 0 or data.find(header.text.encode(), start) >= 0:
        return None
    if (header.quoted and data.find(b'"', start) >= 0) or len(data) > stop + 2:
        return None
    try:
        frame = pl.read_csv(
            data,
            has_header=False,
            skip_lines=header.line,
            schema=dict.fromkeys(header.columns, pl.String),
            columns=chosen,
            separator=header.delimiter,
            quote_char=None,
            empty_string_is_null=False,
        )
    except pl.exceptions.PolarsError:
        return None
    if frame.height != lines:
        return None
    # In one piece: what follows would else join the pieces again at every step.
    return frame.rechunk().with_columns(pl.int_range(header.line + 1, header.line + 1 + lines).alias(LINE))


def _check_repeats(frame: pl.DataFrame, header: Header, file: str) -> None:
    for column, name in zip(header.columns, header.names, strict=True):
        if name and column != name and not frame[column].equals(frame[name]):
            raise InputError(
                f"{file}: line {header.line}: the header names {name!r} more than once and the columns differ; "
                "expected each name once"
            )


def _set_aside(frame: pl.DataFrame, bad: list[tuple[int, str, str]], header: Header, file: str) -> Records:
    """Take rows with NUL bytes and repeated headers out of the frame."""
    fields = pl.col(header.columns)
    repeated = pl.all_horizontal(
        pl.col(column).str.strip_chars() == name for column, name in zip(header.columns, header.names, strict=True)
    )
    frame = frame.with_columns(
        pl.any_horizontal(fields.str.contains("\0", literal=True)).alias("__nul"),
        pl.any_horizontal(fields.str.contains(_LOSSY, literal=True)).alias("__lossy"),
        repeated.alias("__repeated"),
    )
    damaged = frame.filter(pl.col("__nul"))
    texts = damaged.select(pl.concat_str(fields, separator=header.delimiter)).to_series().to_list()
    good = frame.filter(~pl.col("__nul") & ~pl.col("__repeated"))
    lossy = int(good["__lossy"].sum())
    note = f"{lossy} rows held bytes that are not UTF-8, shown as {_LOSSY}"
    return Records(
        frame=good.drop("__nul", "__lossy", "__repeated"),
        quarantine=pl.concat(
            [
                make_quarantine(file, [row[0] for row in bad], [row[1] for row in bad], [row[2] for row in bad]),
                make_quarantine(file, damaged[LINE].to_list(), ["a NUL byte in the row"] * damaged.height, texts),
            ]
        ).sort("line"),
        folded=add_counts({"repeated headers": frame.height - damaged.height - good.height}),
        notes=(note,) if lossy else (),
    )
