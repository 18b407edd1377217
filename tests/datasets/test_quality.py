"""Data quality: every check finds the defect that was planted, and nothing in a sound log."""

import datetime as dt
import json
from typing import Any

import polars as pl
import pytest

from meantime.datasets import summarise
from meantime.datasets.quality import check_quality
from meantime.datasets.simulate import simulate_cluster

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)


def at(hour: float) -> dt.datetime:
    return START + dt.timedelta(hours=hour)


def job(number: int, start: float, end: float | None, **fields: Any) -> dict[str, Any]:
    return {
        "job_id": str(number),
        "submit": at(start),
        "start": at(start),
        "end": None if end is None else at(end),
        "n_nodes": 1,
        "n_gpus": 8,
        "state": "COMPLETED" if end is not None else "RUNNING",
        "nodes": [f"n{number % 4}"],
        **fields,
    }


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    return pl.DataFrame(rows, infer_schema_length=None)


SOUND = [job(i, i / 4, i / 4 + 1) for i in range(40)]


def findings(rows: list[dict[str, Any]], events: Any = None, **options: Any) -> dict[str, dict[str, Any]]:
    report = check_quality(frame(rows), events, **options)
    assert json.loads(json.dumps(report, allow_nan=False)) == report
    return {finding["check"]: finding for finding in report["findings"]}


def test_a_sound_log_has_no_findings() -> None:
    assert {name: found["rows"] for name, found in findings(SOUND).items()} == dict.fromkeys(
        [
            "impossible times",
            "duplicates",
            "overlapping attempts",
            "sizes against node lists",
            "overfull nodes",
            "long runtimes",
            "gaps",
            "silent months",
            "silent nodes",
            "cut at the start",
            "unattributed failures",
        ],
        0,
    )


@pytest.mark.parametrize(
    ("check", "rows", "count", "said", "shown"),
    [
        ("impossible times", [job(90, 5, 3)], 1, "1 rows in quarantine", {"line": 41}),
        ("impossible times", [job(90, 5, 5.5, submit=at(6), nodes=["x"])], 1, "1 in use were submitted", {"n_gpus": 8}),
        ("duplicates", [job(90, 2.25, 3.25, nodes=["n1"])], 2, "2 rows of different jobs", {"job_id": "9"}),
        ("duplicates", [SOUND[3]], 0, "1 repeated rows were folded", None),
        (
            "overlapping attempts",
            [job(90, 1, 4, nodes=["x"]), job(90, 2, 3, nodes=["y"])],
            1,
            "1 attempts start before",
            {"attempt": 2},
        ),
        ("sizes against node lists", [job(90, 1, 2, n_nodes=2, nodes=["x"])], 1, "", {"why": "n_nodes is not"}),
        ("sizes against node lists", [job(90, 1, 2, n_gpus=9, nodes=["x"])], 1, "", {"why": "more than 8 GPUs"}),
        (
            "sizes against node lists",
            [job(90, 1, 2, n_gpus=1, n_nodes=2, nodes=["x", "y"])],
            1,
            "",
            {"why": "fewer GPUs"},
        ),
        ("overfull nodes", [job(90, 0.5, 2, n_gpus=1, nodes=["n1"])], 2, "more than 8 GPUs", {"node": "n1"}),
        ("long runtimes", [job(90, 0, 24 * 40, nodes=["x"])], 1, "longer than 30 d", {"job_id": "90"}),
        ("gaps", [job(90, 60, 61)], 1, "more than 24 h", {"from": at(9.75).isoformat()}),
        ("silent months", [job(90, 24 * 70, 24 * 70 + 1)], 1, "", {"month": "2024-02-01T00:00:00+00:00"}),
        ("silent nodes", [job(90, 24 * 20, 24 * 20 + 1, nodes=["n1"])], 4, "4 nodes", {"node": "n3"}),
        ("cut at the start", [job(90, -100, 2, nodes=["x"])], 1, "give log_start", {"job_id": "90"}),
        (
            "unattributed failures",
            [job(90, 1, 2, state="NODE_FAIL", nodes=["x"])],
            1,
            "(100%) of 1 failures",
            {"job_id": "90"},
        ),
    ],
)
def test_what_is_planted_is_found(
    check: str, rows: list[dict[str, Any]], count: int, said: str, shown: dict[str, Any] | None
) -> None:
    found = findings([*SOUND, *rows])[check]
    assert (found["rows"], said in found["says"]) == (count, True), found
    if shown is None:
        assert found["examples"] == []
    else:
        (name, value), *_ = shown.items()
        assert any(str(row.get(name)).startswith(str(value)) for row in found["examples"]), found["examples"]


def test_events_of_nodes_that_no_job_names() -> None:
    events = pl.DataFrame(
        {
            "time": [at(1)] * 3,
            "node": ["n1", "n2.cluster.local", "n2.cluster.local"],
            "component": ["pcie", "pcie", "nvlink"],
            "severity": ["high"] * 3,
            "source": ["x"] * 3,
        }
    )
    found = findings(SOUND, events)["unknown nodes"]
    assert (found["rows"], found["of"]) == (1, 2)
    assert found["examples"] == [{"node": "n2.cluster.local", "events": 2}]


def test_long_lists_and_many_rows_are_cut_short() -> None:
    many = [job(100 + i, 1, 2, n_nodes=9, nodes=[f"m{k}" for k in range(100)]) for i in range(20)]
    found = findings([*SOUND, *many], examples=3)["sizes against node lists"]
    assert (found["rows"], len(found["examples"])) == (20, 3)
    assert found["examples"][0]["nodes"] == ["m0", "m1", "m2", "m3", "... 100 in all"]


def test_logs_without_nodes_states_or_rows() -> None:
    bare = frame(SOUND).drop("nodes", "state")
    names = {finding["check"] for finding in check_quality(bare)["findings"]}
    assert not names & {"overfull nodes", "silent nodes", "unattributed failures"}
    assert {"gaps", "sizes against node lists"} <= names
    empty = check_quality(frame([job(1, 5, 3)]))
    assert empty["rows"] == {"read": 1, "used": 0, "quarantined": 1}


def test_summary_takes_the_findings_in() -> None:
    cluster = simulate_cluster(seed=5, n_jobs=500, n_nodes=40)
    summary = summarise(cluster.jobs, cluster.events, quality=True)
    assert summary["quality"] == check_quality(cluster.jobs, cluster.events)["findings"]
    assert "quality" not in summarise(cluster.jobs, cluster.events)
