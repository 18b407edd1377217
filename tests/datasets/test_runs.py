"""Runs and their ledgers, against figures worked out by hand and, at random, against a count of every minute."""

import datetime as dt
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.datasets.ledger import PARTS, attempt_ledger, check_sum, measure_runs
from meantime.datasets.runs import stitch_runs
from meantime.datasets.simulate import simulate_cluster
from meantime.errors import InputError

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
MINUTE = dt.timedelta(minutes=1)


def at(minute: float | None) -> dt.datetime | None:
    return None if minute is None else START + minute * MINUTE


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    """Jobs of 64 GPUs; times in minutes, submission at the start where it is not said."""
    full = [
        {
            "job_id": str(i),
            "n_gpus": 64,
            "state": "COMPLETED",
            **row,
            "submit": at(row.get("submit", row["start"])),
            "start": at(row["start"]),
            "end": at(row["end"]),
        }
        for i, row in enumerate(rows)
    ]
    return pl.DataFrame(full, infer_schema_length=None)


def named(*rows: dict[str, Any]) -> pl.DataFrame:
    return frame(*({"user": "ann", "name": "llm", **row} for row in rows))


def runs_of(jobs: pl.DataFrame, **options: Any) -> list[list[str]]:
    grouped = stitch_runs(jobs, **options).group_by("cluster", "run", maintain_order=True).agg("job_id")
    return sorted(grouped["job_id"].to_list())


FAILED = {"start": 0, "end": 60, "state": "FAILED"}


@pytest.mark.parametrize(
    ("second", "together"),
    [
        ({"start": 100, "end": 200}, True),
        ({"submit": 119, "start": 500, "end": 600}, True),  # it is the submission that must come soon
        ({"submit": 10, "start": 61, "end": 200}, True),  # submitted ahead, as a chain
        ({"submit": 121, "start": 121, "end": 200}, False),
        ({"start": 59, "end": 200}, False),  # both ran at once
        ({"start": 100, "end": 200, "name": "eval"}, False),
        ({"start": 100, "end": 200, "user": "bob"}, False),
        ({"start": 100, "end": 200, "n_gpus": 128}, False),
        ({"start": 100, "end": 200, "cluster": "other"}, False),
        ({"start": 100, "end": 200, "name": None}, False),
        ({"submit": 100, "start": None, "end": None, "state": "PENDING"}, False),
    ],
)
def test_resubmissions(second: dict[str, Any], together: bool) -> None:
    jobs = named({"cluster": "c", **FAILED}, {"cluster": "c", **second})
    assert runs_of(jobs) == ([["0", "1"]] if together else [["0"], ["1"]])


def test_what_ends_a_run() -> None:
    after = {"start": 61, "end": 90}
    for state in ("FAILED", "NODE_FAIL", "TIMEOUT", "PREEMPTED", "CANCELLED", "OUT_OF_MEMORY"):
        assert runs_of(named({**FAILED, "state": state}, after)) == [["0", "1"]]
    done = named({**FAILED, "state": "COMPLETED"}, after)
    assert runs_of(done) == [["0"], ["1"]]
    assert runs_of(done, over=()) == [["0", "1"]]
    assert runs_of(named(FAILED, {"start": 200, "end": 300}), gap="3h") == [["0", "1"]]
    tasks = named({**FAILED, "job_id": "7_1"}, {**after, "job_id": "7_2"})
    assert runs_of(tasks) == [["7_1"], ["7_2"]]


def test_requeues_and_run_ids() -> None:
    requeued = frame({"job_id": "5", **FAILED}, {"job_id": "5", "start": 5000, "end": 6000})
    assert runs_of(requeued) == [["5", "5"]]
    by_id = frame({"run_id": "x", **FAILED}, {"run_id": "x", "start": 9000, "end": 9999}, {"run_id": None, **FAILED})
    assert runs_of(by_id) == [["0", "1"], ["2"]]
    assert set(stitch_runs(by_id)["run"]) == {"x", "2"}


def test_a_chain_of_many() -> None:
    jobs = named(*({**FAILED, "start": 100 * i, "end": 100 * i + 60} for i in range(50)))
    assert runs_of(jobs.sample(fraction=1, shuffle=True, seed=1)) == [list(map(str, range(50)))]


def in_minutes(row: dict[str, Any]) -> dict[str, float]:
    return {name: row[name] / MINUTE for name in PARTS}


def test_ledger_of_a_run() -> None:
    """Restart 5, work 60 and write 2 in turns.

    First: 10 in the queue, 5 + 60 + 2 + 30 (lost). It comes back at once and waits 20, then runs 5 + 60 + 2 + 60 + 1
    and is cut off while writing. The user resubmits it 15 later; it starts after 5, and completes in 5 + 60 + 2 + 40.
    """
    jobs = named(
        {"job_id": "1", "submit": 0, "start": 10, "end": 107, "state": "NODE_FAIL"},
        {"job_id": "1", "submit": 107, "start": 127, "end": 255, "state": "PREEMPTED"},
        {"job_id": "2", "submit": 270, "start": 275, "end": 382},
    )
    row = measure_runs(jobs, restart="5min", checkpoint_interval="1h", checkpoint_write="2min").row(0, named=True)
    assert in_minutes(row) == {
        "productive": 220,
        "lost": 91,
        "restart": 15,
        "checkpoint": 6,
        "queue": 35,
        "unknown": 15,
    }
    assert row["wallclock"] == 382 * MINUTE
    assert row["scheduled"] == 332 * MINUTE
    assert row["ettr"] == pytest.approx(220 / 367)
    assert row["median_queue"] == 10 * MINUTE
    counts = ("jobs", "attempts", "restarts", "infrastructure", "preempted", "other")
    assert [row[name] for name in counts] == [2, 3, 2, 1, 1, 0]
    assert (row["run"], row["name"], row["running"], row["state"]) == ("1", "llm", False, "COMPLETED")


def test_attempts_too_short_overlapping_waiting_and_running() -> None:
    jobs = frame(
        {"job_id": "1", "start": 0, "end": 3, "state": "FAILED"},  # it never got beyond its restart
        {"job_id": "1", "start": 2, "end": 33, "state": "FAILED"},  # overlaps the first by a minute
        {"job_id": "1", "submit": 40, "start": None, "end": None, "state": "PENDING"},
        {"job_id": "2", "start": 10, "end": None, "state": "RUNNING"},
        {"job_id": "3", "submit": 0, "start": None, "end": 30, "state": "CANCELLED"},
        {"job_id": "4", "start": 99, "end": 100},
    )
    runs = {row["run"]: row for row in measure_runs(jobs).iter_rows(named=True)}
    first = in_minutes(runs["1"])
    assert first == {"productive": 0, "lost": 25, "restart": 8, "checkpoint": 0, "queue": 60, "unknown": 7}
    assert in_minutes(runs["2"]) == {
        "productive": 85,
        "lost": 0,
        "restart": 5,
        "checkpoint": 0,
        "queue": 0,
        "unknown": 0,
    }
    assert (runs["2"]["running"], runs["2"]["end"]) == (True, at(100))
    assert (in_minutes(runs["3"])["queue"], runs["3"]["ettr"], runs["3"]["attempts"]) == (30, None, 0)
    assert runs["1"]["ettr"] == 0


def test_interruptions_take_their_cause_from_events() -> None:
    jobs = frame({"job_id": "1", "nodes": ["a"], **FAILED}, {"job_id": "1", "nodes": ["a"], "start": 60, "end": 90})
    events = pl.DataFrame(
        {"time": [at(59)], "node": ["a"], "component": ["pcie"], "severity": ["high"], "source": ["x"]}
    )
    counts = ("infrastructure", "other")
    assert measure_runs(jobs, events).select(counts).row(0) == (1, 0)
    assert measure_runs(jobs).select(counts).row(0) == (0, 1)


def test_states_that_are_not_known() -> None:
    """Of a log without states the last attempt of a run keeps its work, the others lose what was not saved."""
    jobs = frame({"job_id": "1", "start": 0, "end": 95}, {"job_id": "1", "start": 95, "end": 195}).drop("state")
    row = measure_runs(jobs).row(0, named=True)
    assert in_minutes(row) == {"productive": 155, "lost": 30, "restart": 10, "checkpoint": 0, "queue": 0, "unknown": 0}


def test_measured_runs_of_a_simulated_cluster_recover_its_plan() -> None:
    """Restarts of 5 min and hourly checkpoints, as simulated: the work of completed jobs is what they were to do."""
    cluster = simulate_cluster(seed=12, n_jobs=5000, n_nodes=200, lemon_share=0.0)
    runs = measure_runs(cluster.jobs, cluster.events)
    assert int(runs["infrastructure"].sum()) >= cluster.failures.height
    assert int(runs["attempts"].sum()) == cluster.jobs["start"].count()
    assert runs.height == cluster.jobs["job_id"].n_unique()
    seconds = (cluster.jobs["end"].fill_null(cluster.log_end) - cluster.jobs["start"]).dt.total_seconds().sum()
    assert runs["scheduled"].dt.total_seconds().sum() == seconds
    again = runs.filter((pl.col("restarts") > 0) & (pl.col("state") == "COMPLETED"))
    # After its first attempt the simulator starts at once: there 5 min of a first restart are work.
    assert again.height > 100
    ran = again["scheduled"] - again["lost"] - again["restart"]
    assert (ran == again["productive"]).all()


def test_ledgers_that_do_not_add_up_are_an_error() -> None:
    attempts = stitch_runs(frame(FAILED))
    with pytest.raises(InputError, match="checkpoint_interval is '0s'"):
        attempt_ledger(attempts, checkpoint_interval="0s")
    wrong = pl.DataFrame({name: [1] for name in PARTS} | {"whole": [7]})
    with pytest.raises(AssertionError, match="1 ledgers do not add up"):
        check_sum(wrong, "whole")
    with pytest.raises(AssertionError, match="do not add up"):
        check_sum(wrong.with_columns(productive=-1, whole=4), "whole")


moment = st.integers(0, 600)
random_jobs = st.lists(
    st.fixed_dictionaries(
        {
            "job_id": st.sampled_from("abc"),
            "submit": moment,
            "start": moment | st.none(),
            "run": st.integers(0, 400),
            "state": st.sampled_from(["COMPLETED", "FAILED", "NODE_FAIL", "PREEMPTED", "CANCELLED", "RUNNING"]),
        }
    ),
    min_size=1,
    max_size=12,
)


@settings(deadline=None, max_examples=100)
@given(random_jobs, st.integers(0, 50), st.integers(1, 90), st.integers(0, 20))
def test_any_log_adds_up(rows: list[dict[str, Any]], restart: int, interval: int, write: int) -> None:
    """The parts are the wallclock to the microsecond; the time in attempts is that which some attempt covers."""
    jobs = [
        {
            **row,
            "attempt": i,
            "end": None if row["state"] == "RUNNING" else (row["start"] or row["submit"]) + row["run"],
        }
        for i, row in enumerate(rows, 1)
        if row["start"] is not None or row["state"] in ("FAILED", "CANCELLED")
    ]
    if not jobs:
        return
    plan = {"restart": restart, "checkpoint_interval": interval, "checkpoint_write": write}
    runs = measure_runs(
        frame(*(dict(job, user=None, name=None) for job in jobs)),
        **{name: f"{value}min" for name, value in plan.items()},  # type: ignore[arg-type]
    )
    last = max(max(job["submit"], job["start"] or 0, job["end"] or 0) for job in jobs)
    for row in runs.iter_rows(named=True):
        parts = [row[name] for name in PARTS]
        assert min(parts) >= dt.timedelta()
        assert sum(parts, dt.timedelta()) == row["wallclock"] == row["end"] - row["submit"]
        covered = set()
        for job in jobs:
            if job["job_id"] == row["run"] and job["start"] is not None:
                covered |= set(range(job["start"], last if job["end"] is None else job["end"]))
        busy = row["productive"] + row["lost"] + row["restart"] + row["checkpoint"]
        assert busy <= len(covered) * MINUTE + dt.timedelta()
