"""What a log of events, outages or lives holds, as plain JSON types, ready to be printed.

`meantime.datasets.summarise` does this for jobs and failure tables, which have rates; here are counts and spans.
"""

from typing import Any

import polars as pl

from meantime.datasets.log import Log
from meantime.datasets.outages import incidents
from meantime.datasets.summary import account
from meantime.errors import InputError

TOP = 10
"""Most rows of a list."""


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
        - ``lists``: each a ``title``, ``columns`` and at most 10 ``rows``, the largest first.

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
        "incidents (outages of one minute are one)": incidents(table).height,
        "clusters": table["cluster"].n_unique(),
        "nodes that failed": table.n_unique(["cluster", "node"]),
        "median down time (minutes)": table.select(down.median()).item(),
    }
    lists = [_listed("by component", _counted(table, "component")), _listed("by cluster", _counted(table, "cluster"))]
    worst = (
        table.group_by("cluster", "node")
        .agg(pl.len().alias("outages"))
        .sort("outages", "cluster", "node", descending=[True, False, False])
    )
    return facts, [*lists, _listed("nodes with the most outages", worst)]


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
