"""The expected ETTR at every draw of the posterior, for what compares sizes or plans draw by draw."""

from collections.abc import Iterator
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.devices import over_devices
from meantime.forecast.forecast import SEED, coordinates, workers
from meantime.forecast.grid import DIMENSION, Grid, grid_of
from meantime.forecast.hazards import condense
from meantime.forecast.interval import SEARCHED, best_interval
from meantime.forecast.luck import TERMS
from meantime.forecast.plan import Plan, plan_or_default
from meantime.forecast.rates import checked_gpus, hazards_of, summed

MAX_VALUES = 200_000_000
_BLOCK = 1_000_000
"""Largest number of sizes x plans x hazards that a thread works on at a time: 8 MB an array."""


def expected_draws(rate: xr.DataArray, plan: Plan | None = None, *, seed: int = SEED) -> xr.Dataset:
    """Work out the expected ETTR for every draw, size and plan.

    The checkpoint interval, where it is to be chosen, is chosen once for all draws, as in `forecast_rates`.

    Parameters
    ----------
    rate
        Failures per node-day, as for `forecast_rates`.
    plan
        The plan of the run.
    seed
        Seed of the uncertain values of the plan.

    Returns
    -------
    xarray.Dataset
        `ettr`, dims (gpus, the fields of the plan given as lists, sample); `days_to_finish`, the expected
        wallclock in days, of the same dims; `hazard` (per hour), dims (gpus, sample); and `chosen_interval`
        (hours), dims gpus and the fields.

    Raises
    ------
    InputError
        If the rates or the plan cannot be used, or the result would not fit into memory.
    """
    plan = plan_or_default(plan)
    draws = summed(rate)
    sizes = checked_gpus(rate["gpus"].values.tolist())
    grid = grid_of(plan, draws.shape[0], seed=seed)
    if draws.size * grid.size > MAX_VALUES:
        raise InputError(
            f"{len(draws):,} draws x {len(sizes):,} sizes x {grid.size:,} plans are too many; "
            f"expected at most {MAX_VALUES:,}; thin the draws with .isel(sample=slice(None, None, 10))"
        )
    hazards = np.ascontiguousarray(hazards_of(draws, sizes, plan.gpus_per_node).T)
    values = np.empty((len(sizes), grid.size, len(draws)))
    chosen = np.empty((len(sizes), grid.size))
    for places, plans in grid.parts():
        for rows, columns, part, used in ettr_at(hazards, hazards, plans):
            values[rows, places[columns]], chosen[rows, places[columns]] = part, np.median(used, axis=-1)
    with np.errstate(over="ignore"):  # days beyond the largest number are infinite
        days = grid.hours["productive"] / 24.0 / values
    shape, dims = (len(sizes), *grid.shape), ("gpus", *(DIMENSION[field] for field in grid.lists))
    coords = {name: value for name, value in coordinates(sizes, grid).items() if name != "figure"}
    return xr.Dataset(
        {
            "ettr": ((*dims, "sample"), values.reshape(*shape, -1)),
            "days_to_finish": ((*dims, "sample"), days.reshape(*shape, -1), {"units": "day"}),
            "hazard": (("gpus", "sample"), hazards, {"units": "1/h"}),
            "chosen_interval": (dims, chosen.reshape(shape), {"units": "h"}),
        },
        coords=coords,
    )


def ettr_at(at: np.ndarray, hazards: np.ndarray, grid: Grid) -> Iterator[tuple[slice, slice, np.ndarray, np.ndarray]]:
    """Work out the expected ETTR at given hazards, part by part.

    Parameters
    ----------
    at
        Failures per hour, shape (sizes, hazards); where the plan is uncertain, the draws.
    hazards
        Draws over which the best checkpoint interval is chosen, shape (sizes, draws).
    grid
        The plans, all known or all drawn (see `Grid.parts`).

    Yields
    ------
    tuple
        The sizes and the plans that the part is of, their ETTR (sizes, plans, hazards), and the
        interval in hours (sizes, plans, 1), with hazards in place of the 1 if it is an uncertain one.
    """
    search = bool(grid.best.any())
    plans = max(1, min(grid.size, _BLOCK // at.shape[1]))
    sizes = max(1, _BLOCK // (plans * at.shape[1]))
    parts = [
        (slice(row, row + sizes), slice(first, first + plans))
        for first in range(0, grid.size, plans)
        for row in range(0, len(at), sizes)
    ]

    def work(part: tuple[slice, slice]) -> tuple[np.ndarray, np.ndarray]:
        rows, columns = part
        block = grid.block(columns.start, columns.stop)
        hours = block.hours
        points, weights = _searched(hazards[rows], search=search, all_draws=grid.uncertain)
        with jax.enable_x64(True):
            values, used = _ettr(
                over_devices(at[rows]),
                jnp.asarray(points),
                jnp.asarray(weights),
                {name: over_devices(hours[name]) for name in TERMS},
                jnp.asarray(hours["checkpoint_interval"]),
                jnp.asarray(block.optimal),
                search=search,
            )
            return np.asarray(values), np.broadcast_to(used, (*values.shape[:2], used.shape[2]))

    with workers() as pool:
        for part, (values, used) in zip(parts, pool.map(work, parts), strict=True):
            yield *part, values, used


def _searched(hazards: np.ndarray, *, search: bool, all_draws: bool) -> tuple[np.ndarray, np.ndarray]:
    """Hazards over which an interval is chosen and their weights, each (sizes, points)."""
    if not search:
        return hazards[:, :1], np.ones((len(hazards), 1))
    if all_draws:
        return hazards, np.full(hazards.shape, 1 / hazards.shape[1])
    return condense(hazards, SEARCHED, alone=8)


@partial(jax.jit, static_argnames="search")
def _ettr(
    at: jax.Array,
    points: jax.Array,
    weights: jax.Array,
    terms: dict[str, jax.Array],
    interval: jax.Array,
    optimal: jax.Array,
    *,
    search: bool,
) -> tuple[jax.Array, jax.Array]:
    write, restart, detection, queue, productive = (terms[name] for name in TERMS)
    plan = {"detection": detection, "queue": queue, "productive": productive}

    def of_size(hazard: jax.Array, points: jax.Array, weights: jax.Array) -> tuple[jax.Array, jax.Array]:
        used = interval
        if search:
            used = jnp.where(optimal, best_interval(points, weights, write, restart, **plan), interval)
        value = ettr.renewal(
            hazard,
            jnp.minimum(used, productive),
            write,
            restart,
            detection=detection,
            queue=queue,
            productive=productive,
        )
        return value, used

    return jax.vmap(of_size)(at, points, weights)
