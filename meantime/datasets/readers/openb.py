"""Alibaba's openb pods, GPU trace v2023 (cite Weng et al., USENIX ATC 2023).

The input is a pod list of ::

    git clone https://github.com/alibaba/clusterdata    # cluster-trace-gpu-v2023/csv/openb_pod_list_default.csv

Decisions:

- A pod is a job on one node. Its phase is that of the last look: ``Succeeded`` is COMPLETED, ``Failed`` FAILED,
  ``Pending`` PENDING. A pod ``Running`` that was deleted was stopped by its owner: CANCELLED; where its deletion is
  the last one of the file it ran on when the trace ended: RUNNING, without an end.
- Times are seconds since the trace began; that is set to 2023-01-01 UTC, so dates are not real.
- ``num_gpu`` counts whole GPUs. Pods with less than 1,000 ``gpu_milli`` of one GPU share it and count as one (noted).
"""

import datetime as dt

import polars as pl

from meantime.datasets.jobs import Conventions, jobs_log
from meantime.datasets.log import Log
from meantime.datasets.ragged import LINE
from meantime.datasets.readers._columns import load, shift_seconds
from meantime.datasets.source import PathLike

NEEDED = ("name", "num_gpu", "gpu_milli", "pod_phase", "creation_time", "deletion_time", "scheduled_time")
ORIGIN = dt.datetime(2023, 1, 1, tzinfo=dt.UTC)
STATES = {
    "Succeeded": "COMPLETED",
    "Failed": "FAILED",
    "Running": "CANCELLED",
    "Running on": "RUNNING",
    "Pending": "PENDING",
}


def read_openb(path: PathLike, *, cluster: str = "openb") -> Log:
    """Read a pod list (see the module's text for the download and the decisions).

    Parameters
    ----------
    path
        The CSV file; .gz, .xz and .zst are unpacked.
    cluster
        Name of the cluster.
    """
    raw = load(path, NEEDED, "the openb pod list")
    frame = raw.frame
    shared = frame.select(
        (
            (pl.col("num_gpu").cast(pl.Float64, strict=False) == 1)
            & (pl.col("gpu_milli").cast(pl.Float64, strict=False) < 1000)
        ).sum()
    ).item()
    deleted = pl.col("deletion_time").cast(pl.Float64, strict=False)
    on = (pl.col("pod_phase") == "Running") & (deleted.is_null() | (deleted == deleted.max()))
    frame = frame.with_columns(
        pl.when(on).then(pl.lit("Running on")).otherwise(pl.col("pod_phase")).alias("state"),
        pl.when(on)
        .then(pl.lit(None, dtype=frame.schema["deletion_time"]))
        .otherwise("deletion_time")
        .alias("deletion_time"),
    )
    columns = [
        frame["name"].alias("job_id"),
        frame["num_gpu"].alias("n_gpus"),
        pl.repeat(1, frame.height, eager=True).cast(pl.Int64).alias("n_nodes"),
        frame["state"],
        *(
            shift_seconds(frame[old], ORIGIN).alias(new)
            for old, new in (("creation_time", "submit"), ("scheduled_time", "start"), ("deletion_time", "end"))
        ),
        *([frame["qos"]] if "qos" in frame.columns else []),
        frame[LINE],
    ]
    notes = [*raw.notes, "times count from the beginning of the trace, set to 2023-01-01: dates are not real"]
    if shared:
        notes.append(f"{shared} pods share a GPU with others (gpu_milli below 1,000) and count as 1 GPU")
    return jobs_log(
        pl.DataFrame(columns),
        file=raw.file,
        format="openb",
        texts=raw.texts,
        states=STATES,
        conventions=Conventions(cluster=cluster),
        quarantine=raw.quarantine,
        folded=raw.folded,
        notes=notes,
    )
