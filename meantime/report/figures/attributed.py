"""Failures as counted, by component: no model, only the log."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from meantime.errors import InputError
from meantime.report.evidence import counts, garwood
from meantime.report.figures.rows_axis import name_rows, side_column
from meantime.report.numbers import INTERVAL, count, label
from meantime.report.style import MARKERS, SERIES, WIDE, colour, literal, log_ticks, new_figure, styled, top_legend
from meantime.units import PER_1000_NODE_DAYS

MOST_ROWS = 30
MOST_CLUSTERS = 3
_DECADES = 4.0


def attributed_rates(
    source: xr.DataTree | xr.Dataset, *, clusters: Sequence[str] | None = None, width: float = WIDE
) -> Figure:
    """Draw failures per 1,000 node-days by component, as the log attributes them, with exact (Garwood) intervals.

    A component that never failed shows its upper bound alone. `forest` draws the same with a model, which lets rare
    components borrow from the others.

    Parameters
    ----------
    source
        A failure table, as `meantime.datasets.to_table` makes it of a log, or a fit.
    clusters
        The clusters to show; default the three with most node-days.
    width
        Width in inches; below 5 the layout is that of a phone.

    Returns
    -------
    matplotlib.figure.Figure
        Rows sorted by failures, those beyond thirty left out.

    Raises
    ------
    InputError
        If a cluster is not in the source.

    Examples
    --------
    >>> from meantime.datasets.published import load_llama3
    >>> figure = attributed_rates(load_llama3())
    >>> figure.axes[0].get_xlabel()
    'failures per 1,000 node-days'
    """
    table = _by_component(source)
    names = _chosen(table, clusters)
    table = table.sel(cluster=names)
    order = np.argsort(-table["failures"].sum("cluster").values, kind="stable")[:MOST_ROWS]
    table = table.isel(component=order)
    rows = [str(name) for name in table["component"].values]
    phone = width < 5
    with styled():
        figure = new_figure(width, 0.95 + 0.3 * len(rows) * (1 if len(names) == 1 else 1.25))
        axes = figure.add_subplot()
        low, high = np.inf, 0.0
        for index, name in enumerate(names):
            failures = table["failures"].sel(cluster=name).values
            exposure = float(table["exposure"].sel(cluster=name))
            bounds = np.stack(garwood(failures, exposure)) * PER_1000_NODE_DAYS
            height = np.arange(len(rows)) + 0.26 * (index - (len(names) - 1) / 2)
            tint, marker = colour(SERIES[index]), MARKERS[index]
            of = "as counted" if len(names) == 1 else label(name)
            some = failures > 0
            rates = failures[some] / exposure * PER_1000_NODE_DAYS
            axes.hlines(height[some], *bounds[:, some], color=tint, linewidth=2)
            axes.plot(rates, height[some], marker, color=tint, markersize=6, markeredgecolor=colour("paper"),
                      markeredgewidth=0.8, label=f"{of}, exact {INTERVAL}")  # fmt: skip
            axes.plot(bounds[1][~some], height[~some], "<", color="none", markeredgecolor=tint, markersize=6)
            high = max(high, bounds[1].max())
            low = min([low, *bounds[0][some].tolist()])
        low = max(min(low, high / 10) / 1.3, high / 10**_DECADES)
        log_ticks(axes.xaxis, low, high * 1.3, most=4 if phone else 8)
        axes.set_xlabel(f"failures per {PER_1000_NODE_DAYS:,.0f} node-days")
        name_rows(axes, rows, phone=phone)
        side_column(axes, "failures", [count(number) for number in table["failures"].sum("cluster").values])
        top_legend(figure, *axes.get_legend_handles_labels(), columns=1 if phone else 2)
        return literal(figure)


def _by_component(source: xr.DataTree | xr.Dataset) -> xr.Dataset:
    table = counts(source) if isinstance(source, xr.DataTree) else source
    if not {"failures", "exposure"} <= set(table.data_vars) or "component" not in table.dims:
        raise InputError("the source is no failure table; expected what meantime.datasets.to_table returns, or a fit")
    failures = table["failures"].sum([dim for dim in table["failures"].dims if dim not in ("cluster", "component")])
    exposure = table["exposure"].sum([dim for dim in table["exposure"].dims if dim != "cluster"])
    return xr.Dataset({"failures": failures, "exposure": exposure})


def _chosen(table: xr.Dataset, clusters: Sequence[str] | None) -> list[str]:
    known = [str(name) for name in table["cluster"].values]
    if clusters is None:
        order = np.argsort(-table["exposure"].values, kind="stable")[:MOST_CLUSTERS]
        return [known[index] for index in order if float(table["exposure"][index]) > 0]
    if missing := [name for name in clusters if name not in known]:
        raise InputError(f"cluster {missing[0]!r} is not in the source; expected some of {', '.join(sorted(known))}")
    return list(clusters)[: len(SERIES)]
