"""Checks of the fields of plans."""

import math
from typing import Any

import numpy as np

from meantime.errors import InputError


def check_number(owner: Any, name: str) -> float:
    """Return a field that must be a number."""
    value = getattr(owner, name)
    if isinstance(value, bool) or not isinstance(value, int | float | np.number) or math.isnan(value):
        raise InputError(f"{name} is {value!r}; expected a number")
    return float(value)


def check_hours(
    owner: Any, name: str, *, positive: bool = False, infinite: bool = False, most: float = math.inf
) -> None:
    """Refuse a field that is not a number from zero to `most`."""
    value = check_number(owner, name)
    if value < 0 or (positive and value == 0) or (math.isinf(value) and not infinite) or value > most:
        least = "positive" if positive else "zero or positive"
        limit = f", at most {most:g}" if most < math.inf else "" if infinite else " and finite"
        raise InputError(f"{name} is {value}; expected a number, {least}{limit}")


def check_whole(owner: Any, name: str, least: int | None, most: int | None = None) -> None:
    """Refuse a field that is not a whole number from `least` to `most`."""
    value = getattr(owner, name)
    limits = (" from " + str(least) if least is not None else "") + (f" to {most}" if most is not None else "")
    small = least is not None and isinstance(value, int | np.integer) and value < least
    large = most is not None and isinstance(value, int | np.integer) and value > most
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or small or large:
        raise InputError(f"{name} is {value!r}; expected a whole number{limits}")
