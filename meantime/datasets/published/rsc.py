"""Meta's research clusters RSC-1 and RSC-2: rates, MTTF, job states and sizes, co-occurring events.

All from "Revisiting Reliability in Large-Scale Machine Learning Research Clusters" (Kokolis et al.,
HPCA 2025, arXiv 2410.21680), eleven months, 4 million jobs, over 150 million A100 GPU-hours. The
lemon nodes of the same paper are in `meantime.datasets.published.lemons`.
"""

import numpy as np
import polars as pl
import xarray as xr

from meantime.datasets.published._data import read_csv
from meantime.datasets.table import build_table

_RSC_1_NODE_DAYS = 2_000 * 0.83 * 330
_SHARE_OF_GPU_TIME = {8: 0.10, 1024: 0.10, 4096: 0.12}


def load_rsc_rates() -> pl.DataFrame:
    """Load RSC-1 and RSC-2: size, load and failures per 1,000 node-days of jobs above 128 GPUs.

    Source: the paper's description of the clusters and its section on failure rates (arXiv 2410.21680).

    Returns
    -------
    pl.DataFrame
        One row a cluster: ``cluster``, ``gpus`` (A100), ``nodes`` (of 8), ``jobs_per_day``
        (submitted), ``utilisation`` (0 to 1), ``failures_per_1000_node_days``, ``certainty`` (of the rate).

    Notes
    -----
    Certainty of gpus, jobs_per_day and utilisation: A (printed as 16k, 8k, 7.2k, 4.4k, 83 %, 85 %).
    ``nodes`` is derived by us (D): GPUs over 8; the paper's 24 lemon nodes = 1.2 % agree with 2,000.

    The rate counts jobs above 128 GPUs that ended NODE_FAIL, or FAILED with a critical health check in
    the last 10 minutes or up to 5 minutes after the end, over node-days of their runtime. Neither the
    count nor the node-days are published, so this is no failure table.
    """
    return read_csv(
        "rsc_rates.csv",
        {
            "gpus": pl.Int64,
            "nodes": pl.Int64,
            "jobs_per_day": pl.Int64,
            "utilisation": pl.Float64,
            "failures_per_1000_node_days": pl.Float64,
        },
    )


def load_rsc_mttf() -> pl.DataFrame:
    """Load RSC: mean time to failure of a job by its size, measured and projected.

    Source: the paper's section on MTTF and its Observation 8 (arXiv 2410.21680; figure number not at hand).

    Returns
    -------
    pl.DataFrame
        One row a size: ``gpus``, ``mttf_hours``, ``as_printed``, ``kind`` ("measured" or "projected"
        from 1/(N r_f) at RSC-1's rate), ``certainty``, and ``implied_per_1000_node_days`` (derived by
        us: 1000 x 24 / (MTTF x GPUs / 8)).

    Notes
    -----
    The paper's text does not name the cluster; the projections fit RSC-1's rate (D).

    The figures contradict a single rate: 47.7 days at 8 GPUs and 7.9 h at 1,024 imply 21 and 24
    failures per 1,000 node-days, about 10 h at 4,096 implies 4.7, and the projections use 6.5. The
    reason is not known; show both rather than force one.
    The order-of-1e5 row is a statement about "order 1e5 GPUs", typed as 100,000.
    """
    rows = read_csv("rsc_mttf.csv", {"gpus": pl.Int64, "mttf_hours": pl.Float64})
    return rows.with_columns(
        implied_per_1000_node_days=1000 * 24 / (pl.col("mttf_hours") * pl.col("gpus") / 8),
    )


def load_rsc_points() -> xr.Dataset:
    """Load RSC: the measured MTTF of three job sizes as a failure table, with exposures that are our estimate.

    Source: the measured rows of `load_rsc_mttf` (arXiv 2410.21680). The rates at the three sizes are the
    published ones; how sure they are rests on exposures that are not published, derived by us (D):

    - busy node-days in all: 2,000 nodes x 0.83 x 330 days = 547,800 (RSC-1, eleven months);
    - at 8 GPUs 10 % of them ("under 10 % of GPU time" up to 8 GPUs), at 4,096 GPUs 12 % (as stated), at 1,024
      GPUs 10 %, a guess (R), in line with the 66 % of all jobs of 256 GPUs and more.

    Failures are exposure over the MTTF, rounded. With exposures of half or twice the size the contradiction
    between the sizes is the same.

    Returns
    -------
    xr.Dataset
        A failure table: ``failures`` (cluster, component, job_size) and ``exposure`` (cluster, job_size), of the
        one component ``all``, and ``certainty`` (job_size) of the exposure.
    """
    rows = load_rsc_mttf().filter(pl.col("kind") == "measured")
    exposure = np.array([_RSC_1_NODE_DAYS * _SHARE_OF_GPU_TIME[size] for size in rows["gpus"]])
    failures = np.round(exposure * rows["implied_per_1000_node_days"].to_numpy() / 1000).astype(np.int64)
    table = build_table(
        failures[None, None],
        exposure[None],
        cluster=["RSC"],
        component=["all"],
        job_size=rows["gpus"].to_list(),
        source="Kokolis et al., arXiv 2410.21680, measured MTTF; exposures estimated",
    )
    return table.assign_coords(certainty=("job_size", ["D", "R", "D"]))


def load_rsc_job_states() -> pl.DataFrame:
    """Load RSC-1: how its jobs end, in percent of jobs.

    Source: the paper's job status breakdown (arXiv 2410.21680; figure number not at hand). RSC-2's shares
    were not found.

    Returns
    -------
    pl.DataFrame
        One row a Slurm state: ``cluster``, ``state``, ``percent_of_jobs``, ``certainty``. Sums to 100.

    Notes
    -----
    CANCELLED is derived by us (D): what the others leave. Infrastructure failures are 0.2 % of the
    jobs (NODE_FAIL and a part of FAILED) but touch 18.7 % of RSC-1's GPU runtime (B). Shares by GPU
    time of the other states are not published.
    """
    return read_csv("rsc_job_states.csv", {"percent_of_jobs": pl.Float64})


def load_rsc_job_sizes() -> pl.DataFrame:
    """Load RSC: what is known of the job-size mix, in percent of jobs and of GPU time.

    Source: Figure 6 and Observation 7 of the paper (arXiv 2410.21680). The full histogram is not
    published in figures; each row is one statement.

    Returns
    -------
    pl.DataFrame
        ``cluster`` ("RSC-1", "RSC-2", "both" or "not stated"), ``share_of`` ("jobs" or "gpu_time"),
        ``min_gpus``, ``max_gpus`` (null: no limit), ``relation`` ("above", "below" or "equal"),
        ``percent``, ``certainty``.
    """
    return read_csv("rsc_job_sizes.csv", {"min_gpus": pl.Int64, "max_gpus": pl.Int64, "percent": pl.Float64})


def load_rsc_cooccurrence() -> pl.DataFrame:
    """Load RSC: how often failure events come together, in percent of the first event named.

    Source: the paper's text to Figure 4 (arXiv 2410.21680).

    Returns
    -------
    pl.DataFrame
        ``pair``, ``rsc1_percent``, ``rsc2_percent``, ``certainty``.

    Notes
    -----
    Certainty A is of the first row's wording, the other rows are B.
    """
    return read_csv("rsc_cooccurrence.csv", {"rsc1_percent": pl.Float64, "rsc2_percent": pl.Float64})
