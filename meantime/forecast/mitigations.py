"""Mitigations: what one could do about failures, as objects that say what they change."""

import hashlib
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.forecast.effects import Background, Effects, Pool
from meantime.forecast.factor import Factor, checked_factor, drawn_factor, factor_text
from meantime.forecast.lemons import checked_nodes, kept_share
from meantime.forecast.plan import Value, duration_of
from meantime.forecast.plan import label as label_of
from meantime.forecast.uncertain import Uncertain
from meantime.units import SECONDS_PER_HOUR, seconds

MAX_SPARES = 100_000


class Mitigation(Protocol):
    """What `mitigate` takes: a name for tables, and effects that can be combined in any order."""

    @property
    def label(self) -> str:
        """A short name, different for different mitigations."""

    def effects(self, n_draws: int, seed: int) -> Effects:
        """Return what it changes, uncertain values drawn once for each of `n_draws` posterior draws."""


@dataclass(frozen=True, slots=True, eq=False)
class ScaleComponent:
    """A component that fails more rarely: adaptive routing, a driver fix, better parts.

    Parameters
    ----------
    component
        Name of the component, as in the fit.
    factor
        What its rate is multiplied by: 0.3 leaves three failures of ten. A frozen `scipy.stats` distribution or a
        1-D array of samples where it is not known exactly.

    Raises
    ------
    InputError
        If the factor is no number from 0, distribution or samples.
    """

    component: str
    factor: Factor

    def __post_init__(self) -> None:
        if not isinstance(self.component, str) or not self.component:
            raise InputError(f"component is {self.component!r}; expected the name of a component of the fit")
        object.__setattr__(self, "factor", checked_factor(self.factor, name=f"factor of {self.component}"))

    @property
    def label(self) -> str:
        return f"{self.component} x {factor_text(self.factor)}"

    def effects(self, n_draws: int, seed: int) -> Effects:
        factor = drawn_factor(self.factor, n_draws, _rng(self, seed), name=self.label)
        return Effects(rates={self.component: factor})


@dataclass(frozen=True, slots=True, eq=False)
class RemoveLemons:
    """The worst nodes are taken out of the fleet.

    Worst by the posterior mean of their rates, not by what was counted: counts of the worst are in part bad
    luck, which the nodes that stay have instead of them from then on. So the gain is that of the posterior, draw
    by draw, and is smaller than the counts suggest. Nodes are taken to keep their rates; where repairs mend
    them, removing many nodes gains less than this says (at Los Alamos it holds for one node in a hundred, and
    for one in ten on one system of three).

    Parameters
    ----------
    nodes
        How many nodes to remove.
    rates
        Draws of the nodes' rates, dims (sample, node), with the coordinate `node`: any unit. A dataset with the
        variable `rate` will do.
    component
        The component whose rate the nodes' rates are of; None for all.

    Raises
    ------
    InputError
        If the draws have other dims, or no node would be left.
    """

    nodes: int
    rates: xr.DataArray
    component: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "rates", checked_nodes(self.rates))
        fleet = self.rates.sizes["node"]
        if isinstance(self.nodes, bool) or not isinstance(self.nodes, int | np.integer) or not 0 < self.nodes < fleet:
            raise InputError(f"nodes is {self.nodes!r}; expected a whole number from 1 to {fleet - 1}")

    @property
    def label(self) -> str:
        of = f" ({self.component})" if self.component else ""
        return f"remove {self.nodes} lemon{'s' if self.nodes > 1 else ''}{of}"

    def effects(self, n_draws: int, seed: int) -> Effects:
        factor = kept_share(self.rates, [self.nodes])[0]
        return Effects(rates={self.component or "": factor[np.arange(n_draws) * factor.size // n_draws]})


@dataclass(frozen=True, slots=True, eq=False)
class Change:
    """A term of the plan that becomes shorter: at most a duration, or a factor of what it was.

    Parameters
    ----------
    to
        The new duration, or `Uncertain`; a term that is shorter already stays.
    factor
        What the old one is multiplied by; give one of the two.

    Raises
    ------
    InputError
        If both or neither are given, or one cannot be used.
    """

    to: Value | None = None
    factor: Factor | None = None
    term: ClassVar[str] = ""
    """Field of the plan."""

    def __post_init__(self) -> None:
        name = type(self).__name__
        if (self.to is None) == (self.factor is None):
            raise InputError(f"{name}: give either a duration, such as {name}('1min'), or a factor, such as factor=0.5")
        if self.to is not None:
            object.__setattr__(self, "to", duration_of(self.to, f"duration of {name}"))
        else:
            object.__setattr__(self, "factor", checked_factor(self.factor, name=f"factor of {name}"))

    @property
    def label(self) -> str:
        words = self.term.replace("_", " ")
        return f"{words} to {label_of(self.to)}" if self.to is not None else f"{words} x {factor_text(self.factor)}"

    def effects(self, n_draws: int, seed: int) -> Effects:
        rng = _rng(self, seed)
        if self.to is not None:
            return Effects(most={self.term: _hours(self.to, n_draws, rng, self.term)})
        return Effects(factors={self.term: drawn_factor(self.factor, n_draws, rng, name=self.label)})


class FasterRestart(Change):
    """A faster initialisation and loading (see `Change`)."""

    __slots__ = ()
    term = "restart"


class CheaperCheckpoint(Change):
    """A faster checkpoint write (see `Change`); a factor holds for both times of an `AsyncCheckpoint` too."""

    __slots__ = ()
    term = "checkpoint_write"


class FasterDetection(Change):
    """Failures noticed sooner (see `Change`)."""

    __slots__ = ()
    term = "detection"


@dataclass(frozen=True, slots=True, eq=False)
class AsyncCheckpoint:
    """Checkpoints copied quickly and written beside the run (see `meantime.ettr.asynchronous`).

    A checkpoint counts once it is written; the next cannot be started before.

    Parameters
    ----------
    blocking
        Time for which the run stands still, for the copy; `Uncertain` if not known.
    persist
        Time of writing beside the run; left out, as long as the blocking write of the plan.
    slowdown
        Share of its speed that the run loses meanwhile, 0 to 1.

    Raises
    ------
    InputError
        If a value cannot be used.
    """

    blocking: Value
    persist: Value | None = None
    slowdown: float = 0.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "blocking", duration_of(self.blocking, "blocking"))
        if self.persist is not None:
            object.__setattr__(self, "persist", duration_of(self.persist, "persist"))
        share = self.slowdown
        if isinstance(share, bool) or not isinstance(share, int | float | np.number) or not 0 <= share < 1:
            raise InputError(f"slowdown is {share!r}; expected a share from 0 to below 1, such as 0.02")

    @property
    def label(self) -> str:
        beside = "" if self.persist is None else f", {label_of(self.persist)} beside"
        slower = f", {self.slowdown:g} slower" if self.slowdown else ""
        return f"asynchronous checkpoint, {label_of(self.blocking)} blocking{beside}{slower}"

    def effects(self, n_draws: int, seed: int) -> Effects:
        rng = _rng(self, seed)
        persist = None if self.persist is None else _hours(self.persist, n_draws, rng, "persist")
        blocking = _hours(self.blocking, n_draws, rng, "blocking")
        slowdown = np.array([float(self.slowdown)])
        return Effects(background=Background(blocking=blocking, persist=persist, slowdown=slowdown))


@dataclass(frozen=True, slots=True, eq=False)
class HotSpares:
    """Nodes that stand by, so that a failed one is replaced without a queue.

    Nodes under repair are about Poisson distributed with mean hazard x repair time, whatever the
    distribution of the repair time; a failure that finds all spares in use waits in the plan's queue.

    Parameters
    ----------
    spares
        How many nodes stand by.
    repair
        Mean time from a node's failure until it stands by again.
    swap
        Time from a failure to the spare being in place.

    Raises
    ------
    InputError
        If a value cannot be used.
    """

    spares: int
    repair: Value = "4h"
    swap: Value = "1min"

    def __post_init__(self) -> None:
        count = self.spares
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or not 1 <= count <= MAX_SPARES:
            raise InputError(f"spares is {count!r}; expected a whole number of nodes from 1 to {MAX_SPARES:,}")
        object.__setattr__(self, "repair", duration_of(self.repair, "repair"))
        object.__setattr__(self, "swap", duration_of(self.swap, "swap"))

    @property
    def label(self) -> str:
        return f"{self.spares} hot spare{'s' if self.spares > 1 else ''}, repair {label_of(self.repair)}"

    def effects(self, n_draws: int, seed: int) -> Effects:
        rng = _rng(self, seed)
        repair, swap = _hours(self.repair, n_draws, rng, "repair"), _hours(self.swap, n_draws, rng, "swap")
        return Effects(pool=Pool(spares=int(self.spares), repair=repair, swap=swap))


def _hours(value: Any, n_draws: int, rng: np.random.Generator, name: str) -> np.ndarray:
    if isinstance(value, Uncertain):
        return value.draw(n_draws, rng, name=name)
    return np.array([seconds(value, name=name) / SECONDS_PER_HOUR])


def _rng(mitigation: Mitigation, seed: int) -> np.random.Generator:
    """Random numbers that depend on what the mitigation is and not on its place among others."""
    digest = hashlib.sha256(f"{type(mitigation).__name__} {mitigation.label}".encode()).digest()
    return np.random.default_rng([seed, int.from_bytes(digest[:8], "little")])
