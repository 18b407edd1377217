"""Which jobs failed because of the infrastructure, and because of what.

The rule of Kokolis et al. (HPCA 2025, section II and Figures 4 and 5), every constant an argument: a
job that ended NODE_FAIL, or FAILED with a high-severity event on one of its nodes in the last 10 minutes
before its end or the 5 minutes after. Of several components seen there the most isolating wins: high
severity before low, then the priority of the taxonomy, then the event nearest to the end. The others are
kept.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import polars as pl

from meantime.datasets.hits import check_severity, join_events, rank_hits, window_micros
from meantime.datasets.scan import ROW, collect, open_events
from meantime.datasets.taxonomy import UNATTRIBUTED, taxonomy, user_components
from meantime.units import Duration

ALWAYS = ("NODE_FAIL",)
"""States that are infrastructure failures by themselves."""
WITH_EVENT = ("FAILED",)
"""States that are infrastructure failures where an event explains them."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class AttributionRule:
    """What counts as a failure of the infrastructure, see `attribute`."""

    before: Duration = "10min"
    after: Duration = "5min"
    severity: str = "high"
    always: tuple[str, ...] = ALWAYS
    with_event: tuple[str, ...] = WITH_EVENT


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
        infrastructure; ``unattributed`` without a cause), ``co_causes``, the components that lost, and
        ``failed_node``: where the cause was seen, or the only node of the job, else null.

    Raises
    ------
    InputError
        If there are events but the jobs have no node lists, or `severity` is neither.
    """
    rule = AttributionRule(
        before=before,
        after=after,
        severity=check_severity(severity),
        always=tuple(always),
        with_event=tuple(with_event),
    )
    table = taxonomy() if table is None else table
    numbered = jobs.with_row_index(ROW)
    times = (pl.col("start", "end").dt.epoch("us"), pl.col("state").cast(pl.String))
    frame = nw.from_native(numbered.lazy().with_columns(*times))
    reported = None if events is None or events.is_empty() else open_events(events.lazy())
    failed = find_failures(frame, reported, rule, identity=(ROW,), table=table)
    none = pl.lit([], dtype=pl.List(pl.String))
    return (
        numbered.join(
            failed.select(ROW, "component", "co_causes", "failed_node"), on=ROW, how="left", maintain_order="left"
        )
        .with_columns(pl.col("component").is_not_null().alias("infrastructure"), pl.col("co_causes").fill_null(none))
        .select(*jobs.columns, "infrastructure", "component", "co_causes", "failed_node")
    )


def find_failures(
    frame: nw.LazyFrame[Any],
    events: nw.LazyFrame[Any] | None,
    rule: AttributionRule,
    *,
    identity: Sequence[str],
    table: pl.DataFrame | None = None,
    kept: Sequence[str] = (),
) -> pl.DataFrame:
    """Find the infrastructure failures of a lazy frame; only these, and the events about them, are collected.

    Parameters
    ----------
    frame
        ``start`` and ``end`` in microseconds, ``state`` and where known ``nodes`` and ``cause``.
    events
        Of `meantime.datasets.scan.open_events`.
    identity, kept
        Columns that tell rows apart, and further ones to give back.

    Returns
    -------
    pl.DataFrame
        One row a failure: `identity`, `kept`, ``component``, ``co_causes``, ``failed_node``.
    """
    table = taxonomy() if table is None else table
    names = frame.collect_schema().names()
    state = nw.col("state")
    possible = frame.filter(
        state.is_in((*rule.always, *rule.with_event)) & ~nw.col("end").is_null() & ~nw.col("start").is_null()
    )
    carried = [name for name in dict.fromkeys((*identity, *kept, "state", "cause")) if name in names]
    certain = state.is_in(rule.always)
    if "cause" in names:
        certain = certain | ~nw.col("cause").is_null()
    known = collect(possible.filter(certain).select(*carried, *(["nodes"] if "nodes" in names else [])))
    only: pl.Expr = pl.lit(None, dtype=pl.String)
    if "nodes" in known.columns:
        only = pl.when(pl.col("nodes").list.len() == 1).then(pl.col("nodes").list.first())
    known = known.select(*carried, only.alias("__only"))
    seen = _seen(possible, events, rule, carried, identity, table)
    rows = pl.concat([known.drop("__only"), seen.select(carried)], how="vertical_relaxed").unique(
        list(identity), keep="first", maintain_order=True
    )
    rows = rows.join(known.select(*identity, "__only"), on=list(identity), how="left", maintain_order="left")
    rows = rows.join(
        seen.select(*identity, "__winner", "__rest", "__node"), on=list(identity), how="left", maintain_order="left"
    )
    stated = pl.col("cause") if "cause" in names else pl.lit(None, dtype=pl.String)
    others = pl.concat_list("__winner", "__rest").list.set_difference(pl.concat_list("component")).list.sort()
    none = pl.lit([], dtype=pl.List(pl.String))
    of_user = stated.is_in(user_components(table)).fill_null(False) & ~pl.col("state").is_in(rule.always)
    return (
        rows.filter(~of_user)
        .with_columns(pl.coalesce(stated, "__winner", pl.lit(UNATTRIBUTED)).alias("component"))
        .with_columns(pl.when(pl.col("__winner").is_not_null()).then(others).otherwise(none).alias("co_causes"))
        .with_columns(
            pl.coalesce(pl.when(pl.col("__winner") == pl.col("component")).then("__node"), "__only").alias(
                "failed_node"
            )
        )
        .select(*dict.fromkeys((*identity, *kept)), "component", "co_causes", "failed_node")
        .sort(*identity)
    )


def _seen(
    possible: nw.LazyFrame[Any],
    events: nw.LazyFrame[Any] | None,
    rule: AttributionRule,
    carried: Sequence[str],
    identity: Sequence[str],
    table: pl.DataFrame,
) -> pl.DataFrame:
    """Give the possible failures at whose end an event was seen, with the components that win and lose."""
    if events is None:
        nothing = collect(possible.select(carried).head(0))
        return nothing.with_columns(
            pl.lit(None, dtype=pl.String).alias("__winner"),
            pl.lit(None, dtype=pl.List(pl.String)).alias("__rest"),
            pl.lit(None, dtype=pl.String).alias("__node"),
        )
    columns = [name for name in dict.fromkeys((*carried, "end", "nodes")) if name in possible.collect_schema().names()]
    window = window_micros(rule.before, rule.after)
    hits = collect(join_events(possible.select(columns), events, window=window, severity=rule.severity))
    ranked = rank_hits(hits, identity, table)
    return hits.select(carried).unique(list(identity)).join(ranked, on=list(identity))
