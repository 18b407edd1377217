"""MTTF against job size: fitted band, the 1/N law, the points of the log, and where extrapolation starts."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meantime.inference import predict_rate
from meantime.intervals import PROBABILITY, summarise
from meantime.report.evidence import (
    NEW,
    by_size,
    choose_cluster,
    clusters,
    component_rates,
    garwood,
    gpus_per_node,
    largest_job,
    mttf_hours,
)
from meantime.report.numbers import count, duration, duration_between
from meantime.report.style import WIDE, colour, gpu_axis, literal, new_figure, styled, time_axis

LARGEST = 131_072
"""GPUs up to which the law is drawn unless told otherwise."""
ANCHOR = 64
"""Size at which the 1/N law is made to meet the fit, GPUs."""


def mttf_by_size(
    tree: xr.DataTree,
    *,
    gpus: Sequence[int] | None = None,
    cluster: str | None = None,
    seed: int = 0,
    width: float = WIDE,
) -> Figure:
    """Draw the mean time to failure of a job against its size, both axes logarithmic.

    The band is the posterior with its 90 % interval, the dashed line the law MTTF = 1 / (N r)
    through the fitted rate at 64 GPUs, the points the log itself: node-days / failures with exact
    (Garwood) intervals. Sizes beyond the largest job of the log are shaded.

    Parameters
    ----------
    tree
        A fit.
    gpus
        Sizes of interest; the figure reaches the largest of them. Default: up to 131,072.
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
    chosen = choose_cluster(tree, cluster)
    per_node = gpus_per_node(tree)
    points = by_size(tree, clusters(tree) if chosen == NEW else [chosen])
    sizes = _grid(points["job_size"].values, per_node, max(gpus) if gpus else LARGEST)
    rate = predict_rate(tree, sizes.tolist(), cluster=chosen, seed=seed).sum("component").transpose("gpus", "sample")
    hours = summarise(mttf_hours(rate.values, sizes[:, None], per_node))
    with styled():
        figure = new_figure(width, 4.3 if width > 5 else 3.9)
        axes = figure.add_subplot()
        _band(axes, sizes, hours)
        _law(axes, tree, chosen, sizes, rate, per_node)
        bounds = _points(axes, points, per_node)
        _frame(axes, tree, sizes, hours, bounds, phone=width < 5)
        return literal(figure)


def _grid(observed: np.ndarray, per_node: int, largest: int) -> np.ndarray:
    smallest = min([*observed.tolist(), per_node])
    low, high = int(np.floor(np.log2(smallest))), int(np.ceil(np.log2(max(largest, smallest * 2))))
    return 2 ** np.arange(low, high + 1)


def _band(axes: Axes, sizes: np.ndarray, hours: np.ndarray) -> None:
    axes.fill_between(sizes, hours[:, 2], hours[:, 3], color=colour("blue"), alpha=0.22, linewidth=0,
                      label=f"{PROBABILITY:.0%} interval of the fit")  # fmt: skip
    axes.plot(sizes, hours[:, 1], color=colour("blue"), label="fit, median")


def _law(
    axes: Axes, tree: xr.DataTree, cluster: str, sizes: np.ndarray, rate: xr.DataArray, per_node: int
) -> None:
    """Draw 1/N through the rate that the fit gives a job of 64 GPUs, its cell deviation left out."""
    posterior = tree["posterior"].to_dataset()
    if "slope" not in posterior:
        level, text = float(rate.median()), "MTTF = 1 / (N r), which this model assumes"
    elif cluster == NEW:
        level, text = float(np.median(rate.values[np.argmin(np.abs(sizes - ANCHOR))])), "1/N law through 64 GPUs"
    else:
        log_rate = posterior["component"] + posterior["cluster_deviation"].sel(cluster=cluster)
        level, text = float(np.exp(log_rate).sum("component").median()), "1/N law through 64 GPUs"
    axes.plot(sizes, mttf_hours(level, sizes, per_node), color=colour("ink"), linewidth=1.1, dashes=(4, 3), label=text)


def _points(axes: Axes, points: xr.Dataset, per_node: int) -> list[float]:
    """Draw the log's own points and return the times that must stay inside the axes."""
    sizes, n, time = (points[name].values for name in ("job_size", "failures", "exposure"))
    if len(sizes) == 0:
        return []
    low, high = garwood(n, time)
    some = n > 0
    centre, top = mttf_hours(n / time, sizes, per_node), mttf_hours(low, sizes, per_node)
    bottom = mttf_hours(high, sizes, per_node)
    tint = colour("vermilion")
    axes.vlines(sizes[some], bottom[some], top[some], color=tint, linewidth=1.3)
    axes.plot(sizes[some], centre[some], "o", color=tint, markersize=5, markeredgecolor=colour("paper"),
              markeredgewidth=0.7, label=f"the log, {PROBABILITY:.0%} exact interval")  # fmt: skip
    if (~some).any():
        axes.plot(sizes[~some], bottom[~some], "^", color="none", markeredgecolor=tint, markersize=6,
                  label="no failure seen: MTTF above this")  # fmt: skip
    return [*centre[some].tolist(), *bottom.tolist(), *np.minimum(top[some], centre[some] * 10).tolist()]


def _frame(
    axes: Axes, tree: xr.DataTree, sizes: np.ndarray, hours: np.ndarray, bounds: list[float], *, phone: bool
) -> None:
    low = min([*bounds, *hours[:, 2].tolist()]) / 1.8
    high = max([*bounds, *np.minimum(hours[:, 3], hours[:, 1] * 30).tolist()]) * 1.8
    time_axis(axes, low, high)
    gpu_axis(axes, sizes, ticks=4 if phone else 8)
    axes.set_ylabel("mean time to failure")
    axes.set_xlim(sizes[0] / 1.3, sizes[-1] * 1.3)
    seen = largest_job(tree)
    if 0 < seen < sizes[-1]:
        axes.axvspan(seen, sizes[-1] * 1.3, color=colour("shade"), linewidth=0, zorder=0)
        axes.text(sizes[-1] * 1.2, high / 1.25, f"extrapolated: larger than\nany job seen ({count(seen)} GPUs)",
                  color=colour("muted"), ha="right", va="top", linespacing=1.4)  # fmt: skip
    _, median, lower, upper = hours[-1]
    axes.plot(sizes[-1], median, "o", color=colour("blue"), markersize=4)
    axes.annotate(
        f"{count(sizes[-1])} GPUs\n{duration(median)} ({duration_between(lower, upper)})",
        (sizes[-1], max(upper, median)), xytext=(0, 8), textcoords="offset points", ha="right", va="bottom",
        color=colour("blue"), linespacing=1.4,
    )  # fmt: skip
    axes.legend(loc="lower left", borderpad=0.2, handlelength=2.2)
