"""Times ahead of the data: until when, and rates by stretches of time in place of the periods of a fit."""

import datetime as dt
import re
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.units import Duration, seconds

type Horizon = Duration | dt.date | np.datetime64
"""How far beyond the end of the data: a time such as ``"90d"``, or a date such as ``"2026-06-30"`` (its start, UTC)."""

_DATE = re.compile(r"\s*\d{4}-\d{2}-\d{2}")
SECONDS_PER_DAY = 86_400.0


def time_ahead(tree: xr.DataTree, horizon: Horizon, *, name: str = "horizon") -> Duration:
    """Return a horizon as the time from the end of the data.

    Parameters
    ----------
    tree
        A fit. Its data end where its last period does.
    horizon
        A duration, returned as it is, or a date.
    name
        What it is, for the error message.

    Raises
    ------
    InputError
        If it is a date and the data have no periods, or it does not lie beyond their end, or it is no date.
    """
    day = _date(horizon, name)
    if day is None:
        assert not isinstance(horizon, dt.date | np.datetime64)
        return horizon
    end = data_end(tree)
    ahead = (day - end) / np.timedelta64(1, "s")
    if ahead <= 0:
        raise InputError(f"{name} is {horizon}; expected a date after the end of the data, {_day(end)}")
    return f"{ahead:.0f}s"


def data_end(tree: xr.DataTree) -> np.datetime64:
    """Return the end of the last period of a fit's data.

    Raises
    ------
    InputError
        If the data have no periods.
    """
    from meantime.inference.rebuild import family_of

    name, family, layout = family_of(tree)
    if family.ahead is None:
        raise InputError(f"the model {name!r} knows no time, so no date is ahead of it; fit over_time for that")
    length = np.timedelta64(round(layout.period_days * SECONDS_PER_DAY), "s")
    return np.datetime64(layout.periods[-1], "s") + length


def by_stretches(path: xr.DataArray, edges: np.ndarray) -> np.ndarray:
    """Average rates of periods over stretches of time.

    Parameters
    ----------
    path
        Rates by `period`, its last dimension, the first of which begins at day 0.
    edges
        Days at which the stretches begin and the last one ends, rising, shape (stretches + 1,).

    Returns
    -------
    numpy.ndarray
        Mean rates, shape (..., stretches).
    """
    count = path.sizes["period"]
    ends = np.arange(count + 1) * path.attrs["period_days"]
    low = np.maximum(ends[:-1, None], edges[None, :-1])
    high = np.minimum(ends[1:, None], edges[None, 1:])
    within = np.maximum(high - low, 0.0)
    return np.asarray(path.transpose(..., "period").values @ (within / within.sum(axis=0)))


def days_of(duration: Duration, name: str) -> float:
    """Return a duration above 0 in days."""
    days = seconds(duration, name=name) / SECONDS_PER_DAY
    if not days > 0:
        raise InputError(f"{name} is {duration!r}; expected a time above 0, such as 30d")
    return days


def _date(value: Any, name: str) -> np.datetime64 | None:
    if isinstance(value, str) and not _DATE.match(value):
        return None
    if isinstance(value, str | dt.date | np.datetime64):
        try:
            return np.datetime64(value.strip() if isinstance(value, str) else value, "s")
        except ValueError as error:
            raise InputError(f"{name} is {value!r}, which is no date; expected one such as 2026-06-30") from error
    return None


def _day(time: np.datetime64) -> str:
    return str(np.datetime_as_string(time, unit="D"))
