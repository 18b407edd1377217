"""Pieces that several models share. Each adds variables to the model in context."""

import numpy as np
import pymc as pm
from pytensor.tensor.variable import TensorVariable

from meantime.models.grid import Grid
from meantime.models.time_grid import TimeGrid

DATA_DIMS = {
    "exposure_days": ("stratum",),
    "observed_failures": ("stratum", "component"),
    "cluster_of": ("stratum",),
    "doublings": ("stratum",),
    "period_of": ("stratum",),
    "step_years": ("step",),
}
"""Dimensions of the arrays of `Grid.observed` and `TimeGrid.observed`."""


def data_containers(grid: Grid | TimeGrid) -> dict[str, TensorVariable]:
    """Put the observed strata into the model as named data."""
    return {name: pm.Data(name, values, dims=DATA_DIMS[name]) for name, values in grid.observed().items()}


def component_levels(total_rate: float, level_sd: float, component_sd: float, n_components: int) -> TensorVariable:
    """Add ``mu``, ``sigma_component`` and ``level`` (component,): log rates, partially pooled.

    The prior of ``mu`` is centred so that `n_components` components together fail `total_rate` times a
    node-day.
    """
    mu = pm.Normal("mu", np.log(total_rate / n_components), level_sd)
    sigma = pm.HalfNormal("sigma_component", component_sd)
    return pm.Normal("level", mu, sigma, dims="component")


def cluster_deviations(cluster_sd: float) -> TensorVariable:
    """Add ``sigma_cluster`` and ``cluster_deviation`` (cluster, component), centred on zero."""
    sigma = pm.HalfNormal("sigma_cluster", cluster_sd)
    return pm.Normal("cluster_deviation", 0, sigma, dims=("cluster", "component"))
