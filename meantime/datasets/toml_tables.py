"""TOML files of users: reading with an error that says what was expected, and writing of simple tables."""

import re
import tomllib
from collections.abc import Mapping
from typing import Any

from meantime.datasets.source import PathLike
from meantime.errors import InputError

type Scalar = str | int | float

_BARE = re.compile(r"[A-Za-z0-9_-]+")
_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def read_toml(path: PathLike, expected: str) -> dict[str, Any]:
    """Read a TOML file.

    Parameters
    ----------
    path
        The file.
    expected
        What should stand in it, for the message.

    Raises
    ------
    InputError
        If the file cannot be read or is not TOML.
    """
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; expected a TOML file with {expected}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise InputError(f"{path}: is not TOML: {error}; expected {expected}") from error


def write_tables(values: Mapping[str, Scalar], tables: Mapping[str, Mapping[str, Scalar]]) -> str:
    """Write top-level values and one level of tables as TOML; empty tables are left out."""
    parts = ["".join(f"{_key(name)} = {_value(value)}\n" for name, value in values.items())]
    for table, entries in tables.items():
        if entries:
            lines = "".join(f"{_key(name)} = {_value(value)}\n" for name, value in entries.items())
            parts.append(f"[{_key(table)}]\n{lines}")
    return "\n".join(part for part in parts if part)


def _key(name: str) -> str:
    return name if _BARE.fullmatch(name) else _quote(name)


def _value(value: Scalar) -> str:
    return _quote(value) if isinstance(value, str) else repr(value)


def _quote(text: str) -> str:
    return '"' + "".join(_ESCAPES.get(c, c if c >= " " and c != "\x7f" else f"\\u{ord(c):04x}") for c in text) + '"'
