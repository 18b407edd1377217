"""What the beginning of a file shows: its container, the names of its columns or keys, its first lines."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from meantime.datasets.header import find_header
from meantime.datasets.json_items import array_start, first_value
from meantime.datasets.raw import parquet_names
from meantime.datasets.source import PathLike, is_parquet, read_bytes

ARRAYS = ("jobs", "items")
"""Keys under which known documents keep their items."""
LINES = 50
"""Lines that are looked at."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Sniff:
    """The beginning of a file.

    Attributes
    ----------
    container
        ``"parquet"``, ``"json"`` (one document), ``"jsonl"`` (an object a line) or ``"text"``.
    names
        Columns of Parquet; fields of the header line of text; keys of the first object or item of JSON.
    lines
        First lines of text, without empty ones.
    item
        First object or item of JSON.
    array
        Key of the array that holds the items; empty for a document that is an array; None if there is no array.
    """

    container: str
    names: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    item: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    array: str | None = None

    def has(self, *names: str) -> bool:
        """Tell whether all names are there."""
        return set(names) <= set(self.names)

    def lacks(self, *names: str) -> list[str]:
        """List the names that are not there."""
        return [name for name in names if name not in self.names]


def sniff(path: PathLike) -> Sniff:
    """Look at the beginning of a file.

    Raises
    ------
    InputError
        If it cannot be read, or is neither text nor Parquet.
    """
    if is_parquet(path):
        return Sniff(container="parquet", names=tuple(parquet_names(path)))
    text = read_bytes(path, head=True).decode("utf-8", errors="replace")
    start = text.lstrip("\ufeff \t\r\n\0")
    if start.startswith("[") and start[1:].lstrip()[:1] in ("{", "]", ""):  # and not dmesg's [    0.000000]
        return _of_item("json", first_value(start[1:]), "")
    if start.startswith("{"):
        return _sniff_object(start)
    lines = [line for line in text[: 1 << 18].split("\n") if line.strip(" \t\r\0")][:LINES]
    header = find_header(text.encode())
    return Sniff(container="text", names=tuple(name for name in header.names if name), lines=tuple(lines))


def _sniff_object(text: str) -> Sniff:
    line = text.partition("\n")[0]
    whole = first_value(line)
    several = text[len(line) :].strip(" \t\r\n\0").startswith("{")
    document = whole if whole is not None else first_value(text)
    if isinstance(whole, dict) and (several or not any(isinstance(whole.get(key), list) for key in ARRAYS)):
        return _of_item("jsonl", whole, None)
    for key in ARRAYS:
        if isinstance(document, dict) and isinstance(document.get(key), list):
            return _of_item("json", next(iter(document[key]), None), key)
        if document is None and (found := array_start(text, key)) is not None:
            return _of_item("json", first_value(text[found:]), key)
    if isinstance(document, dict):
        return _of_item("json", document, None)
    return _of_item("jsonl", None, None)


def _of_item(container: str, item: Any, array: str | None) -> Sniff:
    if not isinstance(item, dict):
        return Sniff(container=container, array=array)
    return Sniff(container=container, names=tuple(item), item=item, array=array)
