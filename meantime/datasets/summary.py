"""What a log holds: rows, states, sizes, exposure and failures, as plain JSON types."""

import re
from typing import Any

import polars as pl
import xarray as xr

from meantime.datasets.exposure import add_bucket, add_runtime, find_log_end
from meantime.datasets.failure_table import Rule, failure_table, why_no_rates
from meantime.datasets.frames import as_events, as_jobs
from meantime.datasets.log import Log
from meantime.datasets.quality import check_quality
from meantime.datasets.scan import is_lazy
from meantime.datasets.summary_lazy import summarise_lazy
from meantime.datasets.summary_rates import NOTHING, summarise_rates, summarise_table
from meantime.datasets.table import check_table
from meantime.datasets.training import TrainingLog

_HOURS = 3_600e6
TOP_REASONS = 10
"""Most reasons for quarantine that are listed."""


def summarise(
    jobs: Any,
    events: Any = None,
    *,
    gpus_per_node: int = 8,
    rule: Rule | None = None,
    quality: bool = False,
    **options: Any,
) -> dict[str, Any]:
    """Describe a log of jobs, or a failure table.

    Parameters
    ----------
    jobs
        A log of jobs, a data frame of jobs, lazy or not, or a failure table (then the other arguments do not matter,
        and what only a log can tell is None or empty).
    events, gpus_per_node, **options
        As in `meantime.datasets.failure_table.failure_table`.
    rule
        As there. Default: ``"infrastructure"``, or ``"interruption"`` if the log has no states.
    quality
        Whether to look for what is odd about the log, see `meantime.datasets.quality.check_quality`.

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
        - ``periods`` and ``nodes`` (those with most failures), where they are asked for: failures, node-days and rate;
        - ``failures``: ``total``, ``rule``, ``unattributed``; None if there is no exposure;
        - ``quality``: the findings, if asked for.

        Rates are per 1,000 node-days. The reason for missing rates is among the notes.
    """
    if isinstance(jobs, xr.Dataset):
        return summarise_table(check_table(jobs))
    if is_lazy(jobs):
        return summarise_lazy(jobs, events, gpus_per_node=gpus_per_node, rule=rule, **options)
    log, reported = as_jobs(jobs), as_events(events)
    table = log.table
    chosen: Rule = rule or ("infrastructure" if table["state"].null_count() < table.height else "interruption")
    out = {
        **NOTHING,
        "source": log.source,
        "format": log.format,
        "notes": list(log.notes),
        "rows": account(log),
        "jobs": table.n_unique(["cluster", "job_id"]),
        "attempts": table.height,
        "clusters": sorted(table["cluster"].unique().to_list()),
    }
    if quality:
        out["quality"] = check_quality(log, reported, gpus_per_node=gpus_per_node)["findings"]
    if table.select(pl.all_horizontal(pl.col("submit", "start", "end").is_null().all())).item():
        return out
    end = find_log_end(table, None)
    first = table.select(pl.min_horizontal(pl.col("submit", "start", "end").min())).item()
    timed = add_runtime(table, end).with_columns(
        ((pl.col("until") - pl.col("start")).dt.total_microseconds() / _HOURS * pl.col("n_gpus")).alias("gpu_hours")
    )
    out |= {"log_start": first.isoformat(), "log_end": end.isoformat(), "states": _states(table, timed)}
    why = why_no_rates(log, chosen)
    if why is None and not timed["gpu_hours"].sum() > 0:
        why = "no job with GPUs ran"
    if why is not None:
        return out | {"notes": [*out["notes"], f"no failure rates: {why}"]}
    made = failure_table(log, reported, gpus_per_node=gpus_per_node, rule=chosen, **options)
    return out | summarise_rates(made, _size_mix(timed))


def _size_mix(timed: pl.DataFrame) -> dict[int, dict[str, Any]]:
    """Shares of job sizes by attempts and by GPU time."""
    sized = add_bucket(timed.filter(pl.col("n_gpus") > 0))
    mix = sized.group_by("job_size").agg(pl.len().alias("attempts"), pl.col("gpu_hours").sum())
    shares = mix.with_columns(
        (pl.col("attempts") / pl.col("attempts").sum()).alias("share_of_attempts"),
        (pl.col("gpu_hours") / pl.col("gpu_hours").sum()).alias("share_of_gpu_time"),
    )
    return {row.pop("job_size"): row for row in shares.iter_rows(named=True)}


def account(log: Log | TrainingLog) -> dict[str, Any]:
    """Account for the rows of a log: read, used, folded by kind, quarantined, and the commonest reasons for that."""
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
        for row in counts.with_columns(pl.col("state").cast(pl.String))
        .sort(["attempts", "state"], descending=[True, False])
        .iter_rows(named=True)
    ]
