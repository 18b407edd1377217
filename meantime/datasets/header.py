"""The header line of a text log: its field names and what separates them."""

import csv
import dataclasses
import re

_CANDIDATES = (",", "\t", ";", "|", "^")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Header:
    """The first line with text.

    Attributes
    ----------
    names
        Field names; a delimiter at the end of the line gives an empty last name.
    delimiter
        What separates fields: any text, such as ``|``, ``|#`` or a tab.
    line
        Number of the line in the file, from 1.
    start
        Byte at which the rows begin.
    text
        The line itself.
    """

    names: tuple[str, ...]
    delimiter: str
    line: int
    start: int
    text: str

    @property
    def quoted(self) -> bool:
        """Whether fields may be quoted as in CSV: only where a comma or semicolon separates them."""
        return self.delimiter in (",", ";")

    @property
    def columns(self) -> list[str]:
        """Names made unique: a stand-in for empty ones, a number after repeated ones."""
        seen: dict[str, int] = {}
        unique = []
        for i, name in enumerate(self.names):
            seen[name] = seen.get(name, 0) + 1
            unique.append(f"__unnamed{i}" if not name else name if seen[name] == 1 else f"{name}__{seen[name]}")
        return unique


def find_header(data: bytes, delimiter: str | None = None) -> Header:
    """Find the header line, and its delimiter unless given."""
    start, line = 0, 1
    while True:
        end = data.find(b"\n", start)
        end = len(data) if end < 0 else end
        text = data[start:end].decode("utf-8", errors="replace").rstrip("\r")
        if text.strip() or end == len(data):
            break
        start, line = end + 1, line + 1
    delimiter = delimiter or find_delimiter(text)
    quoted = delimiter in (",", ";")
    fields = _split(text, delimiter) if quoted else text.split(delimiter)
    names = tuple(name.strip() for name in fields)
    return Header(names=names, delimiter=delimiter, line=line, start=min(end + 1, len(data)), text=text)


def _split(text: str, delimiter: str) -> list[str]:
    """Split a header that may be quoted; one that is no CSV (a stray line end, a field too long) at its delimiters."""
    try:
        return next(csv.reader([text], delimiter=delimiter), [])
    except csv.Error:
        return text.split(delimiter)


def find_delimiter(text: str) -> str:
    """Find what separates the names of a header line.

    If the same text stands between all words, it is that; otherwise (names with spaces in them) the
    commonest of comma, tab, semicolon, ``|`` and ``^``.
    """
    between = set(re.findall(r"(?<=\w)\W+(?=\w)", text.strip().strip('"')))
    if between == {'","'}:
        return ","
    if len(between) == 1 and not (only := between.pop()).isspace() and only not in ("-", "."):
        return only
    return max(_CANDIDATES, key=lambda candidate: (text.count(candidate), -_CANDIDATES.index(candidate)))
