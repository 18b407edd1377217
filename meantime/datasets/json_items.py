"""The items of a JSON document, one by one, so that damage costs the items it hits and no others.

A document is an array, an object that holds the array under some key (``{"jobs": [...]}``), one object, or objects
one after another (JSON lines). Items are numbered from 1, and that number stands for the line in quarantines.
"""

import dataclasses
import json
import re
from collections.abc import Callable, Sequence
from typing import Any

import polars as pl

from meantime.datasets.log import TEXT_LIMIT, make_quarantine
from meantime.datasets.source import PathLike, read_bytes
from meantime.errors import InputError

MAX_TRIES = 10_000
"""Most places at which reading is taken up again in one damaged document."""

_SPACE = re.compile(r"[\s,\x00]*")
_OBJECT = re.compile(r"\{\s*\"")
_CLOSING = re.compile(r"[\s,\]\}\x00]*")
_DECODER = json.JSONDecoder()

type Item = dict[str, Any]


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Items:
    """Objects of a document with their numbers, and the account of what is no such object."""

    objects: list[Item]
    numbers: list[int]
    quarantine: pl.DataFrame

    def texts(self, numbers: Sequence[int]) -> list[str]:
        """Give the text of items by number, shortened."""
        place = {number: i for i, number in enumerate(self.numbers)}
        return [json.dumps(self.objects[place[number]])[:TEXT_LIMIT] for number in numbers]


def read_items(path: PathLike, key: str | None, wanted: Callable[[Item], bool], what: str) -> Items:
    """Read the items of a JSON file.

    Parameters
    ----------
    path
        The file; .gz, .xz and .zst are unpacked.
    key
        Key of the array in a document that is an object; a document of one item may go without.
    wanted
        Whether an object is such an item. Others are quarantined, and skipped where reading is taken up again after
        damage.
    what
        What the items are, for messages.

    Raises
    ------
    InputError
        If the file cannot be read or holds no such item.
    """
    text = read_bytes(path).decode("utf-8", errors="replace")
    items = split_items(text, key, wanted, what, file=str(path))
    if not items.objects and items.quarantine.height:
        first = items.quarantine.row(0, named=True)
        raise InputError(f"{path}: holds no {what}: item {first['line']}: {first['reason']}")
    return items


def split_items(text: str, key: str | None, wanted: Callable[[Item], bool], what: str, *, file: str) -> Items:
    """Split a document into its items (see `read_items`)."""
    objects: list[Item] = []
    numbers: list[int] = []
    bad: list[tuple[int, str, str]] = []
    position, number, tries = _begin(text, key), 0, 0
    position = _SPACE.match(text, position).end()  # type: ignore[union-attr]
    inside = position > 0 and text[:position].rstrip(" \t\r\n,").endswith("[")
    keyed = inside and not text.lstrip("\ufeff \t\r\n").startswith("[")
    closed, broken = not inside, ""
    while position < len(text):
        if inside and text[position] == "]" and _ends_well(text, position + 1, keyed):
            closed = True
            break
        number += 1
        end = position + 1
        try:
            value, end = _DECODER.raw_decode(text, position)
            broken = "" if isinstance(value, dict) and wanted(value) else f"is no {what}"
        except (ValueError, RecursionError) as error:
            broken = _why(error)
            start = max(end, getattr(error, "pos", end))
            found, tries = _resume(text, start, wanted, tries)
            end = len(text) if found is None else found
            closed = closed or found is None
        if broken:
            bad.append((number, broken, text[position : min(end, position + TEXT_LIMIT)]))
        else:
            objects.append(value)
            numbers.append(number)
        position = _SPACE.match(text, end).end()  # type: ignore[union-attr]
        if not inside and tries:
            position = _CLOSING.match(text, position).end()  # type: ignore[union-attr]
    if not closed:
        bad.append((number + 1, "the array is not closed: the file is cut short, or an item before is damaged", ""))
    quarantine = make_quarantine(file, [b[0] for b in bad], [b[1] for b in bad], [b[2] for b in bad])
    return Items(objects=objects, numbers=numbers, quarantine=quarantine)


def first_value(text: str) -> Any:
    """Decode the value at the beginning of a text; None if it is cut short or damaged."""
    try:
        return _DECODER.raw_decode(text, _SPACE.match(text).end())[0]  # type: ignore[union-attr]
    except (ValueError, RecursionError):
        return None


def array_start(text: str, key: str) -> int | None:
    """Find where the items of the array under `key` begin; None if there is no such array."""
    match = re.search(rf'"{re.escape(key)}"\s*:\s*\[', text)
    return None if match is None else match.end()


def value_at(item: Any, *path: str) -> Any:
    """Follow keys through nested objects; None where one is absent."""
    for name in path:
        if type(item) is not dict:  # what JSON makes; twice as fast as asking for any mapping
            return None
        item = item.get(name)
    return item


def text_at(item: Any, *path: str) -> str | None:
    """Follow keys to a text or number, as text; None where it is absent or something else."""
    value = value_at(item, *path)
    kind = type(value)
    return value if kind is str else str(value) if kind is int or kind is float else None


def _begin(text: str, key: str | None) -> int:
    """Find where the first item begins: behind the bracket of the array, if there is one."""
    start = _SPACE.match(text).end()  # type: ignore[union-attr]
    if text.startswith("[", start):
        return start + 1
    found = array_start(text, key) if key is not None else None
    return start if found is None else found


def _ends_well(text: str, position: int, keyed: bool) -> bool:
    """Tell whether what follows the array is the end of the document."""
    rest = text[position:]
    if not keyed:
        return not rest.strip(" \t\r\n\0")
    try:
        _, end = _DECODER.raw_decode('{"":0' + rest)
    except (ValueError, RecursionError):
        return False
    return not rest[end - 5 :].strip(" \t\r\n\0")


def _resume(text: str, start: int, wanted: Callable[[Item], bool], tries: int) -> tuple[int | None, int]:
    """Find the next place at which a wanted item can be read whole."""
    while tries < MAX_TRIES:
        match = _OBJECT.search(text, start)
        if match is None:
            return None, tries
        tries += 1
        try:
            value, _ = _DECODER.raw_decode(text, match.start())
        except (ValueError, RecursionError):
            start = match.start() + 1
            continue
        if isinstance(value, dict) and wanted(value):
            return match.start(), tries
        start = match.start() + 1
    return None, tries


def _why(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "not JSON: nested too deeply"
    message = error.msg if isinstance(error, json.JSONDecodeError) else str(error)
    return f"not JSON: {message}"[:100]
