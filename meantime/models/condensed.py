"""The same densities, up to a constant, from fewer operations: for sampling. The models stay as written down."""

from typing import TYPE_CHECKING, Any

import numpy as np

from meantime.models.component import ComponentPriors
from meantime.models.component_size import ComponentSizePriors
from meantime.models.grid import MIN_CELL_VARIANCE, Grid

if TYPE_CHECKING:
    import pymc as pm

LEAST_VALUES = 32
"""Different counts are padded to a power of two of them, at least this, so that other data fit compiled code."""


def condensed_counts(grid: Grid) -> dict[str, np.ndarray]:
    """Return what the density of `component` takes: sums by cluster and component.

    ``exposure_days`` (cluster,), ``observed_failures`` (cluster, component), ``component_failures`` (component,).
    """
    failures = grid.failures.sum(1)
    return {
        "exposure_days": grid.exposure.sum(1),
        "observed_failures": failures,
        "component_failures": failures.sum(0),
    }


def component_condensed(grid: Grid, priors: ComponentPriors) -> "pm.Model":
    """Build the density of `component` from `condensed_counts`: without the factorials."""
    import pymc as pm

    from meantime.models.parts import component_levels

    with pm.Model(coords={key: grid.coords[key] for key in ("cluster", "component")}) as model:
        data = {name: pm.Data(name, values) for name, values in condensed_counts(grid).items()}
        level = component_levels(priors.total_rate, priors.level_sd, priors.component_sd, len(grid.components))
        log_rate, linear = _lines(level, data, priors.cluster_sd, len(grid.clusters))
        mean = data["exposure_days"][:, None] * pm.math.exp(log_rate)
        pm.Potential("failures", linear - mean.sum())
    return model


def condensed_cells(grid: Grid) -> dict[str, np.ndarray]:
    """Return what the density of `component_size` takes.

    ``exposure_days`` (cluster, size), ``observed_failures`` (cluster, size, component), ``doublings`` (size,), sums
    ``cluster_failures`` (cluster, component), ``component_failures`` and ``component_doublings`` (component,), and
    ``values``, the different counts, with ``cells``, how many cells have each.
    """
    values, cells = np.unique(grid.failures[grid.failures > 0], return_counts=True)
    length = max(LEAST_VALUES, 2 ** int(np.ceil(np.log2(max(len(values), 1)))))
    padding = (0, length - len(values))
    by_size = grid.failures.sum(0)
    return {
        "exposure_days": grid.exposure,
        "observed_failures": grid.failures,
        "doublings": grid.doublings,
        "cluster_failures": grid.failures.sum(1),
        "component_failures": by_size.sum(0),
        "component_doublings": grid.doublings @ by_size,
        "values": np.pad(values, padding).astype(float),
        "cells": np.pad(cells, padding).astype(float),
    }


def component_size_condensed(grid: Grid, priors: ComponentSizePriors) -> "pm.Model":
    r"""Build the density of `component_size` from `condensed_cells`.

    With :math:`a` the shape of the cells and :math:`m` their means, it is
    :math:`\sum_v c_v [\log\Gamma(a + v) - \log\Gamma(a) - v \log a] + \sum n \log m - \sum (n + a) \log(1 + m / a)`:
    the gamma functions once for every different count, the middle sum linear in the parameters, and one logarithm for
    each cell.
    """
    import pymc as pm
    from pytensor import tensor as pt

    from meantime.models.parts import component_levels

    with pm.Model(coords={key: grid.coords[key] for key in ("cluster", "component")}) as model:
        data = {name: pm.Data(name, values) for name, values in condensed_cells(grid).items()}
        level = component_levels(priors.total_rate, priors.level_sd, priors.component_sd, len(grid.components))
        slope_mean = pm.Normal("slope_mean", 0, priors.slope_mean_sd)
        slope_sd = pm.HalfNormal("slope_sd", priors.slope_sd)
        slope = pm.Normal("slope", slope_mean, slope_sd, dims="component")
        sigma_cell = pm.HalfNormal("sigma_cell", priors.cell_sd)
        shape = 1 / (sigma_cell**2 + MIN_CELL_VARIANCE)
        log_rate, linear = _lines(level, data, priors.cluster_sd, len(grid.clusters))
        linear = linear + (data["component_doublings"] * slope).sum()
        trend = pt.exp(data["doublings"][:, None] * slope[None, :])
        excess = data["exposure_days"][:, :, None] * pt.exp(log_rate)[:, None, :] * trend[None] / shape
        gammas = pt.gammaln(data["values"] + shape) - pt.gammaln(shape) - data["values"] * pt.log(shape)
        cells = ((data["observed_failures"] + shape) * pt.log1p(excess)).sum()
        pm.Potential("failures", (data["cells"] * gammas).sum() + linear - cells)
    return model


def _lines(level: Any, data: dict[str, Any], cluster_sd: float, clusters: int) -> tuple[Any, Any]:
    """Return log rates (cluster, component) at 64 GPUs, and the part of the density that is linear in them."""
    from pytensor import tensor as pt

    from meantime.models.parts import cluster_deviations

    linear = (data["component_failures"] * level).sum()
    if clusters == 1:
        return level[None, :], linear
    deviation = cluster_deviations(cluster_sd)
    sums = data["cluster_failures"] if "cluster_failures" in data else data["observed_failures"]
    return level[None, :] + deviation, linear + pt.sum(sums * deviation)
