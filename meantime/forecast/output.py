"""Forecasts written as JSON for planning tools and as CSV for spreadsheets."""

import csv
import io
import json
import os
from typing import Any

import xarray as xr

from meantime.files import write_text
from meantime.forecast.rows import flat_rows, model, notes, to_rows
from meantime.intervals import describe

_STARTS_A_FORMULA = ("=", "+", "-", "@", "\t", "\r", "\n")


def to_json(forecast: xr.Dataset, path: str | os.PathLike[str] | None = None) -> str:
    """Return a forecast as JSON of schema ``meantime.forecast/1``, and write it to `path` if given.

    Parameters
    ----------
    forecast
        What `meantime.forecast.forecast` returned, or a selection of it.
    path
        File to write, whole or not at all.

    Returns
    -------
    str
        ``{"schema", "interval": {"kind", "probability"}, "seed", "gpus_per_node", "model", "notes", "rows": [...]}``;
        the rows are those of `to_rows`. Never NaN or Infinity: such numbers are null.

    Raises
    ------
    InputError
        If `path` cannot be written.
    """
    content = {
        "schema": forecast.attrs["schema"],
        "interval": describe(),
        "seed": int(forecast.attrs["seed"]),
        "gpus_per_node": int(forecast.attrs["gpus_per_node"]),
        "model": model(forecast),
        "notes": notes(forecast),
        "rows": to_rows(forecast),
    }
    text = json.dumps(content, indent=1, allow_nan=False, ensure_ascii=False) + "\n"
    if path is not None:
        write_text(path, text)
    return text


def to_csv(forecast: xr.Dataset, path: str | os.PathLike[str] | None = None) -> str:
    """Return a forecast as CSV, one row for every size and plan, and write it to `path` if given.

    Columns are those of `flat_rows` (``ettr_mean``, ``ettr_lower``, ...); numbers that are not finite are
    empty. Texts that a spreadsheet would take for a formula start with an apostrophe.

    Parameters
    ----------
    forecast
        What `meantime.forecast.forecast` returned, or a selection of it.
    path
        File to write, whole or not at all.

    Raises
    ------
    InputError
        If `path` cannot be written.
    """
    text = rows_csv(flat_rows(forecast))
    if path is not None:
        write_text(path, text)
    return text


def rows_csv(rows: list[dict[str, Any]]) -> str:
    """Return flat rows that all have the same keys as CSV, as `to_csv` writes them."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(rows[0])
    writer.writerows([_cell(value) for value in row.values()] for row in rows)
    return buffer.getvalue()


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, str) and value.startswith(_STARTS_A_FORMULA):
        return f"'{value}"
    return value
