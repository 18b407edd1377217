"""What mitigations do to failure rates and to the terms of a plan, in a form whose order does not matter."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

TERMS = ("restart", "checkpoint_write", "detection", "queue")
"""The terms of a plan that a mitigation can change."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Background:
    """Checkpoints written while the run goes on.

    Parameters
    ----------
    blocking
        Hours for which the run stands still, shape (1,) or (draws,).
    persist
        Hours of writing beside the run; None for as long as the blocking write would have taken.
    slowdown
        Share of its speed that the run loses meanwhile.
    """

    blocking: np.ndarray
    persist: np.ndarray | None
    slowdown: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class Pool:
    """Spare nodes that stand by.

    Parameters
    ----------
    spares
        Number of nodes.
    repair
        Hours from a node's failure until it is back in the pool, shape (1,) or (draws,).
    swap
        Hours from a failure until the spare is in place.
    """

    spares: int
    repair: np.ndarray
    swap: np.ndarray


@dataclass(frozen=True, slots=True, kw_only=True)
class Effects:
    """What one mitigation, or several together, do.

    Every part combines by an operation that is commutative and associative, and the parts are applied in
    one fixed order (see `meantime.forecast.scenario`), so a set of mitigations has one meaning.

    Parameters
    ----------
    rates
        Factors of the rates of components, "" for all of them, each of shape (1,) or (draws,).
        They multiply.
    most
        Terms that are at most so many hours from then on. The smallest holds.
    factors
        Factors of terms, after `most`. They multiply; that of `checkpoint_write` holds for writing in the background
        too.
    background
        Writing in the background. Of several, the shortest times hold.
    pool
        Spares. Of several pools the numbers add up and the shortest times hold.
    """

    rates: Mapping[str, np.ndarray] = field(default_factory=dict)
    most: Mapping[str, np.ndarray] = field(default_factory=dict)
    factors: Mapping[str, np.ndarray] = field(default_factory=dict)
    background: Background | None = None
    pool: Pool | None = None


def combined(effects: Iterable[Effects]) -> Effects:
    """Put effects together; the order does not matter."""
    rates: dict[str, np.ndarray] = {}
    most: dict[str, np.ndarray] = {}
    factors: dict[str, np.ndarray] = {}
    background: Background | None = None
    pool: Pool | None = None
    for one in effects:
        for name, factor in one.rates.items():
            rates[name] = rates.get(name, np.ones(1)) * factor
        for name, hours in one.most.items():
            most[name] = np.minimum(most.get(name, np.full(1, np.inf)), hours)
        for name, factor in one.factors.items():
            factors[name] = factors.get(name, np.ones(1)) * factor
        background = _both(background, one.background)
        pool = _joined(pool, one.pool)
    return Effects(rates=rates, most=most, factors=factors, background=background, pool=pool)


def _both(one: Background | None, other: Background | None) -> Background | None:
    if one is None or other is None:
        return one or other
    stated = [part.persist for part in (one, other) if part.persist is not None]
    return Background(
        blocking=np.minimum(one.blocking, other.blocking),
        persist=stated[0] if len(stated) == 1 else np.minimum(*stated) if stated else None,
        slowdown=np.minimum(one.slowdown, other.slowdown),
    )


def _joined(one: Pool | None, other: Pool | None) -> Pool | None:
    if one is None or other is None:
        return one or other
    return Pool(
        spares=one.spares + other.spares,
        repair=np.minimum(one.repair, other.repair),
        swap=np.minimum(one.swap, other.swap),
    )
