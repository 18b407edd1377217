"""Descriptions of logs without jobs: against the published counts, and as JSON."""

import json
from pathlib import Path

import pytest

from meantime.datasets import describe, read
from meantime.datasets.log import Log
from meantime.errors import InputError

SAMPLES = {path.name.partition(".")[0]: path for path in (Path(__file__).parent / "samples").iterdir()}


def test_outages(shared_data: Path) -> None:
    log = read(shared_data / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz")
    assert isinstance(log, Log)
    said = describe(log)
    assert said["facts"]["outages"] == 23613
    assert said["facts"]["clusters"] == 22
    assert said["rows"]["quarantined"] == 126
    clusters = {row[0]: row[1:] for row in said["lists"][1]["rows"]}
    assert clusters["2"] == [7104, pytest.approx(110630, abs=0.5), pytest.approx(64.2141, rel=1e-5)]
    assert len(clusters) == 22
    assert said["lists"][0]["rows"][0][:2] == ["hardware", 14291]
    assert (said["first"], said["last"]) == ("1995-05-19T21:55:00+00:00", "2005-09-09T13:47:00+00:00")


@pytest.mark.parametrize("name", ["kernel", "dcgm", "events", "titan", "backblaze", "bloom", "gcm-checks"])
def test_descriptions_are_json(name: str) -> None:
    log = read(SAMPLES[name])
    assert isinstance(log, Log)
    said = describe(log)
    assert json.loads(json.dumps(said)) == said
    assert said["rows"]["read"] == said["rows"]["used"] + sum(said["rows"]["folded"].values())
    assert all(len(row) == len(part["columns"]) for part in said["lists"] for row in part["rows"])


def test_diary_of_a_run(shared_data: Path) -> None:
    """No incident has an end, so there is no down time to speak of; 48 nodes for 115 days."""
    said = describe(read(shared_data / "bloom_176b" / "incidents.csv"))  # type: ignore[arg-type]
    assert said["facts"]["node-days in service"] == 48 * 115
    assert None not in said["facts"].values()


def test_empty_logs_and_jobs(tmp_path: Path) -> None:
    path = tmp_path / "kern.log"
    path.write_text("2024-01-05T03:21:11+0100 n1 kernel: usb 1-1: new device\n")
    said = describe(read(path))  # type: ignore[arg-type]
    assert (said["first"], said["facts"]["events"]) == (None, 0)
    with pytest.raises(InputError, match="holds jobs; expected events, outages or lives"):
        describe(read(SAMPLES["table"]))  # type: ignore[arg-type]
