"""Predictions from a fit: rates at any job size, and replicated counts."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.families import FAMILIES
from meantime.inference.families.family import repeat_sizes
from meantime.inference.horizon import cluster_index, mean_ahead
from meantime.inference.rebuild import family_of
from meantime.inference.tree import as_outcome
from meantime.units import Duration, check_seed

MAX_GPUS = 10**9


def predict_rate(
    tree: xr.DataTree,
    gpus: int | Sequence[int] | np.ndarray,
    *,
    cluster: str | None = None,
    horizon: Duration | None = None,
    seed: int = 0,
) -> xr.DataArray:
    """Draw failure rates of jobs of given sizes from a fit.

    Rates of `component_size` follow each component's line over job size. A size whose power-of-two
    bucket had exposure keeps its cell deviation; any other size draws a new one, so that predictions
    beyond the data are wider. The other models know no sizes: their rates are the same for all. Rates of
    `over_time` are those of the last period of the data or, with a horizon, means over the time that follows.

    Parameters
    ----------
    tree
        A fit.
    gpus
        Job sizes, GPUs.
    cluster
        Which cluster. May be left out where the fit holds one. ``"new"`` is a cluster that is not in the
        log, drawn from the population of clusters.
    horizon
        For a fit of `over_time`: how far beyond the end of the data rates are averaged, such as ``"90d"``.
    seed
        Seed of what is drawn anew.

    Returns
    -------
    xr.DataArray
        Failures per node-day, dimensions (sample, component, gpus): a sample is one draw of one chain.
        `constant` has the single component ``"all"``. The attribute ``largest_job_gpus`` tells how far
        the data go (0: unknown).

    Raises
    ------
    InputError
        For a model that gives no rates of jobs, an unknown cluster, a size that is no positive whole
        number, a horizon where the model knows no time, or a tree that is no fit.
    """
    check_seed(seed)
    name, family, layout = family_of(tree)
    if family.predict is None:
        raise InputError(f"the model {name!r} gives no rates of jobs; fit one of {', '.join(_predicting())} for that")
    sizes = _sizes(gpus)
    index = cluster_index(cluster, layout)
    posterior = tree["posterior"].to_dataset()
    rng = np.random.default_rng([seed, 2])
    if horizon is None:
        rate = family.predict(posterior, layout, sizes, index, rng)
    else:
        rate = repeat_sizes(mean_ahead(name, family, layout, posterior, index, horizon, rng), sizes)
    attrs = {"units": "failures per node-day", "largest_job_gpus": int(tree["fit_data"].attrs["largest_job_gpus"])}
    return xr.DataArray(
        rate.reshape(-1, *rate.shape[2:]),
        dims=("sample", "component", "gpus"),
        coords={"component": list(layout.components), "gpus": sizes},
        name="rate",
        attrs=attrs,
    )


def posterior_predictive(tree: xr.DataTree, *, seed: int = 0) -> xr.Dataset:
    """Draw counts that the fitted model would give again for the same exposure.

    What is integrated out of the likelihood (cells of `component_size`, rates of `component_gamma`) is
    drawn anew, as PyMC's ``sample_posterior_predictive`` does.

    Parameters
    ----------
    tree
        A fit.
    seed
        Seed of the counts.

    Returns
    -------
    xr.Dataset
        ``failures`` (chain, draw, stratum, component), labelled as the fit's ``observed_data``.
    """
    _, family, layout = family_of(tree)
    draws = {str(name): values.values for name, values in tree["posterior"].to_dataset().items()}
    return as_outcome(family.replicate(draws, layout, np.random.default_rng([seed, 3])), family, layout)


def _sizes(gpus: int | Sequence[int] | np.ndarray) -> np.ndarray:
    values = np.atleast_1d(np.asarray(gpus))
    if values.ndim != 1 or values.dtype.kind not in "iuf" or not len(values):
        raise InputError(f"gpus is {gpus!r}; expected one or more whole numbers of GPUs")
    if (bad := ~((values >= 1) & (values <= MAX_GPUS) & (values == np.round(values)))).any():
        raise InputError(f"gpus holds {values[bad][0]}; expected whole numbers from 1 to {MAX_GPUS:,}")
    return values.astype(np.int64)


def _predicting() -> list[str]:
    return [name for name, family in FAMILIES.items() if family.predict is not None]
