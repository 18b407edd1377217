"""What could be done, as a report prices it: the components that fail most, the restart, the checkpoint."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from meantime.forecast import CheaperCheckpoint, FasterRestart, Mitigation, Plan, ScaleComponent, mitigate_rates
from meantime.forecast.forecast import SEED
from meantime.forecast.rates import rates_of
from meantime.units import seconds

MOST_COMPONENTS = 5
"""Components whose rate is halved, those that fail most at the size."""
FACTOR = 0.5
"""What each measure multiplies by, so that they can be compared."""
MOST_DRAWS = 500
"""Draws that the measures are priced with; the Shapley shares need every set of measures."""


def price_measures(
    tree: xr.DataTree, gpus: int, plan: Plan, *, cluster: str | None = None, seed: int = SEED
) -> xr.Dataset:
    """Price the halving of each rate and of each time that a run loses to failures, for a job of one size.

    Parameters
    ----------
    tree
        A fit.
    gpus
        Size of the job.
    plan
        The plan without the measures, with single values.
    cluster, seed
        As in `meantime.forecast.mitigate`.

    Returns
    -------
    xarray.Dataset
        As of `meantime.forecast.mitigate`, from at most 500 draws of the posterior.

    Raises
    ------
    InputError
        If the size, the plan or the cluster cannot be used.
    """
    rate = rates_of(tree, [gpus], cluster=cluster, seed=seed)
    step = -(-rate.sizes["sample"] // MOST_DRAWS)
    thinned = rate.isel(sample=slice(None, None, step))
    return mitigate_rates(thinned, plan, measures_for(thinned, plan), seed=seed)


def measures_for(rate: xr.DataArray, plan: Plan) -> list[Mitigation]:
    """Return the measures for draws of a rate: halve the most frequent components, and the times of the plan."""
    medians = rate.isel(gpus=-1).median("sample")
    order = np.argsort(-medians.values, kind="stable")[:MOST_COMPONENTS]
    names = [str(medians["component"].values[index]) for index in order]
    found: list[Mitigation] = [ScaleComponent(name, FACTOR) for name in names]
    terms: Sequence[tuple[str, type[FasterRestart] | type[CheaperCheckpoint]]] = (
        ("restart", FasterRestart),
        ("checkpoint_write", CheaperCheckpoint),
    )
    for field, measure in terms:
        value = plan.values(field)[0]
        if not isinstance(value, str) or seconds(value) > 0:
            found.append(measure(factor=FACTOR))
    return found
