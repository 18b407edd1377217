"""What a log of events, outages or lives holds, as plain JSON types, ready to be printed.

`meantime.datasets.summarise` does this for jobs and failure tables, which have rates; here are counts and spans.
"""

from typing import Any

import numpy as np
import polars as pl

from meantime.datasets.detect import to_table
from meantime.datasets.log import Log
from meantime.datasets.outages import incidents
from meantime.datasets.summary import account
from meantime.errors import InputError
from meantime.units import PER_1000_NODE_DAYS

TOP = 10
"""Most rows of a list."""
MOST_CLUSTERS = 25
"""Most rows of a list of rates."""


def describe(log: Log) -> dict[str, Any]:
    """Describe a log of events, outages or lives.

    Parameters
    ----------
    log
        From `meantime.datasets.read`.

    Returns
    -------
    dict
        - ``source``, ``format``, ``kind``, ``notes``, ``rows`` (see `meantime.datasets.summary.account`);
        - ``first``, ``last``: earliest and latest time, None without times;
        - ``facts``: names and values, such as nodes, components or days at risk;
        - ``lists``: each a ``title``, ``columns`` and at most 10 ``rows`` (25 of rates), the largest first. Of outages
          whose format tells how long nodes were in service, rates by component and by cluster are among them.

    Raises
    ------
    InputError
        If the log is one of jobs.
    """
    makers = {"events": _events, "outages": _outages, "lives": _lives}
    if log.kind not in makers:
        raise InputError(
            f"{log.source}: holds {log.kind}; expected events, outages or lives (summarise describes jobs)"
        )
    times = log.table.select(pl.col(pl.Datetime))
    first, last = (
        times.select(pl.min_horizontal(pl.all().min())).item() if times.width else None,
        times.select(pl.max_horizontal(pl.all().max())).item() if times.width else None,
    )
    facts, lists = makers[log.kind](log.table)
    if log.kind == "outages":
        exposed, rated = _rates(log)
        facts, lists = {**facts, **exposed}, [*rated, *lists[len(rated) :]]
    facts = {name: value for name, value in facts.items() if value is not None}
    return {
        "source": log.source,
        "format": log.format,
        "kind": log.kind,
        "notes": list(log.notes),
        "rows": account(log),
        "first": None if first is None else first.isoformat(),
        "last": None if last is None else last.isoformat(),
        "facts": facts,
        "lists": lists,
    }


def _events(table: pl.DataFrame) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    severe = table.filter(pl.col("severity") == "high")
    facts = {
        "events": table.height,
        "of high severity": severe.height,
        "nodes": table["node"].n_unique(),
        "components": table["component"].n_unique(),
    }
    by_component = (
        table.group_by("component")
        .agg(
            pl.len().alias("events"),
            (pl.col("severity") == "high").sum().alias("high"),
            pl.col("node").n_unique().alias("nodes"),
            pl.col("source").value_counts(sort=True).struct.field("source").first().alias("commonest source"),
        )
        .sort("events", "component", descending=[True, False])
    )
    return facts, [
        _listed("by component", by_component),
        _listed("nodes with the most events", _counted(table, "node")),
    ]


def _outages(table: pl.DataFrame) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    down = ((pl.col("end") - pl.col("start")).dt.total_seconds() / 60).alias("minutes")
    facts = {
        "outages": table.height,
        "incidents, by the minute": incidents(table).height,
        "clusters": table["cluster"].n_unique(),
        "nodes that failed": table.n_unique(["cluster", "node"]),
        "median minutes down": table.select(down.median()).item(),
    }
    lists = [_listed("by component", _counted(table, "component")), _listed("by cluster", _counted(table, "cluster"))]
    worst = (
        table.group_by("cluster", "node")
        .agg(pl.len().alias("outages"))
        .sort("outages", "cluster", "node", descending=[True, False, False])
    )
    return facts, [*lists, _listed("nodes with the most outages", worst)]


def _rates(log: Log) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    """Rate outages over the days in service, where the format tells them: by component, and by cluster."""
    try:
        table = to_table(log)
    except InputError as error:
        return {"no rates": str(error)}, []
    days = float(table["exposure"].sum())
    failures = int(table["failures"].sum())
    facts = {"node-days in service": days, "failures per 1,000 node-days": PER_1000_NODE_DAYS * failures / days}
    lists = []
    for name in ("component", "cluster"):
        counts = table["failures"].sum([dim for dim in table["failures"].dims if dim != name])
        served = table["exposure"].sum([dim for dim in table["exposure"].dims if dim != name])
        rows = [
            [label, count, float(at), PER_1000_NODE_DAYS * count / float(at) if at > 0 else None]
            for label, count, at in zip(
                counts[name].values.tolist(),
                counts.values.tolist(),
                np.broadcast_to(served.values, counts.shape),
                strict=True,
            )
        ]
        columns = [name, "failures", "node-days", "per 1,000 node-days"]
        ordered = sorted(rows, key=lambda row: -row[1])[:MOST_CLUSTERS]
        lists.append({"title": f"rates by {name}", "columns": columns, "rows": ordered})
    return facts, lists


def _lives(table: pl.DataFrame) -> tuple[dict[str, Any], list[dict[str, Any]]]:
    days = float(table["days"].sum())
    events = int(table["event"].is_not_null().sum())
    facts = {
        "units": table["unit"].n_unique(),
        "stretches": table.height,
        "days at risk": days,
        "events": events,
        "events per 1,000 unit-days": 1000 * events / days if days > 0 else None,
        "oldest age (days)": table["age"].max(),
    }
    return facts, [_listed("by event", _counted(table.drop_nulls("event"), "event"))]


def _counted(table: pl.DataFrame, name: str) -> pl.DataFrame:
    return table.group_by(name).agg(pl.len().alias("rows")).sort("rows", name, descending=[True, False])


def _listed(title: str, frame: pl.DataFrame) -> dict[str, Any]:
    return {"title": title, "columns": frame.columns, "rows": [list(row) for row in frame.head(TOP).iter_rows()]}
