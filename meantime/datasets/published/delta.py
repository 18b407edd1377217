"""Delta (NCSA): GPU errors of A100 and H100 with their exposure."""

import numpy as np
import polars as pl
import xarray as xr

from meantime.datasets.published._data import read_csv
from meantime.datasets.table import build_table

GPUS_PER_NODE = 4
GPU_DAYS = {"Delta A100": 448 * 895, "Delta H100": 608 * 146}


def load_delta() -> xr.Dataset:
    """Load Delta: errors of 448 A100 in 895 days and 608 H100 in 146 days, by kind of error.

    Source: "Story of Two GPUs: Characterizing the Resilience of Hopper H100 and Ampere A100 GPUs",
    arXiv 2503.11901 version 3 (SC 2025), table of errors (number not at hand). Version 1 has
    other figures (A40 as well). Certainty B for every count (a survey that tabulated the paper row by row).

    Returns
    -------
    xr.Dataset
        A failure table. Dimensions cluster ("Delta A100", "Delta H100") and component (12 kinds of
        error). ``failures``: **errors**, equal ones within 5 s merged; not each ends a job.
        ``exposure``: node-days. Further coordinates: ``xid`` (component), NVIDIA's code;
        ``job_failure_percent`` (cluster, component), share of the jobs that met the error and failed,
        NaN where not stated; ``certainty`` (component).

    Notes
    -----
    Exposure, derived by us: A100 448 x 895 = 400,960 GPU-days (9.62 million GPU-hours), H100
    608 x 146 = 88,768 GPU-days (2.13 million); the sum, 11.75 million GPU-hours, agrees with the 11.7
    of the abstract. The unit that is counted is the GPU. Here a node is 4 GPUs: 608 GH200 in nodes of
    4, and A100 in nodes of 4 but for a few of 8 (certainty R: node shapes are recollected, not from
    the paper). Every rate is linear in this choice: per-GPU rates are rates per node-day over 4.

    Check by the paper's own figures: 34 A100 and 24 H100 uncorrectable memory errors (double-bit and
    repeated single-bit) give 283k and 88.8k GPU-hours between errors; the paper prints 283,271 and
    88,768.

    Quirks: the MMU error (XID 31) is often the user's program, and the row remap event is a repair
    that worked; leave both out to count hardware faults. The job failure share of contained memory
    errors is of the process; where the paper states one share for an error that occurred on one kind
    of GPU only, it stands there. "Unlogged lockup" are errors that left no log line (0.18 % and
    0.49 % of the errors). Sizes of jobs are not stated, so there is no job_size dimension.
    """
    rows = read_csv("delta.csv", {"errors": pl.Int64, "job_failure_percent": pl.Float64})
    clusters = list(GPU_DAYS)
    parts = [rows.filter(pl.col("cluster") == cluster) for cluster in clusters]
    table = build_table(
        np.stack([part["errors"].to_numpy() for part in parts]),
        [days / GPUS_PER_NODE for days in GPU_DAYS.values()],
        cluster=clusters,
        component=parts[0]["error"].to_list(),
        gpus_per_node=GPUS_PER_NODE,
        exposure_kind="stated",
        source="Story of Two GPUs, arXiv 2503.11901v3",
        provenance={"gpu_days": GPU_DAYS, "gpus": {"Delta A100": 448, "Delta H100": 608}},
    )
    percent = [part["job_failure_percent"].to_numpy() for part in parts]
    return table.assign_coords(
        xid=("component", parts[0]["xid"].fill_null("").to_list()),
        job_failure_percent=(("cluster", "component"), np.stack(percent).astype(float)),
        certainty=("component", parts[0]["certainty"].cast(pl.String).to_list()),
    )
