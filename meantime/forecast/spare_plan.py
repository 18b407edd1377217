"""How many spare nodes to hold, when the failure rate is not known exactly."""

from typing import Any

import numpy as np
import xarray as xr

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.document import document, finite, four
from meantime.forecast.forecast import SEED
from meantime.forecast.hazards import condense
from meantime.forecast.plan import Plan, Value, duration_of, plan_or_default
from meantime.forecast.rates import checked_gpus, summed
from meantime.forecast.uncertain import Uncertain
from meantime.units import SECONDS_PER_HOUR, seconds

SCHEMA = "meantime.spares/1"
MAX_SPARES = 1_000_000


def plan_spares(
    rate: xr.DataArray,
    repair: Value,
    plan: Plan | None = None,
    *,
    sureness: float = 0.99,
    standby: float = 0.0,
    one_run: bool = True,
    seed: int = SEED,
) -> dict[str, Any]:
    """Find the smallest pool of spares for which failures find one as often as is asked for.

    The probability that a failure finds no spare (`meantime.ettr.spare_pool`) is averaged over the draws: a pool sized
    for the mean rate is too small more often than not enough.

    Parameters
    ----------
    rate
        Failures per node-day that send a node to repair, dims (sample, gpus) or (sample, component, gpus).
    repair
        Mean time from a node's failure until it is a spare again; `Uncertain` if the mean is not known.
    plan
        For `gpus_per_node` alone.
    sureness
        Probability with which a failure is to find a spare.
    standby
        Failure rate of a waiting spare over that of a node in use: 0 cold, 1 as hot as those in use.
    one_run
        Whether all nodes are of one run, which stands still without a spare; otherwise they are of many jobs.
    seed
        Seed of an uncertain repair time.

    Returns
    -------
    dict
        Schema ``meantime.spares/1``. For every size: `spares`, the pool to hold; `spares_needed`, figures of the pool
        that each draw would need; `none_left`, `short_share` and `wait_seconds`, figures with that pool over the
        draws; `nodes_in_repair`; and `pools`, the means for pools around it.

    Raises
    ------
    InputError
        If an input cannot be used.
    """
    plan = plan_or_default(plan)
    if isinstance(sureness, bool) or not isinstance(sureness, int | float) or not 0 < sureness < 1:
        raise InputError(f"sureness is {sureness!r}; expected a probability such as 0.99")
    if isinstance(standby, bool) or not isinstance(standby, int | float) or not 0 <= standby <= 10:
        raise InputError(f"standby is {standby!r}; expected a factor from 0 (cold) to 1 (as hot as nodes in use)")
    draws = summed(rate)
    down = _down_hours(repair, len(draws), seed)
    rows = []
    for column, size in enumerate(checked_gpus(rate["gpus"].values.tolist())):
        nodes = np.ceil(size / plan.gpus_per_node)
        per_day, hours, weights = _few(draws[:, column], down)
        search = _Pools(nodes, per_day, hours, weights, standby=float(standby), one_run=one_run)
        count = search.smallest(1 - sureness)
        needed = ettr.spares_needed(nodes, per_day, hours, 1 - sureness, standby=standby, stops=one_run)
        pool = search.at(count)
        rows.append(
            {
                "gpus": size,
                "nodes": int(nodes),
                "spares": count,
                "spares_needed": search.figures(needed),
                "none_left": search.figures(pool.none_left),
                "short_share": search.figures(pool.short),
                "wait_seconds": search.figures(np.asarray(pool.wait) * SECONDS_PER_HOUR),
                "nodes_in_repair": search.figures(pool.down),
                "pools": [search.row(other) for other in _around(count)],
            }
        )
    facts: dict[str, Any] = {
        "repair_seconds": four(_figures(down, np.full(down.size, 1 / down.size)), SECONDS_PER_HOUR),
        "sureness": float(sureness),
        "standby": float(standby),
        "one_run": bool(one_run),
    }
    result = document(SCHEMA, rate, plan, rows, seed=seed, **facts)
    del result["plan"]
    return result


class _Pools:
    """Pools of one size of job, over weighted draws."""

    def __init__(
        self,
        nodes: float,
        per_day: np.ndarray,
        hours: np.ndarray,
        weights: np.ndarray,
        *,
        standby: float,
        one_run: bool,
    ) -> None:
        self.nodes, self.per_day, self.hours, self.weights = nodes, per_day, hours, weights
        self.standby, self.one_run = standby, one_run

    def at(self, spares: int) -> ettr.SparePool:
        return ettr.spare_pool(
            self.nodes, float(spares), self.per_day, self.hours, standby=self.standby, stops=self.one_run
        )

    def mean(self, values: Any) -> float:
        return float(np.asarray(values) @ self.weights)

    def figures(self, values: Any) -> dict[str, float | None]:
        return four(_figures(np.asarray(values), self.weights))

    def row(self, spares: int) -> dict[str, Any]:
        pool = self.at(spares)
        return {
            "spares": spares,
            "none_left": finite(self.mean(pool.none_left)),
            "wait_seconds": finite(self.mean(pool.wait) * SECONDS_PER_HOUR),
        }

    def smallest(self, most: float) -> int:
        """Smallest pool whose mean probability of finding none is at most `most`, by doubling and bisection."""
        low, high = -1, 0
        while self.mean(self.at(high).none_left) > most:
            if high > MAX_SPARES:
                raise InputError(f"more than {MAX_SPARES:,} spares would be needed; expected shorter repairs")
            low, high = high, 2 * high + 1
        while high - low > 1:
            middle = (low + high) // 2
            low, high = (middle, high) if self.mean(self.at(middle).none_left) > most else (low, middle)
        return high


def _few(rate: np.ndarray, down: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Few draws that stand for all: the rate, the repair time and weights, all of one shape."""
    if down.size == 1:
        points, weights = condense(rate, 40, alone=4)
        return points, np.full(points.size, down[0]), weights
    load = np.argsort(rate * down)
    count = min(rate.size, 128)
    chosen = load[((np.arange(count) + 0.5) / count * rate.size).astype(int)]
    return rate[chosen], down[chosen], np.full(count, 1 / count)


def _down_hours(repair: Value, n_draws: int, seed: int) -> np.ndarray:
    value = duration_of(repair, "repair")
    if isinstance(value, Uncertain):
        return value.draw(n_draws, np.random.default_rng([seed, 17]), name="repair")
    return np.array([seconds(value, name="repair") / SECONDS_PER_HOUR])


def _figures(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Mean, median, lower and upper of weighted values."""
    if values.size == 1:
        return np.repeat(values, 4)
    order = np.argsort(values)
    passed = np.cumsum(weights[order]) - weights[order] / 2
    median, lower, upper = np.interp([0.5, 0.05, 0.95], passed, values[order])
    return np.array([values @ weights, median, lower, upper])


def _around(count: int) -> list[int]:
    """Pools to compare: none, and up to ten around the one to hold."""
    step = max(1, count // 5)
    return sorted({0, *range(max(0, count - 4 * step), count + 4 * step + 1, step), count})
