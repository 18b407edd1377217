"""PySpark data frames give the failure table of the embedded engine, exactly, and are not collected."""

import json
import os
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import narwhals as nw
import polars as pl
import pytest

from meantime.datasets.failure_table import failure_table
from meantime.datasets.sensitivity import sensitivity
from meantime.datasets.simulate import simulate_cluster
from meantime.errors import InputError

pytestmark = pytest.mark.slow
OPTIONS: list[dict[str, Any]] = [
    {"period": "1d", "log_start": "2024-01-02", "log_end": "2024-01-05T12:00:00"},
    {"rule": "interruption"},
    {"by_node": True},
    {"exposure": "calendar"},
]


def _missing(what: str) -> None:
    if os.environ.get("MEANTIME_REQUIRE_SPARK") == "1":
        pytest.fail(f"MEANTIME_REQUIRE_SPARK=1 but {what} is missing")
    pytest.skip(f"{what} is absent")


@pytest.fixture(scope="module")
def spark() -> Iterator[Any]:
    """Start a local Spark whose session is not in UTC."""
    if shutil.which("java") is None and "JAVA_HOME" not in os.environ:
        _missing("Java")
    try:
        from pyspark.sql import SparkSession
    except ModuleNotFoundError:
        _missing("pyspark")
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    options = {
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "America/Los_Angeles",
        "spark.sql.shuffle.partitions": "2",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
    }
    builder = SparkSession.builder.master("local[2]")
    for name, value in options.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.sparkContext.setLogLevel("ERROR")
    yield session
    session.stop()


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Files of a simulated log with one row that cannot be right."""
    folder = tmp_path_factory.mktemp("spark")
    cluster = simulate_cluster(seed=3, n_jobs=3000, n_nodes=200, days=15, noise_high=0.05)
    early = pl.col("start") - pl.duration(hours=1)
    jobs = cluster.jobs.with_columns(pl.when(pl.col("job_id") == "1000002").then(early).otherwise("end").alias("end"))
    paths = {name: folder / f"{name}.parquet" for name in ("jobs", "events")}
    jobs.write_parquet(paths["jobs"])
    cluster.events.write_parquet(paths["events"])
    return paths


def test_same_table_and_account(spark: Any, files: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> None:
    collected: list[int] = []
    collect = nw.LazyFrame.collect

    def counted(self: Any, *args: Any, **kwargs: Any) -> Any:
        frame = collect(self, *args, **kwargs)
        collected.append(frame.shape[0])
        return frame

    monkeypatch.setattr(nw.LazyFrame, "collect", counted)
    jobs, events = (spark.read.parquet(str(files[name])) for name in ("jobs", "events"))
    found = failure_table(jobs, events)
    assert max(collected) < 500  # of 3,500 jobs and more: groups by size, and the failures
    wanted = failure_table(pl.scan_parquet(files["jobs"]), pl.scan_parquet(files["events"]))
    assert int(found["failures"].sum()) > 10
    assert found.equals(wanted)
    accounts = [json.loads(table.attrs["provenance"]) for table in (found, wanted)]
    assert {name for name in accounts[0] if accounts[0][name] != accounts[1][name]} == {"format"}
    assert accounts[0]["quarantine_reasons"] == {"end lies before start": 1}


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_same_table_whatever_is_asked(spark: Any, files: dict[str, Path], options: dict[str, Any]) -> None:
    jobs, events = (spark.read.parquet(str(files[name])) for name in ("jobs", "events"))
    wanted = failure_table(pl.scan_parquet(files["jobs"]), pl.scan_parquet(files["events"]), **options)
    assert failure_table(jobs, events, **options).equals(wanted)


def test_times_without_a_zone_are_utc(spark: Any, files: dict[str, Path]) -> None:
    """Naive timestamps are UTC, also where the session's zone is another."""
    naive = pl.scan_parquet(files["jobs"]).with_columns(pl.col("submit", "start", "end").dt.replace_time_zone(None))
    path = files["jobs"].with_name("naive.parquet")
    naive.sink_parquet(path)
    jobs = spark.read.parquet(str(path))
    assert dict(jobs.dtypes)["start"] == "timestamp_ntz"
    assert failure_table(jobs, period="1d").equals(failure_table(naive, period="1d"))


def test_sensitivity_too(spark: Any, files: dict[str, Path]) -> None:
    frames = [(spark.read.parquet(str(files[name])), pl.scan_parquet(files[name])) for name in ("jobs", "events")]
    found, wanted = (sensitivity(*pair, before=["10min", "30min"]) for pair in zip(*frames, strict=True))
    assert found.equals(wanted)


def test_wrong_columns_are_named(spark: Any, files: dict[str, Path]) -> None:
    jobs = spark.read.parquet(str(files["jobs"]))
    with pytest.raises(InputError, match="the jobs table lacks start"):
        failure_table(jobs.drop("start"))
    with pytest.raises(InputError, match="column start is of type String"):
        failure_table(jobs.withColumn("start", jobs["start"].cast("string")))
