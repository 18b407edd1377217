"""Failure rates and job sizes as forecasts take them."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.forecast.horizon import Horizon, time_ahead
from meantime.units import HOURS_PER_DAY, PER_1000_NODE_DAYS

MAX_GPUS = 10_000_000


def stated_rate(per_1000_node_days: float | Sequence[float] | np.ndarray, gpus: int | Iterable[int]) -> xr.DataArray:
    """Make rates for `forecast_rates` from a stated rate, or from draws of it, the same for every size.

    Parameters
    ----------
    per_1000_node_days
        Failures per 1,000 node-days: one number, or draws, shape (draws,).
    gpus
        Sizes of the job in GPUs.

    Returns
    -------
    xarray.DataArray
        Failures per node-day, dims (sample, component, gpus), the one component ``"all"``.

    Raises
    ------
    InputError
        If the rate is no number or no 1-D array, or a size cannot be used.
    """
    try:
        values = np.atleast_1d(np.asarray(per_1000_node_days, dtype=float)) / PER_1000_NODE_DAYS
    except (TypeError, ValueError) as error:
        raise InputError(
            f"rate is {per_1000_node_days!r}; expected failures per 1,000 node-days, such as 6.5"
        ) from error
    if values.ndim != 1:
        raise InputError(f"rate has shape {values.shape}; expected one number or a 1-D array of draws")
    sizes = checked_gpus(gpus)
    return xr.DataArray(
        np.broadcast_to(values[:, None, None], (values.size, 1, len(sizes))),
        dims=("sample", "component", "gpus"),
        coords={"component": ["all"], "gpus": sizes},
    )


def rates_of(
    tree: xr.DataTree,
    gpus: int | Iterable[int],
    *,
    cluster: str | None = None,
    horizon: Horizon | None = None,
    seed: int = 0,
) -> xr.DataArray:
    """Draw the rates of jobs of given sizes from a fit, with what is recorded of the fit in their attributes.

    Parameters
    ----------
    tree
        A fit, as `meantime.inference.fit` returns it.
    gpus
        Sizes of the job in GPUs.
    cluster
        Cluster of the fit, or ``"new"``; may be left out where the fit has one.
    horizon
        For a fit of `over_time`: the time ahead over which rates are averaged, such as ``"90d"``, or a date
        until which, such as ``"2026-06-30"``.
    seed
        Seed of what is drawn anew.

    Returns
    -------
    xarray.DataArray
        As of `meantime.inference.predict_rate`. Attributes `largest_job_gpus`, `data_gpus_per_node`, `model`
        (JSON) and `warnings`.

    Raises
    ------
    InputError
        If the sizes, the cluster or the horizon cannot be used.
    """
    from meantime.inference import predict_rate

    ahead = None if horizon is None else time_ahead(tree, horizon)
    rate = predict_rate(tree, checked_gpus(gpus), cluster=cluster, horizon=ahead, seed=seed)
    return with_record(rate, tree, cluster=cluster, horizon=horizon)


def with_record(rate: xr.DataArray, tree: xr.DataTree, *, cluster: str | None, horizon: Horizon | None) -> xr.DataArray:
    """Put what is recorded of a fit into the attributes of rates drawn from it (see `rates_of`)."""
    from meantime.inference import provenance

    record = provenance(tree)
    wanted = ("model", "method", "data_digest", "created", "versions")
    kept: dict[str, Any] = {key: record[key] for key in wanted if key in record}
    kept |= {"cluster": cluster} if cluster else {}
    kept |= {"horizon": str(horizon)} if horizon is not None else {}
    rate.attrs["model"] = json.dumps(kept)
    data = tree["fit_data"].attrs if "fit_data" in tree else {}
    if data.get("gpus_per_node"):
        rate.attrs["data_gpus_per_node"] = int(data["gpus_per_node"])
    if record.get("diagnostics", {}).get("converged") is False:
        rate.attrs["warnings"] = "The fit did not converge: these figures cannot be relied on."
    elif record.get("method") == "laplace":
        rate.attrs["warnings"] = "The fit is a first look, by an approximation; for figures to rely on, use NUTS."
    return rate


def checked_gpus(gpus: int | Iterable[int]) -> list[int]:
    """Return sizes of jobs as a list of whole numbers.

    Raises
    ------
    InputError
        If there is none, one is repeated, or one is no whole number from 1 to `MAX_GPUS`.
    """
    sizes = list(gpus) if isinstance(gpus, Iterable) and not isinstance(gpus, str) else [gpus]
    for size in sizes:
        whole = isinstance(size, int | np.integer) and not isinstance(size, bool)
        if not whole or not 1 <= size <= MAX_GPUS:
            raise InputError(f"gpus is {size!r}; expected whole numbers of GPUs from 1 to {MAX_GPUS:,}")
    if not sizes or len(set(sizes)) < len(sizes):
        raise InputError(f"gpus is {sizes!r}; expected at least one size and none twice")
    return [int(size) for size in sizes]


def summed(rate: xr.DataArray) -> np.ndarray:
    """Add up the rates of the components, which fail independently.

    Parameters
    ----------
    rate
        Failures per node-day, dims (sample, gpus) or (sample, component, gpus).

    Returns
    -------
    numpy.ndarray
        Shape (samples, sizes).

    Raises
    ------
    InputError
        If dims are missing, there are no draws, or a rate is negative or not finite.
    """
    if not isinstance(rate, xr.DataArray):
        raise InputError(f"rate is of type {type(rate).__name__}; expected what rates_of or stated_rate returns")
    if set(rate.dims) - {"component"} != {"sample", "gpus"} or "gpus" not in rate.coords:
        raise InputError(f"rate has dims {rate.dims}; expected (sample, component, gpus) with coordinate gpus")
    parts = rate.transpose("sample", ..., "gpus").values.astype(float, copy=False)
    draws = parts if parts.ndim == 2 else parts[:, 0] if parts.shape[1] == 1 else parts.sum(axis=1)
    if draws.size == 0 or not (draws.min() >= 0 and draws.max() < np.inf):
        bad = np.argwhere(~(np.isfinite(draws) & (draws >= 0)))
        where = f"sample {bad[0][0]}, {rate['gpus'].values[bad[0][1]]} GPUs" if bad.size else "no draws"
        raise InputError(f"rate cannot be used ({where}); expected finite failures per node-day, 0 or more")
    return draws


def with_components(rate: xr.DataArray) -> xr.DataArray:
    """Return rates with the dims (sample, component, gpus), the one component being "all" where there was none.

    Raises
    ------
    InputError
        As `summed`, and if components have no names.
    """
    summed(rate)
    if "component" not in rate.dims:
        rate = rate.expand_dims(component=["all"])
    if "component" not in rate.coords:
        raise InputError("rate has no names of components; expected a coordinate component")
    rates = rate.transpose("sample", "component", "gpus").astype(float)
    if not (rates.values >= 0).all():
        raise InputError("rate of a component is negative; expected failures per node-day, 0 or more")
    return rates


def hazards_of(draws: np.ndarray, gpus: Sequence[int], gpus_per_node: int) -> np.ndarray:
    """Return the hazards of jobs in failures per hour; part of a node counts as that part.

    Parameters
    ----------
    draws
        Failures per node-day, shape (samples, sizes).
    gpus
        Sizes of the jobs in GPUs.
    gpus_per_node
        GPUs of a node.

    Returns
    -------
    numpy.ndarray
        Shape (samples, sizes).
    """
    return draws * (np.array(gpus) / gpus_per_node / HOURS_PER_DAY)
