"""When did rates change, and by how much."""

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.jumps import change_probability
from meantime.inference.rebuild import family_of
from meantime.intervals import FIGURES, summarise

LIKELY = 0.5
"""Probability from which a sentence names a change point."""

MIN_CHANGES = 20
"""Draws with a change that the size of a jump takes at least."""


def change_points(tree: xr.DataTree) -> xr.Dataset:
    """Say when the rates of each cluster changed at once, and by what factor.

    Parameters
    ----------
    tree
        A fit of `over_time` with ``change_rate`` in its priors.

    Returns
    -------
    xr.Dataset
        ``probability`` (cluster, period) that the rates of a cluster jumped at the start of a period, and ``factor``
        (cluster, period, figure) of the step there given that they did, all components alike; NaN where fewer than 20
        draws have a change. A change whose moment is uncertain spreads its probability over neighbouring
        periods: ``changes`` (cluster, figure) counts those of each cluster. The attribute ``sentence`` says in
        words what is more likely than not.

    Raises
    ------
    InputError
        If the fit has no change points.

    Examples
    --------
    >>> tree = fit(table, "over_time", priors={"change_rate": 0.5})  # doctest: +SKIP
    >>> change_points(tree).attrs["sentence"]  # doctest: +SKIP
    """
    _, _, layout = family_of(tree)
    posterior = tree["posterior"].to_dataset()
    if "change" not in posterior:
        raise InputError(
            "the fit has no change points; fit over_time with priors={'change_rate': 0.5} (--change-points)"
        )
    draws = {name: posterior[name].values for name in ("sigma_walk", "change_rate", "change_sd", "walk_step")}
    probability = change_probability(draws, layout.step_years).mean((0, 1))
    change = posterior["change"].values.reshape(-1, *probability.shape)
    steps = draws["walk_step"].reshape(change.shape)
    factor = np.full((*probability.shape, len(FIGURES)), np.nan)
    for at in np.ndindex(probability.shape):
        jumps = steps[(slice(None), *at)][change[(slice(None), *at)] == 1]
        if len(jumps) >= MIN_CHANGES:
            factor[at] = summarise(np.exp(jumps))
    found = xr.Dataset(
        {
            "probability": (("cluster", "period"), probability),
            "factor": (("cluster", "period", "figure"), factor),
            "changes": (("cluster", "figure"), summarise(change.sum(-1).T)),
        },
        coords={"cluster": list(layout.clusters), "period": layout.periods[1:], "figure": list(FIGURES)},
    )
    found.attrs["sentence"] = _sentence(found)
    return found


def _sentence(found: xr.Dataset) -> str:
    several = found.sizes["cluster"] > 1
    said = []
    for name in found["cluster"].values:
        here = found.sel(cluster=name)
        for period in found["period"].values[here["probability"].values >= LIKELY]:
            at = here.sel(period=period)
            figures = at["factor"]
            low, median, high = (float(figures.sel(figure=which)) for which in ("lower", "median", "upper"))
            said.append(
                f"{f'{name}: r' if several else 'R'}ates jumped by a factor of {median:.2g} ({low:.2g} to {high:.2g}) "
                f"at {np.datetime_as_string(period, unit='D')} with probability {float(at['probability']):.2f}."
            )
    return " ".join(said) or "At no single period is a change point more likely than not."
