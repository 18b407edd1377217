"""What a model's priors expect of data, before any are seen."""

from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.calibrate import prior_replicates
from meantime.inference.families import FAMILIES
from meantime.models import priors_for
from meantime.units import check_seed


def prior_predictive(
    model: str, data: xr.Dataset | None = None, *, priors: Any = None, draws: int = 500, seed: int = 0
) -> xr.Dataset:
    """Draw data from a model's priors: what it takes to be possible, of the same exposure as the data given.

    Parameters
    ----------
    model
        Name of the model.
    data
        Data of the form the model takes, for their exposure. Default: a small design of the model's own.
    priors
        As in `fit`.
    draws
        How many data sets.
    seed
        Seed of the draws.

    Returns
    -------
    xr.Dataset
        The model's outcome, such as ``failures`` (draw, stratum, component), with its labels, and where data were
        given ``observed``, their own. The attribute ``redrawn`` counts data sets that were drawn again, for numbers
        above a billion.

    Raises
    ------
    InputError
        For an unknown model, or data or numbers that cannot be used.
    """
    priors = priors_for(model, priors)
    check_seed(seed)
    if isinstance(draws, bool) or not isinstance(draws, int | np.integer) or draws < 1:
        raise InputError(f"draws is {draws!r}; expected a whole number, 1 or more")
    family = FAMILIES[model]
    checked = family.small_data() if data is None else family.check(data)
    layout = family.layout(checked)
    name, dims = family.outcome
    _, outcomes, redrawn = prior_replicates(model, checked, priors, int(draws), seed)
    labels = {dim: list(layout.coords[dim]) for dim in dims if dim in layout.coords}
    result = xr.Dataset({name: (("draw", *dims), outcomes)}, coords={**labels, **layout.outcome_coords})
    if data is not None:
        result["observed"] = (dims, layout.observed()[f"observed_{name}"])
    return result.assign_attrs(model=model, redrawn=redrawn, seed=seed)
