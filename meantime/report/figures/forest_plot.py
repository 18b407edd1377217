"""Forest plot: how often each component fails, fitted interval beside the raw rate."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from meantime.intervals import summarise
from meantime.report.evidence import clusters as all_clusters
from meantime.report.evidence import measured, measured_clusters, shown_clusters
from meantime.report.figures.rows_axis import name_rows, side_column
from meantime.report.numbers import INTERVAL, count, label
from meantime.report.style import MARKERS, SERIES, WIDE, colour, literal, log_ticks, new_figure, styled, top_legend
from meantime.units import PER_1000_NODE_DAYS

MOST_ROWS = 30
_DECADES = 4.0
_TOTAL = "all components"
_RAW: dict[str, Any] = {"marker": "|", "linestyle": "none", "markersize": 9, "markeredgewidth": 1.3}


def forest(tree: xr.DataTree, *, clusters: Sequence[str] | None = None, width: float = WIDE) -> Figure:
    """Draw the failure rate of each component with its 90 % interval, and the raw rate as counted.

    Parameters
    ----------
    tree
        A fit.
    clusters
        The clusters to show; all of the log if they are few, else the one with most node-days.
    width
        Width in inches; below 5 the layout is that of a phone.

    Returns
    -------
    matplotlib.figure.Figure
        Rows sorted by rate, the rarest beyond thirty left out.

    Examples
    --------
    >>> figure = forest(load_fit("fit.nc"))  # doctest: +SKIP
    >>> figure.savefig("rates.png")  # doctest: +SKIP
    """
    names = list(clusters) if clusters is not None else shown_clusters(tree)
    series = [_with_total(measured(tree, name)) for name in names]
    if series[0].sizes["component"] == 1 and len(all_clusters(tree)) > 1:
        names, series = ["fitted"], [measured_clusters(tree, most=MOST_ROWS)]
    rows = _order(series[0]["fitted"])
    series = [found.sel(component=rows) for found in series]
    figures = np.stack([summarise(found["fitted"].values, axis=0) for found in series]) * PER_1000_NODE_DAYS
    phone = width < 5
    with styled():
        figure = new_figure(width, 0.95 + 0.3 * len(rows) * (1 if len(names) == 1 else 1.25))
        axes = figure.add_subplot()
        for index, found in enumerate(series):
            offset = 0.26 * (index - (len(names) - 1) / 2)
            _intervals(axes, figures[index], index, offset)
            _raw(axes, found["raw"].values * PER_1000_NODE_DAYS, offset)
        _axes(axes, figures, rows, phone=phone)
        failures = np.sum([found["failures"].values for found in series], axis=0)
        side_column(axes, "failures", [count(number) for number in failures])
        handles = _legend(names)
        top_legend(figure, handles, [str(handle.get_label()) for handle in handles], columns=1 if phone else 2)
        return literal(figure)


def _with_total(found: xr.Dataset) -> xr.Dataset:
    if found.sizes["component"] == 1:
        return found
    total = found.sum("component").expand_dims(component=[_TOTAL])
    return xr.concat([total, found], "component").transpose("sample", "component")


def _order(rates: xr.DataArray) -> list[str]:
    medians = rates.median("sample")
    order = np.argsort(-medians.values, kind="stable")
    return [str(name) for name in medians["component"].values[order]][:MOST_ROWS]


def _intervals(axes: Axes, figures: np.ndarray, index: int, offset: float) -> None:
    """Draw the medians and intervals of one cluster; `figures` has shape (rows, 4)."""
    look = _look(index)
    for position, (_, median, lower, upper) in enumerate(figures):
        height = position + offset
        axes.plot([lower, upper], [height, height], color=look["color"], linewidth=2.4, solid_capstyle="round")
        axes.plot(median, height, markeredgecolor=colour("paper"), markeredgewidth=0.8, **look)


def _raw(axes: Axes, rates: np.ndarray, offset: float) -> None:
    for position, rate in enumerate(rates):
        if rate > 0:
            axes.plot(rate, position + offset, color=colour("ink"), zorder=4, **_RAW)


def _axes(axes: Axes, figures: np.ndarray, rows: Sequence[str], *, phone: bool) -> None:
    high = figures[..., 3].max() * 1.3
    low = max(figures[..., 2].min() / 1.3, high / 10**_DECADES)
    log_ticks(axes.xaxis, low, high, most=4 if phone else 8)
    axes.set_xlabel("failures per 1,000 node-days")
    name_rows(axes, rows, phone=phone)
    if rows[0] == _TOTAL:
        axes.get_yticklabels()[0].set_fontweight("bold")
        axes.axhline(0.5, color=colour("muted"), linewidth=0.7)


def _look(index: int) -> Mapping[str, Any]:
    return {
        "color": colour(SERIES[index % len(SERIES)]),
        "marker": MARKERS[index % len(MARKERS)],
        "markersize": 5.5,
    }


def _legend(names: Sequence[str]) -> list[Line2D]:
    fitted = [
        Line2D([], [], linewidth=2.4, label=f"{'fitted' if len(names) == 1 else label(name)}: median, {INTERVAL}",
               **_look(index))
        for index, name in enumerate(names)
    ]  # fmt: skip
    return [*fitted, Line2D([], [], color=colour("ink"), label="failures / node-days, as counted", **_RAW)]
