"""From a failure table with periods to the arrays of a model of rates that move."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError

DAYS_PER_YEAR = 365.25
"""Days of the year in which the spread of a walk is counted."""

_NANOSECONDS_PER_DAY = 86_400e9


@dataclass(frozen=True, slots=True, kw_only=True)
class TimeGrid:
    """Counts and exposure by cluster, period and component; job sizes and nodes are summed away.

    A stratum is a (cluster, period) pair with exposure; only strata are observed. A step leads from one period
    to the next.

    Parameters
    ----------
    failures
        Counts, shape (cluster, period, component), int64.
    exposure
        Node-days at risk, shape (cluster, period).
    clusters, components
        Labels.
    periods
        Starts of the periods, rising, datetime64[ns].
    period_days
        Length of a period, days.
    """

    failures: np.ndarray
    exposure: np.ndarray
    clusters: tuple[str, ...]
    components: tuple[str, ...]
    periods: np.ndarray
    period_days: float
    cluster_of: np.ndarray = field(init=False)
    period_of: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        cluster_of, period_of = np.nonzero(self.exposure > 0)
        object.__setattr__(self, "cluster_of", cluster_of)
        object.__setattr__(self, "period_of", period_of)

    @property
    def step_years(self) -> np.ndarray:
        """Years from each period's start to the next one's, shape (period - 1,)."""
        return np.diff(self.periods).astype("timedelta64[ns]").astype(float) / _NANOSECONDS_PER_DAY / DAYS_PER_YEAR

    @property
    def coords(self) -> dict[str, list[Any]]:
        """Labels of the model's dimensions: cluster, component, period, step (the period it leads to) and stratum."""
        days = [str(np.datetime_as_string(period, unit="s")).removesuffix("T00:00:00") for period in self.periods]
        strata = [f"{self.clusters[c]}/{days[t]}" for c, t in zip(self.cluster_of, self.period_of, strict=True)]
        return {
            "cluster": list(self.clusters),
            "component": list(self.components),
            "period": list(self.periods),
            "step": list(self.periods[1:]),
            "stratum": strata,
        }

    @property
    def outcome_coords(self) -> dict[str, tuple[str, list[Any]]]:
        """A stratum's cluster and period."""
        return {
            "cluster": ("stratum", [self.clusters[c] for c in self.cluster_of]),
            "period": ("stratum", [self.periods[t] for t in self.period_of]),
        }

    def observed(self) -> dict[str, np.ndarray]:
        """Return the data of a likelihood: the strata, and the years of each step.

        ``exposure_days`` (stratum,), ``observed_failures`` (stratum, component), ``cluster_of`` and ``period_of``
        (stratum,), ``step_years`` (step,).
        """
        return {
            "exposure_days": self.exposure[self.cluster_of, self.period_of],
            "observed_failures": self.failures[self.cluster_of, self.period_of],
            "cluster_of": self.cluster_of,
            "period_of": self.period_of,
            "step_years": self.step_years,
        }


def time_grid_of(table: xr.Dataset) -> TimeGrid:
    """Sum a failure table to clusters, components and periods.

    Periods may be missing, or of different lengths such as months: a step is as wide as the time between the
    starts of two periods.

    Parameters
    ----------
    table
        A failure table with the dimension ``period`` (see `meantime.datasets.check_table`).

    Returns
    -------
    TimeGrid
        Arrays of the model, periods in order.

    Raises
    ------
    InputError
        If the table has no periods, or fewer than two have exposure.
    """
    if "period" not in table.dims:
        raise InputError(
            "the table has no periods, so nothing is known of how rates moved; make it with failure_table(..., "
            "period='1w') (--period 1w), or fit the model 'component'"
        )
    table = table.sortby("period")
    keep = ("cluster", "period")
    exposure = table["exposure"].sum([dim for dim in table["exposure"].dims if dim not in keep]).transpose(*keep)
    counts = table["failures"]
    counts = counts.sum([dim for dim in counts.dims if dim not in (*keep, "component")]).transpose(*keep, "component")
    days = exposure.values.astype(float)
    if (exposed := int((days.sum(0) > 0).sum())) < 2:
        raise InputError(
            f"the table has {exposed} period with exposure; over_time needs at least two: make periods shorter, "
            "or fit the model 'component'"
        )
    periods = table["period"].values.astype("datetime64[ns]")
    return TimeGrid(
        failures=counts.values.astype(np.int64),
        exposure=days,
        clusters=tuple(str(name) for name in table["cluster"].values),
        components=tuple(str(name) for name in table["component"].values),
        periods=periods,
        period_days=float(np.median(np.diff(periods).astype("timedelta64[ns]").astype(float))) / _NANOSECONDS_PER_DAY,
    )
