"""What a log holds: rows, states, sizes, exposure and failures, as plain JSON types."""

import re
from typing import Any

import polars as pl

from meantime.datasets.attribution import attribute
from meantime.datasets.exposure import add_bucket, add_runtime, find_log_end
from meantime.datasets.failure_table import Rule, failure_table
from meantime.datasets.frames import as_events, as_jobs
from meantime.datasets.log import Log
from meantime.errors import InputError
from meantime.units import PER_1000_NODE_DAYS, Duration

_HOURS = 3_600e6
TOP_REASONS = 10
"""Most reasons for quarantine that are listed."""


def summarise(
    jobs: Any,
    events: Any = None,
    *,
    gpus_per_node: int = 8,
    before: Duration = "10min",
    after: Duration = "5min",
    severity: str = "high",
    rule: Rule | None = None,
) -> dict[str, Any]:
    """Describe a log of jobs.

    Parameters
    ----------
    jobs, events, gpus_per_node, before, after, severity
        As in `meantime.datasets.failure_table.failure_table`.
    rule
        As there. Default: ``"infrastructure"``, or ``"interruption"`` if the log has no states.

    Returns
    -------
    dict
        - ``source``, ``format``, ``notes``;
        - ``rows``: ``read``, ``used``, ``folded`` by kind, ``quarantined``, and ``reasons``, each with
          the number of rows and the first of them (file, line, reason, text);
        - ``jobs``, ``attempts``, ``clusters``, ``log_start``, ``log_end``;
        - ``states``: share of attempts and of GPU time by state;
        - ``exposure``: ``node_days``, ``gpu_hours``, ``gpus_per_node``; None if GPUs are not known;
        - ``sizes``: attempts, GPU time, node-days, failures and rate by job size;
        - ``components``: failures, failures in which it was seen but lost to another, and rate by component;
        - ``failures``: ``total``, ``rule``, ``unattributed``; None if there is no exposure.

        Rates are per 1,000 node-days.
    """
    log, reported = as_jobs(jobs), as_events(events)
    table = log.table
    chosen: Rule = rule or ("infrastructure" if table["state"].null_count() < table.height else "interruption")
    out: dict[str, Any] = {
        "source": log.source,
        "format": log.format,
        "notes": list(log.notes),
        "rows": _rows(log),
        "jobs": table.select(pl.struct("cluster", "job_id").n_unique()).item() if table.height else 0,
        "attempts": table.height,
        "clusters": sorted(table["cluster"].unique().to_list()),
        "log_start": None,
        "log_end": None,
        "states": [],
        "exposure": None,
        "sizes": [],
        "components": [],
        "failures": None,
    }
    if table.is_empty() or table.select(pl.max_horizontal(pl.col("submit", "start", "end").max())).item() is None:
        return out
    end = find_log_end(table, None)
    first = table.select(pl.min_horizontal(pl.col("submit", "start", "end").min())).item()
    out["log_start"], out["log_end"] = first.isoformat(), end.isoformat()
    timed = add_runtime(table, end).with_columns(
        ((pl.col("until") - pl.col("start")).dt.total_microseconds() / _HOURS * pl.col("n_gpus")).alias("gpu_hours")
    )
    out["states"] = _states(table, timed)
    try:
        made = failure_table(
            log,
            reported,
            gpus_per_node=gpus_per_node,
            before=before,
            after=after,
            severity=severity,
            rule=chosen,
        )
    except InputError as error:
        out["notes"].append(f"no failure rates: {error}")
        return out
    node_days = float(made["exposure"].sum())
    out["exposure"] = {
        "node_days": node_days,
        "gpu_hours": node_days * 24 * gpus_per_node,
        "gpus_per_node": gpus_per_node,
    }
    by_size = made["failures"].sum(["cluster", "component"])
    days = made["exposure"].sum("cluster")
    out["sizes"] = _sizes(timed, by_size, days)
    by_component = made["failures"].sum(["cluster", "job_size"])
    lost = _lost(table, reported, before, after, severity) if chosen == "infrastructure" else {}
    out["components"] = [
        {
            "component": str(name),
            "failures": int(count),
            "co_occurring": lost.get(str(name), 0),
            "rate_per_1000_node_days": PER_1000_NODE_DAYS * int(count) / node_days,
        }
        for name, count in zip(by_component["component"].values, by_component.values, strict=True)
    ]
    total = int(made["failures"].sum())
    known = {row["component"]: row["failures"] for row in out["components"]}
    out["failures"] = {"total": total, "rule": chosen, "unattributed": known.get("unattributed", 0)}
    return out


def _rows(log: Log) -> dict[str, Any]:
    reasons: dict[str, dict[str, Any]] = {}
    for row in log.quarantine.iter_rows(named=True):
        general = re.sub(r"'[^']*'", "'...'", row["reason"])
        entry = reasons.setdefault(general, {"rows": 0, "first": row})
        entry["rows"] += 1
    top = sorted(reasons.items(), key=lambda item: -item[1]["rows"])[:TOP_REASONS]
    return {
        "read": log.rows_read,
        "used": log.table.height,
        "folded": dict(log.rows_folded),
        "quarantined": log.quarantine.height,
        "reasons": [{"reason": reason, **entry} for reason, entry in top],
    }


def _states(table: pl.DataFrame, timed: pl.DataFrame) -> list[dict[str, Any]]:
    """Shares of states by attempts and by GPU time (null where GPUs are not known)."""
    hours = timed.group_by("state").agg(pl.col("gpu_hours").sum())
    known = timed["gpu_hours"].null_count() < timed.height
    total = float(hours["gpu_hours"].sum())
    counts = table.group_by("state").len("attempts").join(hours, on="state", how="left", nulls_equal=True)
    return [
        {
            "state": row["state"] or "unknown",
            "attempts": row["attempts"],
            "share_of_attempts": row["attempts"] / table.height,
            "gpu_hours": (row["gpu_hours"] or 0.0) if known else None,
            "share_of_gpu_time": (row["gpu_hours"] or 0.0) / total if known and total > 0 else None,
        }
        for row in counts.sort(["attempts", "state"], descending=[True, False]).iter_rows(named=True)
    ]


def _sizes(timed: pl.DataFrame, failures: Any, days: Any) -> list[dict[str, Any]]:
    sized = add_bucket(timed.filter(pl.col("n_gpus") > 0))
    mix = sized.group_by("job_size").agg(pl.len().alias("attempts"), pl.col("gpu_hours").sum()).sort("job_size")
    attempts, hours = mix["attempts"].sum(), mix["gpu_hours"].sum()
    rows = []
    for row in mix.iter_rows(named=True):
        size = row["job_size"]
        count, exposed = int(failures.sel(job_size=size)), float(days.sel(job_size=size))
        rows.append(
            {
                "job_size": size,
                "attempts": row["attempts"],
                "share_of_attempts": row["attempts"] / attempts,
                "gpu_hours": row["gpu_hours"],
                "share_of_gpu_time": row["gpu_hours"] / hours if hours else None,
                "node_days": exposed,
                "failures": count,
                "rate_per_1000_node_days": PER_1000_NODE_DAYS * count / exposed if exposed else None,
            }
        )
    return rows


def _lost(
    table: pl.DataFrame, events: pl.DataFrame | None, before: Duration, after: Duration, severity: str
) -> dict[str, int]:
    """Count the failures in which a component was seen but another was taken for the cause."""
    marked = attribute(table, events, before=before, after=after, severity=severity)
    counts = marked.select(pl.col("co_causes").explode(empty_as_null=False).alias("component")).drop_nulls()
    return dict(counts.group_by("component").len().iter_rows())
