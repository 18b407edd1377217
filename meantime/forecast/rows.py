"""A forecast as plain rows: one for every size and plan."""

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr

from meantime.forecast.grid import DIMENSION
from meantime.forecast.plan import DURATIONS
from meantime.intervals import FIGURES
from meantime.units import PER_1000_NODE_DAYS, SECONDS_PER_HOUR

RESULTS = {
    "rate_per_1000_node_days": ("rate", PER_1000_NODE_DAYS),
    "mttf_hours": ("mttf", 1.0),
    "checkpoint_interval_seconds": ("checkpoint_interval", SECONDS_PER_HOUR),
    "ettr": ("ettr", 1.0),
    "ettr_run": ("ettr_run", 1.0),
    "ettr_kokolis": ("ettr_kokolis", 1.0),
    "failures_per_day": ("failures_per_day", 1.0),
    "gpu_hours_lost_per_day": ("gpu_hours_lost_per_day", 1.0),
    "days_to_finish": ("days_to_finish", 1.0),
}
"""Key of a row, the variable of the dataset that it shows, and the factor to the key's unit."""


def to_rows(forecast: xr.Dataset) -> list[dict[str, Any]]:
    """Return a forecast as rows of plain values, the sizes outermost.

    Parameters
    ----------
    forecast
        What `meantime.forecast.forecast` returned, or a selection of it.

    Returns
    -------
    list[dict]
        Keys `gpus`, `nodes`, `extrapolated`, every key of `RESULTS` with an object of the four figures,
        `checkpoint_interval_chosen_seconds`, `plan` (the texts of its values) and `plan_seconds` (None where optimal
        or uncertain). A number that is not finite is None.
    """
    plan = {name: (DIMENSION[name], f"{DIMENSION[name]}_hours") for name in DURATIONS}
    names = ["gpus", "nodes", "extrapolated", "chosen_interval", *(variable for variable, _ in RESULTS.values())]
    columns = _columns(forecast, [*names, *(name for pair in plan.values() for name in pair)])
    rows = []
    for index in range(len(columns["nodes"])):
        value = {name: column[index] for name, column in columns.items()}
        row: dict[str, Any] = {
            "gpus": int(value["gpus"]),
            "nodes": int(value["nodes"]),
            "extrapolated": bool(value["extrapolated"]),
        }
        for key, (variable, factor) in RESULTS.items():
            numbers = map(_finite, value[variable] * factor)
            row[key] = dict(zip(FIGURES, numbers, strict=True))
        row["checkpoint_interval_chosen_seconds"] = _finite(value["chosen_interval"] * SECONDS_PER_HOUR)
        row["plan"] = {name: str(value[text]) for name, (text, _) in plan.items()}
        row["plan_seconds"] = {name: _finite(value[hours] * SECONDS_PER_HOUR) for name, (_, hours) in plan.items()}
        rows.append(row)
    return rows


def flat_rows(forecast: xr.Dataset) -> list[dict[str, Any]]:
    """Return the rows of `to_rows` with one value in each column: ``plan_restart``, ``ettr_mean``, ..."""
    rows = []
    for row in to_rows(forecast):
        flat: dict[str, Any] = {key: row[key] for key in ("gpus", "nodes", "extrapolated")}
        for name in DURATIONS:
            flat |= {f"plan_{name}": row["plan"][name], f"plan_{name}_seconds": row["plan_seconds"][name]}
        flat["checkpoint_interval_chosen_seconds"] = row["checkpoint_interval_chosen_seconds"]
        for key in RESULTS:
            flat |= {f"{key}_{figure}": row[key][figure] for figure in FIGURES}
        rows.append(flat)
    return rows


def notes(forecast: xr.Dataset) -> list[str]:
    """Return the notes of a forecast, one sentence each."""
    return [line for line in str(forecast.attrs.get("notes", "")).split("\n") if line]


def model(forecast: xr.Dataset) -> dict[str, Any]:
    """Return what is recorded of the fit that a forecast comes from; empty for a stated rate."""
    return dict(json.loads(forecast.attrs.get("model", "{}")))


def _columns(forecast: xr.Dataset, names: Iterable[str]) -> dict[str, np.ndarray]:
    """Return variables and coordinates by row: shape (rows,), or (rows, 4) for figures."""
    order = ("gpus", *(dim for dim in forecast["ettr"].dims if dim not in ("gpus", "figure")))
    sizes = {dim: forecast.sizes[dim] for dim in order if dim in forecast.sizes}
    n_rows = int(np.prod(list(sizes.values()), dtype=int))
    columns = {}
    for name in names:
        variable = forecast[name].variable
        figures = {"figure": len(FIGURES)} if "figure" in variable.dims else {}
        columns[name] = variable.set_dims(sizes | figures).values.reshape(n_rows, *figures.values())
    return columns


def _finite(value: np.ndarray | float) -> float | None:
    number = float(value)
    return number if math.isfinite(number) else None
