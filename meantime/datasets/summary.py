"""What a log holds: rows, states, sizes, exposure and failures, as plain JSON types."""

import json
import re
from typing import Any

import polars as pl
import xarray as xr

from meantime.datasets.exposure import add_bucket, add_runtime, find_log_end
from meantime.datasets.failure_table import Rule, failure_table, why_no_rates
from meantime.datasets.frames import as_events, as_jobs
from meantime.datasets.log import Log
from meantime.datasets.quality import check_quality
from meantime.datasets.table import check_table
from meantime.datasets.taxonomy import UNATTRIBUTED
from meantime.units import PER_1000_NODE_DAYS, Duration

_HOURS = 3_600e6
TOP_REASONS = 10
"""Most reasons for quarantine that are listed."""

_NOTHING: dict[str, Any] = {
    "jobs": None,
    "attempts": None,
    "log_start": None,
    "log_end": None,
    "states": [],
    "exposure": None,
    "sizes": [],
    "components": [],
    "failures": None,
}


def summarise(
    jobs: Any,
    events: Any = None,
    *,
    gpus_per_node: int = 8,
    before: Duration = "10min",
    after: Duration = "5min",
    severity: str = "high",
    rule: Rule | None = None,
    min_runtime: Duration = "0s",
    quality: bool = False,
) -> dict[str, Any]:
    """Describe a log of jobs, or a failure table.

    Parameters
    ----------
    jobs
        A log of jobs, a data frame of jobs, or a failure table (then the other arguments do not matter, and
        what only a log can tell is None or empty).
    events, gpus_per_node, before, after, severity, min_runtime
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
        - ``failures``: ``total``, ``rule``, ``unattributed``; None if there is no exposure;
        - ``quality``: the findings, if asked for.

        Rates are per 1,000 node-days. The reason for missing rates is among the notes.
    """
    if isinstance(jobs, xr.Dataset):
        return _of_table(check_table(jobs))
    log, reported = as_jobs(jobs), as_events(events)
    table = log.table
    chosen: Rule = rule or ("infrastructure" if table["state"].null_count() < table.height else "interruption")
    out = {
        **_NOTHING,
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
    made = failure_table(
        log,
        reported,
        gpus_per_node=gpus_per_node,
        before=before,
        after=after,
        severity=severity,
        rule=chosen,
        min_runtime=min_runtime,
    )
    return out | _rates(made, _size_mix(timed))


def _of_table(table: xr.Dataset) -> dict[str, Any]:
    account = json.loads(table.attrs["provenance"])
    rows = {
        "read": account.get("rows_read"),
        "used": account.get("rows_used"),
        "quarantined": account.get("quarantined"),
    }
    return {
        **_NOTHING,
        "source": table.attrs["source"],
        "format": account.get("format", "failure table"),
        "notes": list(account.get("notes", [])),
        "rows": {**rows, "folded": account.get("folded", {}), "reasons": []},
        "clusters": table["cluster"].values.tolist(),
        **_rates(table, {}),
    }


def _rates(table: xr.Dataset, mix: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Exposure, and failures by component and size, of a failure table."""
    account, per_node = json.loads(table.attrs["provenance"]), table.attrs["gpus_per_node"]
    node_days = float(table["exposure"].sum())
    by_component = table["failures"].sum([dim for dim in table["failures"].dims if dim != "component"])
    counts = dict(zip(by_component["component"].values.tolist(), by_component.values.tolist(), strict=True))
    seen = account.get("co_occurring", {})
    return {
        "exposure": {"node_days": node_days, "gpu_hours": node_days * 24 * per_node, "gpus_per_node": per_node},
        "sizes": _sizes(table, mix) if "job_size" in table.dims else [],
        "components": [
            {
                "component": name,
                "failures": count,
                "co_occurring": seen.get(name, 0),
                "rate_per_1000_node_days": PER_1000_NODE_DAYS * count / node_days,
            }
            for name, count in counts.items()
        ],
        "failures": {
            "total": sum(counts.values()),
            "rule": account.get("rule", "stated"),
            "unattributed": counts.get(UNATTRIBUTED, 0),
        },
    }


def _sizes(table: xr.Dataset, mix: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    failures = table["failures"].sum([dim for dim in table["failures"].dims if dim != "job_size"])
    exposure = table["exposure"].sum([dim for dim in table["exposure"].dims if dim != "job_size"])
    unknown = {"attempts": None, "share_of_attempts": None, "gpu_hours": None, "share_of_gpu_time": None}
    return [
        {
            "job_size": size,
            **mix.get(size, unknown),
            "node_days": days,
            "failures": count,
            "rate_per_1000_node_days": PER_1000_NODE_DAYS * count / days if days else None,
        }
        for size, count, days in zip(
            table["job_size"].values.tolist(), failures.values.tolist(), exposure.values.tolist(), strict=True
        )
    ]


def _size_mix(timed: pl.DataFrame) -> dict[int, dict[str, Any]]:
    """Shares of job sizes by attempts and by GPU time."""
    sized = add_bucket(timed.filter(pl.col("n_gpus") > 0))
    mix = sized.group_by("job_size").agg(pl.len().alias("attempts"), pl.col("gpu_hours").sum())
    shares = mix.with_columns(
        (pl.col("attempts") / pl.col("attempts").sum()).alias("share_of_attempts"),
        (pl.col("gpu_hours") / pl.col("gpu_hours").sum()).alias("share_of_gpu_time"),
    )
    return {row.pop("job_size"): row for row in shares.iter_rows(named=True)}


def account(log: Log) -> dict[str, Any]:
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
        for row in counts.sort(["attempts", "state"], descending=[True, False]).iter_rows(named=True)
    ]
