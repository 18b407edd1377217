"""The incident table: how often incidents hit how many nodes at once.

It is what the model `incident` takes: ``incidents`` (cluster, hit), how many incidents hit so many nodes, ``days``
(cluster,) of the calendar that were watched, and ``nodes`` (cluster,), the nodes of the cluster. The nodes of one
incident went down together, by one cause: a rack, a switch, a power cut.
"""

import json
from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import xarray as xr

from meantime.datasets.log import Log
from meantime.datasets.outages import incidents
from meantime.errors import InputError
from meantime.units import Duration

_DAY = 86_400


def incident_table(
    log: Log,
    *,
    nodes: int | Mapping[str, int] | None = None,
    days: float | Mapping[str, float] | None = None,
    window: Duration = "1min",
    gpus_per_node: int = 8,
) -> xr.Dataset:
    """Join outages or events of nodes that begin together into incidents, and count them.

    Parameters
    ----------
    log
        A log of outages, or of events; events have no cluster and count as one.
    nodes
        Nodes of each cluster, those that never failed too. Default: what the column ``n_nodes`` of the log says;
        without it it must be given.
    days
        Days that each cluster was watched. Default: from its first to its last outage.
    window
        Outages that begin in the same window, counted from midnight UTC, are one incident.
    gpus_per_node
        GPUs of a node.

    Returns
    -------
    xr.Dataset
        A table that passes `check_incidents`.

    Raises
    ------
    InputError
        If the log holds neither, the number of nodes is unknown, or an incident hits more nodes than there are.
    """
    if log.kind not in ("outages", "events"):
        raise InputError(f"{log.source}: holds {log.kind}; expected outages or events of nodes")
    rows = log.table
    if log.kind == "events":
        rows = rows.rename({"time": "start"}).with_columns(pl.lit("cluster").alias("cluster"))
    if rows.is_empty():
        raise InputError(f"{log.source}: holds no outage")
    found = incidents(rows, window=window)
    clusters = found["cluster"].unique(maintain_order=True).to_list()
    spans = rows.group_by("cluster").agg((pl.col("start").max() - pl.col("start").min()).dt.total_seconds() / _DAY)
    watched = dict(spans.iter_rows())
    said: dict[str, Any] = {}
    if "n_nodes" in rows.columns:
        said = dict(rows.group_by("cluster").agg(pl.col("n_nodes").max()).iter_rows())
    sizes = np.sort(found["nodes"].unique().to_numpy())
    counts = np.zeros((len(clusters), len(sizes)), dtype=np.int64)
    for cluster, hit, number in found.group_by("cluster", "nodes").len().iter_rows():
        counts[clusters.index(cluster), np.searchsorted(sizes, hit)] = number
    return check_incidents(
        xr.Dataset(
            {
                "incidents": (("cluster", "hit"), counts),
                "days": ("cluster", [_stated(days, name, watched, "days") for name in clusters]),
                "nodes": ("cluster", [_stated(nodes, name, said, "nodes") for name in clusters]),
            },
            coords={"cluster": np.array(clusters, dtype=np.str_), "hit": sizes},
            attrs={
                "source": log.source,
                "gpus_per_node": gpus_per_node,
                "largest_job_gpus": 0,
                "provenance": json.dumps(
                    {
                        "format": log.format,
                        "rows_read": log.rows_read,
                        "rows_used": rows.height,
                        "quarantined": log.quarantine.height,
                        "window": str(window),
                    }
                ),
            },
        )
    )


def check_incidents(table: xr.Dataset) -> xr.Dataset:
    """Check an incident table and put it into its one form.

    Parameters
    ----------
    table
        ``incidents`` (cluster, hit), ``days`` and ``nodes`` (cluster,).

    Returns
    -------
    xr.Dataset
        The table with sizes rising, int64 counts, and all attributes.

    Raises
    ------
    InputError
        For missing variables or dimensions; counts, days or nodes that are negative or not whole (days: not
        positive); an incident that hits more nodes than the cluster has. The message names the value.
    """
    if not isinstance(table, xr.Dataset):
        raise InputError(f"an incident table is an xarray.Dataset, not {type(table).__name__}")
    for name, dims in (("incidents", {"cluster", "hit"}), ("days", {"cluster"}), ("nodes", {"cluster"})):
        if name not in table:
            raise InputError(f"the incident table has no variable {name!r}; expected incidents, days and nodes")
        if set(table[name].dims) != dims:
            raise InputError(f"{name} has dimensions {table[name].dims}; expected {tuple(sorted(dims))}")
    if missing := [dim for dim in ("cluster", "hit") if dim not in table.coords]:
        raise InputError(f"dimension {missing[0]!r} has no labels (coordinate); expected one label for each entry")
    names = [str(name) for name in table["cluster"].values]
    if len(set(names)) < len(names) or len(set(table["hit"].values.tolist())) < table.sizes["hit"]:
        raise InputError("a label of the incident table occurs more than once; expected each cluster and size once")
    table = table.sortby("hit")
    counts = table["incidents"].transpose("cluster", "hit").values
    hit = table["hit"].values
    for what, values in (("incidents", counts), ("nodes", table["nodes"].values), ("hit", hit)):
        least = 0 if what == "incidents" else 1
        bad = ~(np.isfinite(values.astype(float)) & (values >= least) & (values == np.round(values)))
        if bad.any():
            raise InputError(f"{what} holds {values[bad][0]}; expected whole numbers, {least} or more")
    days = table["days"].values.astype(float)
    if not (np.isfinite(days) & (days > 0)).all():
        raise InputError(f"days are {days.tolist()}; expected positive numbers")
    most = np.where(counts > 0, hit, 0).max(axis=1)
    if (over := most > table["nodes"].values).any():
        place = int(np.flatnonzero(over)[0])
        raise InputError(
            f"an incident hits {most[place]} nodes of {names[place]}, which has {int(table['nodes'].values[place])}; "
            "expected at most as many as the cluster has"
        )
    attrs = {"source": "", "gpus_per_node": 8, "largest_job_gpus": 0, "provenance": "{}", **table.attrs}
    return xr.Dataset(
        {
            "incidents": (("cluster", "hit"), counts.astype(np.int64)),
            "days": ("cluster", days),
            "nodes": ("cluster", table["nodes"].values.astype(np.int64)),
        },
        coords={"cluster": np.array(names, dtype=np.str_), "hit": hit.astype(np.int64)},
        attrs=attrs,
    )


def _stated(given: float | Mapping[str, float] | None, cluster: str, found: Mapping[str, Any], what: str) -> float:
    if isinstance(given, Mapping):
        if cluster not in given:
            raise InputError(f"{what} name no cluster {cluster!r}; expected one number for each cluster of the log")
        return given[cluster]
    if given is not None:
        return given
    if found.get(cluster) is None:
        raise InputError(f"the log does not say how many {what} cluster {cluster!r} has; give {what}")
    return float(found[cluster])
