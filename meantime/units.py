"""Durations and rates: how people write them, and the units the code computes in.

A duration in the public API carries its unit: ``"5min"``, `datetime.timedelta` or
`numpy.timedelta64`. A bare number is refused, because its unit would be a guess.
Inside, durations are hours (ETTR) or seconds (logs), and rates are failures per node-day.
"""

import datetime as dt
import re

import numpy as np

from meantime.errors import InputError

type Duration = str | dt.timedelta | np.timedelta64

HOURS_PER_DAY = 24.0
SECONDS_PER_HOUR = 3600.0
PER_1000_NODE_DAYS = 1000.0
"""Factor from failures per node-day to the shown unit, failures per 1,000 node-days."""

_SECONDS = {
    "ms": 1e-3,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "hour": 3600.0,
    "d": 86400.0,
    "day": 86400.0,
    "w": 604800.0,
    "week": 604800.0,
}
_ACCEPTED = "a duration with its unit, such as 500ms, 30s, 5min, 1h30min, 7d or 2w"
_PART = re.compile(r"\s*(\d+(?:\.\d*)?|\.\d+)\s*([A-Za-z]+)\s*")


def seconds(duration: Duration, *, name: str = "duration") -> float:
    """Convert a duration to seconds.

    Parameters
    ----------
    duration
        ``"30s"``, ``"1h30min"``, a `datetime.timedelta` or a `numpy.timedelta64`.
    name
        What the duration is, for the error message.

    Returns
    -------
    float
        Seconds, finite and not negative.

    Raises
    ------
    InputError
        If it is a bare number, negative, not finite or not understood.
    """
    if isinstance(duration, np.timedelta64):
        if np.isnat(duration):
            raise InputError(f"{name} is NaT (not a time); expected {_ACCEPTED}")
        if np.datetime_data(duration.dtype)[0] in ("generic", "Y", "M"):
            raise InputError(f"{name} is {duration!r}, of no fixed length; expected {_ACCEPTED}")
        value = float(duration / np.timedelta64(1, "ns")) / 1e9
    elif isinstance(duration, dt.timedelta):
        value = duration.total_seconds()
    elif isinstance(duration, str):
        value = _parse(duration, name)
    else:
        raise InputError(f"{name} is {duration!r}, a value without a unit; expected {_ACCEPTED}")
    if value < 0:
        raise InputError(f"{name} is {duration!r}, which is negative; expected {_ACCEPTED}")
    return value


def hours(duration: Duration, *, name: str = "duration") -> float:
    """Convert a duration to hours (see `seconds`)."""
    return seconds(duration, name=name) / SECONDS_PER_HOUR


def check_seed(seed: object) -> None:
    """Refuse what is no seed.

    Raises
    ------
    InputError
        If it is no whole number, or below 0.
    """
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise InputError(f"seed is {seed!r}; expected a whole number, 0 or more")


def format_seconds(value: float) -> str:
    """Write seconds as people do, with about three figures: ``"45 s"``, ``"7.9 h"``, ``"47.7 d"``."""
    if not np.isfinite(value):
        return "never" if value > 0 else str(value)
    for limit, unit, size in ((120, "s", 1), (7200, "min", 60), (172800, "h", 3600)):
        if abs(value) < limit:
            return f"{value / size:.3g} {unit}"
    days = value / 86400
    return f"{days:.3g} d" if days < 1000 else f"{days:,.0f} d"


def _parse(text: str, name: str) -> float:
    total, position = 0.0, 0
    while match := _PART.match(text, position):
        number, unit = match.groups()
        key = unit.lower()
        factor = _SECONDS.get(key) or _SECONDS.get(key.removesuffix("s"))
        if factor is None:
            raise InputError(f"{name} is {text!r} with unknown unit {unit!r}; expected {_ACCEPTED}")
        total += float(number) * factor
        position = match.end()
    if position == 0 or position != len(text):
        raise InputError(f"{name} is {text!r}; expected {_ACCEPTED}")
    return total
