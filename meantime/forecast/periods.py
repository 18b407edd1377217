"""Forecasts for each period ahead, from a fit of rates that move."""

from collections.abc import Iterable
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.forecast.document import finite
from meantime.forecast.forecast import SEED, forecast_rates
from meantime.forecast.horizon import SECONDS_PER_DAY, Horizon, by_stretches, data_end, days_of, time_ahead
from meantime.forecast.plan import Plan
from meantime.forecast.rates import checked_gpus, with_record
from meantime.forecast.rows import flat_rows, model, notes, to_rows
from meantime.intervals import describe
from meantime.units import Duration

SCHEMA = "meantime.periods/1"
MAX_PERIODS = 1_000


def forecast_periods(
    tree: xr.DataTree,
    gpus: int | Iterable[int],
    plan: Plan | None = None,
    *,
    horizon: Horizon | None = None,
    periods: int | None = None,
    every: Duration | None = None,
    cluster: str | None = None,
    seed: int = SEED,
) -> xr.Dataset:
    """Forecast MTTF, ETTR and losses in each period from the end of the data to a horizon.

    Each period is forecast as if its rates held throughout the run. For a run that spans several periods take
    `meantime.forecast.forecast_ahead`, which follows the rates as they move, or `meantime.forecast.forecast` with the
    same horizon, whose rates are means over it.

    Parameters
    ----------
    tree
        A fit of `over_time`.
    gpus, plan, cluster, seed
        As in `meantime.forecast.forecast`; a cluster that is not in the log has no periods.
    horizon
        How far beyond the end of the data, such as ``"90d"``, or until which date; a begun period counts as one.
    periods
        In its place: how many periods.
    every
        Length of a period of the forecast, such as ``"30d"``. Default: that of the fit.

    Returns
    -------
    xarray.Dataset
        As of `meantime.forecast.forecast`, with a first dimension ``period``, the start of each period ahead; attribute
        `period_days`.

    Raises
    ------
    InputError
        If the model knows no time, or the sizes, the plan, the cluster or the horizon cannot be used.
    """
    from meantime.inference import rate_over_time

    sizes = checked_gpus(gpus)
    start = data_end(tree)
    own = None if every is None else days_of(every, "every")
    days = _days(tree, horizon, periods, own)
    whole = f"{days * SECONDS_PER_DAY:.0f}s"
    path = rate_over_time(tree, cluster=cluster, horizon=whole, seed=seed)
    path = path.isel(period=np.flatnonzero(path["ahead"].values)).drop_vars("ahead")
    length = own or float(path.attrs["period_days"])
    edges = length * np.arange(int(np.ceil(days / length - 1e-9)) + 1)
    if own is not None:
        edges[-1] = min(edges[-1], path.sizes["period"] * path.attrs["period_days"])
    rates = path.values if own is None else by_stretches(path, edges)
    parts = []
    for place in range(rates.shape[-1]):
        rate = path.isel(period=0, drop=True).copy(data=rates[..., place]).expand_dims(gpus=sizes, axis=-1)
        rate.attrs = {"largest_job_gpus": int(tree["fit_data"].attrs["largest_job_gpus"])}
        rate = with_record(rate, tree, cluster=cluster, horizon=whole if horizon is None else str(horizon))
        parts.append(forecast_rates(rate, plan, seed=seed))
    begins = start + np.round(edges[:-1] * SECONDS_PER_DAY).astype("timedelta64[s]")
    result = xr.concat(
        parts,
        xr.DataArray(begins.astype("datetime64[ns]"), dims="period", name="period"),
        data_vars="all",
        coords="minimal",
        combine_attrs="override",
    )
    for name in ("nodes", "extrapolated"):  # of the size alone
        result[name] = result[name].isel(period=0, drop=True)
    result.attrs["period_days"] = length
    return result


def periods_document(result: xr.Dataset) -> dict[str, Any]:
    """Return a forecast by period as plain values, ready for JSON.

    Parameters
    ----------
    result
        What `forecast_periods` returned.

    Returns
    -------
    dict
        Schema ``meantime.periods/1``: as ``meantime.forecast/1``, with the key `period` (its start, ISO 8601) in every
        row, the periods outermost, and `period_days`.
    """
    return {
        "schema": SCHEMA,
        "interval": describe(),
        "seed": int(result.attrs["seed"]),
        "gpus_per_node": int(result.attrs["gpus_per_node"]),
        "model": model(result),
        "notes": notes(result),
        "period_days": finite(result.attrs["period_days"]),
        "rows": [{"period": begin, **row} for begin, part in _parts(result) for row in to_rows(part)],
    }


def period_rows(result: xr.Dataset) -> list[dict[str, Any]]:
    """Return a forecast by period as flat rows, as for CSV (see `meantime.forecast.flat_rows`)."""
    return [{"period": begin, **row} for begin, part in _parts(result) for row in flat_rows(part)]


def _parts(result: xr.Dataset) -> list[tuple[str, xr.Dataset]]:
    begins = np.datetime_as_string(result["period"].values, unit="s")
    return [
        (str(begin).removesuffix("T00:00:00"), result.isel(period=place, drop=True))
        for place, begin in enumerate(begins)
    ]


def _days(tree: xr.DataTree, horizon: Horizon | None, periods: int | None, every: float | None) -> float:
    """Return how many days ahead the forecast goes."""
    if (horizon is None) == (periods is None):
        raise InputError("expected either a horizon, such as 90d, or a number of periods")
    if horizon is not None:
        return days_of(time_ahead(tree, horizon), "horizon")
    if isinstance(periods, bool) or not isinstance(periods, int | np.integer) or not 1 <= periods <= MAX_PERIODS:
        raise InputError(f"periods is {periods!r}; expected a whole number from 1 to {MAX_PERIODS:,}")
    from meantime.inference.rebuild import family_of

    return int(periods) * (every or float(family_of(tree)[2].period_days))
