"""One job under many sets of mitigations: failure rates and plan, changed in one fixed order."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import gammainc

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.devices import over_devices
from meantime.forecast.effects import TERMS, Effects
from meantime.units import HOURS_PER_DAY

_BLOCK = 1_000_000
"""Largest number of sets x draws worked on at a time."""
_SEARCHED = 128


@dataclass(frozen=True, slots=True, kw_only=True)
class Scenario:
    """A job of one size and its plan, as draws.

    Parameters
    ----------
    nodes
        Nodes of the job, which may be a fraction.
    rates
        For every component, failures per node-day, shape (draws,).
    hours
        For every duration of the plan, shape (1,) or (draws,); the checkpoint interval is NaN if to be chosen.
    """

    nodes: float
    rates: Mapping[str, np.ndarray]
    hours: Mapping[str, np.ndarray]


class Outcome(NamedTuple):
    """What becomes of a scenario under several sets of mitigations.

    Attributes
    ----------
    ettr
        Expected ETTR, shape (sets, draws).
    interval
        Hours between checkpoints, shape (sets,).
    hazard
        Failures per hour of the job, shape (sets, draws).
    """

    ettr: np.ndarray
    interval: np.ndarray
    hazard: np.ndarray


def outcome_of(scenario: Scenario, sets: Sequence[Effects]) -> Outcome:
    """Work out the expected ETTR under each of several sets of effects.

    First the rates of components are multiplied. Then terms are cut down to what they are at most, and
    multiplied. The write that results is the time of writing in the background, if there is such and it says no
    other. Spares in the end see the hazard that results: of the failures that find a spare, all but few,
    the wait is the swap in place of the queue. The best checkpoint interval is chosen last, anew for each set.

    Raises
    ------
    InputError
        If a component is unknown.
    """
    parts = [
        _outcome(scenario, sets[start : start + per_block])
        for per_block in [max(1, _BLOCK // next(iter(scenario.rates.values())).size)]
        for start in range(0, len(sets), per_block)
    ]
    return Outcome(*(np.concatenate(arrays) for arrays in zip(*parts, strict=True)))


def check_components(components: Sequence[str], sets: Sequence[Effects]) -> None:
    """Refuse effects on components that the rates do not have.

    Raises
    ------
    InputError
        Naming the component and those there are.
    """
    for effects in sets:
        for name in effects.rates:
            if name and name not in components:
                raise InputError(f"there is no component {name!r}; expected one of {', '.join(components)}")


def _outcome(scenario: Scenario, sets: Sequence[Effects]) -> Outcome:
    rows = [_row(scenario, effects) for effects in sets]
    names = rows[0].keys()
    stacked = {}
    for name in names:
        width = max(row[name].size for row in rows)
        stacked[name] = np.stack([np.broadcast_to(row[name], width) for row in rows])
    search = bool(np.isnan(scenario.hours["checkpoint_interval"]).any())
    drawn = _evenly(stacked) if search else {}
    with jax.enable_x64(True):
        values, used = _values(
            {name: over_devices(value) for name, value in stacked.items()},
            {name: jnp.asarray(value) for name, value in drawn.items()},
            search=search,
        )
    return Outcome(np.asarray(values), np.median(np.asarray(used), axis=1), stacked["hazard"])


def _row(scenario: Scenario, effects: Effects) -> dict[str, np.ndarray]:
    """Every array that the ETTR needs, shape (1,) or (draws,)."""
    total = sum(rate * effects.rates.get(name, 1.0) for name, rate in scenario.rates.items())
    hazard = np.asarray(total * effects.rates.get("", 1.0)) * scenario.nodes / HOURS_PER_DAY
    terms = {name: _changed(scenario.hours[name], effects, name) for name in TERMS}
    blocking, persist, slowdown = terms["checkpoint_write"], np.zeros(1), np.zeros(1)
    if effects.background is not None:
        aside = effects.background
        scale = effects.factors.get("checkpoint_write", np.ones(1))
        persist = terms["checkpoint_write"] if aside.persist is None else aside.persist * scale
        blocking = np.minimum(terms["checkpoint_write"], aside.blocking * scale)
        slowdown = aside.slowdown
    queue, wait = terms["queue"], terms["queue"]
    if effects.pool is not None:
        empty = gammainc(effects.pool.spares, hazard * effects.pool.repair)
        wait = empty * queue + (1 - empty) * np.minimum(effects.pool.swap, queue)
    return {
        "hazard": hazard,
        "interval": scenario.hours["checkpoint_interval"],
        "write": blocking,
        "persist": persist,
        "slowdown": slowdown,
        "restart": terms["restart"],
        "detection": terms["detection"] + wait - queue,  # what follows a failure; at submission there is no spare
        "queue": queue,
        "productive": scenario.hours["productive"],
    }


def _changed(hours: np.ndarray, effects: Effects, name: str) -> np.ndarray:
    return np.minimum(hours, effects.most.get(name, np.inf)) * effects.factors.get(name, 1.0)


def _evenly(stacked: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Few draws of every row, spread evenly over its ordered hazards."""
    size = stacked["hazard"].shape[1]
    if size <= _SEARCHED:
        return dict(stacked)
    places = ((np.arange(_SEARCHED) + 0.5) / _SEARCHED * size).astype(int)
    chosen = np.argsort(stacked["hazard"], axis=1)[:, places]
    return {
        name: np.take_along_axis(value, chosen, axis=1) if value.shape[1] > 1 else value
        for name, value in stacked.items()
    }


@partial(jax.jit, static_argnames="search")
def _values(rows: dict[str, jax.Array], drawn: dict[str, jax.Array], *, search: bool) -> tuple[jax.Array, jax.Array]:
    every = rows["interval"]
    if search:
        every = ettr.robust_interval(
            drawn["hazard"],
            drawn["write"] + drawn["slowdown"] * drawn["persist"],
            drawn["restart"] + (1 - drawn["slowdown"]) * drawn["persist"],
            detection=drawn["detection"],
            queue=drawn["queue"],
            productive=drawn["productive"],
        )[:, None]
    plan = ettr.asynchronous(
        every,
        rows["write"],
        rows["persist"],
        rows["restart"],
        slowdown=rows["slowdown"],
        productive=rows["productive"],
    )
    value = ettr.renewal(
        rows["hazard"],
        jnp.minimum(plan.interval, rows["productive"]),
        plan.write,
        plan.restart,
        detection=rows["detection"],
        queue=rows["queue"],
        productive=rows["productive"],
    )
    return jnp.broadcast_to(value, rows["hazard"].shape), plan.interval
