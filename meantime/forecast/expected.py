"""The expected ETTR alone, for large grids: neither single runs nor losses."""

import numpy as np
import xarray as xr

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.draws import ettr_at
from meantime.forecast.forecast import SEED, coordinates, workers
from meantime.forecast.grid import DIMENSION, Grid, grid_of
from meantime.forecast.hazards import figures_at_nodes, nodes_of
from meantime.forecast.plan import Plan, plan_or_default
from meantime.forecast.rates import checked_gpus, hazards_of, summed
from meantime.forecast.table import table_of
from meantime.intervals import summarise

MAX_CELLS = 20_000_000
_BLOCK = 1_000_000
"""Largest number of plans x hazards that a thread works on at a time: 8 MB an array."""


def expected_ettr(rate: xr.DataArray, plan: Plan | None = None, *, seed: int = SEED) -> xr.Dataset:
    """Work out the figures of the expected ETTR for every size and plan.

    They are those of `forecast_rates` within 1e-6, a hundred times as fast, because nothing else is worked out.

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
        `ettr`, dims (gpus, the fields of the plan given as lists, figure), and `chosen_interval` (hours),
        with the coordinates of `forecast_rates`.

    Raises
    ------
    InputError
        If the rates or the plan cannot be used.
    """
    plan = plan_or_default(plan)
    draws = summed(rate)
    sizes = checked_gpus(rate["gpus"].values.tolist())
    grid = grid_of(plan, draws.shape[0], seed=seed)
    if len(sizes) * grid.size > MAX_CELLS:
        raise InputError(f"{len(sizes):,} sizes x {grid.size:,} plans are too many; expected at most {MAX_CELLS:,}")
    hazards = np.ascontiguousarray(hazards_of(draws, sizes, plan.gpus_per_node).T)
    figures, chosen = np.empty((len(sizes), grid.size, 4)), np.empty((len(sizes), grid.size))
    for places, plans in grid.parts():
        stated = not plans.uncertain and not plans.optimal.any()
        work = _from_table if stated else _from_draws
        figures[:, places], chosen[:, places] = work(hazards, plans)
    dims = ("gpus", *(DIMENSION[field] for field in grid.lists))
    shape = (len(sizes), *grid.shape)
    return xr.Dataset(
        {"ettr": ((*dims, "figure"), figures.reshape(*shape, 4)), "chosen_interval": (dims, chosen.reshape(shape))},
        coords=coordinates(sizes, grid),
    )


def _from_table(hazards: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Figures (sizes, plans, 4) and intervals of stated plans: all sizes share one table for each plan."""
    nodes, weights = nodes_of(hazards)
    at, shares = table_of(nodes[:, :-3], weights)
    every = np.concatenate([at, nodes[:, -3:].ravel()])
    figures = np.empty((len(hazards), grid.size, 4))

    def work(first: int) -> None:
        block = grid.block(first, first + per_block)
        values = _stated(every, block)
        mean = np.einsum("ph,sh->sp", values[:, : at.size], shares)  # in one thread: so little is slower on several
        middle, one, other = values[:, at.size :].reshape(block.size, len(hazards), 3).T
        part = figures[:, first : first + block.size]
        part[..., 0] = np.clip(mean, np.finfo(float).tiny, 1.0)
        part[..., 1], part[..., 2], part[..., 3] = middle, np.minimum(one, other), np.maximum(one, other)

    per_block = max(1, _BLOCK // every.size)
    starts = range(0, grid.size, per_block)
    if len(starts) == 1:
        work(0)
    else:
        with workers() as pool:
            list(pool.map(work, starts))
    return figures, np.broadcast_to(grid.hours["checkpoint_interval"][:, 0], (len(hazards), grid.size))


def _stated(hazard: np.ndarray, grid: Grid) -> np.ndarray:
    """ETTR of plans with a stated interval, shape (plans, hazards)."""
    hours = grid.hours
    return ettr.renewal(
        hazard,
        np.minimum(hours["checkpoint_interval"], hours["productive"]),
        hours["checkpoint_write"],
        hours["restart"],
        detection=hours["detection"],
        queue=hours["queue"],
        productive=hours["productive"],
    )


def _from_draws(hazards: np.ndarray, grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Figures (sizes, plans, 4) and intervals, with every size worked out by itself."""
    figures = np.empty((len(hazards), grid.size, 4))
    chosen = np.empty((len(hazards), grid.size))
    if grid.uncertain:
        for rows, columns, values, used in ettr_at(hazards, hazards, grid):
            figures[rows, columns], chosen[rows, columns] = summarise(values), np.median(used, axis=-1)
        return figures, chosen
    at, weights = nodes_of(hazards)
    for rows, columns, values, used in ettr_at(at, hazards, grid):
        chosen[rows, columns] = used[..., 0]
        for size, row in enumerate(range(*rows.indices(len(hazards)))):
            figures[row, columns] = figures_at_nodes(values[size], weights[row])
    return figures, chosen
