"""A run planned from its work: days, GPU-hours, money and the chance to be done in time, on every size."""

from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.forecast.budget import Budget
from meantime.forecast.cluster_size import Aim, cluster_size
from meantime.forecast.document import document, finite, four
from meantime.forecast.forecast import SEED
from meantime.forecast.plan import Plan
from meantime.forecast.rows import notes
from meantime.forecast.target import probability_of_ettr
from meantime.forecast.work import plan_without_work
from meantime.units import SECONDS_PER_HOUR, Duration

SCHEMA = "meantime.plan/1"


def plan_run(
    rate: xr.DataArray,
    budget: Budget,
    plan: Plan | None = None,
    *,
    aim: Aim = "days",
    price_per_gpu_hour: float | None = None,
    within: Duration | None = None,
    sureness: float = 0.9,
    target: float | None = None,
    seed: int = SEED,
) -> dict[str, Any]:
    """Plan a run: what it takes on clusters of several sizes, and which size to choose.

    Parameters
    ----------
    rate
        Failures per node-day, as for `forecast_rates`.
    budget
        What the run has to do.
    plan
        The plan of the run, with single values and without `productive`.
    aim, price_per_gpu_hour, within, sureness
        As for `cluster_size`.
    target
        An ETTR whose probability is wanted.
    seed
        Seed of uncertain values and of luck.

    Returns
    -------
    dict
        Schema ``meantime.plan/1``: `chosen_gpus` (0 if no size keeps the deadline), and for every size
        `productive_hours`, `checkpoint_interval_seconds`, the figures of `ettr`, `ettr_run`, `days_to_finish`,
        `gpu_hours` and `cost` (None without a price), `failures_per_day`, `probability_best`, `regret`,
        `probability_done` and `probability_of_target` (None where not asked for).

    Raises
    ------
    InputError
        If an input cannot be used.
    """
    plan = plan_without_work(plan)
    result = cluster_size(
        rate,
        budget,
        plan,
        aim=aim,
        price_per_gpu_hour=price_per_gpu_hour,
        within=within,
        sureness=sureness,
        seed=seed,
    )
    reached = None if target is None else _reached(rate, budget, plan, target, seed)
    rows = []
    for place, size in enumerate(result["gpus"].values):
        one = result.isel(gpus=place)
        rows.append(
            {
                "gpus": int(size),
                "nodes": int(one["nodes"]),
                "extrapolated": bool(one["extrapolated"]),
                "productive_hours": finite(one["productive_hours"]),
                "work_per_second": finite(one["throughput"]),
                "checkpoint_interval_seconds": finite(one["chosen_interval"] * SECONDS_PER_HOUR),
                **{name: four(one[name]) for name in ("ettr", "ettr_run", "days_to_finish", "gpu_hours")},
                "failures_per_day": four(one["failures_per_day"]),
                "cost": four(one["cost"]) if "cost" in one else None,
                "probability_best": finite(one["probability_best"]),
                "regret": finite(one["regret"]),
                "probability_done": finite(one["probability_done"]) if within is not None else None,
                "probability_of_target": None if reached is None else finite(reached[place]),
            }
        )
    facts: dict[str, Any] = {
        "budget": {"work": float(budget.work), "unit": budget.unit},
        "aim": aim,
        "within": None if within is None else str(within),
        "sureness": float(sureness),
        "target": target,
        "price_per_gpu_hour": price_per_gpu_hour,
        "chosen_gpus": int(result.attrs["chosen_gpus"]),
    }
    head = document(SCHEMA, rate, plan, rows, seed=seed, **facts)
    return head | {"notes": notes(result)}


def _reached(rate: xr.DataArray, budget: Budget, plan: Plan, target: float, seed: int) -> np.ndarray:
    if isinstance(target, bool) or not isinstance(target, int | float | np.number):
        raise InputError(f"target is {target!r}; expected an ETTR between 0 and 1, such as 0.9")
    sizes = [int(size) for size in rate["gpus"].values]
    parts = [
        probability_of_ettr(rate.sel(gpus=[size]), budget.plan_of(plan, size), target, seed=seed) for size in sizes
    ]
    return np.array([part["probability"].item() for part in parts])
