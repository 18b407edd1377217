"""Philly: the cut list against the published numbers, and typed rows of the whole trace."""

import json
import lzma
from pathlib import Path

import polars as pl
import pytest
from scipy import stats

from meantime.datasets.failure_table import failure_table
from meantime.datasets.log import Log
from meantime.datasets.readers.philly import read_philly

# buckets: jobs, attempts, wall-clock hours, GPU-hours, interruptions, those after 10 minutes, node-days; rate of all
# per 1,000 node-days and its interval
EVERY = """
4 1457 2124 40956.7 163827 667 441 853.264 781.704 723.498 843.346
8 1354 2018 59414.5 475287 664 444 2475.46 268.233 248.217 289.435
16 152 248 7020.52 112320 96 53 585 164.103 132.924 200.397
32 65 92 647.749 19871.6 27 7 103.498 260.875 171.918 379.559
64,128 6 8 13.1578 1055.34 2 2 5.49657 363.863 44.0655 1314.4
4,8,16,32,64,128 3034 4490 108053 772361 1456 947 4022.71 361.945 343.59 381.025
"""
# buckets: interruptions after 10 minutes, node-days, rate per 1,000 node-days and its interval
LONG = """
4 441 853.264 516.839 469.721 567.403
8 444 2475.46 179.361 163.063 196.846
16 53 585 90.5983 67.8644 118.505
32 7 103.498 67.6342 27.1925 139.352
64,128 2 5.49657 363.863 44.0655 1314.4
4,8,16,32,64,128 947 4022.71 235.413 220.657 250.897
"""
# buckets: interruptions after 10 minutes, wall-clock hours, rate per 1,000 hours of the job and its interval
HOURLY = """
4 441 40956.7 10.7675 9.78585 11.8209
8 444 59414.5 7.47292 6.7939 8.20143
16 53 7020.52 7.54929 5.65494 9.87466
32 7 647.749 10.8066 4.34483 22.2658
64,128 2 13.1578 152.001 18.4081 549.081
4,8,16,32,64,128 947 108053 8.76425 8.21487 9.34071
"""


@pytest.fixture(scope="module")
def log(shared_data: Path) -> Log:
    return read_philly(shared_data / "philly_multi_gpu" / "jobs.json.xz")


def part(log: Log, buckets: str) -> tuple[list[int], pl.DataFrame]:
    sizes = [int(size) for size in buckets.split(",")]
    bucket = pl.Series([2 ** (gpus - 1).bit_length() for gpus in log.table["n_gpus"]])
    return sizes, log.table.filter(bucket.is_in(sizes))


def test_rows(log: Log, shared_data: Path) -> None:
    assert (log.rows_read, log.table.height, log.quarantine.height, log.rows_folded) == (4490, 4490, 0, {})
    assert log.table["state"].null_count() == 4490
    flat = pl.read_csv(shared_data / "philly_multi_gpu" / "attempts.csv")
    assert log.table.select("job_id", "n_gpus", "attempt").rows() == flat.select("id", "num_gpus", "attempt").rows()
    assert log.table["end"].dt.to_string("%Y-%m-%d %H:%M:%S").to_list() == flat["end_time"].to_list()


def rate(count: int, exposure: float) -> list[str]:
    """Rate per 1,000 and the exact (Garwood) 95 % interval, to six figures."""
    values = (count, stats.chi2.ppf(0.025, 2 * count) / 2, stats.chi2.ppf(0.975, 2 * count + 2) / 2)
    return [f"{1000 * value / exposure:.6g}" for value in values]


def wall_hours(rows: pl.DataFrame) -> float:
    return rows.select((pl.col("end") - pl.col("start")).dt.total_seconds().sum() / 3600).item()


@pytest.mark.parametrize("line", EVERY.strip().splitlines())
def test_every_interruption(log: Log, line: str) -> None:
    buckets, *wanted = line.split()
    sizes, rows = part(log, buckets)
    every = failure_table(log, rule="interruption").sel(job_size=sizes)
    long = failure_table(log, rule="interruption", min_runtime="10min").sel(job_size=sizes)
    days = float(every["exposure"].sum())
    counts = [int(table["failures"].sum()) for table in (every, long)]
    jobs = [rows["job_id"].n_unique(), rows.height]
    got = [*jobs, f"{wall_hours(rows):.6g}", f"{days * 192:.6g}", *counts, f"{days:.6g}", *rate(counts[0], days)]
    assert [str(value) for value in got] == wanted


@pytest.mark.parametrize("line", LONG.strip().splitlines())
def test_interruptions_after_ten_minutes(log: Log, line: str) -> None:
    buckets, *wanted = line.split()
    table = failure_table(log, rule="interruption", min_runtime="10min").sel(job_size=part(log, buckets)[0])
    count, days = int(table["failures"].sum()), float(table["exposure"].sum())
    assert [str(count), f"{days:.6g}", *rate(count, days)] == wanted


@pytest.mark.parametrize("line", HOURLY.strip().splitlines())
def test_interruptions_per_hour_of_the_job(log: Log, line: str) -> None:
    buckets, *wanted = line.split()
    sizes, rows = part(log, buckets)
    table = failure_table(log, rule="interruption", min_runtime="10min").sel(job_size=sizes)
    count, hours = int(table["failures"].sum()), wall_hours(rows)
    assert [str(count), f"{hours:.6g}", *rate(count, hours)] == wanted


JOBS = [
    {
        "status": "Pass",
        "vc": "ee9e8c",
        "jobid": "application_1506638472019_10258",
        "attempts": [
            {
                "start_time": "2017-10-07 01:23:45",
                "end_time": "2017-10-07 02:23:45",
                "detail": [{"ip": "m13", "gpus": ["gpu0", "gpu1"]}, {"ip": "m14", "gpus": ["gpu0"]}],
            },
            {
                "start_time": "2017-10-07 02:30:00",
                "end_time": "2017-10-08 02:30:00",
                "detail": [{"ip": "m15", "gpus": ["gpu0", "gpu1", "gpu2"]}],
            },
        ],
        "submitted_time": "2017-10-07 01:20:00",
        "user": "ce2d5c",
    },
    {
        "status": "Killed",
        "vc": "v",
        "jobid": "a2",
        "attempts": [{"start_time": "2017-10-07 01:23:45", "end_time": None, "detail": []}],
        "submitted_time": "2017-10-07 01:20:00",
        "user": "u",
    },
    {
        "status": "Killed",
        "vc": "v",
        "jobid": "a3",
        "attempts": [],
        "submitted_time": "2017-10-07 01:20:00",
        "user": "u",
    },
    {"status": "Pass", "vc": "v", "jobid": "a4", "attempts": [], "submitted_time": "2017-10-07 01:20:00", "user": "u"},
    {
        "status": "Failed",
        "vc": "v",
        "jobid": "a5",
        "attempts": [{"start_time": "None", "end_time": "None", "detail": [{"ip": "m1", "gpus": ["gpu0"]}]}],
        "submitted_time": "None",
        "user": "u",
    },
    {"status": "Lost", "vc": "v", "jobid": "a6", "attempts": [], "submitted_time": "2017-10-07 01:20:00", "user": "u"},
]


def test_whole_trace(tmp_path: Path) -> None:
    path = tmp_path / "cluster_job_log.xz"
    path.write_bytes(lzma.compress(json.dumps(JOBS, indent=2).encode()))
    log = read_philly(path)
    assert log.table.select("job_id", "attempt", "state", "n_nodes", "n_gpus").rows() == [
        ("application_1506638472019_10258", 1, "REQUEUED", 2, 3),
        ("application_1506638472019_10258", 2, "COMPLETED", 1, 3),
        ("a2", 1, "RUNNING", None, None),
        ("a3", 1, "CANCELLED", None, None),
        ("a5", 1, "FAILED", 1, 1),
    ]
    assert log.table["nodes"][0].to_list() == ["m13", "m14"]
    assert log.quarantine["line"].to_list() == [4, 6]
    assert log.quarantine["reason"].to_list() == ["state COMPLETED without a start", "state 'Lost' is unknown"]
    assert '"jobid": "a4"' in log.quarantine["text"][0]
    assert log.rows_read == 7
    table = failure_table(log, rule="interruption", gpus_per_node=2)
    assert int(table["failures"].sum()) == 1


def test_clock_change_is_counted_in_the_zone(tmp_path: Path) -> None:
    job = {"id": "a", "num_gpus": 8, "runtime": 1, "submitted_time": "2017-11-05 00:00:00"}
    attempts = [{"start_time": "2017-11-05 00:30:00", "end_time": "2017-11-05 03:30:00"}]
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps([{**job, "attempts": attempts}]))
    hours = [
        read_philly(path, timezone=zone).table.select((pl.col("end") - pl.col("start")).dt.total_hours()).item()
        for zone in ("UTC", "America/Los_Angeles")
    ]
    assert hours == [3, 4]
