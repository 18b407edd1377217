"""Philly and LANL through the readers: counts and exposures as computed from the raw files once before."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest

from meantime.datasets import read
from meantime.datasets.failure_table import failure_table
from meantime.datasets.log import Log

from .public_logs import read_philly

# bucket: jobs, attempts, wall-clock hours, GPU-hours, interruptions, those after 10 minutes, node-days
PHILLY_TABLE = {
    (4,): (1457, 2124, "40956.7", "163827", 667, 441, "853.264"),
    (8,): (1354, 2018, "59414.5", "475287", 664, 444, "2475.46"),
    (16,): (152, 248, "7020.52", "112320", 96, 53, "585"),
    (32,): (65, 92, "647.749", "19871.6", 27, 7, "103.498"),
    (64, 128): (6, 8, "13.1578", "1055.34", 2, 2, "5.49657"),
    (4, 8, 16, 32, 64, 128): (3034, 4490, "108053", "772361", 1456, 947, "4022.71"),
}
# code: failures, node-days
LANL = {
    2: (7104, "110630"),
    3: (299, "94719.9"),
    8: (475, "235113"),
    16: (2680, "33600"),
    18: (3997, "1.25747e+06"),
    19: (3284, "1.1008e+06"),
    20: (2478, "402969"),
    24: (155, "2571.71"),
}
LANL_RATES = {
    2: "64.2141",
    3: "3.15668",
    8: "2.02031",
    16: "79.7619",
    18: "3.1786",
    19: "2.98329",
    20: "6.14936",
    24: "60.2712",
}
LANL_CAUSES = {
    "hardware": (7249, "2.62527"),
    "software": (1929, "0.6986"),
    "network": (44, "0.0159349"),
    "facilities": (41, "0.0148484"),
    "human_error": (43, "0.0155727"),
    "undetermined": (453, "0.164057"),
    "no_cause": (0, "0"),
}


@pytest.fixture(scope="module")
def philly(shared_data: Path) -> Log:
    return read_philly(shared_data)


def test_philly_rows(philly: Log) -> None:
    assert (philly.rows_read, philly.table.height, philly.quarantine.height) == (4490, 4490, 0)
    assert philly.rows_folded == {}


@pytest.mark.parametrize("buckets", list(PHILLY_TABLE))
def test_philly_by_size(philly: Log, buckets: tuple[int, ...]) -> None:
    jobs, attempts, wall, gpu_hours, interruptions, after_ten, node_days = PHILLY_TABLE[buckets]
    sizes = [2 ** (gpus - 1).bit_length() for gpus in philly.table["n_gpus"]]
    part = philly.table.filter(pl.Series(sizes).is_in(buckets))
    hours = part.select((pl.col("end") - pl.col("start")).dt.total_seconds() / 3600).to_series()
    assert part["job_id"].n_unique() == jobs
    assert part.height == attempts
    assert f"{hours.sum():.6g}" == wall
    every = failure_table(philly, rule="interruption").sel(job_size=list(buckets))
    long = failure_table(philly, rule="interruption", min_runtime="10min").sel(job_size=list(buckets))
    assert int(every["failures"].sum()) == interruptions
    assert int(long["failures"].sum()) == after_ten
    assert f"{float(every['exposure'].sum()):.6g}" == node_days
    assert f"{float(every['exposure'].sum()) * 24 * 8:.6g}" == gpu_hours
    assert float(long["exposure"].sum()) == float(every["exposure"].sum())


def lanl_counts(nodes: Path, by: list[str]) -> pl.DataFrame:
    """Counts by cause from the table of nodes: failures of each cause over the adjusted days of all nodes."""
    table = pl.read_csv(nodes)
    causes = [name for name in LANL_CAUSES if name != "no_cause"]
    table = table.with_columns(no_cause=pl.col("failures") - pl.sum_horizontal(causes))
    exposure = table.group_by(by).agg(pl.col("days_adjusted").sum().alias("exposure_node_days"))
    return (
        table.group_by(by)
        .agg(pl.col(*causes, "no_cause").sum())
        .unpivot(index=by, variable_name="component", value_name="failures")
        .join(exposure, on=by)
        .sort(*by, "component")
    )


@pytest.mark.parametrize("suffix", ["csv", "parquet", "ndjson"])
def test_lanl_counts_by_system_and_cause(shared_data: Path, tmp_path: Path, suffix: str) -> None:
    counts = lanl_counts(shared_data / "lanl_failures" / "nodes_derived.csv", ["System"]).rename({"System": "cluster"})
    path = tmp_path / f"lanl.{suffix}"
    getattr(counts, f"write_{suffix}")(path)
    table = read(path)
    assert table.sizes == {"cluster": 22, "component": 7}
    for code, (failures, node_days) in LANL.items():
        count = int(table["failures"].sel(cluster=str(code)).sum())
        days = float(table["exposure"].sel(cluster=str(code)))
        assert (count, f"{days:.6g}", f"{1000 * count / days:.6g}") == (failures, node_days, LANL_RATES[code])


def test_lanl_causes_of_three_systems(shared_data: Path, tmp_path: Path) -> None:
    counts = lanl_counts(shared_data / "lanl_failures" / "nodes_derived.csv", ["System"]).rename({"System": "cluster"})
    path = tmp_path / "lanl.csv"
    counts.filter(pl.col("cluster").is_in([18, 19, 20])).write_csv(path)
    table = read(path).sum("cluster")
    days = float(table["exposure"])
    assert f"{days:.6g}" == "2.76124e+06"
    for cause, (failures, rate) in LANL_CAUSES.items():
        count = int(table["failures"].sel(component=cause))
        assert (count, f"{1000 * count / days:.6g}") == (failures, rate)


def test_lanl_by_node(shared_data: Path, tmp_path: Path) -> None:
    """The table of one node a row: 1,024 nodes of system 18, 60 of them without a failure."""
    nodes = pl.read_csv(shared_data / "lanl_failures" / "nodes_derived.csv").filter(pl.col("System") == 18)
    path = tmp_path / "nodes.csv"
    nodes.select(
        pl.col("System").alias("cluster"),
        pl.col("nodenumz").alias("node"),
        "failures",
        pl.col("days_adjusted").alias("exposure_node_days"),
    ).write_csv(path)
    table = read(path)
    assert table["failures"].dims == ("cluster", "component", "node")
    values = table["failures"].values.ravel()
    assert (values.sum(), len(values), (values == 0).sum()) == (3997, 1024, 60)
    assert np.isclose(values.var(ddof=1), 24.1989, atol=5e-5)
