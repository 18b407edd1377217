"""sacct output: samples of real logs, and rows typed for each of Slurm's habits."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from meantime.datasets.log import Log
from meantime.datasets.sacct import read_sacct
from meantime.errors import InputError

HEADER = (
    "JobIDRaw|JobID|User|Partition|QOS|State|Submit|Start|End|ElapsedRaw|NNodes|AllocTRES|ReqTRES|NodeList|Restarts"
)
TIMES = "2024-01-01T00:00:00|2024-01-01T01:00:00|2024-01-01T03:00:00|7200"
GPUS = "cpu=96,gres/gpu=8,node=1"


def log_of(tmp_path: Path, *rows: str, header: str = HEADER, **options: object) -> Log:
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join([header, *rows]) + "\n")
    return read_sacct(path, **options)  # type: ignore[arg-type]


def row(
    job: str = "7",
    state: str = "COMPLETED",
    times: str = TIMES,
    tres: str = GPUS,
    nodes: str = "n1",
    restarts: str = "0",
) -> str:
    return f"{job}|{job}|ann|learn|normal|{state}|{times}|1|{tres}|{tres}|{nodes}|{restarts}"


def test_published_sample_of_four_fields(shared_data: Path) -> None:
    """Counts of jobs, steps and states against a plain loop over the lines."""
    path = shared_data / "slurm_format_samples" / "sample-sacct-output-midnight-edge-case.txt"
    lines = [line.split("|") for line in path.read_text().splitlines()[1:]]
    jobs = [line for line in lines if "." not in line[0]]
    log = read_sacct(path)
    assert log.rows_read == len(lines) == 1186
    assert log.rows_folded == {"steps": len(lines) - len(jobs)}
    assert log.quarantine.is_empty()
    assert dict(log.table.group_by("state").len().iter_rows()) == Counter(line[1].split()[0] for line in jobs)
    assert log.table["job_id"].to_list() == [line[0] for line in jobs]
    assert log.table["n_gpus"].null_count() == log.table.height
    assert "AllocTRES" in log.notes[0]


def test_published_sample_with_line_breaks_and_two_character_delimiter(shared_data: Path) -> None:
    log = read_sacct(shared_data / "slurm_format_samples" / "sample-sacct-multiple-multiline.txt")
    assert (log.rows_read, log.rows_folded) == (6, {"steps": 2, "duplicates": 2})
    first, second = log.table.rows(named=True)
    assert (first["job_id"], first["state"], first["n_nodes"], first["n_gpus"]) == ("201729", "FAILED", 128, 1024)
    assert (second["job_id"], second["state"], second["n_gpus"]) == ("201844", "REQUEUED", 256)
    assert len(first["nodes"]) == 128
    assert len(second["nodes"]) == 32
    assert {"node1083", "node2911"} <= set(first["nodes"])


def test_published_sample_of_steps_only(shared_data: Path) -> None:
    log = read_sacct(shared_data / "slurm_format_samples" / "sample-sacct-running-output.txt")
    assert log.table.is_empty()
    assert (log.rows_read, log.rows_folded) == (10, {"steps": 10})
    assert "only rows of steps" in log.notes[0]


def test_ids_states_and_unknown_times(tmp_path: Path) -> None:
    never = "2024-01-01T00:00:00|Unknown|Unknown|0"
    log = log_of(
        tmp_path,
        row("123_4", "CANCELLED by 1185300516"),
        row("123_[5-9]", "PENDING", never, nodes="None assigned"),
        row("200+1", "OUT_OF_MEMORY"),
        row("300", "RUNNING", "2024-01-01T00:00:00|2024-01-01T01:00:00|Unknown|9"),
        row("400", "CANCELLED", "2024-01-01T00:00:00|None|2024-01-01T00:30:00|0", tres=""),
        row("500", "BOOT_FAIL"),
        row("7.batch"),
        row("123_4.extern"),
    )
    assert log.quarantine.is_empty()
    assert log.rows_folded == {"steps": 2}
    assert log.table["job_id"].to_list() == ["123_4", "123_[5-9]", "200+1", "300", "400", "500"]
    assert log.table["state"].to_list() == [
        "CANCELLED",
        "PENDING",
        "OUT_OF_MEMORY",
        "RUNNING",
        "CANCELLED",
        "NODE_FAIL",
    ]
    assert log.table["start"].is_null().to_list() == [False, True, False, False, True, False]
    assert log.table["end"].is_null().to_list() == [False, True, False, True, False, False]
    assert log.table["nodes"].to_list()[:2] == [["n1"], None]


def test_requeued_attempts_are_numbered_and_duplicates_folded(tmp_path: Path) -> None:
    first = "2024-01-01T00:00:00|2024-01-01T01:00:00|2024-01-01T03:00:00|7200"
    second = "2024-01-01T03:00:00|2024-01-01T04:00:00|2024-01-01T05:00:00|3600"
    log = log_of(tmp_path, row("9", times=second), row("8"), row("9", "NODE_FAIL", first), row("9", "NODE_FAIL", first))
    assert log.rows_folded == {"duplicates": 1}
    assert log.table.select("job_id", "attempt", "state").rows() == [
        ("9", 2, "COMPLETED"),
        ("8", 1, "COMPLETED"),
        ("9", 1, "NODE_FAIL"),
    ]


def test_restarts_that_the_file_does_not_show_are_told(tmp_path: Path) -> None:
    log = log_of(tmp_path, row("9", restarts="2"), row("8"))
    assert any("2 earlier attempts" in note and "-D" in note for note in log.notes)


def test_gpus_are_never_guessed(tmp_path: Path) -> None:
    unknown = log_of(tmp_path, row(tres="cpu=96,node=1"))
    assert unknown.table["n_gpus"].to_list() == [None]
    assert "add AllocTRES" in unknown.notes[0]
    given = log_of(tmp_path, row(tres="cpu=96,node=1"), gpus_per_node=4)
    assert given.table["n_gpus"].to_list() == [4]
    assert "NNodes x 4, as given" in given.notes[0]
    tracked = log_of(tmp_path, row("1"), row("2", tres="cpu=96,node=1"), gpus_per_node=4)
    assert tracked.table["n_gpus"].to_list() == [8, 0]


@pytest.mark.parametrize("delimiter", ["|#", "^", "\t", "~~"])
def test_any_delimiter_and_one_at_the_end(tmp_path: Path, delimiter: str) -> None:
    lines = [text.replace("|", delimiter) for text in (HEADER, row(), row("8"))]
    plain = log_of(tmp_path, *lines[1:], header=lines[0])
    trailing = log_of(tmp_path, *(line + delimiter for line in lines[1:]), header=lines[0] + delimiter)
    assert plain.table.equals(log_of(tmp_path, row(), row("8")).table)
    assert trailing.table.equals(plain.table)


def test_comma_with_quotes_and_without(tmp_path: Path) -> None:
    quoted = [",".join(f'"{field}"' for field in text.split("|")) for text in (HEADER, row())]
    assert log_of(tmp_path, quoted[1], header=quoted[0]).table["n_gpus"].to_list() == [8]
    bare = [text.replace("|", ",") for text in (HEADER, row())]
    log = log_of(tmp_path, bare[1], header=bare[0])
    assert log.table.is_empty()
    assert "a delimiter inside a field?" in log.quarantine["reason"][0]


def test_epoch_seconds_and_local_times_agree(tmp_path: Path) -> None:
    local = log_of(tmp_path, row(), timezone="America/Los_Angeles").table
    epoch = log_of(tmp_path, row(times="1704096000|1704099600|1704106800|7200")).table
    assert local["start"].equals(epoch["start"])
    assert local["end"].equals(epoch["end"])


def test_clock_change_is_settled_by_the_elapsed_time(tmp_path: Path) -> None:
    times = "2024-10-27T00:00:00|2024-10-27T02:10:00|2024-10-27T02:20:00|4200"
    log = log_of(tmp_path, row(times=times), timezone="Europe/Berlin")
    run = log.table.select((pl.col("end") - pl.col("start")).dt.total_seconds()).item()
    assert run == 4200
    assert "occurs twice" in log.notes[-1]


@pytest.mark.parametrize(
    ("bad", "reason"),
    [
        (row(times="2024-01-01T00:00:00|2024-01-01T03:00:00|2024-01-01T01:00:00|7200"), "lies before start"),
        (row(times="2024-01-01T00:00:00|2024-01-01T01:00:00|2024-01-01T03:00:00|-5"), "duration '-5' s is negative"),
        (row(times="2024-01-01T00:00:00|yesterday|2024-01-01T03:00:00|5"), "start 'yesterday' is not a time"),
        (row(times="2024-01-01T00:00:00|1970-01-01T00:00:00|2024-01-01T03:00:00|5"), "outside the years"),
        (row(times="2024-01-01T00:00:00|2024-01-01T01:00:00|Unknown|5"), "state COMPLETED without an end"),
        (row(times="2024-01-01T00:00:00|Unknown|2024-01-01T01:00:00|5"), "state COMPLETED without a start"),
        (row(state="EXPLODED"), "state 'EXPLODED' is unknown"),
        (row().replace("|1|cpu", "|-3|cpu"), "n_nodes '-3' is impossible"),
        (row().replace("|1|cpu", "|0|cpu"), "n_nodes '0' is impossible"),
        (row().replace("|1|cpu", "|many|cpu"), "n_nodes 'many' is not a whole number"),
        (row(tres="gres/gpu=99999999999"), "n_gpus '99999999999' is impossible"),
        (row(job=""), "job_id is missing"),
        (row()[:40], "fields where the header has 15"),
    ],
)
def test_wrong_rows_are_set_aside_with_line_and_reason(tmp_path: Path, bad: str, reason: str) -> None:
    log = log_of(tmp_path, row("1"), bad, row("2"))
    assert log.table["job_id"].to_list() == ["1", "2"]
    assert log.quarantine["line"].to_list() == [3]
    assert reason in log.quarantine["reason"][0]
    assert log.quarantine["text"][0] == bad
    assert log.rows_read == 3


def test_all_reasons_of_a_row_are_named(tmp_path: Path) -> None:
    log = log_of(tmp_path, row(state="ODD", times="x|y|2024-01-01T03:00:00|5"))
    assert log.quarantine["reason"][0] == "submit 'x' is not a time; start 'y' is not a time; state 'ODD' is unknown"


@pytest.mark.parametrize(
    ("header", "said"),
    [
        ("JobID|State|Start", "lacks End"),
        ("Name|State|Start|End", "lacks JobID"),
        ("JobID           State      Start      End", "fixed width; write the file with sacct -P"),
        ("39125549|COMPLETED|2021-04-05T02:07:20|2021-04-07T23:59:38", "lacks JobID, State, Start, End"),
    ],
)
def test_header_that_lacks_fields_is_refused(tmp_path: Path, header: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        log_of(tmp_path, row(), header=header)
