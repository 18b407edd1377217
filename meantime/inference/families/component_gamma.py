"""`component_gamma` in inference: two numbers by quadrature (or sampled), the rates drawn exactly."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from meantime.inference.exact import Exact
from meantime.inference.families.family import Draws, Family, Variables, repeat_sizes
from meantime.inference.geometry import Geometry
from meantime.inference.likelihood import negative_binomial_log_probability
from meantime.inference.quadrature import pool_quadrature
from meantime.models import ComponentGammaPriors, Grid


def _geometry(grid: Grid, priors: ComponentGammaPriors) -> Geometry:
    """Sample log mean and log shape of the pool: nearly independent, unlike its shape and rate."""
    observed = grid.observed()
    rates = (observed["observed_failures"] + 0.5) / observed["exposure_days"][:, None]
    shape = np.clip(rates.mean() ** 2 / max(rates.var(), 1e-300), 0.2, 10.0)
    cells = rates.size
    data = {
        "centre": np.array([np.log(rates.mean()), np.log(shape)]),
        "width": np.array([np.sqrt(1 / (shape * cells) + 1 / (observed["observed_failures"].sum() + 1)), cells**-0.5]),
    }

    def to_values(z: Any, data: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        import jax.numpy as jnp

        log_mean, log_shape = data["centre"] + data["width"] * z
        values = {"pool_shape_log__": log_shape, "pool_rate_log__": log_shape - log_mean}
        return values, jnp.log(data["width"]).sum()

    return Geometry(size=2, data=data, to_values=to_values)


def _draw_exactly(
    grid: Grid, priors: ComponentGammaPriors, size: tuple[int, int], rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], xr.Dataset]:
    found = pool_quadrature(grid, priors)
    return found.draw(size, rng), found.group()


def _complete(draws: Draws, grid: Grid, rng: np.random.Generator) -> Variables:
    shape, rate = (draws[name][..., None, None] for name in ("pool_shape", "pool_rate"))
    gamma = rng.standard_gamma(shape + grid.failures[:, 0])
    return {"rate": (("cluster", "component"), gamma / (rate + grid.exposure))}


def _log_likelihood(draws: Draws, grid: Grid) -> np.ndarray:
    shape, rate = (draws[name][..., None, None] for name in ("pool_shape", "pool_rate"))
    observed = grid.observed()
    mean = observed["exposure_days"][:, None] * (shape / rate)
    return negative_binomial_log_probability(observed["observed_failures"], mean, shape)


def _replicate(draws: Draws, grid: Grid, rng: np.random.Generator) -> np.ndarray:
    observed = grid.observed()
    shape, rate = (draws[name][..., None, None] for name in ("pool_shape", "pool_rate"))
    size = (*draws["pool_shape"].shape, *observed["observed_failures"].shape)
    return rng.poisson(observed["exposure_days"][:, None] * rng.standard_gamma(shape, size) / rate)


def _predict(
    posterior: xr.Dataset, grid: Grid, gpus: np.ndarray, cluster: int | None, rng: np.random.Generator
) -> np.ndarray:
    if cluster is not None:
        return repeat_sizes(posterior["rate"].values[:, :, cluster], gpus)
    shape, rate = (posterior[name].values[..., None] for name in ("pool_shape", "pool_rate"))
    return repeat_sizes(rng.standard_gamma(shape, (*shape.shape[:2], len(grid.components))) / rate, gpus)


COMPONENT_GAMMA = Family(
    dims={"pool_shape": (), "pool_rate": ()},
    geometry=_geometry,
    complete=_complete,
    log_likelihood=_log_likelihood,
    replicate=_replicate,
    predict=_predict,
    exact=Exact("quadrature", _draw_exactly),
)
