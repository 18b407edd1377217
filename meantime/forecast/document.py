"""Results as plain values for JSON: one head for all, rows, and no number that JSON cannot hold."""

import json
import math
import os
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
import xarray as xr

from meantime.files import write_text
from meantime.forecast.limits import warnings_of
from meantime.forecast.plan import Plan
from meantime.intervals import FIGURES, describe


def document(
    schema: str,
    rate: xr.DataArray,
    plan: Plan,
    rows: list[dict[str, Any]],
    *,
    seed: int,
    notes: Iterable[str] = (),
    **facts: Any,
) -> dict[str, Any]:
    """Return a result in the form that all share.

    Parameters
    ----------
    schema
        Name and number of the schema.
    rate
        The rates it comes from, with what is recorded of their fit.
    plan
        The plan of the run.
    rows
        The result itself.
    seed
        Seed of random draws.
    notes
        Sentences on its limits.
    facts
        What else belongs to the whole.

    Returns
    -------
    dict
        ``schema``, ``interval``, ``seed``, ``gpus_per_node``, ``model``, ``notes``, ``plan``, `facts`, ``rows``.
    """
    return {
        "schema": schema,
        "interval": describe(),
        "seed": int(seed),
        "gpus_per_node": plan.gpus_per_node,
        "model": json.loads(rate.attrs.get("model", "{}")),
        "notes": [*warnings_of(rate), *notes],
        "plan": plan.to_dict(),
        **facts,
        "rows": rows,
    }


def four(values: Iterable[float] | np.ndarray | xr.DataArray, factor: float = 1.0) -> dict[str, float | None]:
    """Return the four figures by name; a number that is not finite becomes None."""
    numbers = np.asarray(values, dtype=float).ravel() * factor
    return {name: finite(number) for name, number in zip(FIGURES, numbers, strict=True)}


def finite(value: float | np.ndarray | xr.DataArray) -> float | None:
    """Return a number, or None if it is not finite."""
    number = float(value)
    return number if math.isfinite(number) else None


def as_text(content: Mapping[str, Any], path: str | os.PathLike[str] | None = None) -> str:
    """Return a result as JSON, and write it to `path` if given, whole or not at all."""
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    if path is not None:
        write_text(path, text)
    return text
