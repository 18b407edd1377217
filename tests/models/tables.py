"""Small failure tables for the tests of models and inference."""

import numpy as np
import xarray as xr

from meantime.datasets.table import build_table

TABLE_MODELS = ("constant", "component", "component_gamma", "component_size", "over_time")
"""Models of counts by cluster and component; `data_for` gives each its table."""


def small_table(*, clusters: int = 2, components: int = 4, sizes: int = 4, seed: int = 5) -> xr.Dataset:
    """Counts about a smooth truth: about 3,000 failures per million node-days, 400,000 node-days a cluster."""
    rng = np.random.default_rng(seed)
    job_size = 2 ** np.arange(4, 4 + sizes)
    exposure = rng.uniform(0.5, 1.5, (clusters, sizes)) * 400_000 / sizes
    level = np.log(3e-3 / components) + np.linspace(-1, 1, components)
    deviation = 0.3 * rng.standard_normal((clusters, components))
    rate = np.exp((level + deviation)[:, :, None] + 0.05 * np.log2(job_size / 64))
    return build_table(
        rng.poisson(exposure[:, None] * rate),
        exposure,
        cluster=[f"cluster {i}" for i in range(clusters)],
        component=[f"part {i}" for i in range(components)],
        job_size=job_size,
    )


def period_table(*, clusters: int = 2, components: int = 3, periods: int = 10, seed: int = 6) -> xr.Dataset:
    """Counts about rates that triple within the ten months; one cluster has a gap, one period is missing to all."""
    rng = np.random.default_rng(seed)
    start = np.datetime64("2024-01-01", "ns") + np.arange(periods + 1) * np.timedelta64(30, "D")
    trend = np.linspace(-1.1, 0, periods) + 0.1 * rng.standard_normal((clusters, components, periods))
    exposure = rng.uniform(0.5, 1.5, (clusters, periods)) * 40_000
    exposure[0, 3] = 0.0
    level = np.log(6e-3 / components) + np.linspace(-1, 1, components)
    return build_table(
        rng.poisson(exposure[:, None] * np.exp(level[:, None] + trend)),
        exposure,
        cluster=[f"cluster {i}" for i in range(clusters)],
        component=[f"part {i}" for i in range(components)],
        period=np.delete(start, 6),
    )


def data_for(model: str, table: xr.Dataset) -> xr.Dataset:
    """Return data that a model can be built of: the given table where it takes one, else an example of its own."""
    return period_table() if model == "over_time" else table
