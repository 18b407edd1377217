"""MTTF against job size: fitted band, the 1/N law, the points of the log, and where extrapolation starts."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meantime.forecast.forecast import SEED, checked_gpus
from meantime.inference import predict_rate
from meantime.intervals import summarise
from meantime.report.evidence import (
    NEW,
    by_size,
    choose_cluster,
    clusters,
    garwood,
    gpus_per_node,
    largest_job,
    mttf_hours,
)
from meantime.report.numbers import INTERVAL, count, duration, duration_between
from meantime.report.plans import GPUS
from meantime.report.style import WIDE, colour, gpu_axis, literal, log_ticks, new_figure, styled, time_axis, top_legend
from meantime.units import PER_1000_NODE_DAYS

ANCHOR = 64
"""Size at which the 1/N law is made to meet the fit, GPUs."""


def mttf_by_size(
    tree: xr.DataTree,
    *,
    gpus: Sequence[int] = GPUS,
    cluster: str | None = None,
    seed: int = SEED,
    width: float = WIDE,
) -> Figure:
    """Draw the mean time to failure of a job against its size, both axes logarithmic.

    The band is the posterior with its 90 % interval, the dashed line the law MTTF = 1 / (N r)
    through the fitted rate at 64 GPUs, the points the log itself: node-days / failures with exact
    (Garwood) intervals. Sizes beyond the largest job of the log are shaded. Where the log has job
    sizes a second panel shows the same as failures per 1,000 node-days, in which the 1/N law is a
    level line and departures from it are seen.

    Parameters
    ----------
    tree
        A fit.
    gpus
        Sizes of interest; the figure reaches the largest of them.
    cluster
        A cluster of the log, or ``"new"``; default the one with most node-days.
    seed
        Seed of the draws for sizes that the log does not have.
    width
        Width in inches; below 5 the layout is that of a phone.

    Examples
    --------
    >>> figure = mttf_by_size(load_fit("fit.nc"), gpus=[1024, 16384])  # doctest: +SKIP
    >>> figure.savefig("mttf.png")  # doctest: +SKIP
    """
    picture = _picture(tree, choose_cluster(tree, cluster), checked_gpus(gpus), seed)
    phone = width < 5
    with styled():
        figure = new_figure(width, (5.3 if picture.sized else 3.9) + (0.5 if phone else 0.0))
        panels = figure.subplots(2, 1, sharex=True, height_ratios=[5, 3]) if picture.sized else [figure.subplots()]
        _times(panels[0], picture)
        if picture.sized:
            _rates(panels[1], picture)
        for axes in panels:
            gpu_axis(
                axes, picture.sizes, ticks=4 if phone else 8, title="GPUs of the job" if axes is panels[-1] else ""
            )
            axes.set_xlim(picture.sizes[0] / 1.3, picture.sizes[-1] * 1.3)
            if 0 < picture.seen < picture.sizes[-1]:
                axes.axvspan(picture.seen, picture.sizes[-1] * 1.3, color=colour("shade"), linewidth=0, zorder=0)
        top_legend(figure, *_legend(panels[0]), columns=1 if phone else 3)
        return literal(figure)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Picture:
    """What is drawn, as rates per node-day; times follow from them.

    `fitted` has shape (sizes, 4) in the order mean, median, lower, upper.
    """

    sizes: np.ndarray
    fitted: np.ndarray
    law: float
    sized: bool
    at: np.ndarray
    failures: np.ndarray
    raw: np.ndarray
    raw_lower: np.ndarray
    raw_upper: np.ndarray
    per_node: int
    seen: int

    def hours(self, rate: np.ndarray | float, sizes: np.ndarray) -> np.ndarray:
        return mttf_hours(rate, sizes, self.per_node)


def _picture(tree: xr.DataTree, cluster: str, asked: Sequence[int], seed: int) -> _Picture:
    points = by_size(tree, clusters(tree) if cluster == NEW else [cluster])
    per_node = gpus_per_node(tree)
    rate = _total_rate(tree, cluster, sorted(asked), min([*points["job_size"].values.tolist(), per_node]), seed)
    failures, exposure = points["failures"].values, points["exposure"].values
    lower, upper = garwood(failures, exposure)
    return _Picture(
        sizes=rate["gpus"].values,
        fitted=summarise(rate.values),
        law=_law(tree, cluster, rate),
        sized="job_size" in tree["posterior"]["rate"].dims,
        at=points["job_size"].values,
        failures=failures,
        raw=failures / exposure,
        raw_lower=lower,
        raw_upper=upper,
        per_node=per_node,
        seen=largest_job(tree),
    )


def _total_rate(tree: xr.DataTree, cluster: str, asked: list[int], smallest: int, seed: int) -> xr.DataArray:
    """Draw the rate of all components (gpus, sample) at the sizes asked and at the powers of two up to the largest.

    The sizes asked are drawn by themselves, so that the figures are those of a forecast with the same seed.
    """
    powers = [2**power for power in range(40) if smallest / 2 < 2**power <= max(asked[-1], 2 * smallest)]
    between = [size for size in powers if size not in asked]
    parts = [predict_rate(tree, sizes, cluster=cluster, seed=seed) for sizes in (asked, between) if sizes]
    return xr.concat(parts, "gpus").sum("component").sortby("gpus").transpose("gpus", "sample")


def _law(tree: xr.DataTree, cluster: str, rate: xr.DataArray) -> float:
    """Return the rate that the fit gives a job of 64 GPUs, the chance deviation of that size left out."""
    posterior = tree["posterior"].to_dataset()
    if "slope" not in posterior or cluster == NEW:
        return float(rate.sel(gpus=ANCHOR, method="nearest").median())
    log_rate = posterior["level"]
    if "cluster_deviation" in posterior:
        log_rate = log_rate + posterior["cluster_deviation"].sel(cluster=cluster)
    total: xr.DataArray = np.exp(log_rate).sum("component")  # type: ignore[call-overload]
    return float(total.median())


def _times(axes: Axes, picture: _Picture) -> None:
    sizes = picture.sizes
    _, median, upper, lower = (picture.hours(picture.fitted[:, figure], sizes) for figure in range(4))
    axes.fill_between(sizes, lower, upper, color=colour("blue"), alpha=0.25, linewidth=0,
                      label="_band")  # fmt: skip
    axes.plot(sizes, median, color=colour("blue"), label="_fit")
    if picture.sized:
        axes.plot(sizes, picture.hours(picture.law, sizes), color=colour("ink"), linewidth=1.1, dashes=(4, 3),
                  label=f"1/N law through {ANCHOR} GPUs")  # fmt: skip
    some, at = picture.failures > 0, picture.at
    bottom = picture.hours(picture.raw_upper, at)
    centre, top = picture.hours(picture.raw, at), picture.hours(picture.raw_lower, at)
    if some.any():
        _dots(axes, at[some], centre[some], bottom[some], top[some])
    if not some.all():
        axes.plot(at[~some], bottom[~some], "^", color="none", markeredgecolor=colour("vermilion"), markersize=6,
                  label="no failure seen: bound only")  # fmt: skip
    first = min([lower.min(), *bottom.tolist()])
    last = max([median.max(), 4 * upper[-1], *np.minimum(top[some], centre[some] * 10).tolist()])
    time_axis(axes, first / (last / first) ** 0.2, last * 2)  # a sixth of the height is left for the words below
    axes.set_ylabel("mean time to failure")
    axes.plot(sizes[-1], median[-1], "o", color=colour("blue"), markersize=4)
    axes.annotate(
        f"{count(sizes[-1])} GPUs: {duration(median[-1])}\n({duration_between(lower[-1], upper[-1])})",
        (sizes[-1], lower[-1]), xytext=(-9, 2), textcoords="offset points", ha="right", va="top",
        color=colour("blue"), linespacing=1.35,
    )  # fmt: skip
    if 0 < picture.seen < sizes[-1]:
        axes.annotate(f"larger than any\njob seen ({count(picture.seen)})", (1, 1), xycoords="axes fraction",
                      xytext=(-5, -4), textcoords="offset points", color=colour("muted"), ha="right", va="top",
                      linespacing=1.35)  # fmt: skip


def _rates(axes: Axes, picture: _Picture) -> None:
    sizes, scale = picture.sizes, PER_1000_NODE_DAYS
    fitted = picture.fitted * scale
    axes.fill_between(sizes, fitted[:, 2], fitted[:, 3], color=colour("blue"), alpha=0.25, linewidth=0)
    axes.plot(sizes, fitted[:, 1], color=colour("blue"))
    axes.axhline(picture.law * scale, color=colour("ink"), linewidth=1.1, dashes=(4, 3))
    some = picture.failures > 0
    raw, low, high = (values[some] * scale for values in (picture.raw, picture.raw_lower, picture.raw_upper))
    _dots(axes, picture.at[some], raw, low, high)
    top = max([fitted[:, 3].max(), *np.minimum(high, raw * 2).tolist()]) * 1.15
    bottom = min([fitted[:, 2].min(), *np.maximum(low, raw / 2).tolist()]) / 1.15
    if top / bottom > 8:
        log_ticks(axes.yaxis, bottom, top, most=5)
    else:
        axes.set_ylim(0, top)
    bounds = picture.raw_upper * scale
    inside = ~some & (bounds < axes.get_ylim()[1] / 1.1)
    axes.plot(picture.at[inside], bounds[inside], "v", color="none", markersize=6, markeredgecolor=colour("vermilion"))
    axes.set_ylabel("failures per\n1,000 node-days")


def _legend(axes: Axes) -> tuple[list[Any], list[str]]:
    """Put the fit's line and band under one name, before the rest."""
    band, line = axes.collections[0], axes.lines[0]
    handles, labels = axes.get_legend_handles_labels()
    return [(band, line), *handles], [f"fit: median, {INTERVAL}", *labels]


def _dots(axes: Axes, at: np.ndarray, centre: np.ndarray, low: np.ndarray, high: np.ndarray) -> None:
    axes.vlines(at, low, high, color=colour("vermilion"), linewidth=1.3)
    axes.plot(at, centre, "o", color=colour("vermilion"), markersize=5, markeredgecolor=colour("paper"),
              markeredgewidth=0.7, label=f"the log, exact {INTERVAL}")  # fmt: skip
