"""The summary of a log, against figures worked out by hand."""

import json
from pathlib import Path

import pytest

from meantime.datasets import read, summarise
from meantime.errors import InputError

HEADER = "JobID|State|Submit|Start|End|NNodes|AllocTRES|NodeList"
ROWS = [
    "1|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-02T00:00:00|1|gres/gpu=8|n1",  # 192 GPU-hours
    "2|FAILED|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T12:00:00|2|gres/gpu=16|n[2-3]",  # 192
    "3|NODE_FAIL|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T06:00:00|1|gres/gpu=8|n4",  # 48
    "4|PENDING|2024-01-01T00:00:00|Unknown|Unknown|1||None assigned",
    "1.batch|COMPLETED|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-02T00:00:00|1|gres/gpu=8|n1",
    "5|COMPLETED|2024-01-01T00:00:00|2024-01-01T05:00:00|2024-01-01T04:00:00|1|gres/gpu=8|n1",
    "6|COMPLETED|2024-01-01T00:00:00|2024-01-01T07:00:00|2024-01-01T04:00:00|1|gres/gpu=8|n1",
    "7|EXPLODED|2024-01-01T00:00:00|2024-01-01T00:00:00|2024-01-01T04:00:00|1|gres/gpu=8|n1",
]
EVENTS = [
    "time,node,component,severity,source,detail",
    "2024-01-01T11:55:00,n3,pcie,high,xid 79,",
    "2024-01-01T11:56:00,n2,infiniband_link,high,ib,",
]


@pytest.fixture
def summary(tmp_path: Path) -> dict:
    (tmp_path / "sacct.txt").write_text("\n".join([HEADER, *ROWS]) + "\n")
    (tmp_path / "events.csv").write_text("\n".join(EVENTS) + "\n")
    return summarise(read(tmp_path / "sacct.txt"), read(tmp_path / "events.csv"))


def test_rows(summary: dict) -> None:
    rows = summary["rows"]
    assert (rows["read"], rows["used"], rows["quarantined"], rows["folded"]) == (8, 4, 3, {"steps": 1})
    assert [(entry["reason"], entry["rows"]) for entry in rows["reasons"]] == [
        ("end '...' lies before start '...'", 2),
        ("state '...' is unknown", 1),
    ]
    assert rows["reasons"][0]["first"]["line"] == 7


def test_states_by_jobs_and_gpu_time(summary: dict) -> None:
    states = {row["state"]: row for row in summary["states"]}
    assert {name: row["gpu_hours"] for name, row in states.items()} == {
        "COMPLETED": 192,
        "FAILED": 192,
        "NODE_FAIL": 48,
        "PENDING": 0,
    }
    assert states["NODE_FAIL"]["share_of_gpu_time"] == pytest.approx(48 / 432)
    assert sum(row["share_of_attempts"] for row in states.values()) == pytest.approx(1)


def test_exposure_sizes_and_components(summary: dict) -> None:
    assert summary["exposure"] == {"node_days": 2.25, "gpu_hours": 432, "gpus_per_node": 8}
    sizes = {row["job_size"]: row for row in summary["sizes"]}
    assert (sizes[8]["failures"], sizes[8]["node_days"], sizes[16]["failures"]) == (1, 1.25, 1)
    assert sizes[16]["rate_per_1000_node_days"] == pytest.approx(1000)
    components = {row["component"]: (row["failures"], row["co_occurring"]) for row in summary["components"]}
    assert components == {"pcie": (1, 0), "infiniband_link": (0, 1), "unattributed": (1, 0)}
    assert summary["failures"] == {"total": 2, "rule": "infrastructure", "unattributed": 1, "not_placed": 0}
    assert (summary["log_start"], summary["log_end"]) == ("2024-01-01T00:00:00+00:00", "2024-01-02T00:00:00+00:00")


def test_is_json(summary: dict) -> None:
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary


def test_log_without_gpus_still_has_states(shared_data: Path) -> None:
    out = summarise(read(shared_data / "slurm_format_samples" / "sample-sacct-output-midnight-edge-case.txt"))
    assert out["exposure"] is None
    assert out["rows"]["used"] == sum(row["attempts"] for row in out["states"])
    assert {row["share_of_gpu_time"] for row in out["states"]} == {None}
    assert any("add AllocTRES" in note for note in out["notes"])


def test_log_without_states_uses_interruptions(shared_data: Path) -> None:
    mapping = {"job_id": "id", "attempt": "attempt", "n_gpus": "num_gpus", "start": "start_time", "end": "end_time"}
    out = summarise(read(shared_data / "philly_multi_gpu" / "attempts.csv", mapping=mapping))
    assert out["failures"] == {"total": 1456, "rule": "interruption", "unattributed": 0, "not_placed": 0}
    assert out["jobs"] == 3034
    assert [row["state"] for row in out["states"]] == ["unknown"]


def test_failure_table_has_a_summary_too(tmp_path: Path) -> None:
    path = tmp_path / "counts.csv"
    path.write_text("component,job_size,failures,exposure_node_days\npcie,8,3,100\nnvlink,8,1,100\npcie,64,2,400\n")
    out = summarise(read(path))
    assert [(row["component"], row["failures"]) for row in out["components"]] == [("pcie", 5), ("nvlink", 1)]
    assert [row["rate_per_1000_node_days"] for row in out["sizes"]] == [40, 5]
    assert out["rows"]["read"] == 3
    assert json.loads(json.dumps(out, allow_nan=False)) == out


def test_option_that_is_wrong_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sacct.txt").write_text("\n".join([HEADER, *ROWS]) + "\n")
    log = read(tmp_path / "sacct.txt")
    with pytest.raises(InputError, match="min_runtime"):
        summarise(log, min_runtime=5)
    assert summarise(log, min_runtime="7h")["failures"]["total"] == 0


def test_empty_log_has_an_empty_summary(shared_data: Path) -> None:
    out = summarise(read(shared_data / "slurm_format_samples" / "sample-sacct-running-output.txt"))
    assert (out["attempts"], out["states"], out["exposure"]) == (0, [], None)
