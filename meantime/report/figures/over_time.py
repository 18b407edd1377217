"""Rates over time: the walk with its interval, the counts behind it, and the fan of what may come."""

import datetime as dt

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.dates import AutoDateLocator, ConciseDateFormatter, date2num
from matplotlib.figure import Figure

from meantime.inference import change_points, rate_over_time
from meantime.intervals import summarise
from meantime.report.evidence import choose_cluster, garwood
from meantime.report.numbers import INTERVAL
from meantime.report.style import WIDE, colour, literal, log_ticks, new_figure, styled, top_legend
from meantime.units import PER_1000_NODE_DAYS, Duration

MOST_POINTS = 400
"""Periods of which the counts are drawn as points; of more, only the walk is shown."""


def rates_over_time(
    tree: xr.DataTree,
    *,
    cluster: str | None = None,
    component: str | None = None,
    horizon: Duration | None = None,
    seed: int = 0,
    width: float = WIDE,
) -> Figure:
    """Draw how a rate moved and where it may go.

    The line and band are the posterior of the walk with its 90 % interval, the points the log itself with exact
    (Garwood) intervals. Beyond the data, behind the dashed line, the fan is what the walk may do. Of a fit with
    change points, bars below give the probability that rates jumped at the start of each period.

    Parameters
    ----------
    tree
        A fit of `over_time`.
    cluster
        A cluster of the log; default the one with most node-days.
    component
        One component. Default: all together.
    horizon
        How far ahead, such as ``"90d"``. Default: not at all.
    seed
        Seed of the future.
    width
        Width in inches; below 5 the layout is that of a phone.

    Examples
    --------
    >>> figure = rates_over_time(load_fit("fit.nc"), horizon="90d")  # doctest: +SKIP
    >>> figure.savefig("rates.png")  # doctest: +SKIP
    """
    name = choose_cluster(tree, cluster)
    rate = rate_over_time(tree, cluster=name, horizon=horizon, seed=seed)
    total = rate.sum("component") if component is None else rate.sel(component=component)
    figures = PER_1000_NODE_DAYS * summarise(total.transpose("period", "sample").values)
    ahead = rate["ahead"].values
    length = dt.timedelta(days=float(rate.attrs["period_days"]))
    starts = [moment.item() for moment in rate["period"].values.astype("datetime64[us]")]
    middles = date2num([start + length / 2 for start in starts])
    days, failures = _counted(tree, name, component)
    with styled():
        changing = "change" in tree["posterior"]
        figure = new_figure(width, 4.9 if changing else 3.9)
        panels = figure.subplots(1 + changing, sharex=True, squeeze=False, height_ratios=(4, 1)[: 1 + changing])[:, 0]
        axes, lowest = panels[0], panels[-1]
        if changing:
            _changes(lowest, change_points(tree).sel(cluster=name), length)
        seen = np.flatnonzero(~ahead)
        _walk(axes, middles[seen], figures[seen], "blue", f"fit: median, {INTERVAL}")
        low, high = figures[:, 2].min(), figures[:, 3].max()
        if len(seen) <= MOST_POINTS:
            at = [i for i in seen if days[i] > 0 and failures[i] > 0]
            bounds = [PER_1000_NODE_DAYS * bound for bound in garwood(failures[at], days[at])]
            raw = PER_1000_NODE_DAYS * failures[at] / days[at]
            axes.vlines(middles[at], bounds[0], bounds[1], color=colour("vermilion"), linewidth=0.8, alpha=0.6)
            axes.plot(
                middles[at], raw, "o", color=colour("vermilion"), markersize=3, label=f"the log, exact {INTERVAL}"
            )
            low, high = min([low, *raw.tolist()]), max([high, *raw.tolist()])
        if ahead.any():
            after = np.flatnonzero(ahead)
            edge = [seen[-1], *after]
            _walk(axes, middles[edge], figures[edge], "purple", f"ahead: median, {INTERVAL}")
            axes.axvline(date2num(starts[after[0]]), color=colour("ink"), linewidth=1.1, dashes=(4, 3))
        log_ticks(axes.yaxis, low / 1.2, high * 1.2, most=7)
        lowest.xaxis_date()
        locator = AutoDateLocator(maxticks=4 if width < 5 else 8)
        lowest.xaxis.set_major_locator(locator)
        lowest.xaxis.set_major_formatter(ConciseDateFormatter(locator))
        axes.set_ylabel("failures per 1,000 node-days" + ("" if component is None else f", {component}"))
        top_legend(figure, *axes.get_legend_handles_labels(), columns=1 if width < 5 else 3)
        return literal(figure)


def _walk(axes: Axes, at: np.ndarray, figures: np.ndarray, role: str, label: str) -> None:
    axes.fill_between(at, figures[:, 2], figures[:, 3], color=colour(role), alpha=0.25, linewidth=0)
    axes.plot(at, figures[:, 1], color=colour(role), label=label)


def _changes(axes: Axes, found: xr.Dataset, length: dt.timedelta) -> None:
    starts = date2num(found["period"].values.astype("datetime64[us]"))
    axes.bar(starts, found["probability"].values, width=0.8 * length / dt.timedelta(days=1), color=colour("green"))
    axes.set_ylim(0, 1)
    axes.set_ylabel("change point,\nprobability")


def _counted(tree: xr.DataTree, cluster: str, component: str | None) -> tuple[np.ndarray, np.ndarray]:
    """Return node-days and failures of each period."""
    table = tree["fit_data"].to_dataset().sel(cluster=cluster).sortby("period")
    counts = table["failures"] if component is None else table["failures"].sel(component=component)
    days = table["exposure"].sum([dim for dim in table["exposure"].dims if dim != "period"])
    return days.values, counts.sum([dim for dim in counts.dims if dim != "period"]).values
