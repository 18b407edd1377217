"""Outages and days in service by period: what a model of rates that move needs from a log of nodes."""

import datetime as dt
from collections.abc import Sequence

import numpy as np
import polars as pl
import xarray as xr

from meantime.datasets.exposure import period_length
from meantime.datasets.log import Log
from meantime.datasets.table import build_table
from meantime.errors import InputError
from meantime.units import Duration

CALENDAR = ("month", "quarter", "year")
"""Periods of the calendar (UTC), besides those of one length."""

_DAY = 86_400_000_000
_MONDAY = 4 * _DAY


def outage_periods(
    log: Log,
    service: pl.DataFrame,
    *,
    period: Duration = "1w",
    clusters: Sequence[str] | None = None,
    components: Sequence[str] | None = None,
    gpus_per_node: int = 1,
) -> xr.Dataset:
    """Count outages and days in service by cluster, component and period.

    Parameters
    ----------
    log
        A log of outages.
    service
        When nodes were in service: ``cluster``, ``node``, ``begin`` and ``until`` (UTC), also of nodes that never
        failed. Outages of other nodes, or outside of a node's service, are left out and counted in the provenance.
    period
        ``"month"``, ``"quarter"`` or ``"year"`` of the calendar, or a length such as ``"1w"`` (weeks begin on
        Mondays).
    clusters, components
        Which of them, in order. Default: all in service, and those seen in the order of the alphabet.
    gpus_per_node
        GPUs (or other units) of a node.

    Returns
    -------
    xr.Dataset
        A failure table with the dimension ``period``; its exposure is of the calendar.

    Raises
    ------
    InputError
        If the log holds no outages, columns are missing or no node was in service.
    """
    if log.kind != "outages":
        raise InputError(f"{log.source}: holds {log.kind}; expected outages")
    if missing := [name for name in ("cluster", "node", "begin", "until") if name not in service.columns]:
        raise InputError(f"the service of nodes lacks the column {missing[0]}; found {', '.join(service.columns)}")
    names = service["cluster"].unique(maintain_order=True).to_list() if clusters is None else list(clusters)
    spans = service.filter(pl.col("cluster").is_in(names)).select(
        "cluster", "node", *(pl.col(name).dt.epoch("us") for name in ("begin", "until"))
    )
    if spans.is_empty():
        raise InputError(f"no node of {', '.join(names)} was in service")
    known = log.table.with_columns(pl.col("start").dt.epoch("us")).join(spans, on=["cluster", "node"])
    known = known.filter(pl.col("start").is_between(pl.col("begin"), pl.col("until")))
    kinds = sorted(known["component"].unique().to_list()) if components is None else list(components)
    known = known.filter(pl.col("component").is_in(kinds))
    edges = _edges(int(spans["begin"].min()), int(spans["until"].max()), period)  # type: ignore[arg-type]
    failures = np.zeros((len(names), len(kinds), len(edges) - 1), dtype=np.int64)
    exposure = np.zeros((len(names), len(edges) - 1))
    for row, name in enumerate(names):
        mine = spans.filter(pl.col("cluster") == name)
        begin, until = (mine[column].to_numpy()[:, None] for column in ("begin", "until"))
        exposure[row] = np.clip(np.minimum(until, edges[1:]) - np.maximum(begin, edges[:-1]), 0, None).sum(0) / _DAY
        for column, kind in enumerate(kinds):
            at = known.filter((pl.col("cluster") == name) & (pl.col("component") == kind))["start"].to_numpy()
            failures[row, column] = np.histogram(at, edges)[0]
    return build_table(
        failures,
        exposure,
        cluster=names,
        component=kinds,
        period=edges[:-1].astype("datetime64[us]"),
        gpus_per_node=gpus_per_node,
        exposure_kind="calendar",
        source=log.source,
        largest_job_gpus=0,
        provenance={
            "format": log.format,
            "rows_read": log.rows_read,
            "rows_used": int(failures.sum()),
            "quarantined": log.quarantine.height,
            "folded": dict(log.rows_folded),
            "left_out": log.table.height - int(failures.sum()),
            "period": str(period),
        },
    )


def _edges(first: int, last: int, period: Duration) -> np.ndarray:
    """Return the edges of the periods that hold a time, microseconds since 1970."""
    if period not in CALENDAR:
        length = period_length(period)
        start = first - (first - _MONDAY) % length
        return start + length * np.arange(-(-(last - start) // length) + 1)
    step = {"month": 1, "quarter": 3, "year": 12}[str(period)]
    begin = dt.datetime(1970, 1, 1, tzinfo=dt.UTC) + dt.timedelta(microseconds=first)
    month = (begin.year * 12 + begin.month - 1) // step * step
    edges: list[int] = []
    while not edges or edges[-1] < last:
        start_of_month = dt.datetime(month // 12, month % 12 + 1, 1, tzinfo=dt.UTC)
        edges.append(round(start_of_month.timestamp() * 1e6))
        month += step
    return np.array(edges)
