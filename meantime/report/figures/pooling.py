"""Shrinkage: what pooling makes of the counts, cell by cell."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.ticker import FixedLocator, FuncFormatter

from meantime.intervals import summarise
from meantime.report.evidence import counts
from meantime.report.numbers import INTERVAL
from meantime.report.style import WIDE, colour, literal, log_ticks, new_figure, plain, styled, top_legend
from meantime.units import PER_1000_NODE_DAYS

MOST_CELLS = 300
_AREA = 110.0


def shrinkage(tree: xr.DataTree, *, width: float = WIDE) -> Figure:
    """Draw fitted rates against rates as counted, a dot for every cluster, component and size of job or period.

    On the diagonal the fit keeps what was counted. Cells with few failures leave it towards the rates of their
    neighbours; cells without a failure, which have no rate on a log scale, stand at the left edge.

    Parameters
    ----------
    tree
        A fit whose posterior has rates by cluster.
    width
        Width in inches.

    Returns
    -------
    matplotlib.figure.Figure
        The 300 cells with most exposure; the area of a dot grows with the failures counted.

    Raises
    ------
    InputError
        If the tree holds no failure table.

    Examples
    --------
    >>> figure = shrinkage(load_fit("fit.nc"))  # doctest: +SKIP
    >>> figure.savefig("shrinkage.png")  # doctest: +SKIP
    """
    cells = shrunk(tree)
    fitted = cells["fitted"].transpose("figure", "cell").values * PER_1000_NODE_DAYS
    raw = cells["raw"].values * PER_1000_NODE_DAYS
    failures = cells["failures"].values
    some = failures > 0
    low = min([fitted[2].min(), *raw[some].tolist()]) / 1.5
    high = max([fitted[3].max(), *raw[some].tolist()]) * 1.5
    at = np.where(some, raw, low * 1.15)
    phone = width < 5
    with styled():
        figure = new_figure(width, width * (1.05 if phone else 0.6))
        axes = figure.add_subplot()
        axes.plot([low, high], [low, high], color=colour("muted"), linewidth=1, dashes=(4, 3))
        axes.vlines(at, fitted[2], fitted[3], color=colour("blue"), linewidth=0.8, alpha=0.35)
        area = 12 + _AREA * failures / max(failures.max(), 1)
        axes.scatter(at[some], fitted[1][some], s=area[some], color=colour("blue"), alpha=0.75,
                     edgecolors=colour("paper"), linewidths=0.6)  # fmt: skip
        axes.scatter(at[~some], fitted[1][~some], s=22, marker="<", facecolors="none", edgecolors=colour("vermilion"))
        for axis in (axes.xaxis, axes.yaxis):
            log_ticks(axis, low, high, most=5)
        _zero_tick(axes, low * 1.15)
        axes.set_xlabel("as counted, failures per 1,000 node-days")
        axes.set_ylabel("fitted, failures per 1,000 node-days")
        handles = [
            Line2D([], [], color=colour("blue"), marker="o", linewidth=0.8, label=f"fitted: median, {INTERVAL}"),
            Line2D([], [], color="none", marker="<", markeredgecolor=colour("vermilion"), label="no failure counted"),
            Line2D([], [], color=colour("muted"), linewidth=1, dashes=(4, 3), label="as counted"),
        ]
        top_legend(figure, handles, [str(handle.get_label()) for handle in handles], columns=1 if phone else 3)
        return literal(figure)


def _zero_tick(axes: Axes, at: float) -> None:
    """Write 0 below the cells without a failure, instead of the number that stands there on a log scale."""
    kept = [tick for tick in axes.xaxis.get_majorticklocs() if tick > at * 1.6]
    axes.xaxis.set_major_locator(FixedLocator([at, *kept]))
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: "0" if value <= at else plain(value)))


def shrunk(tree: xr.DataTree) -> xr.Dataset:
    """Return fitted and counted rates by cell, those with most exposure, per node-day.

    Returns
    -------
    xarray.Dataset
        `fitted` (cell, figure), `raw` (cell) and `failures` (cell).
    """
    rate = tree["posterior"]["rate"]
    table = _counted(tree)
    dims = [str(dim) for dim in rate.dims if dim not in ("chain", "draw")]
    failures = table["failures"].sum([dim for dim in table["failures"].dims if dim not in dims]).transpose(*dims)
    exposure = table["exposure"].sum([dim for dim in table["exposure"].dims if dim not in dims])
    days = exposure.broadcast_like(failures).transpose(*dims).values.ravel()
    order = np.argsort(-days, kind="stable")[:MOST_CELLS]
    order = order[days[order] > 0]
    draws = rate.transpose("chain", "draw", *dims).values.reshape(-1, days.size)[:, order]
    counted = failures.values.ravel()[order]
    return xr.Dataset(
        {
            "fitted": (("cell", "figure"), summarise(draws, axis=0)),
            "raw": ("cell", counted / days[order]),
            "failures": ("cell", counted),
        }
    )


def _counted(tree: xr.DataTree) -> xr.Dataset:
    """Return the table that was fitted, by period where the posterior has rates by period."""
    rate = tree["posterior"]["rate"]
    if "period" not in rate.dims:
        return counts(tree)
    table = tree["fit_data"].to_dataset()
    return table.sum([dim for dim in ("node",) if dim in table.dims]).reindex(period=rate["period"], fill_value=0)
