"""Which checkpoint interval to set: classical ones, the best for the posterior, and how much it matters."""

from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.document import document, finite, four
from meantime.forecast.draws import expected_draws
from meantime.forecast.forecast import SEED
from meantime.forecast.grid import grid_of
from meantime.forecast.plan import OPTIMAL, Plan, plan_or_default
from meantime.forecast.rates import checked_gpus, hazards_of, summed
from meantime.intervals import summarise
from meantime.units import SECONDS_PER_HOUR

SCHEMA = "meantime.interval/1"
WITHIN = 0.001
CAUTIOUS = 0.1


def plan_intervals(rate: xr.DataArray, plan: Plan | None = None, *, seed: int = SEED) -> dict[str, Any]:
    """Compare checkpoint intervals for every size.

    Parameters
    ----------
    rate
        Failures per node-day, as for `forecast_rates`.
    plan
        The plan of the run, with single values; a stated `checkpoint_interval` is compared with the others.
    seed
        Seed of uncertain values of the plan.

    Returns
    -------
    dict
        Schema ``meantime.interval/1``. For every size `choices`: `best` (the posterior mean of the ETTR is largest),
        `cautious` (its 10 % quantile is), `exact`, `young` and `daly` (at the mean hazard) and `stated`, if there is
        one, each with `seconds` and the figures `ettr`; `optimum_seconds`, figures of each draw's own optimum;
        `good_from_seconds` and `good_to_seconds`, between which the mean ETTR is within 0.001 of the best.

    Raises
    ------
    InputError
        If rates or plan cannot be used.
    """
    plan = plan_or_default(plan)
    if plan.lists:
        raise InputError(f"{plan.lists[0]} of the plan is a list; expected single values")
    draws = summed(rate)
    sizes = checked_gpus(rate["gpus"].values.tolist())
    hazards = hazards_of(draws, sizes, plan.gpus_per_node)
    grid = grid_of(plan, len(draws), seed=seed)
    hours = {name: values[0] for name, values in grid.hours.items()}
    best = expected_draws(rate, replace(plan, checkpoint_interval=OPTIMAL), seed=seed)["chosen_interval"].values
    rows = [
        _of_size(int(size), hazard, float(every), hours)
        for size, hazard, every in zip(sizes, hazards.T, best, strict=True)
    ]
    return document(SCHEMA, rate, plan, rows, seed=seed, within=WITHIN, cautious_quantile=CAUTIOUS)


def _of_size(size: int, hazard: np.ndarray, best: float, hours: dict[str, np.ndarray]) -> dict[str, Any]:
    write, mean = hours["checkpoint_write"], hazard.mean()
    longest = hours["productive"].max()
    waits = {name: hours[name] for name in ("detection", "queue", "productive")}
    cautious = ettr.robust_interval(hazard, write, hours["restart"], **waits, quantile=CAUTIOUS)
    choices = {
        "best": best,
        "cautious": float(cautious),
        "exact": float(ettr.optimal_interval(mean, write.mean())),
        "young": float(ettr.young(mean, write.mean())),
        "daly": float(ettr.daly(mean, write.mean())),
    }
    if not np.isnan(hours["checkpoint_interval"]).any():
        choices["stated"] = float(np.median(hours["checkpoint_interval"]))
    return {
        "gpus": size,
        "mttf_hours": four(_mttf(hazard)),
        "optimum_seconds": four(summarise(np.minimum(ettr.optimal_interval(hazard, write), longest)), SECONDS_PER_HOUR),
        "choices": {
            name: {
                "seconds": finite(min(every, longest) * SECONDS_PER_HOUR),
                "ettr": four(summarise(_ettr(hazard, min(every, longest), hours))),
            }
            for name, every in choices.items()
        },
        **_good(hazard, best, hours, longest),
    }


def _good(hazard: np.ndarray, best: float, hours: dict[str, np.ndarray], longest: float) -> dict[str, Any]:
    """Bounds between which the mean ETTR is within `WITHIN` of the best, by bisection of the logarithm."""
    least = _ettr(hazard, best, hours).mean() - WITHIN
    bounds = []
    for end in (best / 1000, min(best * 1000, longest)):
        inside, outside = np.log(best), np.log(end)
        if _ettr(hazard, end, hours).mean() >= least:
            bounds.append(end)
            continue
        for _ in range(30):
            middle = (inside + outside) / 2
            good = _ettr(hazard, float(np.exp(middle)), hours).mean() >= least
            inside, outside = (middle, outside) if good else (inside, middle)
        bounds.append(float(np.exp(inside)))
    return {
        "good_from_seconds": finite(bounds[0] * SECONDS_PER_HOUR),
        "good_to_seconds": finite(bounds[1] * SECONDS_PER_HOUR),
    }


def _ettr(hazard: np.ndarray, every: float, hours: dict[str, np.ndarray]) -> np.ndarray:
    return np.asarray(
        ettr.renewal(
            hazard,
            np.minimum(every, hours["productive"]),
            hours["checkpoint_write"],
            hours["restart"],
            detection=hours["detection"],
            queue=hours["queue"],
            productive=hours["productive"],
        )
    )


def _mttf(hazard: np.ndarray) -> np.ndarray:
    with np.errstate(divide="ignore"):
        return np.append((1 / hazard).mean(), 1 / summarise(hazard)[[1, 3, 2]])
