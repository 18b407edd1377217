"""Small failure tables for the tests of models and inference."""

import numpy as np
import xarray as xr

from meantime.datasets.table import build_table

TABLE_MODELS = ("constant", "component", "component_gamma", "component_size")
"""Models of tables of clusters, components and job sizes, such as `small_table`."""


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
