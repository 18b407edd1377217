"""Geometry of the two log-normal models: whitened given the scales, log scales centred."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.geometry import Geometry, Shapes, length, unpack
from meantime.inference.laplace import expansion
from meantime.inference.scales import to_log_scales
from meantime.inference.whitening import whiten_levels, whiten_lines
from meantime.models import ComponentPriors, ComponentSizePriors, Grid


def pooled_geometry(grid: Grid, priors: ComponentPriors | ComponentSizePriors) -> Geometry:
    """Return the change of variables of `component` or, with job sizes, `component_size`."""
    n_clusters, n_components = len(grid.clusters), len(grid.components)
    prior = {"mu_mean": float(np.log(priors.total_rate / n_components)), "mu_sd": priors.level_sd}
    scales = {"sigma_component": priors.component_sd}
    shapes: dict[str, tuple[int, ...]] = {"mu": (), "level": (n_components,)}
    whiten = whiten_levels
    if n_clusters > 1:
        scales["sigma_cluster"] = priors.cluster_sd
        shapes["cluster_deviation"] = (n_clusters, n_components)
    if isinstance(priors, ComponentSizePriors):
        prior["slope_mean_sd"] = priors.slope_mean_sd
        scales |= {"slope_sd": priors.slope_sd, "sigma_cell": priors.cell_sd}
        shapes |= {"slope_mean": (), "slope": (n_components,)}
        whiten = whiten_lines
    work, found = expansion(grid, whiten, shapes, scales, prior)
    names = tuple(scales)
    everything: Shapes = {"scales": (len(names),), **shapes}

    def to_values(z: Any, data: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        import jax.numpy as jnp

        parts = unpack(z, everything)
        logs, scale_jacobian = to_log_scales(parts["scales"], data["log_scales"])
        logs = [part.reshape(()) for part in jnp.split(logs, len(names))]
        now = {name: jnp.exp(log) for name, log in zip(names, logs, strict=True)}
        values, jacobian = whiten(jnp, {name: parts[name] for name in shapes}, now, data, prior)
        values |= {f"{name}_log__": logs[i] for i, name in enumerate(names)}
        return values, jacobian + scale_jacobian

    data = {**work, "log_scales": np.log([found[name] for name in names])}
    return Geometry(size=length(everything), data=data, to_values=to_values)


def new_deviation(posterior: xr.Dataset, rng: np.random.Generator) -> np.ndarray:
    """Draw the deviation of a cluster not in the log, (chain, draw, component).

    Raises
    ------
    InputError
        If the fit holds one cluster only.
    """
    if "sigma_cluster" not in posterior:
        raise InputError("the fit holds one cluster, which says nothing of how clusters differ; name that cluster")
    level = posterior["level"].values
    return posterior["sigma_cluster"].values[..., None] * rng.standard_normal(level.shape)
