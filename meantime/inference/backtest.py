"""`backtest`: hold part of the data out, predict it, and see."""

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from typing import Any, Literal

import numpy as np
import xarray as xr

from meantime.datasets.table import check_table
from meantime.errors import ConvergenceWarning, InputError
from meantime.inference.baselines import BASELINES, baseline_rates
from meantime.inference.families import FAMILIES
from meantime.inference.fitting import fit
from meantime.inference.predict import predict_rate
from meantime.inference.provenance import provenance
from meantime.inference.scores import Scores, score_counts

SAMPLES = 4_000
"""Draws of a baseline."""

LEAST_PERIODS = 3
"""Periods that the first fit of a rolling back-test has at least."""


def backtest(
    table: xr.Dataset,
    model: str = "component_size",
    *,
    over: Literal["job_size", "period"] = "job_size",
    hold: int = 1,
    priors: Any = None,
    method: str = "auto",
    seed: int = 0,
    chains: int = 4,
    draws: int = 1000,
    tune: int = 500,
    advance: Callable[[], object] = lambda: None,
) -> xr.Dataset:
    """Fit to part of the data, predict the rest, and score the predictions beside plain baselines.

    Over job sizes, the `hold` largest sizes with exposure are left out of one fit and predicted. Over periods,
    each of the `hold` last periods is predicted by a fit of all periods before it. Exposure is taken as known.

    Parameters
    ----------
    table
        A failure table with the dimension `over`.
    model
        Name of a model that predicts rates of jobs.
    over
        ``"job_size"`` or ``"period"``.
    hold
        How many sizes or periods are predicted.
    priors, method, seed, chains, draws, tune
        As in `fit`. A fit that its gate would refuse is used all the same and noted.
    advance
        Called after each fit.

    Returns
    -------
    xr.Dataset
        By ``forecaster`` (the model, and the baselines: ``pooled rate``, and ``nearest bucket`` or ``rolling rate``)
        and ``target`` (each cluster, component and held-out size or period with exposure, and, with several
        components, their total ``"all"``): ``log_score``, ``crps``, ``lower``, ``median``, ``upper``, ``covered``
        and ``pit`` (see `meantime.inference.scores`); by target ``observed``, ``exposure`` and its labels. By
        forecaster and ``scope`` (``cells``, ``totals``): ``coverage``, ``mean_log_score``, ``mean_crps``. The
        attribute ``notes`` lists what to beware of.

    Raises
    ------
    InputError
        If the table lacks the dimension, or has too few sizes or periods to hold any out.
    """
    table = check_table(table)
    folds = list(_folds(table, over, hold))
    options = {"priors": priors, "method": method, "chains": chains, "draws": draws, "tune": tune}
    parts: list[xr.Dataset] = []
    notes: list[str] = []
    for number, (train, held) in enumerate(folds):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)  # it becomes a note
            tree = fit(train, model, seed=seed + number, progress=False, allow_unconverged=True, **options)
        if not provenance(tree)["diagnostics"]["converged"]:
            notes.append(f"fit {number + 1} of {len(folds)} did not converge")
        rng = np.random.default_rng([seed, number, 10])
        means = {model: _model_means(tree, held, seed + number, _ahead(model, train, held))}
        for name, baseline in BASELINES[over].items():
            means[name] = baseline_rates(baseline, train, held, SAMPLES, rng) * held["exposure"]
        parts.append(_scored(means, held, over, rng))
        advance()
    result = xr.concat(parts, "target", data_vars="all", coords="all", compat="equals", join="outer")
    result = _summarised(result)
    result.attrs = {"model": model, "over": over, "hold": hold, "seed": seed, "notes": notes}
    return result


def _folds(table: xr.Dataset, over: str, hold: int) -> Iterator[tuple[xr.Dataset, xr.Dataset]]:
    if over not in BASELINES:
        raise InputError(f"over is {over!r}; expected one of {', '.join(BASELINES)}")
    if over not in table.dims:
        raise InputError(f"the table has no dimension {over!r}; make one that keeps it, or test over the other")
    if hold < 1:
        raise InputError(f"hold is {hold!r}; expected a whole number, 1 or more")
    table = table.sortby(over)
    days = table["exposure"].sum([dim for dim in table["exposure"].dims if dim != over]).values
    exposed = np.flatnonzero(days > 0)
    least = 1 if over == "job_size" else LEAST_PERIODS
    if len(exposed) < hold + least:
        raise InputError(
            f"{len(exposed)} labels of {over} have exposure; holding {hold} out needs at least {hold + least}"
        )
    if over == "job_size":
        cut = int(exposed[-hold])
        train, held = table.isel(job_size=slice(0, cut)), table.isel(job_size=exposed[-hold:])
        sizes = train["job_size"].values[exposed[exposed < cut]]
        yield train.assign_attrs(largest_job_gpus=int(sizes.max())), held
        return
    for position in exposed[-hold:]:
        yield table.isel(period=slice(0, int(position))), table.isel(period=[int(position)])


def _ahead(model: str, train: xr.Dataset, held: xr.Dataset) -> np.timedelta64 | None:
    """Return how far a model that knows time must look ahead to the end of the held-out period."""
    if FAMILIES[model].ahead is None or "period" not in held.dims:
        return None
    return np.timedelta64(held["period"].values[-1] - train["period"].values[-1], "ns")


def _model_means(tree: xr.DataTree, held: xr.Dataset, seed: int, ahead: np.timedelta64 | None) -> xr.DataArray:
    """Return draws of the expected counts, (sample, cluster, component[, job_size][, period])."""
    sizes = held["job_size"].values if "job_size" in held.dims else np.array([8])
    rates = []
    for cluster in held["cluster"].values:
        rate = predict_rate(tree, sizes, cluster=str(cluster), horizon=ahead, seed=seed).rename(gpus="job_size")
        rates.append(rate if "job_size" in held.dims else rate.isel(job_size=0, drop=True))
    rate = xr.concat(rates, xr.DataArray(held["cluster"].values, dims="cluster", name="cluster"))
    if rate.sizes["component"] == held.sizes["component"] == 1:
        rate = rate.assign_coords(component=held["component"].values)  # `constant` calls it "all"
    return rate * held["exposure"]


def _scored(means: dict[str, xr.DataArray], held: xr.Dataset, over: str, rng: np.random.Generator) -> xr.Dataset:
    """Score each forecaster on each target of a fold."""
    keep = ("cluster", "component", over)
    counts = held["failures"].sum([dim for dim in held["failures"].dims if dim not in keep])
    days = held["exposure"].sum([dim for dim in held["exposure"].dims if dim not in keep])
    components = [str(name) for name in held["component"].values]
    targets = [
        (cluster, name, label)
        for label in held[over].values
        for cluster in held["cluster"].values
        if float(days.sel({"cluster": cluster, over: label})) > 0
        for name in ([*components, "all"] if len(components) > 1 else components)
    ]
    observed = np.array([_pick(counts, target, over) for target in targets])
    arrays = {
        name: mean.sum([dim for dim in mean.dims if dim not in (*keep, "sample")]) for name, mean in means.items()
    }
    found = [
        score_counts(observed, np.stack([_pick(array, target, over) for target in targets], axis=-1), rng)
        for array in arrays.values()
    ]
    variables = {
        field.name: (("forecaster", "target"), np.stack([getattr(one, field.name) for one in found]))
        for field in dataclasses.fields(Scores)
    }
    clusters, names, labels = zip(*targets, strict=True)
    exposure = [float(days.sel({"cluster": cluster, over: label})) for cluster, _, label in targets]
    return xr.Dataset(
        {**variables, "observed": ("target", observed), "exposure": ("target", exposure)},
        coords={
            "forecaster": list(means),
            "cluster": ("target", np.array(clusters, dtype=np.str_)),
            "component": ("target", np.array(names, dtype=np.str_)),
            over: ("target", np.array(labels)),
        },
    )


def _pick(array: xr.DataArray, target: tuple[Any, str, Any], over: str) -> np.ndarray:
    """Return the draws (or the count) of one target; not a number where the forecaster says nothing of it."""
    cluster, component, label = target
    here = array.sel({"cluster": cluster, over: label})
    names = here["component"].values.tolist()
    if component in names:
        return here.sel(component=component).values
    if component == "all":
        return here.sum("component").values
    return np.full(here.isel(component=0).shape, np.nan)


def _summarised(result: xr.Dataset) -> xr.Dataset:
    total = result["component"].values == "all"
    scopes = {"cells": ~total, "totals": total} if total.any() and not total.all() else {"cells": np.ones_like(total)}
    columns = {"coverage": "covered", "mean_log_score": "log_score", "mean_crps": "crps"}
    known = result["log_score"].notnull()
    summary = {
        name: xr.concat(
            [
                result[source].where(known).isel(target=np.flatnonzero(mask)).mean("target", skipna=True)
                for mask in scopes.values()
            ],
            xr.DataArray(list(scopes), dims="scope", name="scope"),
        ).transpose("forecaster", "scope")
        for name, source in columns.items()
    }
    return result.assign(summary)
