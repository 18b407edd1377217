"""What inference knows of a model beyond its density."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from meantime.inference.geometry import Geometry
from meantime.models import Grid

NEW = "new"
"""Stands for a cluster that is not in the log, drawn from the population of clusters."""

type Draws = Mapping[str, np.ndarray]
"""Arrays by name, of shape (chain, draw, ...)."""

type Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]
"""Posterior variables: dimensions after (chain, draw), and the array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The functions that inference needs for one model.

    Parameters
    ----------
    sizes
        Whether the model uses job sizes.
    components
        Whether it uses components.
    dims
        Dimensions of the sampled variables, after (chain, draw).
    geometry
        ``(grid, priors) -> Geometry``: the change of variables that NUTS samples in.
    complete
        ``(draws, grid, generator) -> variables``: everything of the posterior that is not sampled, drawn
        exactly or computed: ``rate`` always.
    log_likelihood
        ``(draws, grid) -> (chain, draw, stratum, component)``: of the observed counts, as in the PyMC model.
    replicate
        ``(draws, grid, generator) -> (chain, draw, stratum, component)``: new counts for the same exposure.
    predict
        ``(posterior, grid, gpus, cluster, generator) -> (chain, draw, component, gpus)``: rates per node-day.
        `cluster` is the index of a cluster, or None for a new one.
    """

    sizes: bool = False
    components: bool = True
    dims: Mapping[str, tuple[str, ...]]
    geometry: Callable[[Grid, Any], Geometry]
    complete: Callable[[Draws, Grid, np.random.Generator], Variables]
    log_likelihood: Callable[[Draws, Grid], np.ndarray]
    replicate: Callable[[Draws, Grid, np.random.Generator], np.ndarray]
    predict: Callable[[xr.Dataset, Grid, np.ndarray, int | None, np.random.Generator], np.ndarray]


def repeat_sizes(rate: np.ndarray, gpus: np.ndarray) -> np.ndarray:
    """Give rates that do not depend on the job size their last axis, one entry a size."""
    return np.broadcast_to(rate[..., None], (*rate.shape, len(gpus)))
