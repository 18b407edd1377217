"""The nodes of a fleet from the worst on: their rates, and how likely each is a lemon."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from meantime.inference import node_posterior
from meantime.intervals import summarise
from meantime.report.evidence import choose_cluster
from meantime.report.numbers import INTERVAL, count
from meantime.report.style import WIDE, colour, literal, log_ticks, new_figure, styled, top_legend
from meantime.units import PER_1000_NODE_DAYS

MOST_NODES = 60
"""Nodes drawn where no other number is asked for."""

CLASSES = (("P(lemon) < 10 %", "blue", "o"), ("10 % to 90 %", "ochre", "s"), ("> 90 %", "vermilion", "^"))
"""Name, colour and marker of the classes of probability."""


def lemon_nodes(
    tree: xr.DataTree, *, cluster: str | None = None, most: int = MOST_NODES, seed: int = 0, width: float = WIDE
) -> Figure:
    """Draw the rates of the worst nodes with 90 % intervals, coloured by how likely each is a lemon.

    The strokes are the rates as counted: those of the worst nodes are in part bad luck, which the fit takes back.

    Parameters
    ----------
    tree
        A fit of `node_frailty`.
    cluster
        A cluster of the log; default the one with most node-days.
    most
        Nodes to draw, the one of the highest rate first.
    seed
        Seed of the nodes' rates.
    width
        Width in inches; below 5 the layout is that of a phone.

    Examples
    --------
    >>> figure = lemon_nodes(load_fit("fit.nc"))  # doctest: +SKIP
    >>> figure.savefig("lemons.png")  # doctest: +SKIP
    """
    nodes = node_posterior(tree, cluster=choose_cluster(tree, cluster), seed=seed)
    order = np.argsort(-nodes["rate"].mean("sample").values, kind="stable")[:most]
    worst = nodes.isel(node=order)
    figures = PER_1000_NODE_DAYS * summarise(worst["rate"].transpose("node", "sample").values)
    counted = PER_1000_NODE_DAYS * worst["failures"].values / worst["exposure"].values
    rank, part = 1 + np.arange(len(order)), np.digitize(worst["lemon_probability"].values, [0.1, 0.9])
    with styled():
        figure = new_figure(width, 3.7)
        axes = figure.add_subplot()
        for index, (name, tint, marker) in enumerate(CLASSES):
            if (mine := part == index).any():
                axes.vlines(rank[mine], figures[mine, 2], figures[mine, 3], color=colour(tint), linewidth=1.4)
                axes.plot(rank[mine], figures[mine, 1], marker, color=colour(tint), markersize=5, label=name,
                          markeredgecolor=colour("paper"), markeredgewidth=0.8)  # fmt: skip
        some = counted > 0
        axes.plot(rank[some], counted[some], "_", color=colour("ink"), markersize=6, label="failures / node-days")
        shown = np.concatenate([figures[:, 2], figures[:, 3], counted[some]])
        log_ticks(axes.yaxis, shown[shown > 0].min() / 1.2, shown.max() * 1.2, most=7)
        axes.set_xlim(0, len(order) + 1)
        axes.set_xlabel(
            f"nodes by rate, the worst {count(len(order))} of {count(nodes.sizes['node'])}; median, {INTERVAL}"
        )
        axes.set_ylabel("failures per 1,000 node-days")
        top_legend(figure, *axes.get_legend_handles_labels(), columns=2 if width < 5 else 4)
        return literal(figure)
