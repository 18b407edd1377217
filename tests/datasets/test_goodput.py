"""Goodput of a cluster: figures worked out by hand, and the simulator's losses at first and second hand."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from meantime.datasets import read
from meantime.datasets.goodput import goodput
from meantime.datasets.simulate import Simulation, simulate_cluster, write_cluster
from meantime.errors import InputError

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def at(minute: float) -> dt.datetime:
    return START + dt.timedelta(minutes=minute)


def job(number: str, start: float, end: float, gpus: int, state: str, nodes: list[str], **more: Any) -> dict[str, Any]:
    times = {"submit": at(start), "start": at(start), "end": at(end)}
    return {"job_id": number, "n_gpus": gpus, "state": state, "nodes": nodes, **times, **more}


ROWS = [
    job("big", 0, 600, 64, "NODE_FAIL", ["a", "b"]),  # loses 30 min x 64
    job("low", 0, 610, 8, "PREEMPTED", ["c"]),  # gives way to the restart of big: 30 min x 8
    job("young", 600, 610, 4, "PREEMPTED", ["d"]),  # so does this one: 10 min x 4
    job("other", 0, 610, 8, "PREEMPTED", ["x"]),  # at the same time, on a node that big does not take
    job("late", 0, 700, 8, "PREEMPTED", ["d"]),  # on a node of big, but much later
    job("big", 610, 1200, 64, "COMPLETED", ["c", "d"]),
    job("fresh", 0, 900, 8, "PREEMPTED", ["e"]),  # gives way to a job that starts for the first time
    job("first", 900, 1200, 8, "COMPLETED", ["e"]),
    job("short", 1000, 1012, 16, "NODE_FAIL", ["f", "g"]),  # loses 12 min x 16
]
JOBS = pl.DataFrame(ROWS)
NAMED = JOBS.with_columns(
    preempted_by=pl.col("job_id").replace_strict(
        {"low": "big", "young": "big", "fresh": "first", "other": "stranger"}, default=None
    )
)


@pytest.mark.parametrize(("jobs", "method"), [(JOBS, "nodes and time"), (NAMED, "preempted_by")])
def test_losses_by_hand(jobs: pl.DataFrame, method: str) -> None:
    found = goodput(jobs, total_gpus=128)
    assert json.loads(json.dumps(found, allow_nan=False)) == found
    assert found["first_order"]["failures"] == 2
    assert found["first_order"]["gpu_hours"] == pytest.approx(0.5 * 64 + 0.2 * 16)
    second = found["second_order"]
    assert (second["method"], second["preemptions"]) == (method, 2)
    assert second["gpu_hours"] == pytest.approx(0.5 * 8 + 4 / 6)
    assert second["by_chance"] == {"preemptions": 0, "gpu_hours": 0}
    wasted = 35.2 + 4 + 4 / 6
    assert found["second_order_share"] == pytest.approx((4 + 4 / 6) / wasted)
    busy = sum(row["n_gpus"] * (row["end"] - row["start"]).total_seconds() for row in ROWS) / 3600
    assert found["gpu_hours"] == pytest.approx(busy)
    assert found["capacity_gpu_hours"] == 128 * 20
    assert found["utilisation"] == pytest.approx(busy / 2560)
    assert found["goodput"] == pytest.approx((busy - wasted) / 2560)
    assert goodput(jobs)["goodput"] == pytest.approx((busy - wasted) / busy)


def test_mixes_and_shares() -> None:
    found = goodput(JOBS)
    assert {row["state"]: row["attempts"] for row in found["states"]} == {
        "PREEMPTED": 5,
        "NODE_FAIL": 2,
        "COMPLETED": 2,
    }
    sizes = {row["job_size"]: row["attempts"] for row in found["sizes"]}
    assert sizes == {4: 1, 8: 5, 16: 1, 64: 2}
    for mix in ("states", "sizes"):
        for share in ("share_of_attempts", "share_of_gpu_time"):
            assert sum(row[share] for row in found[mix]) == pytest.approx(1)
    assert found["first_order"]["by_size"] == [
        {"job_size": 16, "jobs": 1, "gpu_hours": pytest.approx(3.2)},
        {"job_size": 64, "jobs": 1, "gpu_hours": 32},
    ]
    assert found["first_order"]["by_component"] == [
        {"component": "unattributed", "failures": 2, "gpu_hours": pytest.approx(35.2)}
    ]


def test_constants_are_arguments() -> None:
    assert goodput(JOBS, lost="10min")["first_order"]["gpu_hours"] == pytest.approx((64 + 16) / 6)
    assert goodput(JOBS, lost="1d")["first_order"]["gpu_hours"] == pytest.approx(10 * 64 + 0.2 * 16)
    earlier = JOBS.with_columns(
        end=pl.when(pl.col("job_id") == "low").then(at(605)).otherwise("end")  # it left five minutes before
    )
    assert goodput(earlier)["second_order"]["preemptions"] == 1
    assert goodput(earlier, tolerance="5min")["second_order"]["preemptions"] == 2


def test_logs_that_cannot_tell() -> None:
    blind = goodput(JOBS.drop("nodes"))["second_order"]
    assert (blind["method"], blind["preemptions"], blind["gpu_hours"]) == (None, 0, 0)
    with pytest.raises(InputError, match="no job ran"):
        goodput(JOBS.with_columns(start=pl.lit(None, dtype=pl.Datetime("us", "UTC")), state=pl.lit("CANCELLED")))
    with pytest.raises(InputError, match="no job with GPUs ran"):
        goodput(JOBS.with_columns(n_gpus=0))


@pytest.fixture(scope="module", params=[71, 72])
def cluster(request: pytest.FixtureRequest) -> Simulation:
    return simulate_cluster(seed=request.param, n_jobs=60_000, n_nodes=2000, noise_high=0.0, user_failure=0.0)


def test_the_true_losses_are_recovered(cluster: Simulation) -> None:
    """Where the log names who took the nodes, and nothing misleads the attribution: exactly."""
    found = goodput(cluster.jobs, cluster.events)
    assert found["first_order"]["gpu_hours"] == pytest.approx(cluster.truth.attrs["first_order_gpu_hours"])
    assert found["second_order"]["gpu_hours"] == pytest.approx(cluster.truth.attrs["second_order_gpu_hours"])
    assert found["second_order"]["method"] == "preempted_by"
    assert found["second_order"]["preemptions"] > 100


def test_second_order_loss_from_nodes_and_times(cluster: Simulation, tmp_path: Path) -> None:
    """From the sacct file, which does not name who took the nodes, among some 10,000 other preemptions: within 2 %."""
    paths = write_cluster(cluster, tmp_path)
    second = goodput(read(paths["sacct"], cluster=cluster.plan.cluster), read(paths["events"]))["second_order"]
    assert second["method"] == "nodes and time"
    assert second["gpu_hours"] == pytest.approx(cluster.truth.attrs["second_order_gpu_hours"], rel=0.02)


def test_what_matches_by_chance_is_taken_off() -> None:
    """Restarts on all nodes, and victims that end all the time: nothing is left of what seems to match."""
    minutes = range(0, 6000, 7)
    victims = [job(f"v{i}", i - 30, i, 8, "PREEMPTED", [f"n{i % 40}"]) for i in minutes]
    every = [f"n{k}" for k in range(40)]
    large: list[dict[str, Any]] = []
    for i in range(500, 5500, 251):
        large += [job(f"L{i}", i - 50, i - 20, 320, "NODE_FAIL", every), job(f"L{i}", i, i + 20, 320, "FAILED", every)]
    second = goodput(pl.DataFrame([*victims, *large]), tolerance="20min")["second_order"]
    assert second["by_chance"]["preemptions"] > 50
    assert second["preemptions"] < 0.1 * second["by_chance"]["preemptions"]
