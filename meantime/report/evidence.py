"""What a fit holds, in the shape that figures and tables need: raw counts beside fitted rates."""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike
from scipy.stats import chi2

from meantime.errors import InputError
from meantime.inference import provenance
from meantime.intervals import LOWER, UPPER
from meantime.units import HOURS_PER_DAY

NEW = "new"
"""The name that stands for a cluster that is not in the log."""
MOST_SHOWN = 3
"""Clusters shown side by side at most; with more, only the chosen one is shown."""


def counts(tree: xr.DataTree) -> xr.Dataset:
    """Return the failure table that was fitted, summed over periods and nodes.

    Returns
    -------
    xarray.Dataset
        `failures` (cluster, component[, job_size]) and `exposure` (cluster[, job_size]), node-days.

    Raises
    ------
    InputError
        If the tree holds no failure table, as those of lives, repairs and incidents do not.
    """
    if "fit_data" not in tree.children:
        raise InputError("the fit holds no group 'fit_data'; expected the result of fit() or load_fit()")
    table = tree["fit_data"].to_dataset()
    if "cluster" not in table.dims or not {"failures", "exposure"} <= set(table.data_vars):
        model = provenance(tree)["model"]
        raise InputError(
            f"the model {model!r} holds no failures by node-days to show; expected a fit of a model that does"
        )
    summed = table.sum([name for name in ("period", "node") if name in table.dims])
    return summed.assign_attrs(table.attrs)


def source_facts(tree: xr.DataTree) -> dict[str, Any]:
    """Return what the failure table says of its origin: rows read, used and quarantined, rule, windows."""
    return _facts(tree["fit_data"].attrs)


def facts_of(source: xr.DataTree | xr.Dataset | Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the account of a log: of a fit or failure table its provenance, of a summary itself.

    Raises
    ------
    InputError
        If the source is none of these.
    """
    if isinstance(source, xr.DataTree):
        return source_facts(source)
    if isinstance(source, xr.Dataset):
        return _facts(source.attrs)
    if isinstance(source, Mapping):
        return {str(name): value for name, value in source.items()}
    raise InputError(
        f"the source is a {type(source).__name__}; expected a fit, a failure table, or what summarise returns"
    )


def gpus_per_node(tree: xr.DataTree) -> int:
    """Return the GPUs of a node that the exposure was counted with."""
    return int(tree["fit_data"].attrs.get("gpus_per_node", 8))


def largest_job(tree: xr.DataTree) -> int:
    """Return the GPUs of the largest job in the data; 0 if unknown."""
    return int(tree["fit_data"].attrs.get("largest_job_gpus", 0))


def clusters(tree: xr.DataTree) -> list[str]:
    """Return the clusters of the log, the one with most node-days first."""
    exposure = _per_cluster(counts(tree)["exposure"])
    order = np.argsort(-exposure.values, kind="stable")
    return [str(name) for name in exposure["cluster"].values[order]]


def choose_cluster(tree: xr.DataTree, cluster: str | None) -> str:
    """Settle which cluster is meant: the one named, or else the one with most node-days.

    Raises
    ------
    InputError
        If the name is neither in the log nor ``"new"``.
    """
    names = clusters(tree)
    if cluster is None:
        return names[0]
    if cluster != NEW and cluster not in names:
        raise InputError(f"cluster {cluster!r} is not in the fit; expected one of {', '.join(sorted(names))} or 'new'")
    return cluster


def shown_clusters(tree: xr.DataTree, cluster: str | None = None) -> list[str]:
    """Name the clusters that a figure of the log shows: all if few, else the chosen one."""
    names = clusters(tree)
    if len(names) <= MOST_SHOWN:
        return names
    chosen = choose_cluster(tree, cluster)
    return names[:MOST_SHOWN] if chosen == NEW else [chosen]


def component_rates(tree: xr.DataTree, cluster: str) -> xr.DataArray:
    """Return the posterior rate of each component on one cluster, per node-day.

    Where the rate depends on job size it is averaged over sizes, weighted by the exposure of the
    log, which makes it comparable with failures / node-days; where it moves, likewise over periods.

    Returns
    -------
    xarray.DataArray
        Dims (sample, component); a model of one rate for all has the single component ``"all"``.
    """
    rate = tree["posterior"]["rate"].sel(cluster=cluster)
    if "job_size" in rate.dims:
        weights = counts(tree)["exposure"].sel(cluster=cluster)
        rate = rate.weighted(weights).mean("job_size")
    if "period" in rate.dims:
        days = tree["fit_data"].to_dataset()["exposure"].sel(cluster=cluster)
        rate = rate.weighted(days.sum([name for name in days.dims if name != "period"])).mean("period")
    if "component" not in rate.dims:
        rate = rate.expand_dims(component=["all"])
    return rate.stack(sample=("chain", "draw"), create_index=False).transpose("sample", "component")


def measured(tree: xr.DataTree, cluster: str) -> xr.Dataset:
    """Return fitted and counted rates of one cluster side by side.

    Returns
    -------
    xarray.Dataset
        `fitted` (sample, component) and `raw` (component), per node-day, and `failures` (component).
    """
    fitted = component_rates(tree, cluster)
    table = counts(tree).sel(cluster=cluster)
    failures, exposure = _all_sizes(table["failures"]), float(table["exposure"].sum())
    if fitted.sizes["component"] == 1:
        failures = failures.sum("component").expand_dims(component=fitted["component"].values)
    failures = failures.sel(component=fitted["component"].values)
    raw = failures / exposure if exposure else failures * np.nan
    return xr.Dataset({"fitted": fitted.drop_vars("cluster", errors="ignore"), "raw": raw, "failures": failures})


def measured_clusters(tree: xr.DataTree, *, most: int) -> xr.Dataset:
    """Return the same for all components together, a row a cluster: the dimension `component` names clusters."""
    rows = []
    for name in clusters(tree)[:most]:
        whole = measured(tree, name).sum("component").expand_dims(component=[name])
        rows.append(whole.drop_vars("cluster", errors="ignore"))
    return xr.concat(rows, "component").transpose("sample", "component")


def by_size(tree: xr.DataTree, names: list[str]) -> xr.Dataset:
    """Return failures of all components and node-days by job size, summed over the named clusters.

    A table without job sizes gives one row at the largest job, if that is known, else none.
    Sizes without exposure are left out.
    """
    table = counts(tree).sel(cluster=names).sum("cluster")
    total = xr.Dataset({"failures": table["failures"].sum("component"), "exposure": table["exposure"]})
    if "job_size" not in total.dims:
        size = largest_job(tree)
        total = total.expand_dims(job_size=[size] if size else [1]).isel(job_size=slice(None if size else 0))
    return total.isel(job_size=np.flatnonzero(total["exposure"].values > 0))


def garwood(failures: ArrayLike, exposure: ArrayLike) -> tuple[np.ndarray, np.ndarray]:
    """Bound a Poisson rate by the exact (Garwood) interval at the library's probability.

    lower = chi2_{2n}(0.05) / 2 / exposure, upper = chi2_{2n + 2}(0.95) / 2 / exposure.
    With no failure the lower bound is 0.
    """
    n, time = np.asarray(failures, dtype=float), np.asarray(exposure, dtype=float)
    lower = np.where(n > 0, chi2.ppf(LOWER, 2 * np.maximum(n, 1)), 0.0) / 2 / time
    return lower, chi2.ppf(UPPER, 2 * n + 2) / 2 / time


def mttf_hours(rate: ArrayLike, gpus: ArrayLike, per_node: int) -> np.ndarray:
    """Turn rates per node-day into hours between failures of a job on so many GPUs."""
    with np.errstate(divide="ignore"):
        return HOURS_PER_DAY / (np.asarray(rate, dtype=float) * np.asarray(gpus, dtype=float) / per_node)


def _per_cluster(exposure: xr.DataArray) -> xr.DataArray:
    return exposure.sum([name for name in exposure.dims if name != "cluster"])


def _all_sizes(values: xr.DataArray) -> xr.DataArray:
    return values.sum("job_size") if "job_size" in values.dims else values


def _facts(attrs: Mapping[Any, Any]) -> dict[str, Any]:
    text = attrs.get("provenance", "{}")
    try:
        facts = json.loads(text)
    except (TypeError, ValueError):
        return {}
    return facts if isinstance(facts, dict) else {}
