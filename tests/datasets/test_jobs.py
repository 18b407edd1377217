"""Attempts, snapshots and the account of every row, on random and damaged logs."""

from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meantime.datasets.detect import read
from meantime.datasets.jobs import OPTIONAL, REQUIRED
from meantime.datasets.log import Log
from meantime.datasets.sacct import read_sacct
from meantime.datasets.source import read_bytes
from meantime.errors import InputError

HEADER = "JobID|State|Submit|Start|End|NNodes|AllocTRES|NodeList"


def sacct(path: Path, *rows: str) -> Path:
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


def job(job_id: str, state: str, submit: str, start: str, end: str) -> str:
    times = "|".join(t if t == "Unknown" else f"2024-01-{t}:00:00" for t in (submit, start, end))
    return f"{job_id}|{state}|{times}|1|gres/gpu=8|n1"


def test_snapshots_give_way_to_what_became_of_them(tmp_path: Path) -> None:
    """Daily exports overlap: a job pending, then running, then ended, is one attempt."""
    paths = [
        sacct(
            tmp_path / "1.txt",
            job("1", "PENDING", "01T00", "Unknown", "Unknown"),
            job("2", "RUNNING", "01T00", "01T01", "Unknown"),
        ),
        sacct(
            tmp_path / "2.txt",
            job("1", "RUNNING", "01T00", "02T01", "Unknown"),
            job("2", "NODE_FAIL", "01T00", "01T01", "02T02"),
        ),
        sacct(
            tmp_path / "3.txt",
            job("1", "COMPLETED", "01T00", "02T01", "03T01"),
            job("2", "COMPLETED", "02T02", "02T03", "03T02"),
        ),
    ]
    log = read(paths)
    assert isinstance(log, Log)
    assert log.rows_read == 6
    assert log.rows_folded == {"earlier snapshots": 3}
    assert log.table.select("job_id", "attempt", "state").sort("job_id", "attempt").rows() == [
        ("1", 1, "COMPLETED"),
        ("2", 1, "NODE_FAIL"),
        ("2", 2, "COMPLETED"),
    ]


def test_same_file_twice_counts_once(tmp_path: Path) -> None:
    path = sacct(tmp_path / "1.txt", *(job(str(i), "COMPLETED", "01T00", "01T01", "02T02") for i in range(5)))
    log = read([path, path])
    assert isinstance(log, Log)
    assert (log.table.height, log.rows_folded) == (5, {"duplicates": 5})


def test_attempt_still_running_is_the_last(tmp_path: Path) -> None:
    rows = [job("1", "RUNNING", "02T00", "02T01", "Unknown"), job("1", "PREEMPTED", "01T00", "01T01", "01T05")]
    log = read_sacct(sacct(tmp_path / "1.txt", *rows))
    assert log.table.sort("attempt")["state"].to_list() == ["PREEMPTED", "RUNNING"]


def test_table_has_the_documented_columns(tmp_path: Path) -> None:
    log = read_sacct(sacct(tmp_path / "1.txt", job("1", "COMPLETED", "01T00", "01T01", "01T02")))
    assert log.table.columns == [*REQUIRED, "nodes"]
    assert set(log.table.columns) <= {*REQUIRED, *OPTIONAL}
    assert log.table.schema["start"] == pl.Datetime("us", "UTC")


def test_account_that_does_not_add_up_is_a_bug(tmp_path: Path) -> None:
    log = read_sacct(sacct(tmp_path / "1.txt", job("1", "COMPLETED", "01T00", "01T01", "01T02")))
    with pytest.raises(AssertionError, match="9 rows read but 1 accounted for"):
        Log(table=log.table, quarantine=log.quarantine, rows_read=9, rows_folded={}, source="x", format="sacct")


GOOD = [job(str(i), "COMPLETED", "01T00", "01T01", f"{i % 20 + 2:02d}T02") for i in range(12)]


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_damaged_bytes_never_crash_and_every_row_is_accounted_for(tmp_path: Path, data: st.DataObject) -> None:
    """Cut, overwritten, doubled and injected bytes: an InputError, or a log whose account adds up."""
    raw = bytearray(("\n".join([HEADER, *GOOD]) + "\n").encode())
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(len(HEADER) + 1, max(len(raw) - 1, len(HEADER) + 1)))
        kind = data.draw(st.sampled_from(["cut", "overwrite", "insert", "double"]))
        noise = data.draw(
            st.sampled_from([b"|", b"\n", b"\0", b"\xff\xfe", b'"', b"\r", b"x" * 500, b"||||||||", b"2024"])
        )
        if kind == "cut":
            raw = raw[:at]
        elif kind == "overwrite":
            raw[at : at + len(noise)] = noise
        elif kind == "insert":
            raw[at:at] = noise
        else:
            raw[at:at] = raw[at : at + 80]
    path = tmp_path / "damaged.txt"
    path.write_bytes(bytes(raw))
    log, refused = None, ""
    try:
        log = read_sacct(path)
    except InputError as error:
        refused = str(error)
    if log is None:
        assert "damaged.txt" in refused
        return
    assert log.rows_read == log.table.height + log.quarantine.height + sum(log.rows_folded.values())
    lines = [line for line in read_bytes(path).decode("utf-8", "replace").split("\n")[1:] if line.strip("\r\n \0")]
    assert log.rows_read <= len(lines) + 1
    intact = {good.split("|")[0] for good in GOOD} & set(log.table["job_id"].to_list())
    whole = sum(good in [line.rstrip("\r") for line in lines] for good in GOOD)
    assert len(intact) >= whole - 1, "a row that was not touched was lost"
    assert log.quarantine["reason"].null_count() == 0
    assert (log.quarantine["text"].str.len_chars() <= 200).all()
