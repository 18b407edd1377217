"""From jobs and events to the failure table."""

import datetime as dt
import json
from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
import polars as pl
import xarray as xr

from meantime.datasets.attribution import attribute
from meantime.datasets.dense import to_dense
from meantime.datasets.exposure import (
    add_bucket,
    add_runtime,
    exposure_by,
    find_log_end,
    last_period,
    period_length,
    period_start,
)
from meantime.datasets.frames import as_events, as_jobs
from meantime.datasets.log import Log
from meantime.datasets.table import build_table
from meantime.datasets.taxonomy import UNATTRIBUTED, taxonomy
from meantime.errors import InputError
from meantime.units import Duration, seconds

type Rule = Literal["infrastructure", "interruption"]
RULES = ("infrastructure", "interruption")
INTERRUPTION = "interruption"
OTHER = "other"


def failure_table(
    jobs: Any,
    events: Any = None,
    *,
    gpus_per_node: int = 8,
    before: Duration = "10min",
    after: Duration = "5min",
    severity: str = "high",
    rule: Rule = "infrastructure",
    min_runtime: Duration = "0s",
    min_gpus: int = 0,
    period: Duration | None = None,
    log_end: str | dt.datetime | None = None,
    components: Sequence[str] | None = None,
) -> xr.Dataset:
    """Count failures and exposure by cluster, component and job size.

    Parameters
    ----------
    jobs
        A log of jobs, or any data frame (polars, pandas, Arrow, ...) with the columns of the jobs table.
    events
        A log of events, or a data frame with the columns of the events table. Without events only
        NODE_FAIL and a ``cause`` column tell failures of the infrastructure.
    gpus_per_node
        GPUs of a node.
    before, after, severity
        Which events explain the end of a job, see `meantime.datasets.attribution.attribute`.
    rule
        ``"infrastructure"``: the paper's rule, as `attribute`. ``"interruption"``: every attempt that is
        followed by another attempt of the same job, whatever the reason, as the component
        ``interruption``; for logs without states.
    min_runtime
        Only failures of attempts that ran at least so long count; their exposure does in any case.
    min_gpus
        Only jobs of at least so many GPUs count, in failures and exposure.
    period
        Length of periods to divide time into (weeks begin on Mondays, UTC), or None.
    log_end
        End of the log (UTC). Jobs still running are censored there. Default: its latest time.
    components
        The components wanted, in order, also those without a failure; what failed otherwise is
        ``other``. Default: those that failed or are reported in `events`, in the order of the taxonomy.

    Returns
    -------
    xr.Dataset
        ``failures`` (cluster, component, job_size[, period]) and ``exposure`` (cluster, job_size[,
        period]) in node-days. The attribute ``provenance`` (JSON) accounts for every row.

    Raises
    ------
    InputError
        If no job can be used, GPUs or states are not known, or events cannot be matched to nodes.
    """
    if rule not in RULES:
        raise InputError(f"rule is {rule!r}; expected one of {', '.join(RULES)}")
    if gpus_per_node < 1 or min_gpus < 0:
        raise InputError(f"gpus_per_node is {gpus_per_node}, min_gpus {min_gpus}; expected 1 or more, 0 or more")
    log, reported = as_jobs(jobs), as_events(events)
    if why := why_no_rates(log, rule):
        raise InputError(f"{log.source}: {why}")
    end = find_log_end(log.table, log_end)
    runs = add_runtime(_mark_failures(log.table, reported, rule, before, after, severity), end)
    sized = runs.filter(pl.col("n_gpus") >= max(1, min_gpus))
    if sized.is_empty():
        raise InputError(f"{log.source}: no job that ran has {max(1, min_gpus)} GPUs or more")
    sized = add_bucket(sized)
    least = round(seconds(min_runtime, name="min_runtime") * 1e6)
    long_enough = (pl.col("until") - pl.col("start")).dt.total_microseconds() >= least
    failed = sized.filter(pl.col("component").is_not_null() & ~pl.col("censored") & long_enough)
    keys = ["cluster", "job_size"]
    exposure = exposure_by(sized, keys, gpus_per_node=gpus_per_node, period=period)
    if period is not None:
        length = period_length(period)
        failed = failed.with_columns(period_start(last_period(length), length).alias("period"))
        keys = [*keys, "period"]
    names = _component_names(failed, reported, rule, severity, components)
    failed = failed.with_columns(
        pl.when(pl.col("component").is_in(names)).then(pl.col("component")).otherwise(pl.lit(OTHER)).alias("component")
    )
    counts = failed.group_by([*keys, "component"]).len("failures")
    account = _account(log, runs, sized, failed, end) | {
        "rule": rule,
        "before_seconds": seconds(before),
        "after_seconds": seconds(after),
        "severity": severity,
        "min_runtime_seconds": least / 1e6,
        "min_gpus": min_gpus,
        "period_seconds": None if period is None else seconds(period),
        "events": 0 if reported is None else reported.height,
    }
    return _assemble(exposure, counts, names, account, log, gpus_per_node, int(sized["n_gpus"].max()))  # type: ignore[arg-type]


def why_no_rates(log: Log, rule: Rule) -> str | None:
    """Say why a log gives no failure table by a rule, or None if it may."""
    table = log.table
    if table.is_empty():
        reasons = log.quarantine["reason"].value_counts(sort=True)["reason"].head(3).to_list()
        why = f": {'; '.join(reasons)}" if reasons else ""
        return f"none of {log.rows_read} rows is a job that can be used{why}"
    if table["n_gpus"].null_count() == table.height:
        return (
            "the GPUs of jobs are not known, so there is no exposure; add AllocTRES (or NNodes, with gpus_per_node "
            "given) to sacct -o, or map n_gpus"
        )
    if rule == "infrastructure" and table["state"].null_count() == table.height:
        return "the log has no job states; map state, or use the rule 'interruption'"
    return None


def _mark_failures(
    table: pl.DataFrame, events: pl.DataFrame | None, rule: Rule, before: Duration, after: Duration, severity: str
) -> pl.DataFrame:
    """Add ``component``: of the failure that ended the attempt, else null."""
    if rule == "infrastructure":
        return attribute(table, events, before=before, after=after, severity=severity)
    last = pl.col("attempt").max().over("cluster", "job_id")
    interrupted = (pl.col("attempt") < last) & pl.col("end").is_not_null()
    return table.with_columns(pl.when(interrupted).then(pl.lit(INTERRUPTION)).alias("component"))


def _component_names(
    failed: pl.DataFrame, events: pl.DataFrame | None, rule: Rule, severity: str, wanted: Sequence[str] | None
) -> list[str]:
    seen = set(failed["component"].to_list())
    if wanted is not None:
        return [*wanted, *([OTHER] if seen - set(wanted) else [])]
    if rule == "interruption":
        return [INTERRUPTION]
    if events is not None:
        counted = events if severity == "low" else events.filter(pl.col("severity") == "high")
        seen |= set(counted["component"].unique().to_list())
    known = [name for name in taxonomy()["component"].to_list() if name in seen]
    return [*known, *sorted(seen - set(known) - {UNATTRIBUTED}), UNATTRIBUTED]


def _account(
    log: Log, runs: pl.DataFrame, sized: pl.DataFrame, failed: pl.DataFrame, end: dt.datetime
) -> dict[str, Any]:
    """Account for every row that was read."""
    table = log.table
    return {
        "format": log.format,
        "rows_read": log.rows_read,
        "rows_used": sized.height,
        "quarantined": log.quarantine.height,
        "folded": dict(log.rows_folded),
        "never_ran": table.height - runs.height,
        "gpus_not_known": int(runs["n_gpus"].null_count()),
        "without_gpus": int((runs["n_gpus"] == 0).sum()),
        "below_min_gpus": int((runs["n_gpus"] > 0).sum()) - sized.height,
        "still_running": int(sized["censored"].sum()),
        "failures": failed.height,
        "co_occurring": _co_occurring(failed),
        "log_start": str(sized["start"].min()),
        "log_end": str(end),
        "notes": list(log.notes),
    }


def _co_occurring(failed: pl.DataFrame) -> dict[str, int]:
    """Count the failures in which a component was seen, but another was taken for the cause."""
    if "co_causes" not in failed.columns:
        return {}
    seen = failed.select(pl.col("co_causes").explode(empty_as_null=False).alias("component")).drop_nulls()
    return dict(seen.group_by("component").len().sort("component").iter_rows())


def _assemble(
    exposure: pl.DataFrame,
    counts: pl.DataFrame,
    components: list[str],
    account: dict[str, Any],
    log: Log,
    gpus_per_node: int,
    largest: int,
) -> xr.Dataset:
    labels: dict[str, list[Any]] = {
        "cluster": sorted(exposure["cluster"].unique().to_list()),
        "component": components,
        "job_size": sorted(exposure["job_size"].unique().to_list()),
    }
    if "period" in exposure.columns:
        first, last = exposure["period"].min(), exposure["period"].max()
        step = dt.timedelta(seconds=account["period_seconds"])
        labels["period"] = [first + i * step for i in range(round((last - first) / step) + 1)]  # type: ignore
    days = to_dense(exposure, "exposure", {name: values for name, values in labels.items() if name != "component"})
    failures = to_dense(counts, "failures", labels).astype(np.int64)
    unexposed = np.broadcast_to(np.expand_dims(days, 1) == 0, failures.shape)
    account["failures_without_exposure"] = int(failures[unexposed].sum())
    failures[unexposed] = 0
    if not days.sum() > 0:
        raise InputError(f"{log.source}: every job ran for 0 s, so there is no exposure")
    periods = [value.replace(tzinfo=None) for value in labels["period"]] if "period" in labels else None
    return build_table(
        failures,
        days,
        cluster=labels["cluster"],
        component=components,
        job_size=labels["job_size"],
        period=periods,
        gpus_per_node=gpus_per_node,
        exposure_kind="busy",
        source=log.source,
        largest_job_gpus=largest,
        provenance=json.loads(json.dumps(account)),
    )
