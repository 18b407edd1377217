"""What a fit of a model of age says: hazard and survival at any age."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.rebuild import family_of
from meantime.models.lives import YEAR, Lives


def survival_curve(
    tree: xr.DataTree, ages: Sequence[float] | np.ndarray, *, covariates: Mapping[str, float] | None = None
) -> xr.Dataset:
    """Draw hazard and survival of a part at given ages.

    Parameters
    ----------
    tree
        A fit of `lifetime` or `lifetime_steps`.
    ages
        Days, 0 or more.
    covariates
        Values of the fit's covariates by name (``{"batch=new": 1.0}``); numbers as they stand in the log. Those left
        out are 0 where they stand for a level, that is, the reference, and at their mean where they are numbers.

    Returns
    -------
    xr.Dataset
        ``hazard`` (sample, age), 1/day, and ``survival`` (sample, age), the probability of living longer. Beyond the
        last interval `lifetime_steps` keeps its last hazard.

    Raises
    ------
    InputError
        If the tree is no such fit, an age is negative, or a covariate is unknown.
    """
    name, _, lives = family_of(tree)
    if name not in ("lifetime", "lifetime_steps"):
        raise InputError(f"the fit is of the model {name!r}; expected one of 'lifetime' or 'lifetime_steps'")
    at = np.atleast_1d(np.asarray(ages, dtype=float))
    if not (np.isfinite(at) & (at >= 0)).all():
        raise InputError("ages hold values below 0 or not finite; expected days")
    posterior = (
        tree["posterior"].to_dataset().stack(sample=("chain", "draw"), create_index=False).transpose("sample", ...)
    )
    ratio = np.ones(posterior.sizes["sample"])
    if lives.covariates:
        ratio = np.exp(posterior["coefficient"].values @ _row(tree, lives, covariates or {}))
    elif covariates:
        raise InputError(f"the fit has no covariate {next(iter(covariates))!r}; it has none")
    if name == "lifetime":
        rate, shape = (posterior[key].values[:, None] for key in ("rate", "shape"))
        with np.errstate(divide="ignore"):
            hazard = rate * (at / YEAR) ** (shape - 1)
        total = rate * YEAR / shape * (at / YEAR) ** shape
    else:
        steps = posterior["hazard"].values
        place = np.clip(np.searchsorted(lives.cuts, at, side="right") - 1, 0, steps.shape[1] - 1)
        hazard = steps[:, place]
        spent = np.clip(at[:, None], lives.cuts[:-1], lives.cuts[1:]) - lives.cuts[:-1]
        total = steps @ spent.T + steps[:, -1:] * np.maximum(at - lives.cuts[-1], 0)
    data = {
        "hazard": (("sample", "age"), hazard * ratio[:, None]),
        "survival": (("sample", "age"), np.exp(-total * ratio[:, None])),
    }
    return xr.Dataset(data, coords={"age": ("age", at, {"units": "days"})})


def _row(tree: xr.DataTree, lives: Lives, given: Mapping[str, float]) -> np.ndarray:
    """Return a row of the design: numbers standardised as the fit's were."""
    if unknown := [name for name in given if name not in lives.covariates]:
        raise InputError(f"the fit has no covariate {unknown[0]!r}; it has {', '.join(lives.covariates)}")
    table = tree["fit_data"].to_dataset()
    raw, weight = table["design"].values.astype(float), table["lives"].values / table["lives"].values.sum()
    row = np.zeros(len(lives.covariates))
    for column, name in enumerate(lives.covariates):
        if np.isin(raw[:, column], (0.0, 1.0)).all():
            row[column] = given.get(name, 0.0)
        elif name in given:
            mean = weight @ raw[:, column]
            row[column] = (given[name] - mean) / np.sqrt(weight @ (raw[:, column] - mean) ** 2)
    return row
