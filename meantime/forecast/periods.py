"""Forecasts for each period ahead, from a fit of rates that move."""

from collections.abc import Iterable

import numpy as np
import xarray as xr

from meantime.forecast.forecast import SEED, forecast_rates
from meantime.forecast.plan import Plan
from meantime.forecast.rates import checked_gpus, with_record
from meantime.units import Duration


def forecast_periods(
    tree: xr.DataTree,
    gpus: int | Iterable[int],
    plan: Plan | None = None,
    *,
    horizon: Duration,
    cluster: str | None = None,
    seed: int = SEED,
) -> xr.Dataset:
    """Forecast MTTF, ETTR and losses in each period from the end of the data to a horizon.

    Each period is forecast as if its rates held throughout the run. For a run that spans several periods take
    `meantime.forecast.forecast` with the same horizon, whose rates are means over it, or follow the changing hazard
    with `meantime.ettr.varying_wallclock`.

    Parameters
    ----------
    tree
        A fit of `over_time`.
    gpus, plan, cluster, seed
        As in `meantime.forecast.forecast`; a cluster that is not in the log has no periods.
    horizon
        How far beyond the end of the data, such as ``"90d"``; a begun period counts as one.

    Returns
    -------
    xarray.Dataset
        As of `meantime.forecast.forecast`, with a first dimension ``period``, the start of each period ahead.

    Raises
    ------
    InputError
        If the model knows no time, or the sizes, the plan, the cluster or the horizon cannot be used.
    """
    from meantime.inference import rate_over_time

    sizes = checked_gpus(gpus)
    path = rate_over_time(tree, cluster=cluster, horizon=horizon, seed=seed)
    path = path.isel(period=np.flatnonzero(path["ahead"].values)).drop_vars("ahead")
    parts = []
    for place in range(path.sizes["period"]):
        rate = path.isel(period=place, drop=True).expand_dims(gpus=sizes, axis=-1)
        rate.attrs = {"largest_job_gpus": int(tree["fit_data"].attrs["largest_job_gpus"])}
        rate = with_record(rate, tree, cluster=cluster, horizon=horizon)
        parts.append(forecast_rates(rate, plan, seed=seed))
    result = xr.concat(parts, path["period"], data_vars="all", coords="minimal", combine_attrs="override")
    for name in ("nodes", "extrapolated"):  # of the size alone
        result[name] = result[name].isel(period=0, drop=True)
    return result
