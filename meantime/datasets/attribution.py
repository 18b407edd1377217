"""Which jobs failed because of the infrastructure, and because of what.

The rule of Kokolis et al. (HPCA 2025, section II and Figures 4 and 5), every constant an argument: a
job that ended NODE_FAIL, or FAILED with a high-severity event on one of its nodes in the last 10 minutes
before its end or the 5 minutes after. Of several components seen there the most isolating wins: high
severity before low, then the priority of the taxonomy, then the event nearest to the end. The others are
kept.
"""

from collections.abc import Sequence

import narwhals as nw
import polars as pl

from meantime.datasets.candidates import ALWAYS, WITH_EVENT, AttributionRule, find_failures
from meantime.datasets.hits import check_severity
from meantime.datasets.scan import ROW, open_events
from meantime.datasets.taxonomy import taxonomy
from meantime.units import Duration


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
