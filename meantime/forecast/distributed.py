"""Forecasts of grids too large for one machine, as Dask arrays that are worked out part by part."""

import json
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.forecast.forecast import DESCRIBED, SEED, attributes_of, coordinates, mttf_figures, seed_of
from meantime.forecast.grid import DIMENSION, Grid, grid_of
from meantime.forecast.limits import warnings_of
from meantime.forecast.plan import Plan, plan_or_default
from meantime.forecast.rates import checked_gpus, hazards_of, summed
from meantime.forecast.run import block_of, figures_of_size
from meantime.intervals import summarise

MAX_COMBINATIONS = 100_000_000


def forecast_chunked(
    rate: xr.DataArray, plan: Plan | None = None, *, seed: int = SEED, sizes_together: int = 1
) -> xr.Dataset:
    """Forecast from draws of the failure rate, as Dask arrays: nothing is worked out until it is asked for.

    What comes out when it is computed is what `forecast_rates` gives, to the last digit, whatever the parts and
    wherever they are worked out: on the threads of this machine, or on a cluster if a `dask.distributed` client is
    at work. Neither the result nor the grid of plans is ever whole in one place: write it with
    ``to_zarr``, select from it, or reduce it. Needs the package dask (``pip install dask``).

    Parameters
    ----------
    rate
        Failures per node-day, as for `forecast_rates`. A copy goes to each worker.
    plan
        The plan of the run; the lists of its fields may make up to 100 million combinations.
    seed
        As for `forecast_rates`.
    sizes_together
        Sizes in one part; plans are cut into parts of about two million plans x draws.

    Returns
    -------
    xarray.Dataset
        As of `forecast_rates`, but for the notes on single sizes, with variables that are chunked along `gpus` and
        the first fields of the plan.

    Raises
    ------
    InputError
        If dask is missing, or the rates or the plan cannot be used.
    """
    try:
        import dask.array  # noqa: F401
    except ImportError as error:
        raise InputError("forecast_chunked needs the package dask; install it with: pip install dask") from error
    plan = plan_or_default(plan)
    draws = summed(rate)
    gpus = checked_gpus(rate["gpus"].values.tolist())
    grid = grid_of(plan, draws.shape[0], seed=seed, most=MAX_COMBINATIONS)
    if isinstance(sizes_together, bool) or not isinstance(sizes_together, int) or sizes_together < 1:
        raise InputError(f"sizes_together is {sizes_together!r}; expected a whole number of sizes from 1")
    hazards = hazards_of(draws, gpus, plan.gpus_per_node)
    packed = _packed(hazards, gpus, grid, seed=seed, sizes_together=sizes_together)
    data: dict[str, Any] = {
        "rate": (("gpus", "figure"), summarise(draws, axis=0)),
        "mttf": (("gpus", "figure"), mttf_figures(hazards)),
    }
    dims = ("gpus", *(DIMENSION[field] for field in grid.lists), "figure")
    shape = (len(gpus), *grid.shape, 4)
    for place, name in enumerate(_NAMES):
        data[name] = (dims, packed[..., 4 * place : 4 * place + 4].data.reshape(shape))
    data["chosen_interval"] = (dims[:-1], packed[..., 4 * len(_NAMES)].data.reshape(shape[:-1]))
    largest = rate.attrs.get("largest_job_gpus")
    data["nodes"] = ("gpus", np.ceil(np.array(gpus) / plan.gpus_per_node).astype(np.int64))
    data["extrapolated"] = ("gpus", np.array([largest is not None and size > largest for size in gpus]))
    result = xr.Dataset({name: data[name] for name in DESCRIBED}, coords=coordinates(gpus, grid))
    for name, (unit, long_name) in DESCRIBED.items():
        result[name].attrs = {"units": unit, "long_name": long_name}
    result.attrs = attributes_of(rate, plan, seed, notes=warnings_of(rate))
    result.attrs["plan"] = json.dumps(plan.to_dict())
    return result


_NAMES = (
    "ettr",
    "ettr_run",
    "ettr_kokolis",
    "checkpoint_interval",
    "failures_per_day",
    "gpu_hours_lost_per_day",
    "days_to_finish",
)


def _packed(hazards: np.ndarray, gpus: list[int], grid: Grid, *, seed: int, sizes_together: int) -> xr.DataArray:
    """All figures in one array with the dims (gpus, plan, value), by xarray's own way to Dask."""
    per_part = block_of(hazards.shape[0])
    by_size = xr.DataArray(hazards.T, dims=("gpus", "sample")).chunk(gpus=sizes_together)
    sizes = xr.DataArray(np.array(gpus), dims="gpus").chunk(gpus=sizes_together)
    plans = xr.DataArray(np.arange(grid.size), dims="plan").chunk(plan=per_part)
    return xr.apply_ufunc(
        _part,
        by_size,
        sizes,
        plans,
        kwargs={"grid": grid, "seed": seed},
        input_core_dims=[["sample"], [], []],
        output_core_dims=[["value"]],
        dask="parallelized",
        output_dtypes=[float],
        dask_gufunc_kwargs={"output_sizes": {"value": 4 * len(_NAMES) + 1}},
    ).transpose("gpus", "plan", "value")


def _part(hazards: np.ndarray, sizes: np.ndarray, plans: np.ndarray, *, grid: Grid, seed: int) -> np.ndarray:
    """Figures of some sizes (sizes, 1, draws) and of a run of plans, (sizes, plans, values)."""
    numbers = plans.ravel()
    part = grid.block(int(numbers[0]), int(numbers[-1]) + 1)
    out = np.empty((hazards.shape[0], numbers.size, 4 * len(_NAMES) + 1))
    for row, (draws, size) in enumerate(zip(hazards.reshape(-1, hazards.shape[-1]), sizes.ravel(), strict=True)):
        figures = figures_of_size(draws, part, gpus=int(size), seed=seed_of(seed, int(size)))
        out[row] = np.concatenate([*(figures[name] for name in _NAMES), figures["chosen_interval"][:, None]], axis=1)
    return out
