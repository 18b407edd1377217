"""Lazy frames: the same failure table as from a log in memory, with every row accounted for."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from meantime.datasets.failure_table import failure_table
from meantime.datasets.large import is_large, scan_parquet
from meantime.datasets.simulate import Simulation, simulate_cluster
from meantime.errors import InputError

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
OPTIONS: list[dict[str, Any]] = [
    {},
    {"period": "1d"},
    {"period": "1h", "min_gpus": 64},
    {"rule": "interruption", "period": "1d"},
    {"by_node": True},
    {"by_node": True, "period": "1d"},
    {"exposure": "calendar"},
    {"log_start": "2024-01-02", "log_end": "2024-01-05T12:00:00", "min_runtime": "10min"},
    {"before": "30min", "severity": "low", "gpus_per_node": 4},
]


@pytest.fixture(scope="module")
def cluster() -> Simulation:
    return simulate_cluster(seed=8, n_jobs=4000, n_nodes=200)


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_same_table_from_parquet_files(cluster: Simulation, tmp_path: Path, options: dict[str, Any]) -> None:
    """In two files, whose rows are in another order: sums are of whole microseconds, so they are the same exactly."""
    shuffled = cluster.jobs.sample(fraction=1, shuffle=True, seed=1)
    shuffled[:1500].write_parquet(tmp_path / "jobs-1.parquet")
    shuffled[1500:].write_parquet(tmp_path / "jobs-2.parquet")
    cluster.events.write_parquet(tmp_path / "events.parquet")
    jobs, events = pl.scan_parquet(tmp_path / "jobs-*.parquet"), pl.scan_parquet(tmp_path / "events.parquet")
    found = failure_table(jobs, events, **options)
    assert found.equals(failure_table(cluster.jobs, cluster.events, **options))
    account = json.loads(found.attrs["provenance"])
    kinds = ("quarantined", "never_ran", "outside_the_log", "gpus_not_known", "without_gpus", "below_min_gpus")
    assert account["rows_read"] == cluster.jobs.height
    assert account["rows_used"] + sum(account[name] for name in kinds) == account["rows_read"]


def rows(*changes: dict[str, Any]) -> pl.LazyFrame:
    base = {
        "job_id": "1",
        "attempt": 1,
        "start": START,
        "end": START + dt.timedelta(days=1),
        "n_gpus": 8,
        "state": "COMPLETED",
    }
    schema = {"job_id": pl.String, "attempt": pl.Int64, "n_gpus": pl.Int64, "state": pl.String}
    frame = pl.DataFrame([{**base, **change} for change in ({}, *changes)], schema_overrides=schema)
    return frame.with_columns(pl.col("start", "end").cast(pl.Datetime("us", "UTC"))).lazy()


def test_rows_that_cannot_be_right_are_set_aside_by_reason() -> None:
    jobs = rows(
        {"end": START - dt.timedelta(hours=1)},
        {"end": None},
        {"end": None, "state": "RUNNING"},
        {"start": None, "end": None, "state": "PENDING"},
        {"end": None, "state": "PENDING"},
        {"n_gpus": -8},
        {"n_gpus": 10**9},
        {"n_gpus": None},
        {"n_gpus": 0},
        {"start": START.replace(year=1970)},
    )
    table = failure_table(jobs)
    account = json.loads(table.attrs["provenance"])
    assert account["quarantine_reasons"] == {
        "end lies before start": 1,
        "n_gpus is impossible": 2,
        "a time lies outside the years 1980 to 2200": 1,
        "a state that has ended without an end": 1,
    }
    told = {name: account[name] for name in ("rows_read", "rows_used", "quarantined", "never_ran", "still_running")}
    assert told == {"rows_read": 11, "rows_used": 2, "quarantined": 5, "never_ran": 2, "still_running": 1}
    assert float(table["exposure"].sum()) == 2.0  # one day each: the one that is running ends with the log


def test_times_without_a_zone_are_utc_and_others_are_instants() -> None:
    jobs = rows({"job_id": "2", "state": "NODE_FAIL"})
    naive = jobs.with_columns(pl.col("start", "end").dt.replace_time_zone(None))
    tokyo = jobs.with_columns(pl.col("start", "end").dt.convert_time_zone("Asia/Tokyo"))
    millis = jobs.with_columns(pl.col("start", "end").dt.cast_time_unit("ms"))
    table = failure_table(jobs, period="6h")
    assert all(failure_table(other, period="6h").equals(table) for other in (naive, tokyo, millis))


@pytest.mark.parametrize(
    ("jobs", "options", "said"),
    [
        (rows().with_columns(start=pl.lit("2024-01-01")), {}, "jobs: column start is of type String"),
        (rows().with_columns(n_gpus=pl.lit(8.5)), {}, "jobs: column n_gpus is of type Float64"),
        (rows().with_columns(nodes=pl.lit("n1")), {}, "jobs: column nodes is of type String"),
        (rows({"state": "Pass"}), {}, "state 'Pass' is unknown"),
        (rows().drop("state"), {}, "no job states"),
        (rows().drop("attempt"), {"rule": "interruption"}, "needs the column attempt"),
        (rows().drop("n_gpus"), {}, "add AllocTRES"),
        (rows().drop("end"), {}, "the jobs table lacks end"),
        (rows(), {"min_gpus": 9}, "no job that ran has 9 GPUs or more"),
        (rows().filter(pl.lit(False)), {}, "no job states"),
        (rows({"start": None, "end": None}).filter(pl.col("start").is_null()), {}, "the log has no times"),
        (rows(), {"by_node": True}, "no node lists"),
        (rows(), {"exposure": "calendar"}, "no node lists"),
        (rows(), {"exposure": "idle"}, "expected one of busy, calendar"),
        (rows(), {"by_node": True, "rule": "interruption"}, "an interruption has no place"),
        (rows(), {"inventory": pl.DataFrame()}, "exposure='calendar' with it"),
        (rows(), {"log_start": "yesterday"}, "log_start is 'yesterday'"),
    ],
)
def test_frames_that_cannot_be_used(jobs: pl.LazyFrame, options: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        failure_table(jobs, **options)


def test_events_of_a_lazy_frame_that_lack_something_explain_nothing() -> None:
    jobs = rows({"job_id": "2", "state": "FAILED"}).with_columns(nodes=pl.lit(["a"]))
    end = START + dt.timedelta(days=1)
    given = {"time": [end, end, None], "node": ["a", None, "a"], "component": [None, "pcie", "pcie"]}
    events = pl.LazyFrame(given, schema_overrides={"time": pl.Datetime("us", "UTC")}).with_columns(
        severity=pl.lit("high")
    )
    table = failure_table(jobs, events)
    account = json.loads(table.attrs["provenance"])
    assert (int(table["failures"].sum()), account["events"], account["events_quarantined"]) == (0, 0, 3)
    with pytest.raises(InputError, match="severity 'critical' is unknown"):
        failure_table(jobs, events.with_columns(severity=pl.lit("critical")))


def test_events_of_a_lazy_frame_need_their_columns() -> None:
    events = pl.LazyFrame({"time": [START], "node": ["a"], "component": ["pcie"]})
    with pytest.raises(InputError, match="the events table lacks severity"):
        failure_table(rows(), events)
    with pytest.raises(InputError, match="the jobs have no node lists"):
        failure_table(rows(), events.with_columns(severity=pl.lit("high")))


def test_what_is_large_is_a_matter_of_rows_and_columns(cluster: Simulation, tmp_path: Path) -> None:
    cluster.jobs.write_parquet(tmp_path / "jobs.parquet")
    cluster.jobs.with_columns(pl.col("start").cast(pl.String)).write_parquet(tmp_path / "text.parquet")
    (tmp_path / "cut.parquet").write_bytes((tmp_path / "jobs.parquet").read_bytes()[:5000])
    twice = [tmp_path / "jobs.parquet"] * 2
    assert is_large(twice, rows=2 * cluster.jobs.height)
    assert not is_large(twice, rows=2 * cluster.jobs.height + 1)
    assert not is_large([tmp_path / "text.parquet"], rows=1)
    assert not is_large([tmp_path / "cut.parquet"], rows=1)
    with pytest.raises(InputError, match="column start is of type String; expected timestamps"):
        scan_parquet(tmp_path / "text.parquet")
    with pytest.raises(InputError, match=r"cut.parquet: is a damaged Parquet file"):
        scan_parquet(tmp_path / "cut.parquet")
