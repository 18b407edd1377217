"""Goodput of a cluster: what its GPU time went to, and what failures took from it, at first and second hand.

After "Revisiting Reliability ..." (arXiv 2410.21680, Figures 3, 6 and 8). A failure costs its job min(runtime, 30 min)
x GPUs: half of the hour between checkpoints. That is the first order. When the job restarts it may push others out;
what these lose is the second order, 16 % of the whole there.
"""

from typing import Any

import polars as pl

from meantime.datasets.exposure import add_bucket, find_log_end
from meantime.datasets.frames import as_events, as_jobs
from meantime.datasets.preemption import chance_matches, find_restarts, match_named, match_nodes
from meantime.datasets.runs import GAP, stitch_runs
from meantime.errors import InputError
from meantime.units import Duration, seconds

LOST = "30min"
TOLERANCE = "1min"
_HOUR = 3600e6


def goodput(
    jobs: Any,
    events: Any = None,
    *,
    lost: Duration = LOST,
    tolerance: Duration = TOLERANCE,
    total_gpus: int | None = None,
    gap: Duration = GAP,
    **attribution: Any,
) -> dict[str, Any]:
    """Say where the GPU time of a cluster went.

    Parameters
    ----------
    jobs, events
        A log or data frame of jobs, and of events.
    lost
        What a job loses at most when it is cut off.
    tolerance
        Longest time from the end of a preempted job to the start of the one that took its nodes.
    total_gpus
        GPUs of the cluster, for its utilisation. Default: not known.
    gap, **attribution
        See `meantime.datasets.runs.stitch_runs`: a restart may be a requeue or a resubmission.

    Returns
    -------
    dict
        Plain JSON types:

        - ``gpu_hours``, ``capacity_gpu_hours`` and ``utilisation`` (None without `total_gpus`), ``goodput``: GPU time
          less what failures and preemptions lost, as a share of the capacity (of the GPU time, if that is not known);
        - ``states`` and ``sizes``: ``attempts``, ``gpu_hours`` and their shares by state and by job size;
        - ``lost_minutes``;
        - ``first_order``: ``failures`` and ``gpu_hours``, and both ``by_size`` and ``by_component``;
        - ``second_order``: ``preemptions``, ``gpu_hours``, ``method`` (``"preempted_by"``: the log names the job that
          took the nodes; ``"nodes and time"``: one restarted on nodes of the other within `tolerance` of its end;
          None: neither is known) and, of the latter method, what would match ``by_chance``, found by moving the
          restarts in time; ``gpu_hours`` and ``preemptions`` are less that;
        - ``second_order_share`` of all that was lost (None if nothing was).

    Raises
    ------
    InputError
        If the log has no job with GPUs that ran.
    """
    log, reported = as_jobs(jobs), as_events(events)
    if log.table.is_empty() or log.table["start"].null_count() == log.table.height:
        raise InputError(f"{log.source}: no job ran")
    edge = find_log_end(log.table, None)
    attempts = stitch_runs(log, reported, gap=gap, **attribution)
    most = round(seconds(lost, name="lost") * 1e6)
    runtime = (pl.coalesce("end", pl.lit(edge)) - pl.col("start")).dt.total_microseconds()
    ran = attempts.filter(pl.col("start").is_not_null() & (pl.col("n_gpus") > 0)).with_columns(
        (runtime * pl.col("n_gpus") / _HOUR).alias("gpu_hours"),
        (pl.min_horizontal(runtime, pl.lit(most, dtype=pl.Int64)) * pl.col("n_gpus") / _HOUR).alias("lost"),
    )
    if ran.is_empty():
        raise InputError(f"{log.source}: no job with GPUs ran")
    ran = add_bucket(ran)
    busy = float(ran["gpu_hours"].sum())
    failed = ran.filter("infrastructure")
    first = {"failures": failed.height, "gpu_hours": float(failed["lost"].sum())}
    second = _second_order(ran, tolerance)
    wasted = first["gpu_hours"] + second["gpu_hours"]
    begin = min(ran["start"].to_list())
    capacity = None if total_gpus is None else total_gpus * (edge - begin).total_seconds() / 3600
    return {
        "source": log.source,
        "log_start": begin.isoformat(),
        "log_end": edge.isoformat(),
        "gpu_hours": busy,
        "capacity_gpu_hours": capacity,
        "utilisation": busy / capacity if capacity else None,
        "goodput": (busy - wasted) / (capacity or busy) if busy else None,
        "states": _mix(ran.with_columns(pl.col("state").cast(pl.String).fill_null("unknown")), "state", "attempts"),
        "sizes": _mix(ran, "job_size", "job_size"),
        "lost_minutes": most / 60e6,
        "first_order": {**first, "by_size": _by(failed, "job_size"), "by_component": _by(failed, "component")},
        "second_order": second,
        "second_order_share": second["gpu_hours"] / wasted if wasted else None,
    }


def _second_order(ran: pl.DataFrame, tolerance: Duration) -> dict[str, Any]:
    """Add up what jobs lost that gave way to the restart of one which the infrastructure had ended."""
    near = round(seconds(tolerance, name="tolerance") * 1e6)
    victims = ran.filter((pl.col("state").cast(pl.String) == "PREEMPTED").fill_null(False) & ~pl.col("infrastructure"))
    restarts = find_restarts(ran)
    nothing = {"preemptions": 0.0, "gpu_hours": 0.0}
    if "preempted_by" in ran.columns and ran["preempted_by"].null_count() < ran.height:
        hit = match_named(victims, ran, near)
        return {"preemptions": hit.height, "gpu_hours": float(hit["lost"].sum()), "method": "preempted_by"} | {
            "by_size": _by(hit, "job_size"),
            "by_chance": nothing,
        }
    if "nodes" not in ran.columns or ran["nodes"].null_count() == ran.height:
        return {**nothing, "method": None, "by_size": [], "by_chance": nothing}
    hit = match_nodes(victims, restarts, near)
    chance = chance_matches(victims, restarts, near)
    return {
        "preemptions": max(hit.height - chance["preemptions"], 0.0),
        "gpu_hours": max(float(hit["lost"].sum()) - chance["gpu_hours"], 0.0),
        "method": "nodes and time",
        "by_size": _by(hit, "job_size"),
        "by_chance": chance,
    }


def _mix(ran: pl.DataFrame, key: str, order: str) -> list[dict[str, Any]]:
    mix = ran.group_by(key).agg(pl.len().cast(pl.Int64).alias("attempts"), pl.col("gpu_hours").sum())
    shares = mix.with_columns(
        (pl.col("attempts") / pl.col("attempts").sum()).alias("share_of_attempts"),
        (pl.col("gpu_hours") / pl.col("gpu_hours").sum()).alias("share_of_gpu_time"),
    )
    return shares.sort([order, key], descending=[order == "attempts", False]).to_dicts()


def _by(rows: pl.DataFrame, key: str) -> list[dict[str, Any]]:
    name = "failures" if key == "component" else "jobs"
    return (
        rows.group_by(key)
        .agg(pl.len().cast(pl.Int64).alias(name), pl.col("lost").sum().alias("gpu_hours"))
        .sort(key)
        .to_dicts()
    )
