"""`check`: whether the counts look like those that the fitted model would give again."""

from collections.abc import Iterator
from typing import Any

import numpy as np
import xarray as xr

from meantime import intervals
from meantime.inference.cells import stratum_dims
from meantime.inference.designs import STRATUM_DIMS
from meantime.inference.exact import EXACT_METHODS
from meantime.inference.loo import psis_loo
from meantime.inference.predict import posterior_predictive
from meantime.inference.provenance import provenance
from meantime.inference.uniformity import uniform_p_value

EXTREME = 0.05
"""A predictive p-value this near to 0 or 1 is marked."""

MOST_LABELS = 400
"""Dimensions with more labels are not checked one by one."""


def check(tree: xr.DataTree, *, seed: int = 0) -> xr.Dataset:
    """Hold a fit's data against replicated data: posterior predictive checks and LOO-PIT.

    Parameters
    ----------
    tree
        A fit.
    seed
        Seed of the replicated counts.

    Returns
    -------
    xr.Dataset
        By ``check``: ``what`` (``zero cells``, ``largest count``, ``dispersion`` of cells and ``dispersion by``
        a dimension that the model sums away, or ``total by`` a dimension), ``label`` (of a total), ``observed``,
        ``predicted`` (check, figure), ``p_value`` (probability that a replicate is larger, ties counted half)
        and ``extreme`` (p-value below 0.05, or above 0.95 where that speaks against the model). By cell:
        ``loo_pit`` (stratum, component), the probability that the model, fitted without the cell, gives a
        smaller count, ties broken at random, and ``pareto_k``. Attributes: ``loo_pit_p_value``, of the values
        being uniform (see `meantime.inference.uniformity`), of the cells with a good Pareto k, and not a number
        where those are fewer than half; ``notes``. Models of other data than counts by
        cell are checked by mean, standard deviation, smallest and largest value, and LOO-PIT.

    Raises
    ------
    InputError
        If the tree is no fit.

    Notes
    -----
    The dispersion is the mean over cells of (n - m)^2 / m, with m the cell's mean under the model: 1 for
    Poisson counts about their true means. A small one is no fault, since the means were fitted to the counts.
    Totals by a dimension that the model sums away are drawn from its posterior rates and the exposure along
    that dimension: they show what the model leaves out. Posterior predictive p-values are drawn to 1/2,
    since the data were seen by the fit; LOO-PIT values are not.
    """
    provenance(tree)
    observed_data = tree["observed_data"].to_dataset()
    outcome = next(iter(observed_data.data_vars.values()))
    observed = outcome.values
    drawn = posterior_predictive(tree, seed=seed)[str(outcome.name)].transpose("chain", "draw", *outcome.dims)
    replicated = drawn.values.reshape(-1, *observed.shape)
    if outcome.dims == ("stratum", "component"):
        rows = [*_cell_statistics(observed, replicated), *_own_totals(tree, observed, replicated)]
        rows += list(_other_totals(tree, np.random.default_rng([seed, 5])))
    else:
        rows = list(_plain_statistics(observed, replicated))
    figures = np.array([intervals.summarise(values) for _, _, _, values in rows])
    p_value = np.array([_p_value(value, values) for _, _, value, values in rows])
    result = xr.Dataset(
        {
            "what": ("check", [what for what, _, _, _ in rows]),
            "label": ("check", [label for _, label, _, _ in rows]),
            "observed": ("check", [float(value) for _, _, value, _ in rows]),
            "predicted": (("check", "figure"), figures),
            "p_value": ("check", p_value),
            "extreme": ("check", _extreme([what for what, _, _, _ in rows], p_value)),
        },
        coords={"figure": list(intervals.FIGURES)},
        attrs={"model": provenance(tree)["model"], "seed": seed},
    )
    if "log_likelihood" in tree.children:
        pit, k, good = _loo_pit(tree, outcome, replicated, np.random.default_rng([seed, 6]))
        result = result.assign(loo_pit=(outcome.dims, pit), pareto_k=(outcome.dims, k))
        result = result.assign_coords(observed_data.coords)
        trusted = pit[k <= good]
        uniform = float(uniform_p_value(trusted)) if 2 * trusted.size >= pit.size else float("nan")
        result.attrs |= {"loo_pit_p_value": uniform, "good_k": good}
    result.attrs["notes"] = _notes(result)
    return result


type _Row = tuple[str, str, float, np.ndarray]


def _cell_statistics(observed: np.ndarray, replicated: np.ndarray) -> Iterator[_Row]:
    yield "zero cells", "", float((observed == 0).sum()), (replicated == 0).sum((1, 2))
    yield "largest count", "", float(observed.max()), replicated.max((1, 2))
    yield "dispersion", "", *_dispersion(observed.ravel(), replicated.reshape(len(replicated), -1))


def _plain_statistics(observed: np.ndarray, replicated: np.ndarray) -> Iterator[_Row]:
    axes = tuple(range(1, replicated.ndim))
    for name, statistic in (
        ("mean", np.mean),
        ("standard deviation", np.std),
        ("smallest", np.min),
        ("largest", np.max),
    ):
        yield name, "", float(statistic(observed)), statistic(replicated, axis=axes)


def _dispersion(observed: np.ndarray, replicated: np.ndarray) -> tuple[float, np.ndarray]:
    mean = np.maximum(replicated.mean(0), 1 / len(replicated))
    return float(((observed - mean) ** 2 / mean).mean()), ((replicated - mean) ** 2 / mean).mean(1)


def _own_totals(tree: xr.DataTree, observed: np.ndarray, replicated: np.ndarray) -> Iterator[_Row]:
    coords = tree["observed_data"].coords
    for dim in (*stratum_dims(tree), "component"):
        axis = 1 if dim == "component" else 0
        labels = coords[dim].values
        named = list(dict.fromkeys(labels.tolist()))
        if 1 < len(named) <= MOST_LABELS:
            for name in named:
                here = np.flatnonzero(labels == name)
                part, drawn = observed.take(here, axis).sum(), replicated.take(here, axis + 1).sum((1, 2))
                yield f"total by {dim}", _text(name), float(part), drawn


def _other_totals(tree: xr.DataTree, rng: np.random.Generator) -> Iterator[_Row]:
    """Yield dispersion and totals along the dimensions that the model sums away, given its rates."""
    table, posterior = tree["fit_data"].to_dataset(), tree["posterior"].to_dataset()
    if "rate" not in posterior or set(posterior["rate"].dims) - {"chain", "draw", "component", *table["exposure"].dims}:
        return
    rate = posterior["rate"].sum("component") if "component" in posterior["rate"].dims else posterior["rate"]
    known = [dim for dim in rate.dims if dim not in ("chain", "draw")]
    for dim in STRATUM_DIMS:
        if dim in known or not 1 < table["exposure"].sizes.get(dim, 0) <= MOST_LABELS:
            continue
        days = table["exposure"].sum([name for name in table["exposure"].dims if name not in (*known, dim)])
        failures = table["failures"].sum([name for name in table["failures"].dims if name != dim]).values
        mean = (rate * days).sum(known).transpose("chain", "draw", dim).values
        replicated = rng.poisson(mean.reshape(-1, len(failures)))
        exposed = np.flatnonzero(days.sum(known).values > 0)
        yield f"dispersion by {dim}", "", *_dispersion(failures[exposed], replicated[:, exposed])
        for index in exposed:
            yield f"total by {dim}", _text(table[dim].values[index]), float(failures[index]), replicated[:, index]


def _extreme(what: list[str], p_value: np.ndarray) -> np.ndarray:
    one_sided = np.array([name.startswith("dispersion") for name in what])
    return (p_value < EXTREME) | (~one_sided & (p_value > 1 - EXTREME))


def _loo_pit(
    tree: xr.DataTree, outcome: xr.DataArray, replicated: np.ndarray, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, float]:
    observed = outcome.values
    values = next(iter(tree["log_likelihood"].data_vars.values()))
    found = psis_loo(values, independent=provenance(tree)["method"] in EXACT_METHODS)
    weights = np.exp(found.log_weights.transpose("chain", "draw", *outcome.dims).values.reshape(replicated.shape))
    weights /= weights.sum(0)
    below = (weights * (replicated < observed)).sum(0)
    equal = (weights * (replicated == observed)).sum(0)
    pit = np.clip(below + rng.random(observed.shape) * equal, 0.0, 1.0)
    return pit, found.pareto_k.transpose(*outcome.dims).values, float(found.good_k)


def _p_value(observed: float, replicated: np.ndarray) -> float:
    # rounding must not decide between equal dispersions
    close = np.isclose(replicated, observed, rtol=1e-12, atol=0)
    return float(((replicated > observed) & ~close).mean() + 0.5 * close.mean())


def _text(label: Any) -> str:
    return str(label)[:10] if isinstance(label, np.datetime64) else str(label)


def _notes(result: xr.Dataset) -> list[str]:
    notes = []
    for what in dict.fromkeys(result["what"].values.tolist()):
        mine = result.isel(check=np.flatnonzero(result["what"].values == what))
        marked = int(mine["extreme"].sum())
        if not marked:
            continue
        if not mine["label"].values[0]:
            side = "larger" if float(mine["p_value"][0]) < 0.5 else "smaller"
            notes.append(f"{what}: {float(mine['observed'][0]):.3g}, {side} than the model expects")
        elif marked > max(1.0, 0.2 * mine.sizes["check"]):
            notes.append(f"{what}: {marked} of {mine.sizes['check']} are outside 90 % of the replicates")
    p_value = result.attrs.get("loo_pit_p_value", float("nan"))
    if p_value < 0.01:
        notes.append(f"LOO-PIT values are not uniform (p = {p_value:.2g}): the model's spread or shape is off")
    if "pareto_k" in result and (bad := int((result["pareto_k"] > result.attrs["good_k"]).sum())):
        notes.append(
            f"{bad} of {result['pareto_k'].size} cells have a Pareto k above {result.attrs['good_k']:.2f}: "
            "the model knows them from themselves alone, and LOO-PIT cannot judge it there"
        )
    return notes
