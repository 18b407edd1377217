"""Putting a failure table together: dense arrays from counts and node-days, and the account of every row."""

import datetime as dt
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import xarray as xr

from meantime.datasets.dense import to_dense
from meantime.datasets.exposure import add_bucket
from meantime.datasets.fates import (
    BELOW_MIN_GPUS,
    GPUS_NOT_KNOWN,
    NEVER_RAN,
    OUTSIDE,
    REASONS,
    USED,
    WITHOUT_GPUS,
    Census,
)
from meantime.datasets.scan import Jobs
from meantime.datasets.table import MAX_CELLS, build_table
from meantime.errors import InputError
from meantime.units import SECONDS_PER_HOUR


def assemble(
    exposure: pl.DataFrame,
    counts: pl.DataFrame,
    components: list[str],
    account: dict[str, Any],
    *,
    source: str,
    gpus_per_node: int,
    kind: str,
    largest: int,
) -> xr.Dataset:
    """Make the failure table.

    Parameters
    ----------
    exposure
        ``cluster``, whatever else it is by (``job_size``, ``period``, ``node``), and ``exposure``.
    counts
        The same keys, ``component`` and ``failures``.
    components
        Labels of that dimension.
    account
        The provenance, to which the failures in cells without exposure are added.
    source, gpus_per_node, kind, largest
        Attributes of the table.
    """
    dims = [name for name in ("cluster", "job_size", "period", "node") if name in exposure.columns]
    labels: dict[str, list[Any]] = {name: sorted(exposure[name].unique().to_list()) for name in dims}
    labels = {"cluster": labels.pop("cluster"), "component": components, **labels}
    if "period" in labels:
        first, last = labels["period"][0], labels["period"][-1]
        step = dt.timedelta(seconds=account["period_seconds"])
        labels["period"] = [first + i * step for i in range(round((last - first) / step) + 1)]
    _check_size(labels)
    days = to_dense(exposure, "exposure", {name: values for name, values in labels.items() if name != "component"})
    within = counts.filter(pl.all_horizontal(pl.col(name).is_in(labels[name]) for name in dims))
    failures = to_dense(within, "failures", labels).astype(np.int64)
    unexposed = np.broadcast_to(np.expand_dims(days, 1) == 0, failures.shape)
    lost = int(failures[unexposed].sum()) + count_failures(counts) - count_failures(within)
    account["failures_without_exposure"] = lost
    failures[unexposed] = 0
    if not days.sum() > 0:
        raise InputError(f"{source}: every job ran for 0 s, so there is no exposure")
    periods = [value.replace(tzinfo=None) for value in labels["period"]] if "period" in labels else None
    return build_table(
        failures,
        days,
        cluster=labels["cluster"],
        component=components,
        job_size=labels.get("job_size"),
        period=periods,
        node=labels.get("node"),
        gpus_per_node=gpus_per_node,
        exposure_kind=kind,
        source=source,
        largest_job_gpus=largest,
        provenance=json.loads(json.dumps(account)),
    )


def account_rows(opened: Jobs, census: Census) -> dict[str, Any]:
    """Account for every row that was read."""
    log, rows = opened.log, census.rows
    checked = {REASONS[fate]: count for fate, count in sorted(rows.items()) if fate in REASONS}
    return {
        "format": opened.format,
        "rows_read": census.read if log is None else log.rows_read,
        "rows_used": rows.get(USED, 0),
        "quarantined": census.wrong if log is None else log.quarantine.height,
        "quarantine_reasons": checked,
        "folded": {} if log is None else dict(log.rows_folded),
        "never_ran": rows.get(NEVER_RAN, 0),
        "outside_the_log": rows.get(OUTSIDE, 0),
        "gpus_not_known": rows.get(GPUS_NOT_KNOWN, 0),
        "without_gpus": rows.get(WITHOUT_GPUS, 0),
        "below_min_gpus": rows.get(BELOW_MIN_GPUS, 0),
        "still_running": int(census.totals["running"].sum()),
        "states": account_states(census.states),
        "sizes": account_sizes(census.totals),
        "notes": [] if log is None else list(log.notes),
    }


def account_states(states: pl.DataFrame) -> list[dict[str, Any]]:
    """Give the states of attempts as `meantime.datasets.summarise` does; nothing for a log without states."""
    if states["state"].null_count() == states.height:
        return []
    attempts, time = int(states["attempts"].sum()), float(states["gpu_seconds"].sum())
    return [
        {
            "state": row["state"] or "unknown",
            "attempts": row["attempts"],
            "share_of_attempts": row["attempts"] / attempts,
            "gpu_hours": row["gpu_seconds"] / SECONDS_PER_HOUR,
            "share_of_gpu_time": row["gpu_seconds"] / time if time > 0 else None,
        }
        for row in states.sort(["attempts", "state"], descending=[True, False]).iter_rows(named=True)
    ]


def account_sizes(totals: pl.DataFrame) -> list[dict[str, Any]]:
    """Give the sizes of the attempts that count, the smallest first, with shares of attempts and of GPU time."""
    hours = (pl.col("n_gpus") * pl.col("seconds") / 3600).sum()
    mix = (
        add_bucket(totals)
        .group_by("job_size", maintain_order=True)
        .agg(pl.col("rows").sum().cast(pl.Int64).alias("attempts"), hours.alias("gpu_hours"))
        .sort("job_size")
    )
    attempts, time = int(mix["attempts"].sum()), float(mix["gpu_hours"].sum())
    return [
        {
            **row,
            "share_of_attempts": row["attempts"] / attempts,
            "share_of_gpu_time": row["gpu_hours"] / time if time > 0 else None,
        }
        for row in mix.iter_rows(named=True)
    ]


def count_failures(failed: pl.DataFrame) -> int:
    """Add up ``failures``."""
    return int(sum(failed["failures"].to_list()))


def count_co_occurring(failed: pl.DataFrame) -> dict[str, int]:
    """Count the failures in which a component was seen, but another was taken for the cause."""
    seen = failed.select(pl.col("co_causes").explode(empty_as_null=False).alias("component")).drop_nulls()
    return dict(seen.group_by("component").len().sort("component").iter_rows())


def _check_size(labels: Mapping[str, Sequence[Any]]) -> None:
    cells = int(np.prod([len(values) for values in labels.values()], dtype=float))
    if cells > MAX_CELLS:
        sizes = " x ".join(f"{len(values):,} {name}" for name, values in labels.items())
        raise InputError(f"the failure table would have {sizes} = {cells:,} cells; at most {MAX_CELLS:,} are accepted")
