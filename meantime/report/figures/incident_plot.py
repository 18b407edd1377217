"""Incidents by the nodes they hit, and what they mean to jobs of a size."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from meantime.errors import InputError
from meantime.inference import predict_rate, provenance
from meantime.intervals import summarise
from meantime.report.evidence import garwood
from meantime.report.numbers import INTERVAL, count
from meantime.report.style import WIDE, colour, literal, log_ticks, new_figure, styled, time_axis, top_legend
from meantime.units import HOURS_PER_DAY

DAYS_PER_YEAR = 365.0


def incident_sizes(tree: xr.DataTree, *, cluster: str | None = None, width: float = WIDE) -> Figure:
    """Draw how many nodes incidents hit, and the mean time to failure of a job by its nodes.

    Left, incidents a year that hit at least so many nodes: the posterior with its 90 % interval, and the counts with
    exact (Garwood) intervals. Right, the mean time between the incidents that hit a job; the dashed line is what would
    come out if every node that was hit had failed by itself.

    Parameters
    ----------
    tree
        A fit of `incident`.
    cluster
        A cluster of the log; default the one with most incidents.
    width
        Width in inches; below 5 the layout is that of a phone.

    Raises
    ------
    InputError
        If the fit is not of incidents, or there is no such cluster.

    Examples
    --------
    >>> figure = incident_sizes(load_fit("incidents.nc"))  # doctest: +SKIP
    >>> figure.savefig("incidents.png")  # doctest: +SKIP
    """
    if (model := provenance(tree)["model"]) != "incident":
        raise InputError(f"the fit is of the model {model!r}; expected one of 'incident'")
    table = tree["fit_data"].to_dataset()
    names = [str(label) for label in table["cluster"].values]
    name = names[int(np.argmax(table["incidents"].sum("hit").values))] if cluster is None else cluster
    if name not in names:
        raise InputError(f"cluster {name!r} is not in the fit; expected one of {', '.join(sorted(names))}")
    phone = width < 5
    with styled():
        figure = new_figure(width, 6.0 if phone else 3.4)
        left, right = figure.subplots(2, 1) if phone else figure.subplots(1, 2)
        _sizes(left, tree, table.sel(cluster=name), name)
        _times(right, tree, table.sel(cluster=name), name)
        handles, labels = left.get_legend_handles_labels()
        others = right.get_legend_handles_labels()
        top_legend(figure, [*handles, *others[0]], [*labels, *others[1]], columns=1 if phone else 3)
        return literal(figure)


def _sizes(axes: Axes, tree: xr.DataTree, table: xr.Dataset, cluster: str) -> None:
    per_day = tree["posterior"]["per_day"].sel(cluster=cluster)
    hits, total = per_day["hit"].to_numpy(), int(table["nodes"])
    draws = per_day.stack(sample=("chain", "draw"), create_index=False).transpose("hit", "sample").values
    inside = hits <= total
    fitted = DAYS_PER_YEAR * summarise(np.cumsum(draws[inside][::-1], axis=0)[::-1])
    at = hits[inside]
    axes.fill_between(at, fitted[:, 2], fitted[:, 3], color=colour("blue"), alpha=0.25, linewidth=0)
    axes.plot(at, fitted[:, 1], color=colour("blue"), label=f"fit: median, {INTERVAL}")
    counted = table["incidents"].values
    seen, least = table["hit"].values[counted > 0], np.cumsum(counted[::-1])[::-1][counted > 0]
    days = float(table["days"])
    bounds = [DAYS_PER_YEAR * bound for bound in garwood(least, np.full(len(least), days))]
    axes.vlines(seen, bounds[0], bounds[1], color=colour("vermilion"), linewidth=0.9, alpha=0.7)
    axes.plot(seen, DAYS_PER_YEAR * least / days, "o", color=colour("vermilion"), markersize=3.5,
              label=f"the log, exact {INTERVAL}")  # fmt: skip
    low, high = min([fitted[-1, 1], *bounds[0]]), max([fitted[0, 3], *bounds[1]])
    log_ticks(axes.yaxis, low / 1.3, high * 1.3, most=6)
    _node_axis(axes, total, "nodes hit, at least")
    axes.set_ylabel("incidents a year")


def _times(axes: Axes, tree: xr.DataTree, table: xr.Dataset, cluster: str) -> None:
    total, per_node = int(table["nodes"]), int(table.attrs["gpus_per_node"])
    sizes = sorted({*(2**power for power in range(24) if 2**power < total), total})
    rate = predict_rate(tree, [size * per_node for size in sizes], cluster=cluster).isel(component=0)
    with np.errstate(divide="ignore"):
        hours = HOURS_PER_DAY / (rate.transpose("gpus", "sample").values * np.array(sizes)[:, None])
    figures = summarise(hours)
    posterior = tree["posterior"]["per_day"].sel(cluster=cluster)
    alone = HOURS_PER_DAY / (float((posterior * posterior["hit"]).sum("hit").median()) / total * np.array(sizes))
    axes.fill_between(sizes, figures[:, 2], figures[:, 3], color=colour("blue"), alpha=0.25, linewidth=0)
    axes.plot(sizes, figures[:, 1], color=colour("blue"))
    axes.plot(sizes, alone, color=colour("ink"), linewidth=1.1, dashes=(4, 3), label="if nodes failed by themselves")
    time_axis(axes, min(alone.min(), figures[:, 2].min()) / 1.5, max(alone.max(), figures[:, 3].max()) * 1.5)
    _node_axis(axes, total, "nodes of the job")
    axes.set_ylabel("mean time to failure")


def _node_axis(axes: Axes, total: int, title: str) -> None:
    axes.set_xscale("log", base=2)
    axes.set_xlim(0.85, total * 1.2)
    powers = np.unique(np.round(np.linspace(0, np.log2(max(total, 2)), 5)).astype(int))
    axes.xaxis.set_major_locator(FixedLocator((2.0**powers).tolist()))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value)))
    axes.set_xlabel(title)
