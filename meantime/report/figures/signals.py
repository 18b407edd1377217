"""Signals of single nodes: how each is spread over the fleet, and where the suspects stand."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import MaxNLocator

from meantime.errors import InputError
from meantime.report.numbers import count, label
from meantime.report.style import MARKERS, SERIES, WIDE, colour, literal, log_ticks, new_figure, styled, top_legend

MOST_SIGNALS = 9
MOST_NAMED = 5
ALL = "all components"


def node_signals(
    nodes: Any, *, signals: Sequence[str] | None = None, named: Sequence[str] | None = None, width: float = WIDE
) -> Figure:
    """Draw for each signal how many nodes have at least so much of it, and mark the nodes that lead.

    A marked node that has as little of a signal as any has no mark there.

    Lemons are nodes far out in the tail of several signals at once. After Figure 11 of Kokolis et al. 2025
    (arXiv 2410.21680), which has seven signals.

    Parameters
    ----------
    nodes
        A data frame with a column ``node`` and a column of numbers for each signal, or a failure table by node
        (``failure_table(..., by_node=True)``), whose signals are the failures of each component.
    signals
        The signals to show; default the first nine.
    named
        The nodes to mark; default the five that are highest in most signals.
    width
        Width in inches; below 5 the layout is that of a phone.

    Raises
    ------
    InputError
        If a node or signal is not there, or there is none.

    Examples
    --------
    >>> import polars as pl
    >>> table = pl.DataFrame({"node": ["a", "b", "c"], "tickets": [0, 1, 9], "xids": [2, 0, 31]})
    >>> figure = node_signals(table, named=["c"])
    >>> [axes.get_title(loc="left") for axes in figure.axes]
    ['tickets', 'xids']
    """
    names, values = _signals(nodes, signals)
    marked = _marked(names, values, named)
    phone = width < 5
    columns = min(2 if phone else 3, len(values))
    rows = -(-len(values) // columns)
    with styled():
        figure = new_figure(width, 0.5 + 1.9 * rows)
        panels = figure.subplots(rows, columns, sharey=True, squeeze=False)
        for axes in panels.flat[len(values) :]:
            axes.set_axis_off()
        for axes, (signal, found) in zip(panels.flat, values.items(), strict=False):
            at = np.unique(found)
            above = len(found) - np.searchsorted(np.sort(found), at, side="left")
            axes.step([*at, at[-1]], [*above, above[-1]], where="pre", color=colour("muted"), linewidth=1.2)
            for index, place in enumerate(marked):
                if found[place] <= at[0]:
                    continue
                axes.plot(found[place], above[np.searchsorted(at, found[place])], MARKERS[index], markersize=6,
                          color=colour(SERIES[index]), markeredgecolor=colour("paper"), markeredgewidth=0.7,
                          zorder=4)  # fmt: skip
            axes.set_title(label(signal))
            axes.xaxis.set_major_locator(MaxNLocator(4, integer=bool((found == np.round(found)).all())))
            log_ticks(axes.yaxis, 0.8, len(found) * 1.25, most=5)
            axes.yaxis.set_major_formatter(lambda value, _: count(value))
        for axes in panels[:, 0]:
            axes.set_ylabel("nodes with as\nmuch or more")
        handles = [_handle(index, names[place]) for index, place in enumerate(marked)]
        top_legend(figure, handles, [str(handle.get_label()) for handle in handles], columns=2 if phone else 5)
        return literal(figure)


def _signals(nodes: Any, wanted: Sequence[str] | None) -> tuple[list[str], dict[str, np.ndarray]]:
    if isinstance(nodes, xr.Dataset):
        names, found = _of_table(nodes)
    else:
        frame = nw.from_native(nodes, eager_only=True)
        if "node" not in frame.columns:
            raise InputError("nodes has no column 'node'; expected a row a node, and a column of numbers a signal")
        names = [str(name) for name in frame["node"].to_list()]
        numeric = [name for name in frame.columns if name != "node" and frame.schema[name].is_numeric()]
        found = {name: np.nan_to_num(frame[name].cast(nw.Float64).to_numpy().astype(float)) for name in numeric}
    if wanted is not None:
        if missing := [name for name in wanted if name not in found]:
            raise InputError(f"signal {missing[0]!r} is not there; expected some of {', '.join(found)}")
        found = {name: found[name] for name in wanted}
    if not found or not names:
        raise InputError("nodes holds no signals; expected a row a node, and a column of numbers a signal")
    return names, dict(list(found.items())[:MOST_SIGNALS])


def _of_table(table: xr.Dataset) -> tuple[list[str], dict[str, np.ndarray]]:
    if "failures" not in table or "node" not in table["failures"].dims:
        raise InputError("the failure table has no nodes; make it with by_node=True")
    failures = table["failures"]
    summed = failures.sum([dim for dim in failures.dims if dim not in ("node", "component")])
    by_component = summed.transpose("component", "node")
    order = np.argsort(-by_component.sum("node").values, kind="stable")
    found = {ALL: by_component.values.sum(axis=0).astype(float)}
    found |= {str(by_component["component"].values[index]): by_component.values[index].astype(float) for index in order}
    return [str(name) for name in table["node"].values], {k: v for k, v in found.items() if v.any()}


def _marked(names: Sequence[str], values: dict[str, np.ndarray], named: Sequence[str] | None) -> list[int]:
    if named is not None:
        if missing := [name for name in named if name not in names]:
            raise InputError(f"node {missing[0]!r} is not there; expected nodes of the {len(names):,} given")
        return [names.index(name) for name in list(named)[:MOST_NAMED]]
    ranks = [np.searchsorted(np.sort(found), found, side="left") / len(found) for found in values.values()]
    return [int(place) for place in np.argsort(-np.mean(ranks, axis=0), kind="stable")[:MOST_NAMED]]


def _handle(index: int, name: str) -> Line2D:
    return Line2D([], [], color=colour(SERIES[index]), marker=MARKERS[index], linestyle="none", label=label(name))
