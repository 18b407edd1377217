"""The truth behind a simulated cluster: its failure table and the parameters of its rates."""

import datetime as dt

import numpy as np
import polars as pl
import xarray as xr

from meantime.datasets.simulate.attempts import Attempts
from meantime.datasets.simulate.hazards import SIZES, Hazards, bucket_index
from meantime.datasets.simulate.mix import Jobs
from meantime.datasets.simulate.nodes import Placement
from meantime.datasets.simulate.plan import ClusterPlan
from meantime.datasets.table import build_table

LOST = dt.timedelta(minutes=30)
"""What a failure costs a job at most: half of the hour between checkpoints (arXiv 2410.21680, Figure 8)."""


def true_table(plan: ClusterPlan, hazards: Hazards, rows: pl.DataFrame, log_end: dt.datetime, seed: int) -> xr.Dataset:
    """Count true failures and exposure by component and size.

    Parameters
    ----------
    rows
        Attempts with ``start``, ``end``, ``n_gpus``, ``job_size`` and ``component`` (null: no hardware failure).
    log_end
        Where running attempts are censored.
    """
    seconds = (pl.col("end").fill_null(log_end) - pl.col("start")).dt.total_seconds()
    ran = rows.filter(pl.col("start").is_not_null()).with_columns(gpu_seconds=pl.col("n_gpus") * seconds)
    # Whole GPU-seconds add up to the same figure in any order.
    by_size = ran.group_by("job_size").agg(pl.sum("gpu_seconds")).sort("job_size")
    sizes = by_size["job_size"].to_list()
    counts = np.zeros((1, len(hazards.components), len(sizes)), dtype=np.int64)
    failed = ran.filter(pl.col("component").is_not_null()).group_by("component", "job_size").len()
    for component, size, count in failed.iter_rows():
        counts[0, hazards.components.index(component), sizes.index(size)] = count
    return build_table(
        counts,
        by_size["gpu_seconds"].to_numpy()[None, :] / 86400 / plan.gpus_per_node,
        cluster=[plan.cluster],
        component=hazards.components,
        job_size=sizes,
        gpus_per_node=plan.gpus_per_node,
        exposure_kind="busy",
        source=f"simulated, seed {seed}",
        largest_job_gpus=ran["n_gpus"].max(),  # type: ignore[arg-type]
        provenance={"seed": seed, "log_end": log_end.isoformat()},
    )


def true_losses(rows: pl.DataFrame, most: dt.timedelta = LOST) -> dict[str, float]:
    """Add up min(runtime, `most`) x GPUs of attempts that hardware ended, and of those that gave way to a restart.

    Parameters
    ----------
    rows
        Attempts with ``start``, ``end``, ``n_gpus``, ``component`` and ``preempted_by``.
    most
        What a job loses at most.
    """
    runtime = (pl.col("end") - pl.col("start")).dt.total_seconds()
    hours = pl.min_horizontal(runtime, most.total_seconds()) * pl.col("n_gpus") / 3600
    ended = rows.filter(pl.col("end").is_not_null() & pl.col("start").is_not_null())
    return {
        f"{order}_order_gpu_hours": float(ended.filter(pl.col(column).is_not_null()).select(hours.sum()).item())
        for order, column in (("first", "component"), ("second", "preempted_by"))
    }


def true_parameters(
    plan: ClusterPlan,
    hazards: Hazards,
    jobs: Jobs,
    started: Attempts,
    placement: Placement,
    lemon: np.ndarray,
    names: pl.Series,
    rows: pl.DataFrame,
    seed: int,
) -> xr.Dataset:
    """Collect rates, cells and lemons, and the factor by which lemons raised the rates of each size."""
    gpus = jobs.gpus[started.job]
    part = gpus / plan.gpus_per_node * (started.end - started.start)
    lemons = np.add.reduceat(lemon[placement.node], placement.offset[:-1]) if len(gpus) else np.zeros(0)
    raised = 1 + (plan.lemon_multiplier - 1) * lemons / np.maximum(placement.count, 1)
    bucket = bucket_index(gpus)
    exposure = np.bincount(bucket, part, len(SIZES))
    with np.errstate(invalid="ignore"):
        factor = np.bincount(bucket, part * raised, len(SIZES)) / exposure
    return xr.Dataset(
        {
            "level": ("component", hazards.level),
            "slope": ("component", hazards.slope),
            "cell": (("component", "job_size"), hazards.cell),
            "rate": (("component", "job_size"), hazards.rate),
            "lemon_factor": ("job_size", np.where(exposure > 0, factor, 1.0)),
            "lemon": ("node", lemon),
        },
        coords={"component": list(hazards.components), "job_size": SIZES, "node": names.to_numpy().astype(np.str_)},
        attrs={"seed": seed, "shared_nodes": placement.shared, **true_losses(rows)},
    )
