"""Forecasts: draws of failure rates and a plan in, labelled figures out."""

import os
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.forecast.grid import DIMENSION, Grid, grid_of
from meantime.forecast.horizon import Horizon
from meantime.forecast.limits import notes_of, warnings_of
from meantime.forecast.plan import DURATIONS, Plan, plan_or_default
from meantime.forecast.rates import checked_gpus, hazards_of, rates_of, summed
from meantime.forecast.run import figures_of_size
from meantime.intervals import FIGURES, KIND, PROBABILITY, summarise
from meantime.units import check_seed

SCHEMA = "meantime.forecast/1"
SEED = 0
MAX_CELLS = 1_000_000

DESCRIBED = {
    "rate": ("1/day", "failures per node-day of a job of this size"),
    "mttf": ("h", "mean time to failure of the job"),
    "checkpoint_interval": ("h", "checkpoint interval: each draw's own optimum, or the stated one"),
    "chosen_interval": ("h", "checkpoint interval that the figures are for"),
    "ettr": ("1", "expected ETTR (uncertainty of the rates and the plan)"),
    "ettr_run": ("1", "ETTR of one run (uncertainty of the rates and the plan, and luck)"),
    "ettr_kokolis": ("1", "expected ETTR by the first-order form of Kokolis et al. 2025"),
    "failures_per_day": ("1/day", "failures of the job per day of wallclock"),
    "gpu_hours_lost_per_day": ("h", "GPU-hours per day of wallclock without productive work, waiting included"),
    "days_to_finish": ("day", "wallclock of one run from submission to end (uncertainty and luck)"),
    "nodes": ("1", "nodes that the job occupies"),
    "extrapolated": ("1", "whether the size lies beyond the largest job of the data"),
}


def forecast(
    tree: xr.DataTree,
    gpus: int | Iterable[int],
    plan: Plan | None = None,
    *,
    cluster: str | None = None,
    horizon: Horizon | None = None,
    seed: int = SEED,
) -> xr.Dataset:
    """Forecast MTTF, ETTR and losses of jobs from a fit.

    Parameters
    ----------
    tree
        A fit, as `meantime.inference.fit` returns it.
    gpus
        Sizes of the job in GPUs, a dimension of the result.
    plan
        The plan of the run; fields given as lists become dimensions too.
    cluster
        Cluster to forecast for, or ``"new"``; may be left out where the fit has one cluster.
    horizon
        For a fit of `over_time`: the time ahead, from the end of the data, that the forecast is for, such as
        ``"90d"``, or until a date, such as ``"2026-06-30"``; rates are averaged over it. Default: the rates of the
        last period. By period: `meantime.forecast.forecast_periods`; followed as they move:
        `meantime.forecast.forecast_ahead`.
    seed
        Seed of every random draw. The figures of a size do not depend on the other sizes asked for.

    Returns
    -------
    xarray.Dataset
        See `forecast_rates`.

    Raises
    ------
    InputError
        If the sizes, the plan, the cluster or the horizon cannot be used.
    """
    rates = rates_of(tree, gpus, cluster=cluster, horizon=horizon, seed=seed)
    return forecast_rates(rates, plan, seed=seed)


def forecast_rates(rate: xr.DataArray, plan: Plan | None = None, *, seed: int = SEED) -> xr.Dataset:
    """Forecast from draws of the failure rate, whatever they come from.

    Parameters
    ----------
    rate
        Failures per node-day, dims (sample, gpus) or (sample, component, gpus), coordinate `gpus`.
        Components fail independently, so their rates add up. If attribute `largest_job_gpus` is there,
        larger sizes are flagged as extrapolated (0: unknown, so all are). What `rates_of` records of the
        fit goes into the result's attributes.
    plan
        The plan of the run.
    seed
        Seed of the uncertain values of the plan and of the luck of the runs.

    Returns
    -------
    xarray.Dataset
        Dims gpus, the fields of the plan given as lists, and figure = mean, median, lower, upper
        (equal-tailed 90 %). Variables `rate` and `mttf` (gpus, figure); `checkpoint_interval`, `ettr`,
        `ettr_run`, `ettr_kokolis`, `failures_per_day`, `gpu_hours_lost_per_day`, `days_to_finish`;
        `chosen_interval`, without figures; `nodes` (gpus / gpus_per_node, rounded up, while the hazard
        counts part of a node as a part) and `extrapolated`, by gpus. Units are in `attrs`. Every field of
        the plan is a coordinate, as text and, ending in ``_hours``, as a number; that of
        `checkpoint_interval` is named `interval`.

    Raises
    ------
    InputError
        If the rates or the plan cannot be used.
    """
    check_seed(seed)
    plan = plan_or_default(plan)
    draws = summed(rate)
    sizes = checked_gpus(rate["gpus"].values.tolist())
    grid = grid_of(plan, draws.shape[0], seed=seed)
    if len(sizes) * grid.size > MAX_CELLS:
        raise InputError(
            f"{len(sizes):,} sizes x {grid.size:,} plans are too many; expected at most {MAX_CELLS:,} in all"
        )
    hazards = hazards_of(draws, sizes, plan.gpus_per_node)
    with workers() as pool:
        per_size = list(
            pool.map(
                lambda hazard, size: figures_of_size(hazard, grid, gpus=size, seed=seed_of(seed, size)),
                hazards.T,
                sizes,
            )
        )
    data: dict[str, Any] = {
        "rate": (("gpus", "figure"), summarise(draws, axis=0)),
        "mttf": (("gpus", "figure"), mttf_figures(hazards)),
    }
    for name in per_size[0]:
        values = np.stack([figures[name] for figures in per_size])
        dims = ("gpus", *(DIMENSION[field] for field in grid.lists), "figure")[: None if values.ndim == 3 else -1]
        data[name] = (dims, values.reshape(len(sizes), *grid.shape, *values.shape[2:]))
    largest = rate.attrs.get("largest_job_gpus")
    data["nodes"] = ("gpus", np.ceil(np.array(sizes) / plan.gpus_per_node).astype(np.int64))
    data["extrapolated"] = ("gpus", np.array([largest is not None and size > largest for size in sizes]))
    result = xr.Dataset({name: data[name] for name in DESCRIBED}, coords=coordinates(sizes, grid))
    for name, (unit, long_name) in DESCRIBED.items():
        result[name].attrs = {"units": unit, "long_name": long_name}
    result.attrs = attributes_of(rate, plan, seed, notes=[*warnings_of(rate), *notes_of(result, plan, rate)])
    return result


def attributes_of(rate: xr.DataArray, plan: Plan, seed: int, *, notes: Iterable[str]) -> dict[str, Any]:
    """Return the attributes of a forecast."""
    return {
        "schema": SCHEMA,
        "interval_kind": KIND,
        "interval_probability": PROBABILITY,
        "gpus_per_node": plan.gpus_per_node,
        "seed": seed,
        "model": rate.attrs.get("model", "{}"),
        **({"largest_job_gpus": int(largest)} if (largest := rate.attrs.get("largest_job_gpus")) is not None else {}),
        "notes": "\n".join(notes),
    }


def workers() -> ThreadPoolExecutor:
    """Return a pool of threads: the work is done in NumPy and JAX, outside Python's lock."""
    return ThreadPoolExecutor(min(8, os.cpu_count() or 1))


def coordinates(sizes: list[int], grid: Grid) -> dict[str, Any]:
    """Label the sizes, the fields of the plan (text and hours) and the figures of a forecast."""
    coordinates: dict[str, Any] = {"gpus": ("gpus", np.array(sizes, dtype=np.int64), {"long_name": "GPUs of the job"})}
    for name in DURATIONS:
        target = DIMENSION[name]
        texts: Any = np.array(grid.labels[name], dtype=str)
        lengths: Any = np.array(grid.lengths[name])
        hours = {"units": "h", "long_name": f"{name} of the plan"}
        if name in grid.lists:
            coordinates |= {target: (target, texts), f"{target}_hours": (target, lengths, hours)}
        else:
            coordinates |= {target: ((), texts[0]), f"{target}_hours": ((), lengths[0], hours)}
    return coordinates | {"figure": list(FIGURES)}


def mttf_figures(hazards: np.ndarray) -> np.ndarray:
    """Figures of 1/hazard; its quantiles are the inverses of the hazard's, in reverse."""
    with np.errstate(divide="ignore"):
        return np.column_stack([(1 / hazards).mean(axis=0), 1 / summarise(hazards, axis=0)[:, [1, 3, 2]]])


def seed_of(seed: int, size: int) -> int:
    """Return the seed of the luck of runs of one size."""
    return int(np.random.SeedSequence([seed, size]).generate_state(1)[0] >> 1)
