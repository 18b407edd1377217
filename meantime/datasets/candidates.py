"""Jobs that may have failed because of the infrastructure: collected once, settled under one rule or several."""

import dataclasses
from collections.abc import Sequence
from typing import Any

import narwhals as nw
import polars as pl

from meantime.datasets.hits import join_events, rank_hits, window_micros
from meantime.datasets.scan import collect
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
    candidates = collect_candidates(frame, events, rule, identity=identity, kept=kept)
    return candidates.settle(rule, table)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Jobs that may have failed because of the infrastructure, and what was seen at their ends.

    Attributes
    ----------
    known
        Jobs that failed whatever was seen: ``__only`` is the node of those with one.
    hits
        Of `meantime.datasets.hits.join_events`.
    identity, kept
        Columns that tell jobs apart, and further ones; ``state`` (and ``cause``) beside them.
    """

    known: pl.DataFrame
    hits: pl.DataFrame
    identity: tuple[str, ...]
    kept: tuple[str, ...]

    def settle(self, rule: AttributionRule, table: pl.DataFrame) -> pl.DataFrame:
        """Give the failures and their causes, as `find_failures`; the rule may be narrower than at collection."""
        before, after = window_micros(rule.before, rule.after)
        late = pl.when("late").then("distance").otherwise(-pl.col("distance"))
        inside = late.is_between(-before, after) & (pl.col("high") | pl.lit(rule.severity == "low"))
        hits = self.hits.filter(inside)
        identity = list(self.identity)
        carried = [name for name in self.known.columns if name != "__only"]
        ranked = rank_hits(hits, identity, table)
        rows = pl.concat([self.known.select(carried), hits.select(carried)]).unique(identity, keep="first")
        rows = rows.join(self.known.select(*identity, "__only"), on=identity, how="left")
        rows = rows.join(ranked, on=identity, how="left").sort(identity)
        stated = pl.col("cause") if "cause" in carried else pl.lit(None, dtype=pl.String)
        of_user = stated.is_in(user_components(table)).fill_null(False) & ~pl.col("state").is_in(rule.always)
        others = pl.concat_list("__winner", "__rest").list.set_difference(pl.concat_list("component")).list.sort()
        none = pl.lit([], dtype=pl.List(pl.String))
        told = pl.when(pl.col("__winner") == pl.col("component")).then("__node")
        return (
            rows.filter(~of_user)
            .with_columns(pl.coalesce(stated, "__winner", pl.lit(UNATTRIBUTED)).alias("component"))
            .with_columns(
                pl.when(pl.col("__winner").is_not_null()).then(others).otherwise(none).alias("co_causes"),
                pl.coalesce(told, "__only").alias("failed_node"),
            )
            .select(*dict.fromkeys((*identity, *self.kept)), "component", "co_causes", "failed_node")
        )


def collect_candidates(
    frame: nw.LazyFrame[Any],
    events: nw.LazyFrame[Any] | None,
    rule: AttributionRule,
    *,
    identity: Sequence[str],
    kept: Sequence[str] = (),
) -> Candidates:
    """Collect what `find_failures` decides on: one pass over the jobs that failed for sure, and one join."""
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
    if events is None:
        nothing = {
            "component": pl.String,
            "high": pl.Boolean,
            "distance": pl.Int64,
            "late": pl.Boolean,
            "node": pl.String,
        }
        hits = known.select(carried).clear().with_columns(pl.lit(None, dtype=t).alias(n) for n, t in nothing.items())
    else:
        columns = [name for name in dict.fromkeys((*carried, "end", "nodes")) if name in names]
        window = window_micros(rule.before, rule.after)
        hits = collect(join_events(possible.select(columns), events, window=window, severity=rule.severity))
    return Candidates(known=known, hits=hits, identity=tuple(identity), kept=tuple(kept))
