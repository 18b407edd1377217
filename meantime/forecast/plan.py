"""The plan of a run: what restarts, checkpoints and waiting cost, and how much there is to do."""

import dataclasses
import datetime as dt
import html
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np

from meantime.errors import InputError
from meantime.forecast.uncertain import Uncertain, is_samples
from meantime.units import Duration, seconds

type Value = Duration | Uncertain | np.ndarray
type PlanField = Value | Sequence[Value]

DURATIONS = ("restart", "checkpoint_write", "checkpoint_interval", "queue", "detection", "productive")
"""The fields of a plan that are durations, in the order of the result's dimensions."""

OPTIMAL = "optimal"
MAX_VALUES = 10_000
_POSITIVE = ("checkpoint_interval", "productive")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The plan of a run. Every duration carries its unit; a bare number is refused.

    A field may also be a list, which becomes a dimension of the forecast, or `Uncertain` (or a 1-D
    timedelta64 array, taken as samples), which is drawn once per posterior draw.

    Parameters
    ----------
    restart
        Initialisation and loading at the start and after every failure (u0).
    checkpoint_write
        Time for which writing a checkpoint stops the run (w).
    checkpoint_interval
        Productive time between checkpoints (tau), or ``"optimal"``: the one that maximises the
        expected ETTR over the posterior.
    queue
        Wait for nodes at the start and after every failure (q).
    detection
        Time from a failure until it is noticed and the job is stopped.
    productive
        Productive time that the run needs (R).
    gpus_per_node
        GPUs of a node; the rates are per node-day of such a node.

    Raises
    ------
    InputError
        Naming the field, its value and what would be accepted.

    Examples
    --------
    >>> Plan(restart=["5min", "10min"], checkpoint_interval="1h").lists
    ('restart',)
    """

    restart: PlanField = "5min"
    checkpoint_write: PlanField = "30s"
    checkpoint_interval: PlanField = OPTIMAL
    queue: PlanField = "0s"
    detection: PlanField = "0s"
    productive: PlanField = "30d"
    gpus_per_node: int = 8

    def __post_init__(self) -> None:
        for name in DURATIONS:
            object.__setattr__(self, name, _normalised(getattr(self, name), name))
        per_node = self.gpus_per_node
        if isinstance(per_node, bool) or not isinstance(per_node, int | np.integer) or not 1 <= per_node <= 1024:
            raise InputError(f"gpus_per_node is {per_node!r}; expected a whole number from 1 to 1024")
        object.__setattr__(self, "gpus_per_node", int(per_node))
        if OPTIMAL in self.values("checkpoint_interval") and 0.0 in map(fixed_hours, self.values("checkpoint_write")):
            raise InputError(
                "checkpoint_write is 0 and checkpoint_interval is 'optimal': writing that costs nothing is best done "
                "all the time; give a checkpoint_write above 0 or a checkpoint_interval"
            )

    @property
    def lists(self) -> tuple[str, ...]:
        """Names of the fields given as lists: the plan's dimensions."""
        return tuple(name for name in DURATIONS if isinstance(getattr(self, name), tuple))

    def values(self, name: str) -> tuple[str | Uncertain, ...]:
        """Return the values of a field as a tuple, of length 1 unless it was given as a list."""
        value = getattr(self, name)
        return value if isinstance(value, tuple) else (value,)

    def to_dict(self) -> dict[str, Any]:
        """Return the plan in a form that JSON can hold and `from_dict` can read."""
        result: dict[str, Any] = {"gpus_per_node": self.gpus_per_node}
        for name in DURATIONS:
            values = [value.to_dict() if isinstance(value, Uncertain) else value for value in self.values(name)]
            result[name] = values if name in self.lists else values[0]
        return result

    def _repr_html_(self) -> str:
        """Show the plan as a table in a notebook."""
        shown = {name: ", ".join(label(value) for value in self.values(name)) for name in DURATIONS}
        rows = "".join(
            f"<tr><th>{html.escape(name.replace('_', ' '))}</th><td>{html.escape(text)}</td></tr>"
            for name, text in {**shown, "gpus_per_node": str(self.gpus_per_node)}.items()
        )
        return f"<table><caption>Plan</caption>{rows}</table>"

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read a plan from a mapping, as JSON gives it; fields left out keep their defaults.

        Raises
        ------
        InputError
            If a field is unknown or its value cannot be used.
        """
        if not isinstance(content, Mapping):
            raise InputError(f"plan is {content!r}; expected a mapping of its fields, such as {{'restart': '5min'}}")
        known = [field.name for field in dataclasses.fields(cls)]
        unknown = sorted(set(content) - set(known))
        if unknown:
            raise InputError(f"plan: unknown field {unknown[0]!r}; expected {', '.join(known)}")
        return cls(**{name: _from_json(value, name) for name, value in content.items()})


def plan_or_default(plan: Plan | None) -> Plan:
    """Return the plan that was given, or the default one for None.

    Raises
    ------
    InputError
        If it is no plan.
    """
    if plan is not None and not isinstance(plan, Plan):
        raise InputError(f"plan is {plan!r}; expected a Plan, such as Plan(restart='5min'), or Plan.from_dict(...)")
    return Plan() if plan is None else plan


def duration_of(value: Value, name: str) -> str | Uncertain:
    """Return a duration as plans hold it: text with its unit, or `Uncertain`.

    Raises
    ------
    InputError
        Naming the field, its value and what would be accepted.
    """
    return _value(value, name)


def label(value: Any) -> str:
    """Return the text that names a plan's value in tables and coordinates."""
    return value.label if isinstance(value, Uncertain) else str(value)


def fixed_hours(value: str | Uncertain) -> float:
    """Return a plan's value in hours; NaN for ``"optimal"`` and for uncertain values."""
    return np.nan if isinstance(value, Uncertain) or value == OPTIMAL else seconds(value) / 3600.0


def _normalised(value: Any, name: str) -> Any:
    if not isinstance(value, list | tuple):
        return _value(value, name)
    if not 0 < len(value) <= MAX_VALUES:
        raise InputError(f"{name} is a list of {len(value)} values; expected 1 to {MAX_VALUES}")
    values = tuple(_value(item, name) for item in value)
    labels = [label(item) for item in values]
    repeated = [text for text in labels if labels.count(text) > 1]
    if repeated:
        raise InputError(f"{name} lists {repeated[0]!r} more than once; expected different values")
    return values


def _value(value: Any, name: str) -> str | Uncertain:
    if isinstance(value, Uncertain):
        return value
    if is_samples(value):
        return Uncertain(value)
    if hasattr(value, "rvs") or hasattr(value, "sample"):
        raise InputError(f"{name} is a distribution without a unit; expected Uncertain(distribution, unit='min')")
    if name == "checkpoint_interval" and isinstance(value, str) and value.strip().lower() == OPTIMAL:
        return OPTIMAL
    try:
        _refuse_unitless(value, name)
        length = seconds(value, name=name)
    except InputError as error:
        also = ", or 'optimal'" if name == "checkpoint_interval" else ""
        raise InputError(f"{error}{also}") from error
    if length == 0 and name in _POSITIVE:
        raise InputError(f"{name} is {value!r}; expected a duration above 0")
    return value.strip() if isinstance(value, str) else _text(value)


def _refuse_unitless(value: Any, name: str) -> None:
    if isinstance(value, np.timedelta64) and np.datetime_data(value.dtype)[0] in ("generic", "Y", "M"):
        raise InputError(f"{name} is {value!r}, of no fixed length; expected a duration with its unit, such as 5min")


def _text(value: dt.timedelta | np.timedelta64) -> str:
    """Write a time difference exactly, in the form that `meantime.units.seconds` reads."""
    if isinstance(value, dt.timedelta):
        value = np.timedelta64(value)
    rest = int(value / np.timedelta64(1, "ns"))
    parts = []
    for unit, size in (("d", 86400 * 10**9), ("h", 3600 * 10**9), ("min", 60 * 10**9)):
        count, rest = divmod(rest, size)
        parts += [f"{count}{unit}"] if count else []
    if rest or not parts:
        parts.append(f"{rest // 10**9}s" if rest % 10**9 == 0 else f"{rest / 10**9:.9f}".rstrip("0") + "s")
    return "".join(parts)


def _from_json(value: Any, name: str) -> Any:
    if isinstance(value, Mapping):
        return Uncertain.from_dict(value, name=name)
    if isinstance(value, list) and name != "gpus_per_node":
        return [_from_json(item, name) for item in value]
    return value
