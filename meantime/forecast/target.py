"""How likely a run meets a target: an ETTR, or an end by a date."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import gammainc

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.budget import Budget
from meantime.forecast.draws import expected_draws
from meantime.forecast.forecast import SEED
from meantime.forecast.grid import DIMENSION, Grid, grid_of
from meantime.forecast.hazards import condense
from meantime.forecast.luck import MANY
from meantime.forecast.plan import Plan, plan_or_default
from meantime.forecast.rates import checked_gpus, hazards_of, summed
from meantime.forecast.work import plan_without_work
from meantime.units import SECONDS_PER_HOUR, Duration, seconds

_RESOLUTION = 1 << 12
_SHARES, _ALONE = 40, 4
_POINTS = 128
_TOGETHER = 4


def probability_of_ettr(
    rate: xr.DataArray, plan: Plan | None = None, targets: float | Sequence[float] = 0.9, *, seed: int = SEED
) -> xr.Dataset:
    """Work out how likely the ETTR of a run reaches a target.

    Parameters
    ----------
    rate
        Failures per node-day, as for `forecast_rates`.
    plan
        The plan of the run.
    targets
        ETTR to reach, between 0 and 1.
    seed
        Seed of uncertain values.

    Returns
    -------
    xarray.Dataset
        Dims (gpus, the fields of the plan given as lists, target). `probability`: that one run reaches it, by
        uncertainty and luck. `probability_expected`: that the expected ETTR does, by uncertainty alone.

    Raises
    ------
    InputError
        If a target lies outside (0, 1), or rates or plan cannot be used.
    """
    plan = plan_or_default(plan)
    goals = np.atleast_1d(np.asarray(targets, dtype=float))
    if goals.ndim != 1 or goals.size == 0 or not ((goals > 0) & (goals < 1)).all():
        raise InputError(f"targets is {targets!r}; expected numbers between 0 and 1, such as 0.9")
    parts = [
        _of_size(rate, size, plan, seed=seed, goals=goals, as_ettr=True)
        for size in checked_gpus(rate["gpus"].values.tolist())
    ]
    return xr.concat(parts, dim="gpus", coords="minimal", compat="override").assign_coords(target=goals)


def probability_done(
    rate: xr.DataArray,
    plan: Plan | None,
    within: Duration | Sequence[Duration],
    *,
    budget: Budget | None = None,
    seed: int = SEED,
) -> xr.Dataset:
    """Work out how likely a run is finished within a time of its submission.

    Given the rates and the plan the distribution of the wallclock is exact (`meantime.ettr.wallclock_cdf`; a
    Gamma distribution with its mean and variance where failures number in the hundreds). It is averaged over
    the draws.

    Parameters
    ----------
    rate
        Failures per node-day, as for `forecast_rates`.
    plan
        The plan of the run.
    within
        Time from submission, one or several.
    budget
        Work to be done; without it the run needs the plan's `productive`.
    seed
        Seed of uncertain values.

    Returns
    -------
    xarray.Dataset
        Dims (gpus, the fields of the plan given as lists, within): `probability` (uncertainty and luck) and
        `probability_expected` (that the expected wallclock is within the time; uncertainty alone). Coordinate
        `within_hours`.

    Raises
    ------
    InputError
        If a time, the rates, the budget or the plan cannot be used.
    """
    plan = plan_without_work(plan) if budget is not None else plan_or_default(plan)
    times: list[Any] = list(within) if isinstance(within, list | tuple) else [within]
    hours = np.array([seconds(time, name="within") for time in times]) / SECONDS_PER_HOUR
    parts = [
        _of_size(
            rate,
            size,
            plan if budget is None else budget.plan_of(plan, size),
            seed=seed,
            goals=hours,
            as_ettr=False,
        )
        for size in checked_gpus(rate["gpus"].values.tolist())
    ]
    result = xr.concat(parts, dim="gpus", coords="minimal", compat="override").rename(target="within")
    return result.assign_coords(within=[str(time) for time in times], within_hours=("within", hours))


def _of_size(rate: xr.DataArray, size: int, plan: Plan, *, seed: int, goals: np.ndarray, as_ettr: bool) -> xr.Dataset:
    one = rate.sel(gpus=[size])
    expected = expected_draws(one, plan, seed=seed)
    hazard = hazards_of(summed(one), [size], plan.gpus_per_node)[:, 0]
    grid = grid_of(plan, hazard.size, seed=seed)
    chosen = expected["chosen_interval"].values.reshape(grid.size)
    values = expected["ettr"].values.reshape(grid.size, -1)
    lucky = np.empty((grid.size, goals.size))
    sure = np.empty((grid.size, goals.size))
    for row in range(grid.size):
        terms = _terms(grid.block(row, row + 1), chosen[row])
        limits = terms["productive"] / goals[:, None] if as_ettr else goals[:, None]
        lucky[row] = _done(limits, hazard, terms)
        sure[row] = (terms["productive"] / values[row] <= limits).mean(axis=1)
    dims = ("gpus", *(DIMENSION[field] for field in grid.lists), "target")
    shape = (1, *grid.shape, goals.size)
    coords = {name: value for name, value in expected.coords.items() if name not in ("productive", "productive_hours")}
    return xr.Dataset(
        {"probability": (dims, lucky.reshape(shape)), "probability_expected": (dims, sure.reshape(shape))},
        coords=coords,
    )


def _terms(grid: Grid, chosen: float) -> dict[str, np.ndarray]:
    """Arguments of the wallclock forms, shape (1,) or (draws,)."""
    hours = {name: values[0] for name, values in grid.hours.items()}
    interval = np.full(1, chosen) if grid.optimal.any() else hours["checkpoint_interval"]
    return {
        "interval": np.minimum(interval, hours["productive"]),
        "write": hours["checkpoint_write"],
        "restart": hours["restart"],
        "productive": hours["productive"],
        "detection": hours["detection"],
        "queue": hours["queue"],
    }


def _done(limits: np.ndarray, hazard: np.ndarray, terms: dict[str, np.ndarray]) -> np.ndarray:
    """Probability that the wallclock is within limits (targets, 1 or draws), averaged over draws: (targets,)."""
    limits = np.broadcast_to(limits, (len(limits), hazard.size))
    about, many = _about(limits, hazard, terms)
    total = about[:, many].sum(axis=1)
    few = np.flatnonzero(~many)
    if few.size and all(value.size == 1 for value in terms.values()):
        points, weights = condense(hazard[few], _SHARES, alone=_ALONE)
        total += few.size * (_exact(limits[:, :1], points, terms) @ weights)
    elif few.size:
        chosen = few[np.argsort(hazard[few])][_evenly(few.size)]
        exact = _exact(limits[:, chosen], hazard[chosen], _at(terms, chosen))
        total += about[:, few].sum(axis=1) + few.size * (exact - about[:, chosen]).mean(axis=1)
    return np.clip(total / hazard.size, 0.0, 1.0)


def _evenly(size: int) -> np.ndarray:
    count = min(size, _POINTS)
    return ((np.arange(count) + 0.5) / count * size).astype(int)


def _exact(limits: np.ndarray, hazard: np.ndarray, terms: dict[str, np.ndarray]) -> np.ndarray:
    """Probabilities at few draws from the distribution of the wallclock: (targets, draws).

    Everything is filled up to one shape, because every new shape of arrays costs a compilation of seconds.
    """
    size, goals = hazard.size, len(limits)
    same = bool((limits == limits[:, :1]).all())
    hours = limits[:, 0] if same else limits.ravel()
    width = -(-hours.size // _TOGETHER) * _TOGETHER
    filled = {name: _filled(np.broadcast_to(value, size), _POINTS) for name, value in terms.items()}
    values = ettr.wallclock_cdf(
        _filled(hours, width),
        _filled(hazard, _POINTS),
        filled["interval"],
        filled["write"],
        filled["restart"],
        productive=filled["productive"],
        detection=filled["detection"],
        queue=filled["queue"],
        resolution=_RESOLUTION,
    )
    values = np.asarray(values)[: hours.size, :size]
    return values if same else np.diagonal(values.reshape(goals, -1, size), axis1=1, axis2=2)


def _filled(values: np.ndarray, size: int) -> np.ndarray:
    return np.concatenate([values, np.repeat(values[-1:], size - values.size)])


def _about(limits: np.ndarray, hazard: np.ndarray, terms: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """Probabilities (targets, draws) if the time lost were Gamma distributed, and where it is, by many failures."""
    mean, variance = ettr.wallclock_moments(
        hazard,
        terms["interval"],
        terms["write"],
        terms["restart"],
        productive=terms["productive"],
        detection=terms["detection"],
        queue=terms["queue"],
    )
    segments = np.ceil(terms["productive"] / terms["interval"] * (1 - 1e-12))
    least = terms["queue"] + terms["restart"] + terms["productive"] + segments * terms["write"]
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        lost = mean - least
        shape = lost**2 / variance
        usable = np.isfinite(shape) & (shape > 0)
        rate = np.where(usable, lost / variance, 0.0)
    about = gammainc(np.where(usable, shape, 1.0), np.maximum(limits - least, 0.0) * rate)
    late = ~usable & ~np.isfinite(mean)  # no run gets through
    about = np.where(usable, about, np.where(late, 0.0, limits >= least))
    return about, (usable & (shape >= MANY)) | late


def _at(terms: dict[str, np.ndarray], chosen: np.ndarray) -> dict[str, np.ndarray]:
    return {name: value[chosen] if value.size > 1 else value for name, value in terms.items()}
