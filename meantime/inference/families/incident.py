"""`incident` in inference: the law of sizes is sampled, the rates of incidents by size are drawn exactly."""

import numpy as np
import xarray as xr

from meantime.datasets.incident_table import check_incidents
from meantime.datasets.outages import hit_probability
from meantime.datasets.simulate.incidents import simulate_incidents
from meantime.errors import InputError
from meantime.inference.families.family import Draws, Family, Variables
from meantime.inference.geometry import Geometry, shifted
from meantime.inference.likelihood import negative_binomial_log_probability
from meantime.models import IncidentGrid, IncidentPriors, incident_grid_of, size_shares


def _geometry(grid: IncidentGrid, priors: IncidentPriors) -> Geometry:
    """Shift each variable to where the counts put it, roughly."""
    count = grid.incidents.sum(axis=1)
    many = grid.incidents[:, grid.hits > 1]
    both = np.array([priors.several_many + many.sum(), priors.several_one + grid.incidents[:, grid.hits == 1].sum()])
    logs = np.log((np.broadcast_to(grid.hits, grid.incidents.shape)[:, grid.hits > 1]) / 1.5)
    tail = (1 / priors.tail_sd**2 + many.sum()) / (1 / (priors.tail_sd**2 * priors.tail) + (many * logs).sum())
    start = {
        "daily_mean_log__": np.log((count + 0.5) / grid.days),
        "several_logodds__": np.log(both[0] / both[1]),
        "tail_log__": np.log(tail),
        "weight_log__": np.log(priors.weight),
    }
    scale = {
        "daily_mean_log__": np.sqrt(1 / (count + 1) + 1 / priors.weight),
        "several_logodds__": np.sqrt((1 / both).sum()),
        "tail_log__": 1 / np.sqrt(1 / priors.tail_sd**2 + many.sum()),
        "weight_log__": 1.0,
    }
    shapes = {name: np.shape(value) for name, value in start.items()}
    return shifted(shapes, start, scale)


def _shares(draws: Draws, grid: IncidentGrid) -> np.ndarray:
    several, tail = (draws[name][..., None, None] for name in ("several", "tail"))
    return size_shares(np, grid.observed(), several, tail)


def _complete(draws: Draws, grid: IncidentGrid, rng: np.random.Generator) -> Variables:
    weight = draws["weight"][..., None, None]
    shape = weight * _shares(draws, grid) + grid.incidents
    per_day = rng.standard_gamma(shape) / (weight / draws["daily_mean"][..., None] + grid.days[:, None])
    return {"per_day": (("cluster", "hit"), np.where(grid.hits <= grid.nodes[:, None], per_day, 0.0))}


def _mean(draws: Draws, grid: IncidentGrid) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and shape of the negative binomial counts."""
    share = _shares(draws, grid)
    return grid.days[:, None] * draws["daily_mean"][..., None] * share, draws["weight"][..., None, None] * share


def _log_likelihood(draws: Draws, grid: IncidentGrid) -> np.ndarray:
    return negative_binomial_log_probability(grid.incidents, *_mean(draws, grid))


def _replicate(draws: Draws, grid: IncidentGrid, rng: np.random.Generator) -> np.ndarray:
    mean, shape = _mean(draws, grid)
    return rng.poisson(mean * rng.standard_gamma(shape) / shape)


def _predict(
    posterior: xr.Dataset, grid: IncidentGrid, gpus: np.ndarray, cluster: int | None, rng: np.random.Generator
) -> np.ndarray:
    """Return the hazard of a job by its node-days: what independent nodes would have to fail at."""
    if cluster is None:
        raise InputError("the model 'incident' knows no population of clusters; name one of the log")
    nodes = np.ceil(gpus / grid.gpus_per_node).astype(int)
    total = int(grid.nodes[cluster])
    if (nodes > total).any():
        raise InputError(
            f"a job of {int(gpus[nodes > total][0]):,} GPUs needs more than the {total:,} nodes of "
            f"{grid.clusters[cluster]}; incidents of a larger cluster are not known from this one"
        )
    fits = grid.hits <= total
    struck = np.stack([hit_probability(grid.hits[fits], total, int(k)) for k in nodes], axis=-1)
    hazard = posterior["per_day"].values[:, :, cluster, fits] @ struck
    return (hazard / (gpus / grid.gpus_per_node))[:, :, None, :]


def _design() -> xr.Dataset:
    return simulate_incidents(seed=1, nodes=[60, 200], days=200.0)[0]


def _replace(table: xr.Dataset, grid: IncidentGrid, values: np.ndarray) -> xr.Dataset:
    return xr.Dataset(
        {"incidents": (("cluster", "hit"), values), "days": table["days"], "nodes": table["nodes"]},
        coords={"cluster": table["cluster"], "hit": grid.hits},
        attrs=table.attrs,
    )


INCIDENT = Family(
    check=check_incidents,
    layout=incident_grid_of,
    outcome=("incidents", ("cluster", "hit")),
    dims={"daily_mean": ("cluster",), "several": (), "tail": (), "weight": ()},
    geometry=_geometry,
    complete=_complete,
    log_likelihood=_log_likelihood,
    replicate=_replicate,
    predict=_predict,
    design=_design,
    replace=_replace,
)
