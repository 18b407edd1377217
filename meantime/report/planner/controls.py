"""The controls of a planner page: what can be set, in which unit, from where to where."""

from dataclasses import dataclass
from typing import Any, Literal

from meantime.errors import InputError
from meantime.forecast import Plan, Uncertain
from meantime.forecast.plan import OPTIMAL
from meantime.units import seconds

_SECONDS = {"s": 1.0, "min": 60.0, "h": 3600.0, "d": 86400.0}


@dataclass(frozen=True, slots=True, kw_only=True)
class Control:
    """A number with a field and a slider.

    Parameters
    ----------
    name
        Its name in the settings and in the link of a plan.
    label
        What people read.
    unit
        Unit of the number; "" or "×" for one without.
    low, high
        Ends of the slider.
    kind
        Scale of the slider; ``"zero"`` is logarithmic with 0 before its lower end.
    least, most
        Numbers that the field takes.
    value
        Where it starts, unless the plan says so.
    whole
        Whether only whole numbers make sense.
    hint
        A few words of explanation.
    """

    name: str
    label: str
    unit: str
    low: float
    high: float
    kind: Literal["log", "zero", "linear"]
    least: float
    most: float
    value: float
    whole: bool = False
    hint: str = ""

    @property
    def bounds(self) -> dict[str, Any]:
        """What the number may be, as the page checks it."""
        return {"min": self.least, "max": self.most, "whole": self.whole}


def _times(name: str, label: str) -> Control:
    return Control(name=name, label=label, unit="×", low=0.05, high=1, kind="linear", least=0.001, most=10, value=1)


PLAN = (
    Control(
        name="productive",
        label="Productive time",
        unit="d",
        low=1,
        high=365,
        kind="log",
        least=0.1,
        most=3650,
        value=30,
        hint="What the run would take if nothing ever failed.",
    ),
    Control(
        name="write",
        label="Checkpoint write",
        unit="s",
        low=1,
        high=1800,
        kind="log",
        least=0.1,
        most=86_400,
        value=30,
        hint="Time for which a write stops the run.",
    ),
    Control(
        name="restart",
        label="Restart",
        unit="min",
        low=0.5,
        high=120,
        kind="zero",
        least=0,
        most=10_080,
        value=5,
        hint="Initialisation and loading, at the start and after each failure.",
    ),
    Control(
        name="queue",
        label="Queue",
        unit="min",
        low=1,
        high=1440,
        kind="zero",
        least=0,
        most=43_200,
        value=0,
        hint="Wait for nodes, at the start and after each failure.",
    ),
    Control(
        name="detection",
        label="Detection",
        unit="min",
        low=0.1,
        high=120,
        kind="zero",
        least=0,
        most=10_080,
        value=0,
        hint="Time until a failure is noticed.",
    ),
)
"""Fields of the plan, but for the interval."""

INTERVAL = Control(
    name="interval",
    label="Checkpoint every",
    unit="min",
    low=1,
    high=720,
    kind="log",
    least=0.05,
    most=43_200,
    value=60,
    hint="Productive time between checkpoints.",
)

MEASURES = (
    _times("fewer_restart", "Restart takes"),
    _times("fewer_write", "Checkpoint write takes"),
    _times("fewer_detection", "Detection takes"),
)
"""Terms of the plan that a measure shortens, as factors."""

BACKGROUND = (
    Control(
        name="blocking",
        label="Copy stops the run for",
        unit="s",
        low=0.1,
        high=600,
        kind="log",
        least=0.01,
        most=86_400,
        value=2,
        hint="The write goes on beside the run, and counts once it is done.",
    ),
    Control(
        name="slowdown",
        label="Speed lost while writing",
        unit="%",
        low=0,
        high=20,
        kind="linear",
        least=0,
        most=99,
        value=0,
    ),
)
"""Asynchronous checkpoints."""

SPARES = (
    Control(
        name="spares",
        label="Spare nodes",
        unit="",
        low=1,
        high=512,
        kind="zero",
        least=0,
        most=4096,
        value=0,
        whole=True,
    ),
    Control(
        name="repair", label="Repair of a node", unit="h", low=0.5, high=336, kind="log", least=0.1, most=8760, value=24
    ),
    Control(
        name="swap", label="Swap to a spare", unit="min", low=0.1, high=60, kind="zero", least=0, most=10_080, value=1
    ),
)
"""Nodes that stand by."""

LEMONS = Control(
    name="lemons",
    label="Worst nodes taken out",
    unit="",
    low=1,
    high=128,
    kind="zero",
    least=0,
    most=128,
    value=0,
    whole=True,
)
"""Nodes that leave the fleet; only of a fit that knows nodes."""

RATE = Control(name="rate", label="", unit="×", low=0, high=2, kind="linear", least=0, most=10, value=1)
"""The factor of a component's rate."""

CONTROLS = (*PLAN, INTERVAL, *MEASURES, *BACKGROUND, *SPARES, LEMONS)


def settings_of(plan: Plan, gpus: int) -> dict[str, Any]:
    """Return the settings that a page starts with, in the units of its controls.

    Raises
    ------
    InputError
        If a value of the plan is a list, uncertain, or more than the page's field takes.
    """
    settings: dict[str, Any] = {"gpus": gpus, "optimal": False, "asynchronous": False}
    settings |= {control.name: control.value for control in CONTROLS}
    for control in (*PLAN, INTERVAL):
        field = f"checkpoint_{control.name}" if control.name in ("write", "interval") else control.name
        value = getattr(plan, field)
        if isinstance(value, tuple | Uncertain):
            raise InputError(f"{field} of the plan is {value!r}; a planner page starts with one certain value of each")
        if value == OPTIMAL:
            settings["optimal"] = True
            continue
        number = seconds(value) / _SECONDS[control.unit]
        if not control.least <= number <= control.most:
            raise InputError(
                f"{field} of the plan is {value}; a planner page takes "
                f"{control.least:g} {control.unit} to {control.most:,g} {control.unit}"
            )
        settings[control.name] = int(number) if number.is_integer() else number
    return settings
