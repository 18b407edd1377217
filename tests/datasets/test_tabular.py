"""Tables of jobs and events under any column names, and which reader a file gets."""

from pathlib import Path

import polars as pl
import pytest
import xarray as xr

from meantime.datasets import load_mapping, read, read_events, read_table
from meantime.datasets.detect import candidates, recognise
from meantime.datasets.log import Log
from meantime.errors import InputError

ROWS = {
    "id": ["a", "b"],
    "gpus": [8, 16],
    "began": ["2024-01-01 00:00:00", "2024-01-01 01:00:00"],
    "ended": ["2024-01-01 10:00:00", None],
    "how": ["Pass", "Killed"],
    "where": ["n[1-2]", "n3"],
}
MAPPING = {
    "columns": {"job_id": "id", "n_gpus": "gpus", "start": "began", "end": "ended", "state": "how", "nodes": "where"},
    "states": {"Pass": "COMPLETED", "Killed": "RUNNING"},
    "options": {"cluster": "philly", "timezone": "America/Los_Angeles"},
}
TOML = """
[columns]
job_id = "id"
n_gpus = "gpus"
start = "began"
end = "ended"
state = "how"
nodes = "where"
[states]
Pass = "COMPLETED"
Killed = "RUNNING"
[options]
cluster = "philly"
timezone = "America/Los_Angeles"
"""


def write(path: Path) -> Path:
    frame = pl.DataFrame(ROWS)
    if path.suffix == ".tsv":
        frame.write_csv(path, separator="\t")
    else:
        getattr(frame, {".csv": "write_csv", ".parquet": "write_parquet", ".jsonl": "write_ndjson"}[path.suffix])(path)
    return path


@pytest.mark.parametrize("name", ["jobs.csv", "jobs.tsv", "jobs.parquet", "jobs.jsonl"])
def test_containers_give_the_same_table(tmp_path: Path, name: str) -> None:
    (tmp_path / "mapping.toml").write_text(TOML)
    log = read(write(tmp_path / name), mapping=tmp_path / "mapping.toml")
    assert isinstance(log, Log)
    assert log.table.equals(read_table(write(tmp_path / "jobs.csv"), MAPPING).table)
    first, second = log.table.rows(named=True)
    assert (first["cluster"], first["n_gpus"], first["nodes"], first["state"]) == (
        "philly",
        8,
        ["n1", "n2"],
        "COMPLETED",
    )
    assert first["start"].isoformat() == "2024-01-01T08:00:00+00:00"
    assert second["end"] is None


def test_duration_gives_the_end(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,start,seconds,n_gpus\n1,1704067200,3600,8\n2,1704067200,-1,8\n")
    log = read_table(path, {"elapsed": "seconds"})
    assert log.table.select((pl.col("end") - pl.col("start")).dt.total_seconds()).item() == 3600
    assert "duration '-1' s is negative" in log.quarantine["reason"][0]


def test_times_in_milliseconds_must_be_said(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,start,end,n_gpus\n1,1704067200000,1704070800000,8\n")
    assert "outside the years" in read_table(path).quarantine["reason"][0]
    options = {"columns": {}, "options": {"time_unit": "ms"}}
    assert read_table(path, options).table["start"][0].isoformat() == "2024-01-01T00:00:00+00:00"


def test_gpus_of_nodes_only_if_given(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text("job_id,start,end,n_nodes\n1,2024-01-01 00:00:00,2024-01-02 00:00:00,4\n")
    assert read_table(path).table["n_gpus"].to_list() == [None]
    log = read_table(path, gpus_per_node=8)
    assert log.table["n_gpus"].to_list() == [32]
    assert "n_nodes x 8, as given" in log.notes[-1]


def test_attempt_that_occurs_twice_is_set_aside(tmp_path: Path) -> None:
    path = tmp_path / "jobs.csv"
    path.write_text(
        "job_id,attempt,start,end\n1,1,2024-01-01 00:00,2024-01-02 00:00\n1,1,2024-01-03 00:00,2024-01-04 00:00\n"
    )
    log = read_table(path)
    assert log.table.height == 1
    assert log.quarantine.row(0)[1:3] == (3, "attempt '1' of job '1' occurs more than once")


def test_json_lines_with_damage(tmp_path: Path) -> None:
    path = tmp_path / "jobs.jsonl"
    good = (
        '{"job_id": 1, "start": "2024-01-01 00:00:00", "end": "2024-01-02 00:00:00", "nodes": ["a", "b"], "n_gpus": 8}'
    )
    path.write_text(f'{good}\n{{"job_id": 2, "sta\n\n[1]\n{good.replace("1,", "3,", 1)}\n')
    log = read_table(path)
    assert log.table["job_id"].to_list() == ["1", "3"]
    assert log.table["nodes"].to_list() == [["a", "b"]] * 2
    assert log.quarantine["line"].to_list() == [2, 4]
    assert log.rows_read == 4


EVENTS = "time,node,component,severity,source,detail\n"


def test_events(tmp_path: Path) -> None:
    path = tmp_path / "events.csv"
    path.write_text(
        EVENTS
        + "2024-01-01T00:00:00,n1,pcie,high,xid 79,off the bus\n" * 2
        + "2024-01-01T00:00:00Z,n1,ethernet_link,,check,\n"
        + "2024-01-01T00:00:00,n2,aliens,low,check,\n"
        + "2024-01-01T00:00:00,n2,aliens,,check,\n"
        + "2024-01-01T00:00:00,n2,pcie,fatal,check,\n"
        + ",n2,pcie,high,check,\n"
        + "noon,,pcie,high,check,\n"
    )
    log = read(path)
    assert isinstance(log, Log)
    assert log.kind == "events"
    assert log.rows_folded == {"duplicates": 1}
    assert log.table["severity"].to_list() == ["high", "low", "low"]
    assert log.table["detail"].to_list() == ["off the bus", None, None]
    assert log.quarantine["reason"].to_list() == [
        "severity '' is unknown",
        "severity 'fatal' is unknown",
        "time is missing",
        "time 'noon' is not a time; node is missing",
    ]
    assert read_events(path).table.equals(log.table)
    renamed = tmp_path / "renamed.csv"
    renamed.write_text("when,host,component\n2024-01-01T00:00:00,n1,nvlink\n")
    assert read(renamed, mapping={"time": "when", "node": "host"}).table["severity"].to_list() == ["high"]  # type: ignore[union-attr]


def test_formats_are_recognised_and_the_reason_is_told(tmp_path: Path) -> None:
    sacct = tmp_path / "sacct.txt"
    sacct.write_text("JobID|State|Start|End\n1|COMPLETED|2024-01-01T00:00:00|2024-01-01T01:00:00\n")
    counts = tmp_path / "counts.csv"
    counts.write_text("failures,exposure_node_days\n1,10\n")
    table = tmp_path / "table.csv"
    table.write_text("job_id,start,end\n1,2024-01-01T00:00:00,2024-01-01T01:00:00\n")
    log = read(sacct)
    assert isinstance(log, Log)
    assert log.notes[0] == "read as sacct: the header has JobID, State, Start and End"
    assert isinstance(read(counts), xr.Dataset)
    assert recognise(table) == ("table", "the columns include job_id, start, end")
    with pytest.raises(InputError, match="different formats"):
        read([sacct, table])


def test_two_that_fit_are_asked_about(tmp_path: Path) -> None:
    path = tmp_path / "both.csv"
    path.write_text(
        "job_id,start,end,time,node,component\n1,2024-01-01T00:00:00,2024-01-01T01:00:00,2024-01-01T00:00:00,n,pcie\n"
    )
    with pytest.raises(InputError, match=r"2 ways \(events: .*; table: .*\); say which with format"):
        read(path)
    assert read(path, format="events").kind == "events"  # type: ignore[union-attr]
    assert read(path, format="table").kind == "jobs"  # type: ignore[union-attr]
    assert [name for name, _ in candidates(["JobID", "State", "Start", "End"], "csv")] == ["sacct"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("a,b,c\n1,2,3\n", "its columns are a, b, c; expected sacct output"),
        ("", "is empty"),
        ("just words\n", "its columns are just words"),
        ('[{"job_id": 1, "start": 2}]', "its keys are job_id, start; nearly fits: a table of jobs lacks end; expected"),
        ("{broken\n", "it begins as JSON, but no whole object stands there"),
    ],
)
def test_unknown_files_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "file.txt"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        read(path)


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({"job": "id"}, "column 'job' is unknown; expected one of job_id"),
        ({"job_id": "nope"}, "no column for job_id = 'nope'; the file has id, gpus"),
        ({"job_id": "id"}, r"no column for start, end \(or elapsed\)"),
        ({"job_id": 7}, "job_id is 7; expected text"),
        ({"columns": {}, "states": {"Pass": "FINE"}}, "state 'FINE' is unknown"),
        ({"columns": {}, "options": {"gpus_per_node": 0}}, "gpus_per_node is 0"),
        ({"columns": {}, "options": {"speed": "fast"}}, "option 'speed' is unknown"),
        ({"columns": {}, "extra": {}}, "table 'extra' is unknown"),
        ({"kind": "weather", "columns": {}}, "kind is 'weather'"),
    ],
)
def test_mappings_are_checked(tmp_path: Path, mapping: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_table(write(tmp_path / "jobs.csv"), mapping)


def test_mapping_files_are_checked(tmp_path: Path) -> None:
    path = tmp_path / "mapping.toml"
    with pytest.raises(InputError, match=r"mapping\.toml: cannot be read"):
        load_mapping(path)
    path.write_text("[columns\n")
    with pytest.raises(InputError, match=r"mapping\.toml: is not TOML"):
        load_mapping(path)


def test_damaged_parquet_is_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "jobs.parquet")
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(InputError, match="damaged Parquet file"):
        read(path)
    with pytest.raises(InputError, match="format 'pbs' is unknown"):
        read(path, format="pbs")
    with pytest.raises(InputError, match="no file was given"):
        read([])
