"""Which jobs failed because of the infrastructure, and because of what.

The rule of Kokolis et al. (HPCA 2025, section II and Figures 4 and 5), every constant an argument: a
job that ended NODE_FAIL, or FAILED with a high-severity event on one of its nodes in the last 10 minutes
before its end or the 5 minutes after. Of several components seen there the most isolating wins: high
severity before low, then the priority of the taxonomy, then the event nearest to the end. The others are
kept.
"""

from collections.abc import Sequence

import polars as pl

from meantime.datasets.taxonomy import SEVERITIES, UNATTRIBUTED, taxonomy, user_components
from meantime.errors import InputError
from meantime.units import Duration, seconds

ALWAYS = ("NODE_FAIL",)
"""States that are infrastructure failures by themselves."""
WITH_EVENT = ("FAILED",)
"""States that are infrastructure failures where an event explains them."""


def attribute(
    jobs: pl.DataFrame,
    events: pl.DataFrame | None,
    *,
    before: Duration = "10min",
    after: Duration = "5min",
    severity: str = "high",
    always: Sequence[str] = ALWAYS,
    with_event: Sequence[str] = WITH_EVENT,
    table: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Find the infrastructure failures among jobs, and the cause of each.

    Parameters
    ----------
    jobs
        Jobs table. A ``cause`` that is filled in counts before any event, and makes an infrastructure
        failure of a job in one of the states `with_event`, unless the taxonomy says that this component is
        the user's program alone.
    events
        Events table, or None.
    before, after
        Window about the end of a job, both ends included.
    severity
        Least severity of an event that counts: ``"high"``, or ``"low"`` for all.
    always, with_event
        Job states that fail by themselves, and those that need an event.
    table
        Taxonomy, for the priorities. Components that it lacks come last, in the order of their names.

    Returns
    -------
    pl.DataFrame
        The rows of `jobs`, in order, with ``infrastructure`` bool, ``component`` (null unless
        infrastructure; ``unattributed`` without a cause) and ``co_causes``, the components that lost.

    Raises
    ------
    InputError
        If there are events but the jobs have no node lists, or `severity` is neither.
    """
    if severity not in SEVERITIES:
        raise InputError(f"severity is {severity!r}; expected one of {', '.join(SEVERITIES)}")
    table = taxonomy() if table is None else table
    state = pl.col("state").cast(pl.String).fill_null("")
    jobs = jobs.with_row_index("__row")
    ended = jobs.filter(
        state.is_in([*always, *with_event]) & pl.col("end").is_not_null() & pl.col("start").is_not_null()
    )
    found = _seen(ended, events, before, after, severity, table)
    stated = pl.col("cause") if "cause" in jobs.columns else pl.lit(None, dtype=pl.String)
    of_user = stated.is_in(user_components(table)).fill_null(False)
    fails = state.is_in(list(always)) | (
        state.is_in(list(with_event)) & ((stated.is_not_null() & ~of_user) | (stated.is_null() & pl.col("__seen")))
    )
    joined = jobs.join(found, on="__row", how="left", maintain_order="left").with_columns(
        pl.col("__winner").is_not_null().alias("__seen")
    )
    ran = pl.col("end").is_not_null() & pl.col("start").is_not_null()
    cause = pl.coalesce(stated, "__winner", pl.lit(UNATTRIBUTED))
    marked = joined.with_columns((fails & ran).alias("infrastructure"), cause.alias("component"))
    if "cause" in jobs.columns:
        others = pl.concat_list("__winner", "__rest").list.set_difference(pl.concat_list("component"))
        marked = marked.with_columns(others.list.sort().alias("__rest"))
    none = pl.lit([], dtype=pl.List(pl.String))
    return marked.with_columns(
        pl.when("infrastructure").then("component").alias("component"),
        pl.when("infrastructure").then("__rest").fill_null(none).alias("co_causes"),
    ).drop("__row", "__winner", "__rest", "__seen")


def _seen(
    ended: pl.DataFrame,
    events: pl.DataFrame | None,
    before: Duration,
    after: Duration,
    severity: str,
    table: pl.DataFrame,
) -> pl.DataFrame:
    """Components seen on the nodes of each job about its end: ``__row``, ``__winner``, ``__rest``.

    Time is cut into blocks as long as the window, so that a window lies in two blocks at most and the
    join is on equality of node and block: its cost grows with the number of jobs and events, not with
    their product.
    """
    if events is None or events.is_empty() or ended.is_empty():
        return pl.DataFrame(schema={"__row": pl.UInt32, "__winner": pl.String, "__rest": pl.List(pl.String)})
    if "nodes" not in ended.columns:
        raise InputError("events were given but the jobs have no node lists; add NodeList to sacct -o, or map nodes")
    lead, lag = (
        pl.duration(microseconds=round(seconds(d, name=n) * 1e6)) for d, n in ((before, "before"), (after, "after"))
    )
    block = max(1_000_000, round((seconds(before) + seconds(after)) * 1e6))
    counted = events if severity == "low" else events.filter(pl.col("severity") == "high")
    counted = counted.select("node", "time", "component", "severity", _block(pl.col("time"), block).alias("block"))
    windows = (
        ended.lazy()
        .select(
            "__row",
            "end",
            pl.col("nodes").alias("node"),
            (pl.col("end") - lead).alias("from"),
            (pl.col("end") + lag).alias("to"),
        )
        .filter(pl.col("node").list.len() > 0)
        .with_columns(pl.int_ranges(_block(pl.col("from"), block), _block(pl.col("to"), block) + 1).alias("block"))
        .explode("block")
        .explode("node")
    )
    rank = counted.select(pl.col("component").unique()).join(
        table.select("component", "priority"), on="component", how="left"
    )
    return (
        windows.join(counted.lazy(), on=["node", "block"])
        .filter(pl.col("time").is_between("from", "to"))
        .group_by("__row", "component")
        .agg(
            (pl.col("severity") == "high").any().alias("high"),
            (pl.col("time") - pl.col("end")).abs().min().alias("distance"),
        )
        .join(rank.lazy(), on="component")
        .sort(
            ["__row", "high", "priority", "distance", "component"],
            descending=[False, True, False, False, False],
            nulls_last=True,
        )
        .group_by("__row", maintain_order=True)
        .agg(pl.col("component").first().alias("__winner"), pl.col("component").slice(1).sort().alias("__rest"))
        .collect()
    )


def _block(time: pl.Expr, length: int) -> pl.Expr:
    return time.dt.epoch("us") // length
