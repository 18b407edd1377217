"""What a reader of a forecast should be told in words."""

import numpy as np
import xarray as xr

from meantime.forecast.plan import Plan


def notes_of(forecast: xr.Dataset, plan: Plan, rate: xr.DataArray) -> list[str]:
    """Return sentences on the limits of a forecast.

    Parameters
    ----------
    forecast
        The forecast, with `extrapolated` and `ettr_kokolis`.
    plan
        The plan it is for.
    rate
        The rates it comes from, with what is recorded of the data in their attributes.
    """
    notes = []
    largest_job_gpus = rate.attrs.get("largest_job_gpus")
    data_gpus_per_node = rate.attrs.get("data_gpus_per_node")
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


def warnings_of(rate: xr.DataArray) -> list[str]:
    """Return what `rates_of` has to warn of: a fit that did not converge."""
    return [text for text in str(rate.attrs.get("warnings", "")).split("\n") if text]


def _listed(sizes: np.ndarray) -> str:
    if sizes.size > 4:
        return f"{sizes.size} sizes from {sizes.min():,} to {sizes.max():,} GPUs"
    texts = [f"{size:,}" for size in sizes]
    return f"{' and '.join(filter(None, [', '.join(texts[:-1]), texts[-1]]))} GPUs"
