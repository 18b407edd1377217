"""What a log that is larger than memory holds: sums, made where the rows are."""

import datetime as dt
import json
from typing import Any

import narwhals as nw
import polars as pl

from meantime.datasets.exposure import add_bucket
from meantime.datasets.failure_table import Rule, failure_table
from meantime.datasets.fates import FATE, USED, Limits, log_edge, with_fates
from meantime.datasets.scan import Jobs, collect, open_jobs
from meantime.datasets.summary_rates import summarise_table

_HOUR = 3_600e6


def summarise_lazy(
    jobs: Any, events: Any = None, *, gpus_per_node: int = 8, rule: Rule | None = None, **options: Any
) -> dict[str, Any]:
    """Describe a lazy frame of jobs as `meantime.datasets.summary.summarise` describes a log.

    Its rows are checked, but not searched for repeated ones; jobs are not told from attempts, and the reasons of rows
    that cannot be right come without the rows.

    Parameters
    ----------
    jobs, events, gpus_per_node, rule, **options
        As there; `jobs` is a lazy frame.
    """
    opened = open_jobs(jobs)
    chosen: Rule = rule or ("infrastructure" if "state" in opened.columns else "interruption")
    table = failure_table(jobs, events, gpus_per_node=gpus_per_node, rule=chosen, **options)
    account = json.loads(table.attrs["provenance"])
    limits = Limits(
        min_gpus=max(1, account["min_gpus"]),
        log_start=log_edge(options.get("log_start"), "log_start"),
        log_end=log_edge(account["log_end"], "log_end"),
    )
    groups = _groups(opened, limits)
    content = summarise_table(table, _shares(add_bucket(groups), "job_size"))
    reasons = [
        {"reason": reason, "rows": rows, "first": None} for reason, rows in account["quarantine_reasons"].items()
    ]
    content["rows"] |= {"used": account["rows_read"] - account["quarantined"], "reasons": reasons}
    content["notes"].append("read as a lazy frame: rows are checked, but repeated rows are not looked for")
    states = _shares(groups.with_columns(pl.col("state").fill_null("unknown")), "state")
    return content | {
        "log_start": _iso(account["log_start"]),
        "log_end": _iso(account["log_end"]),
        "attempts": account["rows_used"],
        "states": [{"state": name, **row} for name, row in states.items()] if "state" in opened.columns else [],
    }


def _groups(opened: Jobs, limits: Limits) -> pl.DataFrame:
    """Add up the rows that count by ``state`` and ``n_gpus``: ``attempts``, ``gpu_hours``."""
    used = with_fates(opened, limits).filter(nw.col(FATE) == USED)
    until = nw.when(nw.col("running")).then(nw.lit(limits.log_end, dtype=nw.Int64)).otherwise(nw.col("until"))
    hours = (until - nw.col("begin")).cast(nw.Float64) * nw.col("n_gpus").cast(nw.Float64) / _HOUR
    return collect(
        used.with_columns(hours.alias("gpu_hours"))
        .group_by("state", "n_gpus")
        .agg(nw.len().alias("attempts"), nw.col("gpu_hours").sum())
    ).with_columns(pl.col("attempts").cast(pl.Int64))


def _shares(groups: pl.DataFrame, key: str) -> dict[Any, dict[str, Any]]:
    """Give attempts, GPU-hours and their shares by a key, most attempts first."""
    sums = groups.group_by(key).agg(pl.col("attempts", "gpu_hours").sum())
    shares = sums.with_columns(
        (pl.col("attempts") / pl.col("attempts").sum()).alias("share_of_attempts"),
        (pl.col("gpu_hours") / pl.col("gpu_hours").sum()).alias("share_of_gpu_time"),
    ).sort("attempts", key, descending=[True, False])
    return {row.pop(key): row for row in shares.iter_rows(named=True)}


def _iso(time: str) -> str:
    return dt.datetime.fromisoformat(time).isoformat()
