"""Forecasts of a budget of work: how many days and GPU-hours until it is done, on each size of cluster."""

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.forecast.budget import Budget
from meantime.forecast.forecast import SEED, forecast_rates
from meantime.forecast.limits import notes_of, warnings_of
from meantime.forecast.plan import Plan, plan_or_default
from meantime.forecast.rates import checked_gpus
from meantime.units import HOURS_PER_DAY


def forecast_work(
    rate: xr.DataArray,
    budget: Budget,
    plan: Plan | None = None,
    *,
    price_per_gpu_hour: float | None = None,
    seed: int = SEED,
) -> xr.Dataset:
    """Forecast a run that does a budget of work, from draws of the failure rate.

    The productive time of the run, which is a field of the plan elsewhere, follows from the work and the
    throughput on each size.

    Parameters
    ----------
    rate
        Failures per node-day, as for `forecast_rates`.
    budget
        What the run has to do.
    plan
        The plan of the run, without `productive`.
    price_per_gpu_hour
        Price of a GPU for an hour of wallclock, in any currency.
    seed
        Seed of uncertain values and of luck.

    Returns
    -------
    xarray.Dataset
        As of `forecast_rates`, with `productive` and `productive_hours` by size, and further `gpu_hours` (gpus,
        ..., figure), the size times the wallclock; `cost`, if there is a price; and `throughput` (gpus).

    Raises
    ------
    InputError
        If rates, budget, plan or price cannot be used.
    """
    plan = plan_without_work(plan)
    sizes = checked_gpus(rate["gpus"].values.tolist())
    price = checked_price(price_per_gpu_hour)
    parts = [forecast_rates(rate.sel(gpus=[size]), budget.plan_of(plan, size), seed=seed) for size in sizes]
    own = ("productive", "productive_hours")
    labels = {name: ("gpus", np.array([part[name].item() for part in parts])) for name in own}
    result = xr.concat(
        [part.drop_vars(own) for part in parts], dim="gpus", data_vars="all", coords="minimal", compat="override"
    ).assign_coords(labels)
    by_size = xr.DataArray(np.array(sizes, dtype=float), dims="gpus", coords={"gpus": result["gpus"]})
    gpu_hours = result["days_to_finish"] * (by_size * HOURS_PER_DAY)
    result["gpu_hours"] = gpu_hours.transpose(*result["days_to_finish"].dims).assign_attrs(
        units="h", long_name="GPU-hours of one run from submission to end (uncertainty and luck)"
    )
    if price is not None:
        result["cost"] = (result["gpu_hours"] * price).assign_attrs(units="1", long_name="price of those GPU-hours")
    speeds = [budget.throughput.per_second(size) for size in sizes]
    result["throughput"] = ("gpus", speeds, {"units": f"{budget.unit}/s", "long_name": "work per productive second"})
    result["productive_hours"].attrs = {"units": "h", "long_name": "hours of undisturbed computation"}
    result.attrs = parts[0].attrs | {
        "budget": f"{budget.work:g} {budget.unit}",
        "notes": "\n".join([*warnings_of(rate), *notes_of(result, plan, rate)]),
    }
    return result


def plan_without_work(plan: Plan | None) -> Plan:
    """Return a plan whose productive time is still open.

    Raises
    ------
    InputError
        If the plan lists productive times.
    """
    plan = plan_or_default(plan)
    if "productive" in plan.lists:
        raise InputError("productive is a list; with a budget the productive time follows from work and throughput")
    return plan


def checked_price(price: float | None) -> float | None:
    """Return the price of a GPU-hour, 0 or more, or None."""
    if price is None:
        return None
    number = isinstance(price, int | float | np.number) and not isinstance(price, bool)
    if not number or not 0 <= price < 1e6:
        raise InputError(f"price_per_gpu_hour is {price!r}; expected a number from 0, such as 2.5")
    return float(price)
