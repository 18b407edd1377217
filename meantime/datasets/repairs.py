"""Down times of nodes, compressed: what the model of repairs needs to know of a log of outages."""

import datetime as dt
import json

import numpy as np
import polars as pl
import xarray as xr
from numpy.typing import ArrayLike

from meantime.datasets.log import Log
from meantime.errors import InputError

MOST_VALUES = 20_000
"""Different lengths that are kept as they are."""

STEP = 5e-4
"""Width on the log scale within which lengths are taken together where there are more."""


def repair_table(
    outages: Log | pl.DataFrame, *, by: str = "component", log_end: dt.datetime | None = None
) -> xr.Dataset:
    """Summarise the down times of a log of outages by class.

    Parameters
    ----------
    outages
        A log of outages, or its table (see `meantime.datasets.outages`): ``start``, ``end`` and the column `by`.
        Outages without an end are taken to be open at the end of the log.
    by
        Column that is the class: the component, or a severity.
    log_end
        When the log ends, UTC. Default: its latest time.

    Returns
    -------
    xr.Dataset
        ``repairs``, ``log_mean`` and ``log_variance`` (class,): number, mean and sample variance of the logarithms of
        the hours of closed repairs; ``value_hours``, ``value_class`` and ``value_count`` (value,): the different
        lengths of each class and how many repairs have them (of more than 20,000, lengths within 0.05 % of each
        other are taken together); ``open_class`` and ``open_hours`` (open,). Outages of length 0, and open ones
        that begin at the end of the log, are left out and counted in the attribute ``provenance``.

    Raises
    ------
    InputError
        If there is no such column, or no repair with a length.
    """
    table = outages.table if isinstance(outages, Log) else outages
    source = outages.source if isinstance(outages, Log) else "outages"
    if missing := [name for name in ("start", "end", by) if name not in table.columns]:
        raise InputError(f"{source}: has no column {missing[0]!r}; it has {', '.join(table.columns)}")
    last = log_end or table.select(pl.max_horizontal(pl.col("start").max(), pl.col("end").max())).item()
    frame = table.select(
        pl.col(by).cast(pl.String).fill_null("not known").alias("class"),
        ((pl.col("end").fill_null(last) - pl.col("start")).dt.total_microseconds() / 3.6e9).alias("hours"),
        pl.col("end").is_null().alias("open"),
    )
    used = frame.filter(pl.col("hours") > 0)
    result = repairs_from_arrays(used["hours"].to_numpy(), used["class"].to_numpy(), used["open"].to_numpy())
    facts = {
        "rows_read": outages.rows_read if isinstance(outages, Log) else table.height,
        "quarantined": outages.quarantine.height if isinstance(outages, Log) else 0,
        "rows_used": used.height,
        "without_length": frame.height - used.height,
        "open": int(used["open"].sum()),
        "class": by,
    }
    return result.assign_attrs(source=source, provenance=json.dumps(facts))


def repairs_from_arrays(hours: ArrayLike, classes: ArrayLike, still_open: ArrayLike | None = None) -> xr.Dataset:
    """Summarise arrays of down times; see `repair_table`.

    Parameters
    ----------
    hours
        Down times, above 0, shape (row,).
    classes
        Labels, shape (row,).
    still_open
        Whether the repair was not over yet, shape (row,).
    """
    length, label = np.asarray(hours, dtype=float), np.asarray(classes).astype(str)
    unfinished = np.zeros(len(length), dtype=bool) if still_open is None else np.asarray(still_open, dtype=bool)
    if not (np.isfinite(length) & (length > 0)).all():
        raise InputError("down times hold values that are not above 0 or not finite; expected hours")
    if unfinished.all():
        raise InputError("no repair is over; expected at least one with a begin and an end")
    names, code = np.unique(label, return_inverse=True)
    logs, closed = np.log(length[~unfinished]), code[~unfinished]
    count = np.bincount(closed, minlength=len(names))
    mean = np.bincount(closed, logs, len(names)) / np.maximum(count, 1)
    squares = np.bincount(closed, (logs - mean[closed]) ** 2, len(names))
    value, value_class, value_count = _values(logs, closed)
    return xr.Dataset(
        {
            "repairs": ("class", count),
            "log_mean": ("class", mean),
            "log_variance": ("class", squares / np.maximum(count - 1, 1)),
            "value_hours": ("value", np.exp(value)),
            "value_class": ("value", value_class),
            "value_count": ("value", value_count),
            "open_class": ("open", code[unfinished]),
            "open_hours": ("open", length[unfinished]),
        },
        coords={"class": names},
        attrs={"source": "repairs", "provenance": "{}"},
    )


def check_repair_times(table: xr.Dataset) -> xr.Dataset:
    """Check a repair table that holds the lengths of its repairs.

    Raises
    ------
    InputError
        If it is no repair table, or one that was made without lengths.
    """
    table = check_repairs(table)
    wanted = ("value_hours", "value_class", "value_count")
    if any(name not in table or table[name].dims != ("value",) for name in wanted):
        raise InputError("the repair table holds no lengths; make it anew with repair_table, or fit 'repair'")
    hours, count = table["value_hours"].values, table["value_count"].values
    if not (np.isfinite(hours) & (hours > 0)).all() or not (count >= 1).all():
        raise InputError("the repair table holds lengths that are not above 0 or not finite")
    found = np.bincount(table["value_class"].values, count, table.sizes["class"])
    if not np.array_equal(found, table["repairs"].values):
        raise InputError("the lengths of the repair table are not as many as its repairs")
    return table


def check_repairs(table: xr.Dataset) -> xr.Dataset:
    """Check a repair table.

    Raises
    ------
    InputError
        If it is none.
    """
    wanted = {"repairs": ("class",), "log_mean": ("class",), "log_variance": ("class",),
              "open_class": ("open",), "open_hours": ("open",)}  # fmt: skip
    if not isinstance(table, xr.Dataset) or any(
        name not in table or table[name].dims != dims for name, dims in wanted.items()
    ):
        raise InputError("not a repair table; make one of a log of outages with repair_table")
    if not all(np.isfinite(table[name].values).all() for name in wanted) or not (table["log_variance"] >= 0).all():
        raise InputError("the repair table holds values that are not finite, or a negative variance")
    return table


def _values(logs: np.ndarray, code: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the different log hours of each class, their classes and counts; the mean of those taken together."""
    order = np.lexsort((logs, code))
    logs, code = logs[order], code[order]
    key = logs
    if len(logs) > MOST_VALUES and (np.diff(logs) != 0).sum() > MOST_VALUES:
        key = np.round(logs / STEP)
    first = np.concatenate([[True], (np.diff(key) != 0) | (np.diff(code) != 0)])
    place = np.cumsum(first) - 1
    count = np.bincount(place)
    return np.bincount(place, logs) / count, code[first], count
