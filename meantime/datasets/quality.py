"""What is odd about a log: each finding with rows to look at. Nothing is changed or left out because of it."""

import datetime as dt
from collections.abc import Callable
from typing import Any

import polars as pl

from meantime.datasets.attribution import attribute
from meantime.datasets.exposure import find_log_end
from meantime.datasets.frames import as_events, as_jobs
from meantime.datasets.log import Log
from meantime.datasets.silence import find_gaps, silent_months, silent_nodes
from meantime.datasets.taxonomy import UNATTRIBUTED
from meantime.units import Duration, format_seconds, seconds

EXAMPLES = 5
"""Most rows that a finding shows."""
PAST = 86_400
"""Seconds before the first end of a job: on a cluster in use some job ends sooner."""
_SHOWN = ("job_id", "attempt", "cluster", "submit", "start", "end", "n_nodes", "n_gpus", "state", "nodes")
_TIME_REASONS = "lies before|outside the years|does not exist|without an end|without a start|is not a time|negative"


def check_quality(
    jobs: Any,
    events: Any = None,
    *,
    gpus_per_node: int = 8,
    silence: Duration = "1d",
    node_silence: Duration = "14d",
    longest: Duration = "30d",
    examples: int = EXAMPLES,
    **attribution: Any,
) -> dict[str, Any]:
    """Look for what a log should not hold, and for what it lacks.

    Parameters
    ----------
    jobs, events
        A log or data frame of jobs, and of events.
    gpus_per_node
        GPUs of a node.
    silence, node_silence
        Longest time without a start of any job, and without a job on a node, that is not reported.
    longest
        Longest believable runtime.
    examples
        Most rows to show for each finding.
    **attribution
        Which events explain the end of a job: ``before``, ``after``, ``severity`` and ``table`` of
        `meantime.datasets.attribution.attribute`.

    Returns
    -------
    dict
        Plain JSON types: ``source``, ``rows`` (read, used, quarantined) and ``findings``, of which each has ``check``,
        ``rows`` (how many; 0: nothing found), ``of`` (how many were looked at), ``says`` (a sentence) and
        ``examples``. The checks: impossible times, duplicates, overlapping attempts, overfull nodes, sizes against
        node lists, long runtimes, gaps, silent months, silent nodes, cut at the start, unknown nodes,
        unattributed failures. A check for which the log lacks a column is left out.
    """
    log, reported = as_jobs(jobs), as_events(events)
    table = log.table
    findings: list[dict[str, Any]] = []

    def report(check: str, rows: pl.DataFrame, of: int, says: str) -> None:
        findings.append(
            {"check": check, "rows": rows.height, "of": of, "says": says, "examples": _plain(rows.head(examples))}
        )

    _check_times(log, report)
    _check_duplicates(log, report)
    ran = table.filter(pl.col("start").is_not_null())
    if ran.height:
        edge = find_log_end(table, None)
        ran = ran.with_columns(pl.col("end").fill_null(edge).alias("until"))
        _check_overlaps(ran, report)
        _check_sizes(ran, gpus_per_node, report)
        if "nodes" in ran.columns:
            _check_nodes(ran, gpus_per_node, report)
        _check_runtimes(ran, round(seconds(longest, name="longest") * 1e6), report)
        _check_silence(ran, edge, seconds(silence, name="silence"), seconds(node_silence, name="node_silence"), report)
        _check_start(ran, report)
        if reported is not None and "nodes" in ran.columns:
            _check_event_nodes(ran, reported, report)
        _check_attribution(ran, reported, report, attribution)
    return {
        "source": log.source,
        "rows": {"read": log.rows_read, "used": table.height, "quarantined": log.quarantine.height},
        "findings": findings,
    }


type Report = Callable[[str, pl.DataFrame, int, str], None]


def _check_times(log: Log, report: Report) -> None:
    aside = log.quarantine.filter(pl.col("reason").str.contains(_TIME_REASONS))
    late = log.table.filter((pl.col("submit") > pl.col("start")).fill_null(False))
    says = f"{aside.height} rows in quarantine for their times; {late.height} in use were submitted after their start"
    rows = pl.concat([aside.select("line", "reason", "text"), _shown(late)], how="diagonal")
    report("impossible times", rows, log.rows_read, says)


def _check_duplicates(log: Log, report: Report) -> None:
    folded = sum(count for name, count in log.rows_folded.items() if name in ("duplicates", "earlier snapshots"))
    same = ["cluster", "start", "end", "n_gpus", *(["nodes"] if "nodes" in log.table.columns else ["submit", "state"])]
    known = log.table.drop_nulls(same)
    twins = known.filter(known.select(same).is_duplicated()).sort("start", "job_id")
    says = (
        f"{folded} repeated rows were folded; {twins.height} rows of different jobs or attempts agree in start, end, "
        f"size and {'nodes' if 'nodes' in same else 'submission'}"
    )
    report("duplicates", _shown(twins), log.rows_read, says)


def _check_overlaps(ran: pl.DataFrame, report: Report) -> None:
    job = ["cluster", "job_id"]
    ordered = ran.sort(*job, "start")
    before = pl.col("until").cum_max().shift(1).over(job)
    rows = ordered.filter((pl.col("start") < before).fill_null(False))
    says = f"{rows.height} attempts start before an earlier attempt of the same job has ended"
    report("overlapping attempts", _shown(rows), ran.height, says)


def _check_sizes(ran: pl.DataFrame, gpus_per_node: int, report: Report) -> None:
    wrong = {"fewer GPUs than nodes": (pl.col("n_gpus") > 0) & (pl.col("n_gpus") < pl.col("n_nodes"))}
    if "nodes" in ran.columns:
        listed = pl.col("nodes").list.len()
        wrong["n_nodes is not the length of the node list"] = pl.col("n_nodes") != listed
        wrong[f"more than {gpus_per_node} GPUs a node"] = pl.col("n_gpus") > listed * gpus_per_node
    else:
        wrong[f"more than {gpus_per_node} GPUs a node"] = pl.col("n_gpus") > pl.col("n_nodes") * gpus_per_node
    why = pl.concat_str(
        [pl.when(rule).then(pl.lit(name)) for name, rule in wrong.items()], separator="; ", ignore_nulls=True
    )
    rows = ran.with_columns(why.alias("why")).filter(pl.col("why") != "")
    report("sizes against node lists", _shown(rows, "why"), ran.height, f"{rows.height} rows whose sizes disagree")


def _check_nodes(ran: pl.DataFrame, gpus_per_node: int, report: Report) -> None:
    """Sweep over the starts and ends on every node; ends come before starts of the same instant."""
    width = pl.col("nodes").list.len()
    share = (pl.col("n_gpus") / width).alias("gpus")
    units = ran.filter((width > 0) & (pl.col("n_gpus") > 0)).select(
        "cluster", "job_id", "start", "until", share, pl.col("nodes").alias("node")
    )
    units = units.filter(pl.col("until") > pl.col("start")).explode("node")
    held = pl.concat(
        [
            units.select("cluster", "node", "job_id", "start", time="start", change="gpus"),
            units.select("cluster", "node", "job_id", "start", time="until", change=-pl.col("gpus")),
        ]
    ).sort("cluster", "node", "time", "change")
    held = held.with_columns(pl.col("change").cum_sum().over("cluster", "node").alias("gpus_in_use"))
    rows = held.filter((pl.col("change") > 0) & (pl.col("gpus_in_use") > gpus_per_node + 1e-6))
    says = f"{rows.height} times a job started on a node of which more than {gpus_per_node} GPUs were then in use"
    report("overfull nodes", rows.select("cluster", "node", "time", "job_id", "gpus_in_use"), units.height, says)


def _check_runtimes(ran: pl.DataFrame, longest: int, report: Report) -> None:
    rows = ran.filter((pl.col("until") - pl.col("start")).dt.total_microseconds() > longest)
    says = f"{rows.height} attempts ran for longer than {format_seconds(longest / 1e6)}: is their end missing?"
    report("long runtimes", _shown(rows), ran.height, says)


def _check_silence(ran: pl.DataFrame, edge: dt.datetime, silence: float, of_nodes: float, report: Report) -> None:
    gaps = find_gaps(ran, silence)
    report("gaps", gaps, ran.height, f"{gaps.height} times no job started for more than {format_seconds(silence)}")
    months = silent_months(ran, edge)
    report("silent months", months, ran.height, f"{months.height} calendar months in which no job started")
    if "nodes" not in ran.columns:
        return
    nodes = silent_nodes(ran, edge, of_nodes)
    known = ran["nodes"].explode().n_unique()
    says = f"{nodes['node'].n_unique()} nodes had no job for more than {format_seconds(of_nodes)} after their first"
    report("silent nodes", nodes, known, says)


def _check_start(ran: pl.DataFrame, report: Report) -> None:
    """Find jobs that ran long before any had ended: the past of a log that was cut out of a longer one."""
    first = pl.col("end").min()
    rows = ran.filter(pl.col("start") < first - pl.duration(seconds=PAST)).sort("start")
    says = f"{rows.height} jobs started more than {format_seconds(PAST)} before any had ended"
    if rows.height:
        begin = min(ran["end"].drop_nulls().to_list()).isoformat()
        says += f"; if the log was cut out at {begin} (sacct -S), give log_start: what had ended by then is missing"
    report("cut at the start", _shown(rows), ran.height, says)


def _check_event_nodes(ran: pl.DataFrame, events: pl.DataFrame, report: Report) -> None:
    known = ran.select(pl.col("nodes").explode().unique().alias("node"))
    odd = events.join(known, on="node", how="anti")
    names = odd.group_by("node").len("events").sort("events", "node", descending=[True, False])
    says = f"{odd.height} events of {names.height} nodes on which no job of the log ran: are nodes named alike?"
    report("unknown nodes", names.cast({"events": pl.Int64}), events["node"].n_unique(), says)


def _check_attribution(
    ran: pl.DataFrame, events: pl.DataFrame | None, report: Report, attribution: dict[str, Any]
) -> None:
    if ran["state"].null_count() == ran.height:
        return
    usable = events if events is not None and "nodes" in ran.columns else None
    failed = attribute(ran, usable, **attribution).filter("infrastructure")
    rows = failed.filter(pl.col("component") == UNATTRIBUTED)
    share = f" ({rows.height / failed.height:.0%})" if failed.height else ""
    says = f"{rows.height}{share} of {failed.height} failures of the infrastructure have no cause"
    report("unattributed failures", _shown(rows), failed.height, says)


def _shown(rows: pl.DataFrame, *more: str) -> pl.DataFrame:
    return rows.select(*(name for name in _SHOWN if name in rows.columns), *more)


def _plain(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """Turn rows into JSON types; of a long list its first names."""
    return [{name: _json(value) for name, value in row.items() if value is not None} for row in rows.to_dicts()]


def _json(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat()
    if isinstance(value, dt.timedelta):
        return value.total_seconds()
    if isinstance(value, list):
        return [*value[:4], f"... {len(value)} in all"] if len(value) > 5 else value
    return value
