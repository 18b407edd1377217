"""sacct --json in the forms of three data parsers, and squeue's."""

import json
from pathlib import Path
from typing import Any

import pytest

from meantime.datasets.readers.sacct_json import read_sacct_json
from meantime.errors import InputError

TRES = [
    {"type": "cpu", "name": None, "id": 1, "count": 128},
    {"type": "node", "name": None, "id": 4, "count": 2},
    {"type": "gres", "name": "gpu", "id": 1001, "count": 16},
    {"type": "gres", "name": "gpu:a100", "id": 1002, "count": 16},
]
START, END = 1704448800, 1704456000


def old(number: int, state: str, start: int, end: int, task: int | None = None) -> dict[str, Any]:
    """v0.0.37 to v0.0.39."""
    return {
        "account": "acct",
        "allocation_nodes": 2,
        "array": {"job_id": 0 if task is None else number, "task": task},
        "association": {"account": "acct", "cluster": "gpu", "partition": None, "user": "u"},
        "cluster": "gpu",
        "het": {"job_id": 0, "job_offset": None},
        "job_id": number,
        "nodes": "node[1-2]" if start else "None assigned",
        "partition": "batch",
        "qos": "normal",
        "state": {"current": state, "reason": "None"},
        "steps": [{"step": {"id": f"{number}.batch"}}],
        "time": {"elapsed": 7200, "eligible": 1, "end": end, "start": start, "submission": START - 60, "suspended": 0},
        "tres": {"allocated": TRES if start else [], "requested": TRES},
        "user": "u",
    }


def new(number: int, states: list[str], start: int, end: int, task: int | None = None) -> dict[str, Any]:
    """v0.0.40 and later."""
    job = old(number, "", start, end)
    job["state"] = {"current": states, "reason": "None"}
    job["array"] = {"job_id": 0 if task is None else number, "task_id": whole(task), "task": ""}
    job["restart_cnt"] = 0
    return job


def whole(number: int | None) -> dict[str, Any]:
    return {"set": number is not None, "infinite": False, "number": number or 0}


def complex_numbers(job: dict[str, Any]) -> dict[str, Any]:
    """--json=v0.0.42+complex."""
    job["time"] = {name: whole(value) for name, value in job["time"].items()}
    job["job_id"], job["allocation_nodes"] = whole(job["job_id"]), whole(job["allocation_nodes"])
    job["tres"] = {name: [{**p, "count": whole(p["count"])} for p in parts] for name, parts in job["tres"].items()}
    return job


def queued(number: int) -> dict[str, Any]:
    """squeue --json."""
    return {
        "job_id": number,
        "job_state": ["RUNNING"],
        "submit_time": whole(START - 60),
        "start_time": whole(START),
        "end_time": whole(0),
        "node_count": whole(2),
        "nodes": "node[1-2]",
        "tres_alloc_str": "cpu=128,node=2,billing=16,gres/gpu=16",
        "user_name": "u",
        "cluster": "gpu",
        "array_job_id": whole(0),
    }


@pytest.mark.parametrize("parser", ["old", "new", "complex"])
def test_parsers_agree(tmp_path: Path, parser: str) -> None:
    make = old if parser == "old" else lambda n, s, *rest: new(n, [s], *rest)
    jobs = [
        make(7, "NODE_FAIL", START, END),
        make(7, "COMPLETED", END + 600, END + 1200),
        make(8, "CANCELLED", 0, END, 3),
        make(9, "RUNNING", START, 0),
        make(10, "EXPLODED", START, END),
    ]
    jobs = [complex_numbers(job) for job in jobs] if parser == "complex" else jobs
    path = tmp_path / "sacct.json"
    path.write_text(
        json.dumps({"meta": {"Slurm": {"release": "x"}}, "errors": [], "jobs": jobs, "warnings": []}, indent=2)
    )
    log = read_sacct_json(path)
    assert log.table.select("job_id", "attempt", "state", "n_gpus", "n_nodes").rows() == [
        ("7", 1, "NODE_FAIL", 16, 2),
        ("7", 2, "COMPLETED", 16, 2),
        ("8_3", 1, "CANCELLED", 0 if parser == "none" else log.table["n_gpus"][2], 2),
        ("9", 1, "RUNNING", 16, 2),
    ]
    assert log.table["start"].dt.epoch("s").to_list() == [START, END + 600, None, START]
    assert log.table["end"].dt.epoch("s").to_list() == [END, END + 1200, END, None]
    assert log.table["nodes"][0].to_list() == ["node1", "node2"]
    assert (log.table["cluster"][0], log.table["user"][0]) == ("gpu", "u")
    assert log.quarantine.select("line", "reason").rows() == [(5, "state 'EXPLODED' is unknown")]
    assert log.rows_read == 5


def test_squeue_and_heterogeneous(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    part = old(12, "COMPLETED", START, END)
    part["het"] = {"job_id": 11, "job_offset": 1}
    path.write_text(json.dumps({"jobs": [queued(7), part]}))
    log = read_sacct_json(path)
    assert log.table.select("job_id", "n_gpus", "state").rows() == [("7", 16, "RUNNING"), ("11+1", 16, "COMPLETED")]
    path.write_text('{"errors": [{"error": "no"}], "jobs": []}')
    assert read_sacct_json(path).table.is_empty()
    path.write_text('{"errors": [{"error": "no"}]}')
    with pytest.raises(InputError, match="holds no job of Slurm"):
        read_sacct_json(path)


def test_cut_short(tmp_path: Path) -> None:
    path = tmp_path / "sacct.json"
    text = json.dumps({"jobs": [old(i, "COMPLETED", START, END) for i in range(5)]})
    path.write_text(text[: len(text) * 7 // 10])
    log = read_sacct_json(path)
    assert (log.table["job_id"].to_list(), log.quarantine["line"].to_list()) == (["0", "1", "2"], [4])
