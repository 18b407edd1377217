"""The density of `component`, up to a constant, from fewer operations, for sampling: the model stays as written."""

from typing import TYPE_CHECKING, Any

import numpy as np

from meantime.models.component import ComponentPriors
from meantime.models.grid import Grid

if TYPE_CHECKING:
    import pymc as pm


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


def _lines(level: Any, data: dict[str, Any], cluster_sd: float, clusters: int) -> tuple[Any, Any]:
    """Return log rates (cluster, component) at 64 GPUs, and the part of the density that is linear in them."""
    from pytensor import tensor as pt

    from meantime.models.parts import cluster_deviations

    linear = (data["component_failures"] * level).sum()
    if clusters == 1:
        return level[None, :], linear
    deviation = cluster_deviations(cluster_sd)
    return level[None, :] + deviation, linear + pt.sum(data["observed_failures"] * deviation)
