"""Runs simulated failure by failure, beside what the closed forms say of them."""

from typing import Any

import numpy as np
import xarray as xr

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.document import document, finite, four
from meantime.forecast.draws import expected_draws
from meantime.forecast.forecast import SEED
from meantime.forecast.grid import grid_of
from meantime.forecast.plan import Plan, plan_or_default
from meantime.forecast.rates import checked_gpus, hazards_of, summed
from meantime.intervals import summarise
from meantime.units import HOURS_PER_DAY, SECONDS_PER_HOUR

SCHEMA = "meantime.simulate/1"
MAX_RUNS = 1_000_000
MAX_FAILURES = 2e9
"""Largest number of failures to expect in all runs together: some minutes of work."""


def simulate_runs(
    rate: xr.DataArray, plan: Plan | None = None, *, runs: int = 1000, seed: int = SEED
) -> dict[str, Any]:
    """Simulate runs event by event under the plan, and compare with the closed forms.

    Every run has one draw of the rate (and of what is uncertain in the plan), spread evenly over the posterior in
    the order of the hazard; so the spread of the runs is uncertainty and luck together.

    Parameters
    ----------
    rate
        Failures per node-day, as for `forecast_rates`.
    plan
        The plan of the run, with single values.
    runs
        Number of runs of each size.
    seed
        Seed of everything that is drawn.

    Returns
    -------
    dict
        Schema ``meantime.simulate/1``. For every size the figures over the runs of `days_to_finish`, `ettr_run` and
        `failures`; `days_mean_expected` and `ettr_expected` (closed forms over the same draws), and
        `standard_errors`: by how many of its standard errors the simulated mean of the days is off.

    Raises
    ------
    InputError
        If an input cannot be used, or the runs would fail too often to simulate.
    """
    plan = plan_or_default(plan)
    if plan.lists:
        raise InputError(f"{plan.lists[0]} of the plan is a list; expected single values")
    if isinstance(runs, bool) or not isinstance(runs, int | np.integer) or not 2 <= runs <= MAX_RUNS:
        raise InputError(f"runs is {runs!r}; expected a whole number from 2 to {MAX_RUNS:,}")
    draws = summed(rate)
    sizes = checked_gpus(rate["gpus"].values.tolist())
    hazards = hazards_of(draws, sizes, plan.gpus_per_node)
    chosen = expected_draws(rate, plan, seed=seed)["chosen_interval"].values
    hours = {name: values[0] for name, values in grid_of(plan, len(draws), seed=seed).hours.items()}
    rows = [
        _of_size(size, hazards[:, place], float(chosen[place]), hours, int(runs), seed)
        for place, size in enumerate(sizes)
    ]
    return document(SCHEMA, rate, plan, rows, seed=seed, runs=int(runs))


def _of_size(
    size: int, hazard: np.ndarray, chosen: float, hours: dict[str, np.ndarray], runs: int, seed: int
) -> dict[str, Any]:
    order = np.argsort(hazard)[((np.arange(runs) + 0.5) / runs * hazard.size).astype(int)]
    lam = hazard[order]
    terms = {name: value[order] if value.size > 1 else value for name, value in hours.items()}
    every = np.where(np.isnan(terms["checkpoint_interval"]), chosen, terms["checkpoint_interval"])
    productive = terms["productive"]
    every = np.minimum(every, productive)
    write, restart = terms["checkpoint_write"], terms["restart"]
    detection, queue = terms["detection"], terms["queue"]
    mean, variance = ettr.wallclock_moments(
        lam, every, write, restart, productive=productive, detection=detection, queue=queue
    )
    expected_failures = float(np.sum(lam * mean))
    if not expected_failures <= MAX_FAILURES:
        raise InputError(
            f"{runs:,} runs on {size:,} GPUs would fail {expected_failures:.3g} times; "
            "expected fewer runs, a shorter run or shorter checkpoint intervals"
        )
    key = int(np.random.SeedSequence([seed, size, 29]).generate_state(1)[0])
    wall, failures = ettr.simulate(
        key, lam, every, write, restart, productive=productive, detection=detection, queue=queue, with_failures=True
    )
    wall, failures = np.asarray(wall)[0], np.asarray(failures)[0]
    error = np.sqrt(np.asarray(variance).mean() / runs)
    off = (wall.mean() - np.mean(mean)) / error if error > 0 else 0.0
    return {
        "gpus": size,
        "checkpoint_interval_seconds": finite(np.median(every) * SECONDS_PER_HOUR),
        "days_to_finish": four(summarise(wall / HOURS_PER_DAY)),
        "ettr_run": four(summarise(productive / wall)),
        "failures": four(summarise(failures)),
        "days_mean_expected": finite(np.mean(mean) / HOURS_PER_DAY),
        "ettr_expected": finite(np.mean(productive / np.asarray(mean))),
        "standard_errors": finite(off),
    }
