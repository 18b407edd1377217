"""What a back-tested model must beat: rates as one would work them out without a model."""

from collections.abc import Callable

import numpy as np
import xarray as xr

WINDOW = 4
"""Periods of the rolling rate."""

type Baseline = Callable[[xr.Dataset, xr.Dataset], xr.Dataset]
"""``(training table, held-out table) -> training table``: the part that the rate is taken from."""


def _all(train: xr.Dataset, held: xr.Dataset) -> xr.Dataset:
    return train


def _nearest_size(train: xr.Dataset, held: xr.Dataset) -> xr.Dataset:
    exposed = train["exposure"].sum([dim for dim in train["exposure"].dims if dim != "job_size"]) > 0
    return train.sel(job_size=[train["job_size"].values[exposed.values].max()])


def _last_periods(train: xr.Dataset, held: xr.Dataset) -> xr.Dataset:
    return train.isel(period=slice(-WINDOW, None))


BASELINES: dict[str, dict[str, Baseline]] = {
    "job_size": {"pooled rate": _all, "nearest bucket": _nearest_size},
    "period": {"pooled rate": _all, "rolling rate": _last_periods},
}
"""Baselines by what is held out."""


def baseline_rates(
    baseline: Baseline, train: xr.Dataset, held: xr.Dataset, samples: int, rng: np.random.Generator
) -> xr.DataArray:
    """Draw each cluster's rates from Gamma(n + 1/2, e): failures over exposure, with their Poisson error.

    Returns
    -------
    xr.DataArray
        Failures per node-day, (sample, cluster, component).
    """
    part = baseline(train, held)
    counts = part["failures"].sum([dim for dim in part["failures"].dims if dim not in ("cluster", "component")])
    days = part["exposure"].sum([dim for dim in part["exposure"].dims if dim != "cluster"])
    counts = counts.transpose("cluster", "component")
    shape = counts.values + 0.5
    rate = rng.standard_gamma(shape, (samples, *shape.shape)) / np.maximum(days.values, 1e-9)[:, None]
    return xr.DataArray(rate, dims=("sample", "cluster", "component"), coords=counts.coords)
