"""What the numbers of NVIDIA's driver errors (Xid) mean: name, component, and whether one is critical.

Names are those of NVIDIA's catalogue (docs.nvidia.com/deploy/xid-errors). Severity follows the health checks of
facebookresearch/gcm: 13, 31, 43, 45, 63, 68, 92 and 109 are not critical (source ``gcm``), all others are (``gcm
rest``); except some for which the catalogue says that nothing is to be done at once, and 154, which repeats another
(``nvidia``). Which component a number belongs to is our reading of the name; engines whose error has no known origin
count as ``gpu_driver``. Users change and add numbers by a TOML file::

    [xid.163]
    name = "Power smoothing disengaged"
    component = "gpu_hardware"
    severity = "low"
"""

import functools
from collections.abc import Mapping
from importlib.resources import files
from io import BytesIO
from typing import Any

import polars as pl

from meantime.datasets.source import PathLike
from meantime.datasets.taxonomy import SEVERITIES, SEVERITY
from meantime.datasets.toml_tables import read_toml
from meantime.errors import InputError

UNKNOWN_COMPONENT, UNKNOWN_SEVERITY = "gpu_driver", "high"
"""What a number that is not in the table is taken for."""

_SCHEMA: dict[str, Any] = {
    "xid": pl.Int64,
    "name": pl.String,
    "component": pl.String,
    "severity": SEVERITY,
    "severity_source": pl.String,
}
_FIELDS = ("name", "component", "severity", "severity_source")


def xid_table(path: PathLike | None = None) -> pl.DataFrame:
    """Give the table of Xid numbers: ``xid``, ``name``, ``component``, ``severity``, ``severity_source``.

    Parameters
    ----------
    path
        A TOML file with tables ``[xid.NUMBER]``; a field that it leaves out is that of the table.

    Raises
    ------
    InputError
        If the file cannot be read, or a number, field or severity is not understood.
    """
    table = _shipped()
    if path is None:
        return table
    given = read_toml(path, "[xid.79] with name, component and severity").get("xid", {})
    if not isinstance(given, Mapping):
        raise InputError(f"{path}: xid is {given!r}; expected tables such as [xid.79]")
    rows = {row["xid"]: row for row in table.rows(named=True)}
    for number, fields in given.items():
        xid = _number(number, path)
        rows[xid] = _row(xid, fields, rows.get(xid), path)
    return pl.DataFrame([rows[xid] for xid in sorted(rows)], schema=_SCHEMA)


@functools.cache
def _shipped() -> pl.DataFrame:
    content = (files("meantime.datasets") / "data" / "xids.csv").read_bytes()
    return pl.read_csv(BytesIO(content), schema=_SCHEMA)


def _number(text: str, path: PathLike) -> int:
    if not text.isascii() or not text.isdigit():
        raise InputError(f"{path}: [xid.{text}] is no Xid; expected a whole number")
    return int(text)


def _row(xid: int, fields: Any, known: Mapping[str, Any] | None, path: PathLike) -> dict[str, Any]:
    if not isinstance(fields, Mapping):
        raise InputError(f"{path}: xid {xid} is {fields!r}; expected a table [xid.{xid}]")
    for name, value in fields.items():
        if name not in _FIELDS or not isinstance(value, str):
            raise InputError(f"{path}: [xid.{xid}] has {name} = {value!r}; expected text for {', '.join(_FIELDS)}")
    fresh = {"name": "", "component": UNKNOWN_COMPONENT, "severity": UNKNOWN_SEVERITY}
    row = {**fresh, **(known or {}), "severity_source": str(path), **fields, "xid": xid}
    if row["severity"] not in SEVERITIES:
        raise InputError(f"{path}: [xid.{xid}] has severity {row['severity']!r}; expected {', '.join(SEVERITIES)}")
    return row
