"""A plan as arrays: every combination of its lists a row, every uncertain value drawn."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Self

import numpy as np

from meantime.errors import InputError
from meantime.forecast.plan import DURATIONS, OPTIMAL, Plan, fixed_hours, label
from meantime.forecast.uncertain import Uncertain

DIMENSION = {name: name for name in DURATIONS} | {"checkpoint_interval": "interval"}
"""Dimension (and coordinate) of a plan's field; `checkpoint_interval` is the name of a result."""

MAX_COMBINATIONS = 100_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """The combinations of a plan's values, flattened in the order of `lists` (last fastest).

    Parameters
    ----------
    lists
        Fields given as lists.
    shape
        Number of values of each field in `lists`.
    labels
        For every field, the texts of its values.
    lengths
        For every field, its values in hours, NaN where optimal or uncertain.
    hours
        For every field, shape (combinations, 1), or (combinations, draws) if anything is uncertain.
        The checkpoint interval is NaN where it is to be chosen.
    optimal
        Where the checkpoint interval is to be chosen, shape (combinations, 1).
    uncertain
        Whether any value is drawn.
    """

    lists: tuple[str, ...]
    shape: tuple[int, ...]
    labels: Mapping[str, tuple[str, ...]]
    lengths: Mapping[str, tuple[float, ...]]
    hours: Mapping[str, np.ndarray]
    optimal: np.ndarray
    uncertain: bool

    def block(self, start: int, stop: int) -> Self:
        """Return the grid with the combinations from `start` to before `stop` alone."""
        hours = {name: values[start:stop] for name, values in self.hours.items()}
        return replace(self, hours=hours, optimal=self.optimal[start:stop])


def grid_of(plan: Plan, n_draws: int, *, seed: int) -> Grid:
    """Lay out a plan.

    Parameters
    ----------
    plan
        The plan.
    n_draws
        Number of posterior draws, each of which gets one draw of every uncertain value.
    seed
        Seed of those draws.

    Raises
    ------
    InputError
        If there are too many combinations, or a distribution gives durations that cannot be.
    """
    shape = tuple(len(plan.values(name)) for name in plan.lists)
    size = int(np.prod(shape, dtype=float))
    if size > MAX_COMBINATIONS:
        raise InputError(f"the plan's lists make {size:,} combinations; expected at most {MAX_COMBINATIONS:,}")
    uncertain = any(isinstance(value, Uncertain) for name in DURATIONS for value in plan.values(name))
    at = dict(zip(plan.lists, np.indices(shape).reshape(len(shape), size), strict=True))
    hours = {}
    for field, name in enumerate(DURATIONS):
        rows = [
            _row(value, name, n_draws, np.random.default_rng([seed, field, position]))
            for position, value in enumerate(plan.values(name))
        ]
        width = n_draws if any(row.size > 1 for row in rows) else 1
        table = np.stack([np.broadcast_to(row, width) for row in rows])
        hours[name] = table[at[name] if name in at else np.zeros(size, dtype=int)]
    intervals = np.array([value == OPTIMAL for value in plan.values("checkpoint_interval")])
    optimal = intervals[at["checkpoint_interval"]] if "checkpoint_interval" in at else np.repeat(intervals, size)
    return Grid(
        lists=plan.lists,
        shape=shape,
        labels={name: tuple(map(label, plan.values(name))) for name in DURATIONS},
        lengths={name: tuple(map(fixed_hours, plan.values(name))) for name in DURATIONS},
        hours=hours,
        optimal=optimal[:, None],
        uncertain=uncertain,
    )


def _row(value: str | Uncertain, name: str, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    if not isinstance(value, Uncertain):
        return np.array([fixed_hours(value)])
    row = value.draw(n_draws, rng, name=name)
    if name in ("checkpoint_interval", "productive") and not (row > 0).all():
        raise InputError(f"{name}: {value.label} gives durations of 0; expected durations above 0")
    return row
