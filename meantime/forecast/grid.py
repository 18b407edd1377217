"""A plan as arrays: every combination of its lists a row, every uncertain value drawn."""

import math
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

    It holds the values of each field and says where each combination takes its own, so that its memory does
    not grow with the number of combinations; `hours` lays out those from `start` to before `stop`.

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
    drawn
        For every field, its values in hours, shape (values, 1), or (values, draws) if any is uncertain.
        The checkpoint interval is NaN where it is to be chosen.
    best
        Where the checkpoint interval is to be chosen, shape (values,).
    spread
        For every field, which of its values are drawn, shape (values,).
    places
        The combinations that `hours` and `optimal` give.
    """

    lists: tuple[str, ...]
    shape: tuple[int, ...]
    labels: Mapping[str, tuple[str, ...]]
    lengths: Mapping[str, tuple[float, ...]]
    drawn: Mapping[str, np.ndarray]
    best: np.ndarray
    spread: Mapping[str, np.ndarray]
    places: range | np.ndarray

    @property
    def size(self) -> int:
        """Number of combinations."""
        return len(self.places)

    @property
    def uncertain(self) -> bool:
        """Whether any value is drawn."""
        return bool(self._spread().any())

    @property
    def hours(self) -> dict[str, np.ndarray]:
        """Every field in hours, shape (combinations, 1), or (combinations, draws) if any of its values is uncertain."""
        result = {}
        for name, values in self.drawn.items():
            at = self._at(name)
            result[name] = values[at] if self.spread[name][at].any() else values[at, :1]
        return result

    @property
    def optimal(self) -> np.ndarray:
        """Where the checkpoint interval is to be chosen, shape (combinations, 1)."""
        return self.best[self._at("checkpoint_interval"), None]

    def block(self, start: int, stop: int) -> Self:
        """Return the grid with the combinations from `start` to before `stop` of this one alone."""
        return replace(self, places=self.places[start:stop])

    def parts(self) -> list[tuple[np.ndarray, Self]]:
        """Return the combinations that are known, and those that are drawn, by themselves.

        What is known is worked out in another way than what is drawn, so that apart its figures do not depend on what
        else is in the lists.

        Returns
        -------
        list
            Which combinations, shape (some,), and the grid of them alone.
        """
        spread = self._spread()
        if spread.all() or not spread.any():
            return [(np.arange(self.size), self)]
        some = [np.flatnonzero(~spread), np.flatnonzero(spread)]
        return [(rows, replace(self, places=np.asarray(self.places)[rows])) for rows in some]

    def _spread(self) -> np.ndarray:
        """Whether any value of a combination is drawn, shape (combinations,)."""
        return np.any([spread[self._at(name)] for name, spread in self.spread.items()], axis=0)

    def _at(self, name: str) -> np.ndarray:
        """Which value of a field each combination takes."""
        if name not in self.lists:
            return np.zeros(self.size, dtype=int)
        axis = self.lists.index(name)
        fastest = math.prod(self.shape[axis + 1 :])
        return np.asarray(self.places) // fastest % self.shape[axis]


def grid_of(plan: Plan, n_draws: int, *, seed: int, most: int = MAX_COMBINATIONS) -> Grid:
    """Lay out a plan.

    Parameters
    ----------
    plan
        The plan.
    n_draws
        Number of posterior draws, each of which gets one draw of every uncertain value.
    seed
        Seed of those draws.
    most
        Largest number of combinations.

    Raises
    ------
    InputError
        If there are too many combinations, or a distribution gives durations that cannot be.
    """
    shape = tuple(len(plan.values(name)) for name in plan.lists)
    size = math.prod(shape)
    if size > most:
        raise InputError(f"the plan's lists make {size:,} combinations; expected at most {most:,}")
    drawn = {}
    for field, name in enumerate(DURATIONS):
        rows = [
            _row(value, name, n_draws, np.random.default_rng([seed, field]))  # wherever in a list it stands
            for value in plan.values(name)
        ]
        width = n_draws if any(row.size > 1 for row in rows) else 1
        drawn[name] = np.stack([np.broadcast_to(row, width) for row in rows])
    return Grid(
        lists=plan.lists,
        shape=shape,
        labels={name: tuple(map(label, plan.values(name))) for name in DURATIONS},
        lengths={name: tuple(map(fixed_hours, plan.values(name))) for name in DURATIONS},
        drawn=drawn,
        best=np.array([value == OPTIMAL for value in plan.values("checkpoint_interval")]),
        spread={name: np.array([isinstance(value, Uncertain) for value in plan.values(name)]) for name in DURATIONS},
        places=range(size),
    )


def _row(value: str | Uncertain, name: str, n_draws: int, rng: np.random.Generator) -> np.ndarray:
    if not isinstance(value, Uncertain):
        return np.array([fixed_hours(value)])
    row = value.draw(n_draws, rng, name=name)
    if name in ("checkpoint_interval", "productive") and not (row > 0).all():
        raise InputError(f"{name}: {value.label} gives durations of 0; expected durations above 0")
    return row
