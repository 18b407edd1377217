"""What a reader of a forecast should be told in words."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from meantime.forecast.plan import Plan


def notes_of(
    forecast: xr.Dataset, plan: Plan, largest_job_gpus: int | None, data_gpus_per_node: int | None
) -> list[str]:
    """Return sentences on the limits of a forecast.

    Parameters
    ----------
    forecast
        The forecast, with `extrapolated` and `ettr_kokolis`.
    plan
        The plan it is for.
    largest_job_gpus
        Largest job of the data; 0 if unknown, None if the rates come from no data.
    data_gpus_per_node
        GPUs of a node of the data, None if not known.
    """
    notes = []
    sizes = forecast["gpus"].values
    beyond = sizes[forecast["extrapolated"].values]
    if largest_job_gpus == 0:
        notes.append("The largest job of the data is not known: every size counts as extrapolated.")
    elif beyond.size:
        verb = "lies" if beyond.size == 1 else "lie"
        notes.append(f"{_listed(beyond)} {verb} beyond the largest job of the data ({largest_job_gpus:,} GPUs).")
    if data_gpus_per_node and data_gpus_per_node != plan.gpus_per_node:
        notes.append(
            f"A node of the data has {data_gpus_per_node} GPUs and one of the plan {plan.gpus_per_node}: "
            "the rates per node-day are used as they are."
        )
    parts = sizes[sizes % plan.gpus_per_node != 0]
    if parts.size:
        notes.append(f"{_listed(parts)}: part of a node counts as that part in the failure rate.")
    paper = forecast["ettr_kokolis"].sel(figure="lower")
    negative = sizes[(paper < 0).any([dim for dim in paper.dims if dim != "gpus"]).values]
    if negative.size:
        notes.append(
            f"The first-order form of Kokolis et al. is below 0 for {_listed(negative)}; it is there to compare with."
        )
    return notes


def unconverged(record: Mapping[str, Any]) -> list[str]:
    """Return the warning that results of an unconverged fit carry, or nothing."""
    if record.get("diagnostics", {}).get("converged") is False:
        return ["The fit did not converge: these figures cannot be relied on."]
    return []


def _listed(sizes: np.ndarray) -> str:
    if sizes.size > 4:
        return f"{sizes.size} sizes from {sizes.min():,} to {sizes.max():,} GPUs"
    texts = [f"{size:,}" for size in sizes]
    return f"{' and '.join(filter(None, [', '.join(texts[:-1]), texts[-1]]))} GPUs"
