"""The size of cluster that finishes a budget of work soonest, or for the least money."""

from typing import Any, Literal

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.forecast.budget import Budget
from meantime.forecast.draws import expected_draws
from meantime.forecast.forecast import SEED
from meantime.forecast.plan import Plan
from meantime.forecast.target import probability_done
from meantime.forecast.work import checked_price, forecast_work, plan_without_work
from meantime.units import HOURS_PER_DAY, Duration

Aim = Literal["days", "cost"]


def cluster_size(
    rate: xr.DataArray,
    budget: Budget,
    plan: Plan | None = None,
    *,
    aim: Aim = "days",
    price_per_gpu_hour: float | None = None,
    within: Duration | None = None,
    sureness: float = 0.9,
    seed: int = SEED,
) -> xr.Dataset:
    """Compare sizes of cluster for a budget of work and choose one.

    More GPUs compute faster, less than in proportion, and fail more often; so days have a minimum, and
    GPU-hours grow throughout unless a deadline forbids the small sizes. The choice minimises the mean over the
    posterior, of days or of GPU-hours, among the sizes that are done in time with the probability asked for.

    Parameters
    ----------
    rate
        Failures per node-day, dims (sample, gpus) or (sample, component, gpus). The draws of the sizes
        belong together, as `predict_rate` gives them.
    budget
        What the run has to do; its throughput says how computation scales.
    plan
        The plan of the run, with single values and without `productive`.
    aim
        ``"days"`` or ``"cost"``.
    price_per_gpu_hour
        Price of a GPU for an hour; without it the cost is in GPU-hours.
    within
        Deadline, as a time from submission.
    sureness
        Probability with which the deadline is to be kept.
    seed
        Seed of uncertain values and of luck.

    Returns
    -------
    xarray.Dataset
        `forecast_work` of the sizes, and by size `probability_best` (over the posterior, of expected days or
        cost), `regret` (mean of what is lost against the best size of each draw, in days or cost),
        `probability_done` and `in_time` (with a deadline). Attribute `chosen_gpus`: the choice, 0 if no size keeps the
        deadline.

    Raises
    ------
    InputError
        If an input cannot be used.
    """
    plan = plan_without_work(plan)
    if plan.lists:
        raise InputError(f"{plan.lists[0]} of the plan is a list; expected single values to choose a size for")
    if aim not in ("days", "cost"):
        raise InputError(f"aim is {aim!r}; expected 'days' or 'cost'")
    if not isinstance(sureness, int | float) or not 0 < sureness < 1:
        raise InputError(f"sureness is {sureness!r}; expected a probability such as 0.9")
    price = checked_price(price_per_gpu_hour)
    result = forecast_work(rate, budget, plan, price_per_gpu_hour=price, seed=seed)
    sizes = [int(size) for size in result["gpus"].values]
    days = np.stack(
        [
            expected_draws(rate.sel(gpus=[size]), budget.plan_of(plan, size), seed=seed)["days_to_finish"].values[0]
            for size in sizes
        ]
    )
    hourly = np.array(sizes)[:, None] * HOURS_PER_DAY * (1.0 if price is None else price)
    objective = days if aim == "days" else days * hourly
    best = objective == objective.min(axis=0)
    allowed = np.ones(len(sizes), dtype=bool)
    data: dict[str, Any] = {
        "probability_best": ("gpus", (best / best.sum(axis=0)).mean(axis=1)),
        "regret": ("gpus", (objective - objective.min(axis=0)).mean(axis=1)),
    }
    if within is not None:
        done = probability_done(rate, plan, within, budget=budget, seed=seed)["probability"].values[:, 0]
        allowed = done >= sureness
        data |= {"probability_done": ("gpus", done), "in_time": ("gpus", allowed)}
    chosen = sizes[int(np.argmin(np.where(allowed, objective.mean(axis=1), np.inf)))] if allowed.any() else 0
    result = result.assign(data).assign_attrs(chosen_gpus=chosen, aim=aim)
    result["regret"].attrs["units"] = "day" if aim == "days" else "h" if price is None else "1"
    if chosen == 0:
        result.attrs["notes"] = "\n".join(
            filter(None, [f"No size is done within {within} with probability {sureness:g}.", result.attrs["notes"]])
        )
    return result
