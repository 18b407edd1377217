"""Where a fit comes from: one JSON string on the root of its tree."""

import dataclasses
import datetime as dt
import hashlib
import json
import platform
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import numpy as np
import xarray as xr

from meantime import intervals
from meantime.errors import InputError

ATTRIBUTE = "meantime"
SCHEMA = "meantime.fit/1"

_PACKAGES = ("meantime", "jax", "numpy", "numpyro", "nutpie", "pymc", "pytensor", "xarray")


def record(
    *,
    table: xr.Dataset,
    model: str,
    priors: Any,
    method: str,
    backend: str,
    plan: Any,
    thinned: int = 1,
    seconds: float,
    diagnostics: dict[str, Any],
) -> str:
    """Return the provenance of a fit as JSON."""
    facts = {
        "schema": SCHEMA,
        "model": model,
        "priors": dataclasses.asdict(priors),
        "method": method,
        "backend": backend,
        "seed": plan.seed,
        "sampling": {**dataclasses.asdict(plan), "seconds": round(seconds, 3), "thinned": thinned},
        "versions": _versions(),
        "data_digest": digest(table),
        "data": {"source": str(table.attrs["source"]), **_data_facts(table)},
        "created": dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
        "interval": intervals.describe(),
        "diagnostics": diagnostics,
    }
    return json.dumps(facts)


def provenance(tree: xr.DataTree) -> dict[str, Any]:
    """Read where a fit comes from.

    Parameters
    ----------
    tree
        A fit.

    Returns
    -------
    dict
        ``schema``, ``model``, ``priors``, ``method``, ``backend``, ``seed``, ``sampling``, ``versions``,
        ``data_digest``, ``data`` (source, rows read and used, quarantine), ``created``, ``interval`` and
        ``diagnostics``.

    Raises
    ------
    InputError
        If the tree is no fit of meantime, or was made by a newer version.
    """
    if not isinstance(tree, xr.DataTree):
        raise InputError(f"the fit is of type {type(tree).__name__}; expected what fit or load_fit returns")
    text = tree.attrs.get(ATTRIBUTE)
    try:
        facts = json.loads(text) if isinstance(text, str) else None
    except json.JSONDecodeError:
        facts = None
    schema = facts.get("schema") if isinstance(facts, dict) else None
    name, _, number = str(schema).partition("/")
    if name != "meantime.fit" or not number.isdecimal() or "posterior" not in tree.children:
        raise InputError("not a fit of meantime; expected a file written by save_fit or `meantime fit`")
    if int(number) > int(SCHEMA.partition("/")[2]):
        raise InputError(f"written in the format {schema}, newer than {SCHEMA}; upgrade meantime to read it")
    return dict(facts or {})


def digest(table: xr.Dataset) -> str:
    """Return a SHA-256 of a failure table's labels, counts and exposures."""
    check = hashlib.sha256()
    for name in sorted([*map(str, table.dims), *map(str, table.data_vars)]):
        array = table[name]
        values = np.ascontiguousarray(array.values)
        check.update(f"{name}{array.dims}{array.shape}".encode())
        check.update("\0".join(map(str, values.tolist())).encode() if values.dtype.kind == "U" else values.tobytes())
    return f"sha256:{check.hexdigest()}"


def _data_facts(table: xr.Dataset) -> dict[str, Any]:
    """Return what the table says of its making: rows read and used, quarantine, rules."""
    try:
        facts = json.loads(str(table.attrs["provenance"]))
    except json.JSONDecodeError:
        return {}
    return facts if isinstance(facts, dict) else {}


def _versions() -> dict[str, str]:
    found = {"python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            if package != "nutpie":  # an extra
                found[package] = "unknown"
    return found
