"""A run that starts some time ahead, while the rates move: followed through time, and checked by simulation."""

import json
from collections.abc import Iterable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import xarray as xr

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.document import document, finite, four
from meantime.forecast.forecast import SEED
from meantime.forecast.grid import grid_of
from meantime.forecast.horizon import Horizon, by_stretches, days_of, time_ahead
from meantime.forecast.interval import best_interval
from meantime.forecast.luck import TERMS
from meantime.forecast.plan import Plan, plan_or_default
from meantime.forecast.rates import checked_gpus, hazards_of, with_record
from meantime.intervals import FIGURES, summarise
from meantime.units import HOURS_PER_DAY, check_seed

SCHEMA = "meantime.ahead/1"
COURSES, RUNS = 100, 20
"""Draws of the hazard's course that are simulated, and runs of each."""
MAX_STEPS = 1e8
"""Failures of the worst run times the number of runs, at most (they go side by side); beyond, none are simulated."""
_MAX_LOOKS = 6


def forecast_ahead(
    tree: xr.DataTree,
    gpus: int | Iterable[int],
    plan: Plan | None = None,
    *,
    starts: Horizon,
    cluster: str | None = None,
    seed: int = SEED,
) -> xr.Dataset:
    """Forecast a run that is submitted some time ahead and lasts while the rates move.

    Each draw of the posterior goes on by its own walk. The run is followed through it
    (`meantime.ettr.varying_wallclock`), and 100 of the draws are simulated failure by failure
    (`meantime.ettr.simulate_varying`), 20 runs each: that gives the luck, and shows how far off the two closed
    forms are.

    Parameters
    ----------
    tree
        A fit of `over_time`.
    gpus
        Sizes of the job.
    plan
        The plan of the run, with single values that are known. An interval that is to be chosen is the best one for the
        rates averaged over the run, and is kept throughout it.
    starts
        When the run is submitted: a time from the end of the data, such as ``"90d"``, or a date.
    cluster
        Cluster of the fit; may be left out where it has one.
    seed
        Seed of the future and of luck.

    Returns
    -------
    xarray.Dataset
        Dims (gpus, figure). `rate` (failures per node-day, averaged over the run); `ettr` and `days_expected`, followed
        through the moving rates (uncertainty of the rates); `ettr_mean_rate`, the renewal form at each draw's average
        rate; `ettr_now`, the renewal form at the rates of the last period of the data; `ettr_run` and `days_to_finish`,
        simulated single runs (uncertainty and luck; NaN where a run would meet more than 50,000 failures).
        By gpus alone: `chosen_interval` (hours), `error_followed`, `error_mean_rate` (mean wall-clock time by the
        closed form over that simulated, minus 1, same draws) and `error_simulation` (their Monte Carlo standard error).

    Raises
    ------
    InputError
        If the model knows no time, or the sizes, the plan, the cluster or the start cannot be used.
    """
    check_seed(seed)
    plan = plan_or_default(plan)
    sizes = checked_gpus(gpus)
    if plan.lists:
        raise InputError(f"{plan.lists[0]} of the plan is a list; expected single values for a run that is followed")
    grid = grid_of(plan, 1, seed=seed)
    hours = {name: float(values[0, 0]) for name, values in grid.hours.items()}
    if grid.uncertain:
        raise InputError("the plan has uncertain values; expected known ones for a run that is followed")
    begin = days_of(time_ahead(tree, starts, name="starts"), "starts")
    parts = [_of_size(tree, size, plan, hours, begin, cluster, seed) for size in sizes]
    result = xr.concat(parts, xr.DataArray(np.array(sizes), dims="gpus", name="gpus"))
    result.attrs = with_record(xr.DataArray(0.0), tree, cluster=cluster, horizon=None).attrs
    largest = int(tree["fit_data"].attrs["largest_job_gpus"])
    result["extrapolated"] = ("gpus", np.array(sizes) > largest)
    result.attrs |= {"starts": str(starts), "seed": seed, "plan": json.dumps(plan.to_dict())}
    result.attrs["notes"] = "\n".join(_notes(result))
    return result


def ahead_document(result: xr.Dataset) -> dict[str, Any]:
    """Return what `forecast_ahead` gave as plain values of schema ``meantime.ahead/1``."""
    plan = Plan.from_dict(json.loads(result.attrs["plan"]))
    rows = []
    for place, size in enumerate(result["gpus"].values):
        one = result.isel(gpus=place)
        rows.append(
            {
                "gpus": int(size),
                "extrapolated": bool(one["extrapolated"]),
                "rate_per_1000_node_days": four(one["rate"], 1000.0),
                "checkpoint_interval_seconds": finite(one["chosen_interval"] * 3600.0),
                **{name: four(one[name]) for name in _SHOWN},
                **{name: finite(one[name]) for name in _ERRORS},
            }
        )
    notes = [line for line in result.attrs["notes"].split("\n") if line]
    return document(SCHEMA, result["rate"].assign_attrs(result.attrs), plan, rows, seed=result.attrs["seed"]) | {
        "starts": result.attrs["starts"],
        "notes": notes,
    }


_SHOWN = ("ettr", "ettr_run", "ettr_mean_rate", "ettr_now", "days_expected", "days_to_finish")
_ERRORS = ("error_followed", "error_mean_rate", "error_simulation")


def _of_size(
    tree: xr.DataTree, size: int, plan: Plan, hours: dict[str, float], begin: float, cluster: str | None, seed: int
) -> xr.Dataset:
    terms = {name: hours[name] for name in TERMS}
    write, restart = terms.pop("checkpoint_write"), terms.pop("restart")
    days = 2 * hours["productive"] / HOURS_PER_DAY
    for _ in range(_MAX_LOOKS):
        edges, hazard, now = _course(tree, size, plan, begin, days, cluster, seed)
        begins = edges[:-1] * HOURS_PER_DAY
        interval, mean = hours["checkpoint_interval"], hazard.mean(axis=1)
        if np.isnan(interval):
            interval = _best(_over(edges, hazard, hours["productive"] / HOURS_PER_DAY), write, restart, terms)
        interval = min(interval, hours["productive"])
        wall = np.asarray(ettr.varying_wallclock(begins, hazard, interval, write, restart, **terms))
        enough = np.quantile(wall, 0.97) <= edges[-1] * HOURS_PER_DAY
        if enough or days > 20 * hours["productive"]:
            break
        days *= 2
    mean = _over(edges, hazard, wall / HOURS_PER_DAY)
    form: dict[str, Any] = {"interval": interval, "write": write, "restart": restart, **terms}
    at_mean, at_now = (np.asarray(ettr.renewal(rate, **form)) for rate in (mean, now))
    followed = hours["productive"] / wall
    data = {
        "rate": summarise(mean * HOURS_PER_DAY * plan.gpus_per_node / size),
        "ettr": summarise(followed),
        "ettr_mean_rate": summarise(at_mean),
        "ettr_now": summarise(at_now),
        "days_expected": summarise(wall / HOURS_PER_DAY),
    }
    chosen = np.argsort(mean)[((np.arange(COURSES) + 0.5) / COURSES * mean.size).astype(int)]
    walls = np.full((COURSES, RUNS), np.nan)
    if (mean[chosen] * wall[chosen]).max() * walls.size <= MAX_STEPS:
        walls = ettr.simulate_varying(seed, begins, hazard[chosen], **form, n_runs=RUNS, last_write=True)
    total = walls.mean()
    data["ettr_run"] = summarise((hours["productive"] / walls).ravel())
    data["days_to_finish"] = summarise(walls.ravel() / HOURS_PER_DAY)
    numbers = {
        "chosen_interval": interval,
        "error_followed": wall[chosen].mean() / total - 1,
        "error_mean_rate": (hours["productive"] / at_mean[chosen]).mean() / total - 1,
        "error_simulation": np.sqrt((walls.var(axis=1, ddof=1) / RUNS).sum()) / COURSES / total,
    }
    return xr.Dataset(
        {name: ("figure", values) for name, values in data.items()} | numbers, coords={"figure": list(FIGURES)}
    )


def _course(
    tree: xr.DataTree, size: int, plan: Plan, begin: float, days: float, cluster: str | None, seed: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return edges (days since submission), hazards (draws, pieces), and those of the last period of the data."""
    from meantime.inference import rate_over_time

    path = rate_over_time(tree, cluster=cluster, horizon=f"{begin + days:.9g}d", deviations=True, seed=seed)
    past = path.isel(period=np.flatnonzero(~path["ahead"].values)[-1]).sum("component").values
    path = path.isel(period=np.flatnonzero(path["ahead"].values)).sum("component", keep_attrs=True)
    length = float(path.attrs["period_days"])
    bounds = np.arange(path.sizes["period"] + 1) * length
    edges = np.concatenate([[begin], bounds[bounds > begin + 1e-9]])
    rates = by_stretches(path, edges)
    hazard = hazards_of(rates, [size] * rates.shape[1], plan.gpus_per_node)
    now = hazards_of(past[:, None], [size], plan.gpus_per_node)[:, 0]
    return edges - begin, hazard, now


def _over(edges: np.ndarray, hazard: np.ndarray, days: np.ndarray | float) -> np.ndarray:
    """Mean hazard of each draw from submission over `days`; the last piece goes on."""
    ends = np.broadcast_to(np.asarray(days), hazard.shape[:1])[:, None]
    within = np.clip(np.minimum(np.append(edges[1:-1], np.inf), ends) - edges[:-1], 0, None)
    return np.asarray((hazard * within).sum(axis=1) / within.sum(axis=1))


def _best(hazard: np.ndarray, write: float, restart: float, waits: dict[str, float]) -> float:
    with jax.enable_x64(True):
        one = {name: jnp.full((1, 1), value) for name, value in {**waits, "write": write, "restart": restart}.items()}
        best = best_interval(jnp.asarray(hazard), jnp.full(hazard.size, 1 / hazard.size), **one)
        return float(np.asarray(best).item())


def _notes(result: xr.Dataset) -> list[str]:
    notes = [line for line in str(result.attrs.get("warnings", "")).split("\n") if line]
    for size in result["gpus"].values:
        one = result.sel(gpus=size)
        if not np.isfinite(one["error_simulation"]):
            notes.append(f"{size:,} GPUs: not simulated; a run would meet too many failures to follow each of them.")
            continue
        followed, at_mean, own = (f"{100 * float(one[name]):+.2f} %" for name in _ERRORS)
        notes.append(
            f"{size:,} GPUs: mean time against {COURSES * RUNS:,} simulated runs: {followed} following the rates, "
            f"{at_mean} at their mean over the run (Monte Carlo error {own[1:]})."
        )
    return notes
