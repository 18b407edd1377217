"""`component_size` in inference: cells integrated out while sampling, drawn exactly afterwards."""

from functools import partial

import numpy as np
import xarray as xr

from meantime.inference.families import component
from meantime.inference.families.family import Draws, Family, Variables
from meantime.inference.families.line_density import line_data, line_density
from meantime.inference.families.pooled import new_deviation, pooled_geometry
from meantime.inference.likelihood import negative_binomial_log_probability
from meantime.models import MIN_CELL_VARIANCE, REFERENCE_GPUS, Grid, grid_of

AT_ONCE = 4_000_000
"""Cells, times draws, worked on at a time (32 MB an array)."""


def bucket_of(gpus: np.ndarray) -> np.ndarray:
    """Return the job-size bucket of each number of GPUs: the next power of two, 5 to 8 GPUs in 8."""
    return 2 ** np.ceil(np.log2(gpus)).astype(np.int64)


def _cell_weight(sigma_cell: np.ndarray) -> np.ndarray:
    """Return the shape of the Gamma distribution of cells."""
    return 1 / (sigma_cell**2 + MIN_CELL_VARIANCE)


def _line(draws: Draws, doublings: np.ndarray) -> np.ndarray:
    """Return the log rates without cell deviations, (chain, draw, cluster, component, size)."""
    line = draws["level"][..., None, :, None] + draws["slope"][..., None, :, None] * doublings
    return line + draws["cluster_deviation"][..., None] if "cluster_deviation" in draws else line


def _complete(draws: Draws, grid: Grid, rng: np.random.Generator) -> Variables:
    counts = grid.failures.transpose(0, 2, 1)
    chains, kept = draws["sigma_cell"].shape
    cell = np.empty((chains, kept, *counts.shape))
    rate = np.empty_like(cell)
    for part in _parts(kept, chains * counts.size):
        some = {name: values[:, part] for name, values in draws.items()}
        smooth = np.exp(_line(some, grid.doublings))
        weight = _cell_weight(some["sigma_cell"])[..., None, None, None]
        cell[:, part] = rng.standard_gamma(weight + counts) / (weight + grid.exposure[:, None, :] * smooth)
        rate[:, part] = smooth * cell[:, part]
    dims = ("cluster", "component", "job_size")
    return {"cell": (dims, cell), "rate": (dims, rate)}


def _parts(draws: int, cells: int) -> list[slice]:
    """Cut draws so that a part has few enough of all chains' cells to be held several times over."""
    step = max(1, AT_ONCE // cells)
    return [slice(start, start + step) for start in range(0, draws, step)]


def _mean(draws: Draws, grid: Grid) -> np.ndarray:
    """Return the expected counts of the strata, cells integrated out."""
    observed = grid.observed()
    log_rate = draws["level"][..., None, :] + draws["slope"][..., None, :] * observed["doublings"][:, None]
    if "cluster_deviation" in draws:
        log_rate = log_rate + draws["cluster_deviation"][..., grid.cluster_of, :]
    return observed["exposure_days"][:, None] * np.exp(log_rate)


def _log_likelihood(draws: Draws, grid: Grid) -> np.ndarray:
    observed = grid.observed()["observed_failures"]
    chains, kept = draws["sigma_cell"].shape
    found = np.empty((chains, kept, *observed.shape))
    for part in _parts(kept, chains * observed.size):
        some = {name: values[:, part] for name, values in draws.items()}
        weight = _cell_weight(some["sigma_cell"])[..., None, None]
        found[:, part] = negative_binomial_log_probability(observed, _mean(some, grid), weight)
    return found


def _replicate(draws: Draws, grid: Grid, rng: np.random.Generator) -> np.ndarray:
    mean, weight = _mean(draws, grid), _cell_weight(draws["sigma_cell"])[..., None, None]
    return rng.poisson(mean * rng.standard_gamma(weight, mean.shape) / weight)


def _predict(
    posterior: xr.Dataset, grid: Grid, gpus: np.ndarray, cluster: int | None, rng: np.random.Generator
) -> np.ndarray:
    doublings = np.log2(gpus / REFERENCE_GPUS)
    log_rate = posterior["level"].values[..., None] + posterior["slope"].values[..., None] * doublings
    if cluster is None:
        log_rate = log_rate + new_deviation(posterior, rng)[..., None]
    elif "cluster_deviation" in posterior:
        log_rate = log_rate + posterior["cluster_deviation"].values[:, :, cluster, :, None]
    return np.exp(log_rate) * _cells(posterior, grid, bucket_of(gpus), cluster, rng)


def _cells(
    posterior: xr.Dataset, grid: Grid, buckets: np.ndarray, cluster: int | None, rng: np.random.Generator
) -> np.ndarray:
    """Return cell multipliers, (chain, draw, component, gpus): those of sizes seen here, new ones elsewhere."""
    weight = _cell_weight(posterior["sigma_cell"].values)[..., None]
    seen = (
        {} if cluster is None else {size: i for i, size in enumerate(grid.job_sizes) if grid.exposure[cluster, i] > 0}
    )
    root = int(rng.integers(2**63))
    cells = {}
    for bucket in dict.fromkeys(buckets.tolist()):
        if bucket in seen:
            cells[bucket] = posterior["cell"].values[:, :, cluster, :, seen[bucket]]
        else:
            own = np.random.default_rng([root, bucket])  # the draws of a size do not depend on the others asked for
            cells[bucket] = own.standard_gamma(weight, (*weight.shape[:2], len(grid.components))) / weight
    return np.stack([cells[bucket] for bucket in buckets.tolist()], axis=-1)


COMPONENT_SIZE = Family(
    layout=partial(grid_of, sizes=True),
    dims={**component.DIMS, "slope_mean": (), "slope_sd": (), "slope": ("component",), "sigma_cell": ()},
    geometry=pooled_geometry,
    condensed=lambda grid, priors: (partial(line_density, grid, priors), line_data(grid)),
    complete=_complete,
    log_likelihood=_log_likelihood,
    replicate=_replicate,
    predict=_predict,
)
