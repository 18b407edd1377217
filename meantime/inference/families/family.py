"""What inference knows of a model beyond its density."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from meantime.datasets.table import check_table
from meantime.inference.designs import replace_failures, table_design
from meantime.inference.exact import Exact
from meantime.inference.geometry import Geometry
from meantime.models import Layout, grid_of

if TYPE_CHECKING:
    import pymc as pm

    from meantime.inference.density import Density

NEW = "new"
"""Stands for a cluster that is not in the log, drawn from the population of clusters."""

type Draws = Mapping[str, np.ndarray]
"""Arrays by name, of shape (chain, draw, ...)."""

type Variables = dict[str, tuple[tuple[str, ...], np.ndarray]]
"""Posterior variables: dimensions after (chain, draw), and the array."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """The functions that inference needs for one model.

    ``layout`` below is what the function of that name returns: a `Grid` for the models of failure tables.

    Parameters
    ----------
    check
        ``dataset -> dataset``: validates the data that `fit` is given. It raises `InputError`, and what it
        returns has the attributes ``source`` and ``provenance`` (JSON).
    layout
        ``checked dataset -> Layout``: the data as the model sees them.
    outcome
        Name and dimensions of the model's observed variable; its values stand in the layout's data as
        ``observed_`` and that name.
    dims
        Dimensions of the sampled variables, after (chain, draw).
    geometry
        ``(layout, priors) -> Geometry``: the change of variables that NUTS samples in.
    complete
        ``(draws, layout, generator) -> variables``: everything of the posterior that is not sampled, drawn
        exactly or computed.
    log_likelihood
        ``(draws, layout) -> (chain, draw, *outcome)``: of what is observed, as in the PyMC model.
    replicate
        ``(draws, layout, generator) -> (chain, draw, *outcome)``: new data, of the same exposure.
    predict
        ``(posterior, layout, gpus, cluster, generator) -> (chain, draw, component, gpus)``: rates per
        node-day. `cluster` is the index of a cluster, or None for a new one. None where the model gives no
        rates of jobs; a layout whose family predicts has ``clusters`` and ``components``.
    ahead
        ``(posterior, layout, cluster, n_periods, bursts, generator) -> (chain, draw, component, n_periods)``: rates
        of the periods that follow the data; `bursts` tells whether with each period's own deviation. None where
        the model knows no time; a layout whose family looks ahead has ``periods`` and ``period_days``.
    exact
        How the posterior is known without sampling, if it is.
    design
        ``() -> dataset``: small data of the form the model takes, for calibration; what is observed in them does
        not matter. None: a failure table with the dimensions that `layout` uses.
    replace
        ``(checked dataset, layout, values) -> dataset``: the same data with other outcomes, values (*outcome).
    condensed
        ``(layout, priors) -> (build, data)``: a function that builds a PyMC model, or a `Density`, with the same
        variables and, up to a constant, the same density as the model itself, from data that are fewer, and those data
        by name. None: NUTS samples the model itself.
    """

    check: Callable[[xr.Dataset], xr.Dataset] = check_table
    layout: Callable[[xr.Dataset], Layout] = grid_of
    outcome: tuple[str, tuple[str, ...]] = ("failures", ("stratum", "component"))
    dims: Mapping[str, tuple[str, ...]]
    geometry: Callable[[Any, Any], Geometry]
    complete: Callable[[Draws, Any, np.random.Generator], Variables]
    log_likelihood: Callable[[Draws, Any], np.ndarray]
    replicate: Callable[[Draws, Any, np.random.Generator], np.ndarray]
    predict: Callable[[xr.Dataset, Any, np.ndarray, int | None, np.random.Generator], np.ndarray] | None = None
    condensed: Callable[[Any, Any], tuple[Callable[[], "pm.Model | Density"], dict[str, np.ndarray]]] | None = None
    ahead: Callable[[xr.Dataset, Any, int | None, int, bool, np.random.Generator], np.ndarray] | None = None
    exact: Exact | None = None
    design: Callable[[], xr.Dataset] | None = None
    replace: Callable[[xr.Dataset, Any, np.ndarray], xr.Dataset] = replace_failures

    def small_data(self) -> xr.Dataset:
        """Return a small data set of the form that the model takes, without what is observed."""
        return self.check(table_design(self.layout) if self.design is None else self.design())


def repeat_sizes(rate: np.ndarray, gpus: np.ndarray) -> np.ndarray:
    """Give rates that do not depend on the job size their last axis, one entry a size."""
    return np.broadcast_to(rate[..., None], (*rate.shape, len(gpus)))
