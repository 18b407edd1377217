"""Forest plot: how often each component fails, fitted interval beside the raw rate."""

import textwrap
from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D

from meantime.intervals import summarise
from meantime.report.evidence import component_rates, counts, raw_rates, shown_clusters
from meantime.report.numbers import INTERVAL, count, label
from meantime.report.style import SERIES, WIDE, colour, literal, log_ticks, new_figure, styled, top_legend
from meantime.units import PER_1000_NODE_DAYS

MOST_ROWS = 30
_DECADES = 4.0
_TOTAL = "all components"


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
    fitted = {name: _with_total(component_rates(tree, name)) * PER_1000_NODE_DAYS for name in names}
    rows = _order(fitted[names[0]])
    with styled():
        figure = new_figure(width, 0.75 + 0.3 * len(rows) * (1 if len(names) == 1 else 1.25))
        axes = figure.add_subplot()
        for index, name in enumerate(names):
            offset = 0.0 if len(names) == 1 else 0.26 * (index - (len(names) - 1) / 2)
            _draw(axes, tree, name, fitted[name], rows, offset=offset, tint=colour(SERIES[index % len(SERIES)]))
        _finish(figure, axes, tree, names, fitted, rows)
        return literal(figure)


def _with_total(rates: xr.DataArray) -> xr.DataArray:
    total = rates.sum("component").expand_dims(component=[_TOTAL])
    return xr.concat([total, rates], "component") if rates.sizes["component"] > 1 else rates


def _order(rates: xr.DataArray) -> list[str]:
    medians = rates.median("sample")
    order = np.argsort(-medians.values, kind="stable")
    return [str(name) for name in medians["component"].values[order]][:MOST_ROWS]


def _draw(
    axes: Axes, tree: xr.DataTree, cluster: str, rates: xr.DataArray, rows: list[str], *, offset: float, tint: str
) -> None:
    raw = raw_rates(tree, cluster) * PER_1000_NODE_DAYS
    for position, component in enumerate(rows):
        _, median, lower, upper = summarise(rates.sel(component=component).values)
        height = position + offset
        axes.plot([lower, upper], [height, height], color=tint, linewidth=2.4, solid_capstyle="round")
        axes.plot(median, height, "o", color=tint, markersize=5.5, markeredgecolor=colour("paper"), markeredgewidth=0.8)
        whole = component not in raw["component"].values
        value = float(raw.sum() if whole else raw.sel(component=component))
        if value > 0:
            axes.plot(value, height, "|", color=colour("ink"), markersize=9, markeredgewidth=1.3, zorder=4)


def _finish(
    figure: Figure,
    axes: Axes,
    tree: xr.DataTree,
    names: list[str],
    fitted: dict[str, xr.DataArray],
    rows: list[str],
) -> None:
    phone = figure.get_figwidth() < 5
    quantiles = np.stack(
        [summarise(rates.sel(component=rows).transpose("component", "sample").values) for rates in fitted.values()]
    )
    high = quantiles[..., 3].max() * 1.3
    low = max(quantiles[..., 2].min() / 1.3, high / 10**_DECADES)
    log_ticks(axes.xaxis, low, high, most=4 if phone else 8)
    axes.set_xlabel("failures per 1,000 node-days")
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_yticks(range(len(rows)), [_wrapped(name, 15 if phone else 26) for name in rows])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)
    if rows[0] == _TOTAL:
        axes.get_yticklabels()[0].set_fontweight("bold")
        axes.axhline(0.5, color=colour("muted"), linewidth=0.7)
    _failures_column(axes, tree, names, rows)
    handles = _legend(names)
    top_legend(figure, handles, [str(handle.get_label()) for handle in handles], columns=1 if phone else 2)


def _failures_column(axes: Axes, tree: xr.DataTree, names: list[str], rows: list[str]) -> None:
    failures = counts(tree)["failures"].sel(cluster=names).sum("cluster")
    failures = failures.sum("job_size") if "job_size" in failures.dims else failures
    texts = [("failures", -0.75, colour("muted"))]
    for position, component in enumerate(rows):
        known = component in failures["component"].values
        number = float(failures.sel(component=component) if known else failures.sum())
        texts.append((count(number), position, colour("ink")))
    for text, height, tint in texts:
        axes.annotate(text, (1, height), xycoords=axes.get_yaxis_transform(), xytext=(44, 0), color=tint,
                      textcoords="offset points", ha="right", va="center", annotation_clip=False)  # fmt: skip


def _legend(names: list[str]) -> list[Line2D]:
    fitted = [
        Line2D([], [], color=colour(SERIES[index % len(SERIES)]), marker="o", linewidth=2.4, markersize=5.5,
               label=f"{'fitted' if len(names) == 1 else label(name)}: median, {INTERVAL}")
        for index, name in enumerate(names)
    ]  # fmt: skip
    raw = Line2D([], [], color=colour("ink"), linestyle="none", marker="|", markersize=9, markeredgewidth=1.3,
                 label="failures / node-days, as counted")  # fmt: skip
    return [*fitted, raw]


def _wrapped(name: str, width: int) -> str:
    return "\n".join(textwrap.wrap(label(name), width, max_lines=2, placeholder=" …"))
