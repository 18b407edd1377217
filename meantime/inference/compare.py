"""`compare`: which model predicts the counts that it has not seen."""

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import xarray as xr

from meantime.errors import InputError
from meantime.inference.cells import common_likelihoods
from meantime.inference.exact import EXACT_METHODS
from meantime.inference.loo import psis_loo
from meantime.inference.provenance import provenance


def compare(fits: Mapping[str, xr.DataTree] | Sequence[xr.DataTree]) -> xr.Dataset:
    """Compare fits of the same data by leave-one-out cross-validation.

    Parameters
    ----------
    fits
        Two fits or more, by name; or a sequence, named by their models.

    Returns
    -------
    xr.Dataset
        By ``model``, best first: ``elpd`` and ``elpd_se`` (expected log predictive density of all cells, each
        left out in turn, and its standard error), ``p_loo`` (effective number of parameters),
        ``difference`` and ``difference_se`` (from the best), ``weight`` (stacking: shares of the models in the
        mixture that predicts best; Yao et al., Bayesian Analysis 13, 2018), ``largest_k`` and ``bad_k``
        (largest Pareto k and how many are above the attribute ``good_k``: there the estimate cannot be
        trusted). Pointwise: ``elpd_i`` and ``pareto_k``, (model, ...). The attribute ``notes`` lists what to
        beware of.

    Raises
    ------
    InputError
        If there are fewer than two fits, or they are of different data or cannot be compared.

    Notes
    -----
    An observation is a cell of the table as the finest of the models sees it, with what belongs to that
    cell alone integrated out of the likelihood (cell deviations of `component_size`): otherwise a cell left
    out would still be known by its own parameter. Models that do not tell such cells apart are held to the
    same cells (see `meantime.inference.cells`).
    """
    trees = _named(fits)
    _check_same_data(trees)
    likelihoods = common_likelihoods(trees)
    loos = {
        name: psis_loo(likelihoods[name], independent=provenance(tree)["method"] in EXACT_METHODS)
        for name, tree in trees.items()
    }
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # its diagnostics become notes, in our words
        import arviz_stats

        found = arviz_stats.compare(dict(loos), method="stacking", round_to="none")
    names = [str(name) for name in found.index]
    elpd = xr.concat([loos[name].elpd_i for name in names], xr.DataArray(names, dims="model", name="model"))
    k = xr.concat([loos[name].pareto_k for name in names], xr.DataArray(names, dims="model", name="model"))
    good = float(loos[names[0]].good_k)
    inner = [dim for dim in k.dims if dim != "model"]
    columns = {"elpd": "elpd", "elpd_se": "se", "p_loo": "p", "difference": "elpd_diff", "difference_se": "dse",
               "weight": "weight"}  # fmt: skip
    result = xr.Dataset(
        {ours: ("model", found[theirs].to_numpy(dtype=float)) for ours, theirs in columns.items()}
        | {"largest_k": k.max(inner), "bad_k": (k > good).sum(inner), "elpd_i": elpd, "pareto_k": k}
    )
    result.attrs = {
        "good_k": good,
        "observations": int(loos[names[0]].n_data_points),
        "data_digest": provenance(trees[names[0]])["data_digest"],
    }
    result.attrs["notes"] = _notes(result)
    return result


def _named(fits: Mapping[str, xr.DataTree] | Sequence[xr.DataTree]) -> dict[str, xr.DataTree]:
    if isinstance(fits, Mapping):
        trees = {str(name): tree for name, tree in fits.items()}
    else:
        listed = list(fits)
        models = [provenance(tree)["model"] for tree in listed]
        if repeated := [name for name in models if models.count(name) > 1]:
            raise InputError(f"two fits are of the model {repeated[0]!r}; give them names, as a mapping")
        trees = dict(zip(models, listed, strict=True))
    if len(trees) < 2:
        raise InputError(f"{len(trees)} fit was given to compare; expected two or more")
    return trees


def _check_same_data(trees: Mapping[str, xr.DataTree]) -> None:
    facts = {name: provenance(tree) for name, tree in trees.items()}
    first = next(iter(facts))
    for name, fact in facts.items():
        if fact["data_digest"] != facts[first]["data_digest"]:
            sources = [str(_source(facts[which])) for which in (first, name)]
            raise InputError(
                f"{first} and {name} are fits of different data ({sources[0]}; {sources[1]}); "
                "expected fits of the same table"
            )


def _source(facts: Mapping[str, Any]) -> str:
    return f"{facts['data'].get('source') or 'no source stated'}, digest {facts['data_digest'][7:15]}"


def _notes(result: xr.Dataset) -> list[str]:
    notes = []
    for name in result["model"].values.tolist():
        one = result.sel(model=name)
        if bad := int(one["bad_k"]):
            notes.append(
                f"{name}: {bad} of {result.attrs['observations']} cells have a Pareto k above "
                f"{result.attrs['good_k']:.2f} (largest {float(one['largest_k']):.2f}); its elpd is too high there"
            )
    if result.attrs["observations"] < 100:
        notes.append(f"{result.attrs['observations']} cells: standard errors of differences are rough below 100")
    second = result.isel(model=1)
    if abs(float(second["difference"])) < max(4.0, 2 * float(second["difference_se"])):
        notes.append(
            f"{result['model'].values[0]} and {second['model'].item()} predict about equally well: "
            "the difference is below 4 or two standard errors"
        )
    return notes
