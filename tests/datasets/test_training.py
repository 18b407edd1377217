"""Training logs: the three forms, samples for a plan, and ledgers against published and hand-made sums."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.datasets.ledger import PARTS
from meantime.datasets.training import TrainingLog, read_training, training_samples
from meantime.datasets.training_events import EVENTS
from meantime.datasets.training_ledger import training_ledger
from meantime.errors import InputError

NOON = dt.datetime(2025, 3, 1, 12, tzinfo=dt.UTC)


def write(path: Path, rows: list[Any]) -> Path:
    path.write_text("".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows))
    return path


def own(minute: float, event: str, **fields: Any) -> dict[str, Any]:
    return {"time": (NOON + dt.timedelta(minutes=minute)).isoformat(), "run": "r", "event": event, **fields}


def minutes(log: TrainingLog) -> dict[str, float]:
    row = training_ledger(log).row(0, named=True)
    return {name: row[name].total_seconds() / 60 for name in (*PARTS, "wallclock") if row[name]}


PUBLISHED = [
    own(0, "run_start"),
    own(5, "restart_end", step=25),
    own(55, "step", step=50),
    own(55, "checkpoint_start", step=50),
    own(60, "checkpoint_end", step=50),
    own(100, "step", step=70),
    own(100, "failure_detected", failed_at=(NOON + dt.timedelta(minutes=100)).isoformat()),
    own(115, "restart_start"),
    own(120, "restart_end", step=50),
    own(195, "step", step=75),
    own(195, "checkpoint_start", step=75),
    own(200, "checkpoint_end", step=75),
    own(200, "run_end"),
]
"""The example of Google Cloud's resiliency library: of 200 minutes 125 go to steps that are kept (100, and 25 of a
slow node), 40 are lost, 15 pass until the restart, loading and saving take 10 each."""


def test_published_example(tmp_path: Path) -> None:
    log = read_training(write(tmp_path / "log.jsonl", PUBLISHED))
    found = minutes(log)
    assert found == {"productive": 125, "lost": 40, "restart": 10, "checkpoint": 10, "queue": 15, "wallclock": 200}
    ledger = training_ledger(log).row(0, named=True)
    assert (ledger["attempts"], ledger["failures"], ledger["checkpoints"], ledger["last_step"]) == (2, 1, 2, 75)
    assert ledger["ettr"] == pytest.approx(125 / 200)


def test_samples_of_the_published_example(tmp_path: Path) -> None:
    samples = training_samples(read_training(write(tmp_path / "log.jsonl", PUBLISHED)))
    told = {name: (getattr(samples, name) / np.timedelta64(1, "m")).tolist() for name in samples.__slots__}
    assert told == {
        "start": [5],
        "restart": [5],
        "checkpoint_write": [5, 5],
        "checkpoint_interval": [],
        "detection": [0],
        "queue": [15],
        "step": [],
    }
    assert samples.restart.dtype == np.dtype("timedelta64[us]")
    assert set(samples.plan_fields()) == {"restart", "checkpoint_write", "detection", "queue"}


def test_a_plan_takes_the_samples(tmp_path: Path) -> None:
    from meantime.forecast import Plan

    samples = training_samples(read_training(write(tmp_path / "log.jsonl", PUBLISHED)))
    plan = Plan(**samples.plan_fields(), productive="30d")  # type: ignore[arg-type]
    drawn = plan.checkpoint_write.draw(3, np.random.default_rng(0))  # type: ignore[union-attr]
    np.testing.assert_allclose(drawn, 5 / 60)


def test_time_until_a_failure_is_noticed_is_lost(tmp_path: Path) -> None:
    rows = [
        own(0, "run_start"),
        own(1, "restart_end", step=0),
        own(11, "step", step=1),
        own(11, "checkpoint_start", step=1),
        own(12, "checkpoint_end", step=1),
        own(22, "step", step=2),
        own(52, "failure_detected"),
        own(60, "run_end", status="failed"),
    ]
    log = read_training(write(tmp_path / "log.jsonl", rows))
    assert minutes(log) == {"restart": 1, "productive": 10, "checkpoint": 1, "lost": 40, "queue": 8, "wallclock": 60}
    assert (training_samples(log).detection / np.timedelta64(1, "m")).tolist() == [30]


def test_a_run_may_go_back_beyond_its_last_checkpoint(tmp_path: Path) -> None:
    """It saved at steps 1 and 2, but the second could not be loaded: step 2 is done again."""
    rows = [own(0, "run_start"), own(0, "restart_end", step=0)]
    for step in (1, 2):
        rows += [own(10 * step, "step", step=step), own(10 * step, "checkpoint_end", step=step)]
    rows += [own(20, "restart_start"), own(25, "restart_end", step=1), own(35, "step", step=2), own(35, "run_end")]
    log = read_training(write(tmp_path / "log.jsonl", rows))
    assert minutes(log) == {"productive": 20, "lost": 10, "restart": 5, "wallclock": 35}


def test_entries_of_ml_goodput_measurement(tmp_path: Path) -> None:
    """Steps of 10 s. Steps 0 to 4 are begun, 4 is cut off; the second attempt begins at step 3 again."""
    base = NOON.timestamp()
    entry = {"job_name": "tpu"}
    rows: list[Any] = [
        {**entry, "job_start_time": base},
        {**entry, "tpu_init_start_time": base + 1},
        {**entry, "tpu_init_end_time": base + 20},
        {**entry, "training_prep_start_time": base + 20},
        *({**entry, "step_start_time": base + 30 + 10 * step, "step_count": step} for step in range(5)),
        {**entry, "job_start_time": base + 100},
        {**entry, "data_loading_start_time": base + 101},
        *({**entry, "step_start_time": base + 120 + 10 * (step - 3), "step_count": step} for step in range(3, 7)),
        {**entry, "custom_badput_event_type": "checkpoint_save", "custom_badput_event_start_time": base + 155},
        {**entry, "custom_badput_event_type": "checkpoint_save", "custom_badput_event_end_time": base + 157},
        {**entry, "custom_badput_event_type": "eval", "custom_badput_event_start_time": base + 158},
        {**entry, "job_end_time": base + 160},
    ]
    rows[3] = {"jsonPayload": rows[3], "timestamp": "2025-03-01T12:00:20Z"}  # as exported from Cloud Logging
    log = read_training(write(tmp_path / "log.jsonl", rows))
    assert (log.format, log.rows_folded) == ("ml-goodput-measurement", {"phases": 5})
    row = training_ledger(log).row(0, named=True)
    seconds = {name: row[name].total_seconds() for name in PARTS}
    # Kept: steps 0 to 2 (30 s), 3 to 5 (30 s), 5 + 3 s of step 6. Lost: step 3, and 30 s from step 4's start.
    assert seconds == {"productive": 68, "lost": 40, "restart": 50, "checkpoint": 2, "queue": 0, "unknown": 0}
    samples = training_samples(log)
    assert (samples.restart / np.timedelta64(1, "s")).tolist() == [20]
    assert (samples.start / np.timedelta64(1, "s")).tolist() == [30]
    assert set((samples.step / np.timedelta64(1, "s")).tolist()) == {10}


def test_events_of_the_resiliency_library(tmp_path: Path) -> None:
    """Rows of the published form: two attempts; the log names both nodes' starts, of which one counts."""

    def row(second: int, kind: str, **fields: Any) -> dict[str, Any]:
        return {"timestamp": f"2025-09-27T04:51:{second:02d}.500000", "job_name": "n1", "event_type": kind, **fields}

    rows = [
        row(0, "user_scheduled"),
        row(0, "job_started", node_rank=0),
        row(1, "job_started", node_rank=1),
        row(10, "checkpoint_loaded", step=0),
        row(20, "checkpoint_saved", step=500),
        row(25, "job_terminated", node_rank=0),
        row(40, "job_started", node_rank=0),
        row(46, "checkpoint_loaded", step=500),
        row(56, "checkpoint_saved", step=1000),
        row(58, "job_terminated", node_rank=0),
    ]
    log = read_training(write(tmp_path / "log.jsonl", rows))
    assert log.rows_folded == {"phases": 1, "other ranks": 1}
    assert log.table["event"].to_list() == [
        "run_start",
        "restart_end",
        "checkpoint_end",
        "failure_detected",
        "restart_start",
        "restart_end",
        "checkpoint_end",
        "run_end",
    ]
    row_ = training_ledger(log).row(0, named=True)
    assert {name: row_[name].total_seconds() for name in PARTS} == {
        "productive": 22,
        "lost": 5,
        "restart": 16,
        "checkpoint": 0,
        "queue": 15,
        "unknown": 0,
    }


def test_rows_that_are_no_events_are_set_aside(tmp_path: Path) -> None:
    rows: list[Any] = [
        own(0, "run_start"),
        '{"time": 1',
        "[1, 2",
        own(1, "party"),
        {"time": "noon", "run": "r", "event": "step"},
        {"time": 0, "run": "r", "event": "step"},
        {"time": 1e15, "run": "r", "event": "step"},
        {"run": "r", "event": "step"},
        {"time": NOON.isoformat(), "event": "step"},
        {**own(2, "step"), "step": 1.5},
        {"loss": 3.2},
        7,
        own(3, "run_end"),
    ]
    log = read_training(write(tmp_path / "log.jsonl", rows))
    assert (log.rows_read, log.table.height, log.quarantine.height) == (13, 2, 11)
    said = " ".join(log.quarantine["reason"].to_list())
    for words in ("not JSON", "'party' is unknown", "'noon' is not a time", "outside the years", "run is missing"):
        assert words in said
    assert log.quarantine["line"].to_list() == list(range(2, 13))


def test_arrays_zones_and_files_without_events(tmp_path: Path) -> None:
    rows = [{"time": "2025-07-01T12:00:00", "run": "r", "event": event} for event in ("run_start", "run_end")]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(rows))
    log = read_training(path, timezone="Europe/Berlin")
    assert log.table["time"][0] == dt.datetime(2025, 7, 1, 10, tzinfo=dt.UTC)
    path.write_text('[{"event": "run_start"')
    with pytest.raises(InputError, match="damaged JSON array"):
        read_training(path)
    with pytest.raises(InputError, match=r"no row is a training event; the first row: no event"):
        read_training(write(path, [{"loss": 1}]))


events = st.tuples(st.sampled_from("ab"), st.integers(0, 500), st.sampled_from(EVENTS), st.none() | st.integers(0, 20))


@settings(deadline=None, max_examples=150)
@given(st.lists(events, min_size=1, max_size=40))
def test_any_order_of_events_adds_up(tmp_path_factory: pytest.TempPathFactory, rows: list[Any]) -> None:
    """Whatever a log says, each ledger is the time from its run's first event to its last, and nothing is negative."""
    path = tmp_path_factory.mktemp("training") / "log.jsonl"
    log = read_training(write(path, [{**own(m, event, step=step), "run": run} for run, m, event, step in rows]))
    assert log.table.height + sum(log.rows_folded.values()) == len(rows)
    for row in training_ledger(log).iter_rows(named=True):
        times = [minute for run, minute, _, _ in rows if run == row["run"]]
        assert row["wallclock"] == dt.timedelta(minutes=max(times) - min(times))
        assert sum((row[name] for name in PARTS), dt.timedelta()) == row["wallclock"]
    samples = training_samples(log)
    for name in samples.__slots__:
        assert (getattr(samples, name) >= np.timedelta64(0, "us")).all()
    assert pl.Series(log.table["event"]).is_in(EVENTS).all()
