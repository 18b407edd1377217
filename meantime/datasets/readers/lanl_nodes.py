"""How long each node of the Los Alamos systems was in service, and the failure table that follows.

The file names nodes only where they failed, and their service by months. Decisions:

- A month is its first day. Without a production month (``before tracking``) service begins at the node's first
  failure. Service ends with the decommission month, at the latest with the log (2005-09-09 23:59).
- A system of N nodes has N: those that failed, and as many of the lowest free numbers as are missing; these have the
  system's most common window.
- ``days_adjusted`` mends two windows that the failures contradict. System 20: nodes 256 and above have 354 failures
  up to 2002-06-14 02:19 and none after, because the system was halved: they end there. System 2 grew and shrank node
  by node: each node counts from its first to its last failure. Without this the rates of systems 2 and 20 are too
  low by 27 % and 43 %. Elsewhere ``days_adjusted`` is ``days``.
"""

import datetime as dt

import polars as pl
import xarray as xr

from meantime.datasets.log import Log
from meantime.datasets.outages import incidents, outage_table
from meantime.datasets.readers.lanl import BEFORE_TRACKING, CAUSES, CURRENT, parse_month
from meantime.datasets.taxonomy import UNATTRIBUTED
from meantime.errors import InputError

LOG_END = dt.datetime(2005, 9, 9, 23, 59, tzinfo=dt.UTC)
COMPONENTS = (*CAUSES.values(), UNATTRIBUTED)
_HALVED, _FIRST_REMOVED = "20", 256
_GREW = "2"
_MICROS_PER_DAY = 86_400e6


def lanl_nodes(log: Log, *, log_end: dt.datetime = LOG_END) -> pl.DataFrame:
    """List the nodes of the systems with their failures and days in service.

    Parameters
    ----------
    log
        From `meantime.datasets.readers.lanl.read_lanl`.
    log_end
        When the log ends.

    Returns
    -------
    pl.DataFrame
        A row a node: ``cluster``, ``node``, ``failures``, one count a cause (`COMPONENTS`), ``begin`` and ``until`` of
        its service, ``days``, ``days_adjusted``, ``procs_in_node``, ``purpose``, ``first_failure``, ``last_failure``.
    """
    if log.format != "lanl":
        raise InputError(f"{log.source}: was read as {log.format}; expected the Los Alamos outages (format lanl)")
    failed = (
        log.table.sort("start", maintain_order=True)
        .group_by("cluster", "node", maintain_order=True)
        .agg(
            pl.len().cast(pl.Int64).alias("failures"),
            *((pl.col("component") == name).sum().cast(pl.Int64).alias(name) for name in COMPONENTS),
            pl.col("n_nodes").first(),
            pl.col("production").first(),
            pl.col("decommission").first(),
            pl.col("procs_in_node").first(),
            pl.col("purpose").first(),
            pl.col("start").min().alias("first_failure"),
            pl.col("start").max().alias("last_failure"),
        )
    )
    windows = _windows(failed, log_end)
    every = pl.concat([windows, _without_failure(windows)], how="diagonal")
    days = _days(pl.col("until") - pl.col("begin"))
    return (
        every.with_columns(days.alias("days"))
        .with_columns(_adjusted().alias("days_adjusted"))
        .with_columns(pl.col("failures", *COMPONENTS).fill_null(0))
        .sort(pl.col("cluster").cast(pl.Int64, strict=False), "cluster", pl.col("node").cast(pl.Int64, strict=False))
        .select(
            "cluster",
            "node",
            "failures",
            *COMPONENTS,
            "begin",
            "until",
            "days",
            "days_adjusted",
            "procs_in_node",
            "purpose",
            "first_failure",
            "last_failure",
        )
    )


def lanl_systems(log: Log, nodes: pl.DataFrame | None = None) -> pl.DataFrame:
    """Sum the nodes of each system; same-minute outages also count once.

    Parameters
    ----------
    log
        From `meantime.datasets.readers.lanl.read_lanl`.
    nodes
        From `lanl_nodes`, if at hand.

    Returns
    -------
    pl.DataFrame
        A row a system: ``cluster``, ``machine_type``, ``nodes``, ``procs_in_node``, ``production`` and
        ``decommission`` (each the most common of its rows), ``failures``, ``incidents`` (distinct start minutes),
        ``nodes_with_a_failure``, ``days``, ``days_adjusted``.
    """
    nodes = lanl_nodes(log) if nodes is None else nodes
    common = log.table.group_by("cluster").agg(
        pl.col("machine_type", "procs_in_node", "production", "decommission").mode(maintain_order=True).first()
    )
    per_system = nodes.group_by("cluster", maintain_order=True).agg(
        pl.len().cast(pl.Int64).alias("nodes"),
        pl.col("failures").sum(),
        (pl.col("failures") > 0).sum().cast(pl.Int64).alias("nodes_with_a_failure"),
        pl.col("days", "days_adjusted").sum(),
    )
    minutes = incidents(log.table).group_by("cluster").len("incidents").with_columns(pl.col("incidents").cast(pl.Int64))
    joined = per_system.join(common, on="cluster", maintain_order="left").join(
        minutes, on="cluster", maintain_order="left"
    )
    return joined.select(
        "cluster",
        "machine_type",
        "nodes",
        "procs_in_node",
        "production",
        "decommission",
        "failures",
        "incidents",
        "nodes_with_a_failure",
        "days",
        "days_adjusted",
    )


def lanl_table(log: Log, *, adjusted: bool = True, by_node: bool = True) -> xr.Dataset:
    """Make the failure table: causes by system, and by node.

    Parameters
    ----------
    log
        From `meantime.datasets.readers.lanl.read_lanl`.
    adjusted
        Whether days in service are the mended ones.
    by_node
        Whether the table has a dimension of nodes.
    """
    days = "days_adjusted" if adjusted else "days"
    return outage_table(log, lanl_nodes(log), days=days, by_node=by_node, components=COMPONENTS)


def lanl_service(nodes: pl.DataFrame) -> pl.DataFrame:
    """Return when nodes were in service, windows mended as for ``days_adjusted``: for `outage_periods`.

    Parameters
    ----------
    nodes
        From `lanl_nodes`.

    Returns
    -------
    pl.DataFrame
        ``cluster``, ``node``, ``begin`` and ``until``.
    """
    grew = pl.col("cluster") == _GREW
    begin = pl.when(grew).then(pl.coalesce("first_failure", "begin")).otherwise("begin")
    days = pl.duration(microseconds=(pl.col("days_adjusted") * _MICROS_PER_DAY).round().cast(pl.Int64))
    return nodes.select("cluster", "node", begin.alias("begin"), (begin + days).alias("until"))


def _windows(failed: pl.DataFrame, log_end: dt.datetime) -> pl.DataFrame:
    months = {
        text: parse_month(text) for text in [*failed["production"].unique(), *failed["decommission"].unique()] if text
    }
    wrong = [text for text, month in months.items() if month is None and text not in (BEFORE_TRACKING, CURRENT)]
    if wrong:
        raise InputError(
            f"month {wrong[0]!r} is not understood; expected such as 5-Apr, Nov-96, {BEFORE_TRACKING} or {CURRENT}"
        )
    stamps = {t: None if m is None else dt.datetime(m.year, m.month, 1, tzinfo=dt.UTC) for t, m in months.items()}
    begin, until = (
        failed[name].replace_strict(stamps, default=None, return_dtype=pl.Datetime("us", "UTC"))
        for name in ("production", "decommission")
    )
    return failed.with_columns(begin.alias("begin"), until.alias("until")).with_columns(
        pl.col("begin").fill_null(pl.col("first_failure")),
        pl.min_horizontal("until", pl.lit(log_end).dt.cast_time_unit("us")),
    )


def _without_failure(failed: pl.DataFrame) -> pl.DataFrame:
    """List the nodes that never failed: the lowest free numbers, with the most common window of their system."""
    rows = []
    for (cluster,), nodes in failed.group_by("cluster", maintain_order=True):
        size = max((number for number in nodes["n_nodes"].to_list() if number is not None), default=0)
        taken = set(nodes["node"].to_list())
        free = [str(i) for i in range(size) if str(i) not in taken]
        window = nodes.group_by("begin", "until", "procs_in_node", maintain_order=True).len()
        begin, until, procs, _ = window.sort("len", maintain_order=True).row(-1)
        for node in free[: max(0, size - nodes.height)]:
            rows.append({"cluster": cluster, "node": node, "begin": begin, "until": until, "procs_in_node": procs})
    return pl.DataFrame(rows, schema={name: failed.schema[name] for name in _OF_EMPTY})


_OF_EMPTY = ("cluster", "node", "begin", "until", "procs_in_node")


def _adjusted() -> pl.Expr:
    number = pl.col("node").cast(pl.Int64, strict=False)
    removed = (pl.col("cluster") == _HALVED) & (number >= _FIRST_REMOVED)
    halved_at = pl.col("last_failure").filter(removed).max()
    return (
        pl.when(removed)
        .then(_days(halved_at - pl.col("begin")))
        .when(pl.col("cluster") == _GREW)
        .then(_days(pl.col("last_failure") - pl.col("first_failure")).fill_null(0.0))
        .otherwise(pl.col("days"))
    )


def _days(duration: pl.Expr) -> pl.Expr:
    return duration.dt.total_microseconds() / _MICROS_PER_DAY
