"""Tables of single models for the command line: rates by period, and incidents by size."""

from typing import Any

import numpy as np
import xarray as xr

from meantime.inference import predict_rate, rate_over_time
from meantime.intervals import FIGURES, summarise
from meantime.units import HOURS_PER_DAY, PER_1000_NODE_DAYS

MOST_PERIODS = 12
"""Periods that a table shows, the latest."""


def period_rows(tree: xr.DataTree, cluster: str, *, most: int = MOST_PERIODS) -> list[dict[str, Any]]:
    """Return the latest periods of a fit of `over_time`, all components together.

    Returns
    -------
    list[dict]
        ``period`` (its first day), ``failures``, ``node_days``, ``counted`` (failures per 1,000 node-days; None without
        exposure) and ``rate`` (mean, median, lower, upper of the fitted walk).
    """
    rate = rate_over_time(tree, cluster=cluster).sum("component").transpose("period", "sample")
    table = tree["fit_data"].to_dataset().sel(cluster=cluster).sortby("period")
    days = table["exposure"].sum([dim for dim in table["exposure"].dims if dim != "period"]).values
    failures = table["failures"].sum([dim for dim in table["failures"].dims if dim != "period"]).values
    figures = summarise(PER_1000_NODE_DAYS * rate.values)
    labels = [str(np.datetime_as_string(period, unit="D")) for period in rate["period"].values]
    return [
        {
            "period": labels[at],
            "failures": int(failures[at]),
            "node_days": float(days[at]),
            "counted": float(PER_1000_NODE_DAYS * failures[at] / days[at]) if days[at] > 0 else None,
            "rate": dict(zip(FIGURES, map(float, figures[at]), strict=True)),
        }
        for at in range(max(0, len(labels) - most), len(labels))
    ]


def incident_rows(tree: xr.DataTree, cluster: str) -> list[dict[str, Any]]:
    """Return what incidents mean to jobs on 1, 8, 64, ... nodes of a cluster.

    Returns
    -------
    list[dict]
        ``nodes`` of the job, ``seconds`` (mean time to failure: mean, median, lower, upper) and ``independent``, the
        seconds if every node that an incident hit had failed by itself.
    """
    table = tree["fit_data"].to_dataset().sel(cluster=cluster)
    total, per_node = int(table["nodes"]), int(table.attrs["gpus_per_node"])
    sizes = sorted({*(8**power for power in range(8) if 8**power < total), total})
    rate = predict_rate(tree, [size * per_node for size in sizes], cluster=cluster).values[:, 0]
    posterior = tree["posterior"]["per_day"].sel(cluster=cluster)
    alone = float((posterior * posterior["hit"]).sum("hit").median()) / total
    rows = []
    for at, size in enumerate(sizes):
        seconds = 3600 * HOURS_PER_DAY / (rate[:, at] * size)
        figures = dict(zip(FIGURES, map(float, summarise(seconds)), strict=True))
        rows.append({"nodes": size, "seconds": figures, "independent": 3600 * HOURS_PER_DAY / (alone * size)})
    return rows


PERIOD_COLUMNS = {
    "from": ("period", "text"),
    "failures": ("failures", "count"),
    "node-days": ("node_days", "amount"),
    "counted": ("counted", "number"),
    "rate": ("rate", "number"),
}
"""Columns of `period_rows`, for `meantime.report.terminal.print_rows`."""

INCIDENT_COLUMNS = {
    "nodes of the job": ("nodes", "count"),
    "MTTF": ("seconds", "seconds"),
    "if nodes failed independently": ("independent", "seconds"),
}
"""Columns of `incident_rows`."""
