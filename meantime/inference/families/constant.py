"""`constant` in inference: exact by conjugacy, or by NUTS to check it."""

from functools import partial

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.exact import Exact
from meantime.inference.families.family import Draws, Family, Variables, repeat_sizes
from meantime.inference.geometry import Geometry, shifted
from meantime.inference.likelihood import poisson_log_probability
from meantime.models import ConstantPriors, Grid, grid_of


def exact_posterior(grid: Grid, priors: ConstantPriors) -> tuple[np.ndarray, np.ndarray]:
    """Return shape and rate (node-days) of each cluster's Gamma posterior."""
    return priors.shape + grid.failures.sum((1, 2)), priors.rate + grid.exposure.sum(1)


def _draw_exactly(
    grid: Grid, priors: ConstantPriors, size: tuple[int, int], rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], xr.Dataset]:
    shape, rate = exact_posterior(grid, priors)
    group = xr.Dataset(
        {"shape": ("cluster", shape.astype(float)), "rate": ("cluster", rate)}, coords={"cluster": list(grid.clusters)}
    )
    return {"rate": rng.standard_gamma(shape, (*size, len(shape))) / rate}, group


def _geometry(grid: Grid, priors: ConstantPriors) -> Geometry:
    shape, rate = exact_posterior(grid, priors)
    name = "rate_log__"
    return shifted({name: shape.shape}, {name: np.log(shape / rate)}, {name: 1 / np.sqrt(shape)})


def _complete(draws: Draws, grid: Grid, rng: np.random.Generator) -> Variables:
    return {}


def _mean(draws: Draws, grid: Grid) -> np.ndarray:
    return (draws["rate"][..., grid.cluster_of] * grid.observed()["exposure_days"])[..., None]


def _log_likelihood(draws: Draws, grid: Grid) -> np.ndarray:
    return poisson_log_probability(grid.observed()["observed_failures"], _mean(draws, grid))


def _replicate(draws: Draws, grid: Grid, rng: np.random.Generator) -> np.ndarray:
    return rng.poisson(_mean(draws, grid))


def _predict(
    posterior: xr.Dataset, grid: Grid, gpus: np.ndarray, cluster: int | None, rng: np.random.Generator
) -> np.ndarray:
    if cluster is None:
        raise InputError("the model 'constant' knows no population of clusters; fit 'component' to predict a new one")
    return repeat_sizes(posterior["rate"].values[:, :, cluster, None], gpus)


CONSTANT = Family(
    layout=partial(grid_of, components=False),
    dims={"rate": ("cluster",)},
    geometry=_geometry,
    complete=_complete,
    log_likelihood=_log_likelihood,
    replicate=_replicate,
    predict=_predict,
    exact=Exact("conjugate", _draw_exactly),
)
