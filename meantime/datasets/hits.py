"""The join of events to the ends of jobs, and which component of several wins.

Time is cut into blocks as long as the window. An event can only explain ends in the block in which its reach begins or
the one in which it ends, so it is listed under these two, and the join is on equality of node and block: its
cost grows with the number of jobs and events, not with their product.
"""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import polars as pl

from meantime.datasets.scan import is_usable
from meantime.datasets.taxonomy import SEVERITIES
from meantime.errors import InputError
from meantime.units import Duration, seconds


def check_severity(severity: str) -> str:
    """Return a severity if it is one."""
    if severity not in SEVERITIES:
        raise InputError(f"severity is {severity!r}; expected one of {', '.join(SEVERITIES)}")
    return severity


def window_micros(before: Duration, after: Duration) -> tuple[int, int]:
    """Give a window about the end of a job in microseconds."""
    return round(seconds(before, name="before") * 1e6), round(seconds(after, name="after") * 1e6)


def join_events(
    ended: nw.LazyFrame[Any], events: nw.LazyFrame[Any], *, window: tuple[int, int], severity: str
) -> nw.LazyFrame[Any]:
    """Find the events on the nodes of jobs about their ends.

    Parameters
    ----------
    ended
        Jobs with ``end`` (microseconds) and ``nodes`` (lists), and other columns, which are kept.
    events
        ``node``, ``time`` (microseconds), ``component``, ``high``.
    window
        Microseconds before and after the end, both ends included.
    severity
        Least severity of an event that counts.

    Returns
    -------
    nw.LazyFrame
        One row for each event and end that it may explain: the columns of `ended`, with ``node`` in the
        place of ``nodes``, and ``component``, ``high``, ``distance``, microseconds from the end, and ``late``,
        whether the event came after it.
    """
    if "nodes" not in ended.collect_schema().names():
        raise InputError("events were given but the jobs have no node lists; add NodeList to sacct -o, or map nodes")
    before, after = window
    block = max(1_000_000, before + after)
    counted = events.filter(is_usable()) if severity == "low" else events.filter(is_usable() & nw.col("high"))
    first, last = nw.col("time") - after, nw.col("time") + before
    reach = counted.with_columns((first - first % block).alias("block"), (last - last % block).alias("other"))
    further = reach.filter(nw.col("other") != nw.col("block")).with_columns(nw.col("other").alias("block"))
    listed = nw.concat([reach, further]).drop("other")
    at_nodes = ended.explode("nodes").rename({"nodes": "node"})
    at_nodes = at_nodes.with_columns((nw.col("end") - nw.col("end") % block).alias("block"))
    found = at_nodes.join(listed, on=["node", "block"], how="inner")
    inside = (nw.col("time") >= nw.col("end") - before) & (nw.col("time") <= nw.col("end") + after)
    lag = nw.col("time") - nw.col("end")
    late = lag > 0
    distance = nw.when(late).then(lag).otherwise(-lag)
    return found.filter(inside).with_columns(distance.alias("distance"), late.alias("late")).drop("block", "time")


def rank_hits(hits: pl.DataFrame, identity: Sequence[str], table: pl.DataFrame) -> pl.DataFrame:
    """Choose among the components seen at the end of each job.

    High severity comes before low, then the priority of the taxonomy (components that it lacks come last), then the
    event nearest to the end, then the name.

    Parameters
    ----------
    hits
        Of `join_events`.
    identity
        Columns that tell jobs apart.
    table
        Taxonomy.

    Returns
    -------
    pl.DataFrame
        `identity`, ``__winner``, ``__rest`` (list of the components that lost, sorted) and ``__node`` (where the
        winner was seen).
    """
    order = ["__rank", "distance", "component", "node"]
    return (
        hits.join(table.select("component", "priority"), on="component", how="left")
        .with_columns(
            (pl.col("priority").fill_null(table.height + 1) + pl.when("high").then(0).otherwise(10**6)).alias("__rank")
        )
        .sort(*order)
        .unique([*identity, "component"], keep="first", maintain_order=True)
        .group_by(identity, maintain_order=True)
        .agg(
            pl.col("component").first().alias("__winner"),
            pl.col("component").slice(1).sort().alias("__rest"),
            pl.col("node").first().alias("__node"),
        )
    )
