"""`component` in inference."""

import numpy as np
import xarray as xr

from meantime.inference.families.family import Draws, Family, Variables, repeat_sizes
from meantime.inference.families.pooled import new_deviation, pooled_geometry
from meantime.inference.likelihood import poisson_log_probability
from meantime.models import Grid
from meantime.models.condensed import component_condensed, condensed_counts

DIMS = {
    "mu": (),
    "sigma_component": (),
    "level": ("component",),
    "sigma_cluster": (),
    "cluster_deviation": ("cluster", "component"),
}


def _log_rate(draws: Draws) -> np.ndarray:
    level = draws["level"][..., None, :]
    return level + draws["cluster_deviation"] if "cluster_deviation" in draws else level


def _complete(draws: Draws, grid: Grid, rng: np.random.Generator) -> Variables:
    return {"rate": (("cluster", "component"), np.exp(_log_rate(draws)))}


def _mean(draws: Draws, grid: Grid) -> np.ndarray:
    log_rate = _log_rate(draws)[..., grid.cluster_of, :]
    return grid.observed()["exposure_days"][:, None] * np.exp(log_rate)


def _log_likelihood(draws: Draws, grid: Grid) -> np.ndarray:
    return poisson_log_probability(grid.observed()["observed_failures"], _mean(draws, grid))


def _replicate(draws: Draws, grid: Grid, rng: np.random.Generator) -> np.ndarray:
    return rng.poisson(_mean(draws, grid))


def _predict(
    posterior: xr.Dataset, grid: Grid, gpus: np.ndarray, cluster: int | None, rng: np.random.Generator
) -> np.ndarray:
    if cluster is None:
        return repeat_sizes(np.exp(posterior["level"].values + new_deviation(posterior, rng)), gpus)
    return repeat_sizes(posterior["rate"].values[:, :, cluster], gpus)


COMPONENT = Family(
    dims=DIMS,
    geometry=pooled_geometry,
    condensed=lambda grid, priors: (lambda: component_condensed(grid, priors), condensed_counts(grid)),
    complete=_complete,
    log_likelihood=_log_likelihood,
    replicate=_replicate,
    predict=_predict,
)
