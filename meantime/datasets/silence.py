"""Where a log is silent: no job starts, or none runs on a node."""

import datetime as dt

import polars as pl

_MICROS = 1_000_000


def find_gaps(ran: pl.DataFrame, longest: float) -> pl.DataFrame:
    """List the times of more than `longest` seconds in which no job of a cluster started: ``from``, ``to``, ``days``.

    Parameters
    ----------
    ran
        Jobs that ran, with ``cluster`` and ``start``.
    """
    starts = ran.select("cluster", pl.col("start").alias("to")).sort("cluster", "to")
    return _stretches(starts.with_columns(pl.col("to").shift(1).over("cluster").alias("from")), ["cluster"], longest)


def silent_months(ran: pl.DataFrame, edge: dt.datetime) -> pl.DataFrame:
    """List the calendar months (UTC) from the first start of a cluster to the log's end in which no job started."""
    seen = ran.select("cluster", pl.col("start").dt.truncate("1mo").alias("month")).unique()
    spans = seen.group_by("cluster").agg(pl.col("month").min().alias("first"))
    last = pl.lit(edge).cast(seen.schema["month"]).dt.truncate("1mo")
    months = spans.select("cluster", pl.datetime_ranges("first", last, interval="1mo").alias("month")).explode("month")
    return months.join(seen, on=["cluster", "month"], how="anti").sort("cluster", "month")


def silent_nodes(ran: pl.DataFrame, edge: dt.datetime, longest: float) -> pl.DataFrame:
    """List the times of more than `longest` seconds in which no job ran on a node.

    Columns: ``cluster``, ``node``, ``from``, ``to``, ``days``. Counted from the first job on a node to the log's end.

    Parameters
    ----------
    ran
        Jobs that ran, with ``cluster``, ``start``, ``until`` and ``nodes``.
    """
    key = ["cluster", "node"]
    at = ran.select("cluster", pl.col("nodes").alias("node"), "start", "until").explode("node").drop_nulls("node")
    at = at.sort(*key, "start").with_columns(pl.col("until").cum_max().over(key).alias("busy"))
    between = at.with_columns(pl.col("busy").shift(1).over(key).alias("from")).select(*key, "from", to="start")
    final = at.group_by(key).agg(pl.col("busy").last().alias("from")).with_columns(to=pl.lit(edge))
    return _stretches(pl.concat([between, final.cast(between.schema)]), key, longest)


def _stretches(frame: pl.DataFrame, key: list[str], longest: float) -> pl.DataFrame:
    micros = (pl.col("to") - pl.col("from")).dt.total_microseconds()
    found = frame.filter(micros > longest * _MICROS).select(*key, "from", "to", (micros / 86_400e6).alias("days"))
    return found.sort("days", *key, "from", descending=[True, *[False] * (len(key) + 1)])
