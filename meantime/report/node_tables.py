"""Rows of the tables of nodes, lives and repairs."""

from typing import Any

import numpy as np
import xarray as xr

from meantime.inference import node_posterior, repair_hours, survival_curve
from meantime.intervals import FIGURES, summarise

TOP = 10
"""Nodes shown."""

LEMON_COLUMNS = {
    "node": ("node", "text"),
    "P(lemon)": ("probability", "odds"),
    "failures": ("failures", "count"),
    "rate per 1,000\nnode-days": ("rate", "number"),
}

type Rows = list[dict[str, Any]]


def lemon_rows(tree: xr.DataTree, cluster: str) -> Rows:
    """Return the nodes of a cluster that are likeliest lemons."""
    nodes = node_posterior(tree, cluster=cluster)
    order = np.argsort(-nodes["lemon_probability"].values, kind="stable")[:TOP]
    rates = 1000 * nodes["rate"].values
    return [
        {
            "node": str(nodes["node"].values[i]),
            "probability": float(nodes["lemon_probability"][i]),
            "failures": int(nodes["failures"][i]),
            "rate": _four(rates[:, i]),
        }
        for i in order
    ]


def parts_table(tree: xr.DataTree) -> tuple[Rows, dict[str, tuple[str, str]], str]:
    """Return rows, columns and title of the table of a fit of repairs or of lives."""
    if "repairs" in tree["fit_data"]:
        hours = repair_hours(tree)
        rows: Rows = [
            {"class": str(name), "mean": _four(hours["mean_of_class"].values[:, i]),
             "next": _four(hours["next_of_class"].values[:, i])}
            for i, name in enumerate(hours["class"].values)
        ]  # fmt: skip
        rows.append({"class": "all", "mean": _four(hours["mean"].values), "next": _four(hours["next"].values)})
        columns = {"class": ("class", "text"), "mean hours": ("mean", "number"), "next, hours": ("next", "number")}
        return rows, columns, "Repairs"
    years = np.array([0.25, 0.5, 1.0, 2.0, 3.0, 5.0])
    curve = survival_curve(tree, 365 * years)
    rows = [
        {"years": f"{year:g}", "alive": _four(curve["survival"].values[:, i]),
         "rate": _four(1e6 * curve["hazard"].values[:, i])}
        for i, year in enumerate(years)
    ]  # fmt: skip
    columns = {
        "age, years": ("years", "text"),
        "alive": ("alive", "fraction"),
        "failures per\nmillion days": ("rate", "number"),
    }
    return rows, columns, "Survival by age (reference levels, mean of numbers)"


def _four(values: np.ndarray) -> dict[str, float]:
    return dict(zip(FIGURES, map(float, summarise(values)), strict=True))
