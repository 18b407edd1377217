"""Does the mean time to failure follow MTTF = 1 / (N r)? What a fit says of it."""

import numpy as np
import xarray as xr

from meantime import intervals
from meantime.errors import InputError
from meantime.inference.rebuild import family_of

NEGLIGIBLE = 0.05
"""A slope below this, per doubling, is no matter: less than a factor of 2 over the 14 doublings from 8 to
131,072 GPUs."""

CONTRADICTION = 1.5
"""Sizes contradict a line if their rates, held against it, differ by more than this factor with 95 % probability."""


def size_law(tree: xr.DataTree) -> xr.Dataset:
    """Summarise the slopes of a `component_size` fit.

    The law holds where a node's rate does not depend on the job's size: slope 0. The slope of all
    components together is the change of their summed rate from the smallest to the largest size with
    exposure, per doubling, without cell deviations, averaged over clusters by their exposure.

    Parameters
    ----------
    tree
        A fit of `component_size`.

    Returns
    -------
    xr.Dataset
        ``slope`` (component, figure) and ``overall`` (figure), change of the log rate per doubling of the
        job size; ``positive`` and ``negligible`` (component,), ``overall_positive`` and
        ``overall_negligible``: posterior probabilities that a slope is above 0 and within 0.05 of 0.
        ``departure`` (job_size, figure): the rate of all components at a size with exposure over what the line
        says there; no line fits where two of them differ. The attribute ``sentence`` says in words what all
        that means for the law, and ``contradiction`` which two sizes contradict each other most, if any do.

    Raises
    ------
    InputError
        If the fit is of another model.
    """
    name, _, grid = family_of(tree)
    if name != "component_size":
        raise InputError(f"the fit is of the model {name!r}, which has no slope over job size; fit 'component_size'")
    posterior = tree["posterior"].to_dataset()
    slope = posterior["slope"].values
    log_rate = posterior["level"].values[..., None, :]
    if "cluster_deviation" in posterior:
        log_rate = log_rate + posterior["cluster_deviation"].values
    seen = np.nonzero(grid.exposure.sum(0) > 0)[0]
    doublings = grid.doublings[seen]
    line = np.exp(log_rate[..., None] + slope[..., None, :, None] * doublings)  # (..., cluster, component, size)
    share = grid.exposure.sum(1) / grid.exposure.sum()
    ends = line[..., [0, -1]].sum(-2)
    overall = (np.log(ends[..., 1] / ends[..., 0]) @ share) / (doublings[-1] - doublings[0])
    weight = grid.exposure[:, None, seen]
    departure = (posterior["rate"].values[..., seen] * weight).sum((2, 3)) / (line * weight).sum((2, 3))
    sizes = [grid.job_sizes[size] for size in seen]
    contradiction = _contradiction(departure, sizes)
    positive, negligible = float((overall > 0).mean()), float((np.abs(overall) < NEGLIGIBLE).mean())
    return xr.Dataset(
        {
            "slope": (("component", "figure"), intervals.summarise(slope, axis=(0, 1))),
            "positive": (("component",), (slope > 0).mean((0, 1))),
            "negligible": (("component",), (np.abs(slope) < NEGLIGIBLE).mean((0, 1))),
            "overall": (("figure",), intervals.summarise(overall, axis=(0, 1))),
            "overall_positive": positive,
            "overall_negligible": negligible,
            "departure": (("job_size", "figure"), intervals.summarise(departure, axis=(0, 1))),
        },
        coords={"component": list(grid.components), "job_size": sizes, "figure": list(intervals.FIGURES)},
        attrs={
            "sentence": " ".join([_sentence(overall, positive, negligible), contradiction]).strip(),
            "contradiction": contradiction,
        },
    )


def _contradiction(departure: np.ndarray, sizes: list[int]) -> str:
    """Name the two sizes that contradict a line most surely; nothing if none do by more than `CONTRADICTION`.

    `departure` is (chain, draw, size).
    """
    logs = np.log(departure.reshape(-1, len(sizes)))
    gaps = logs[:, :, None] - logs[:, None, :]
    sure = np.quantile(gaps, 0.05, axis=0)
    high, low = (int(index) for index in np.unravel_index(np.argmax(sure), sure.shape))
    if sure[high, low] <= np.log(CONTRADICTION):
        return ""
    _, median, lower, upper = intervals.summarise(np.exp(gaps[:, high, low]), axis=0)
    return (
        f"The sizes contradict any such line: held against it, nodes in jobs of {sizes[high]:,} GPUs fail "
        f"{median:.1f} times ({lower:.1f} to {upper:.1f}) as often as in jobs of {sizes[low]:,}. Forecasts beyond "
        "the data are as wide as that scatter makes them."
    )


def _sentence(overall: np.ndarray, positive: float, negligible: float) -> str:
    _, median, lower, upper = intervals.summarise(overall, axis=(0, 1))
    change = [100 * np.expm1(figure) for figure in (median, lower, upper)]
    if negligible >= 0.95:
        verdict = "The law MTTF = 1 / (N r) holds"
    elif lower > 0:
        verdict = (
            "The law MTTF = 1 / (N r) is too kind to large jobs: their nodes fail more often than those of small ones"
        )
    elif upper < 0:
        verdict = (
            "The law MTTF = 1 / (N r) is too hard on large jobs: their nodes fail less often than those of small ones"
        )
    else:
        verdict = "The data do not decide whether the law MTTF = 1 / (N r) holds"
    return (
        f"{verdict}. Per doubling of the job size the failure rate of a node changes by {change[0]:+.1f} % "
        f"({intervals.PROBABILITY:.0%} interval {change[1]:+.1f} to {change[2]:+.1f} %); "
        f"P(rate grows with size) = {positive:.2f}, P(change below {NEGLIGIBLE:.0%}) = {negligible:.2f}."
    )
