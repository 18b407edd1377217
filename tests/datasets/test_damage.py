"""Damaged logs of every format: never a crash, every row accounted for, every reason named.

A reader may refuse a file as a whole (`InputError`, which names it), or read it; then rows used, folded and quarantined
are the rows read (which `Log` itself asserts), and rows away from the damage are still there.
"""

import gzip
import lzma
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest
import xarray as xr
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meantime.datasets import read
from meantime.datasets.detect import FORMATS
from meantime.datasets.log import Log
from meantime.errors import InputError

SAMPLES = {path.name.partition(".")[0]: path for path in (Path(__file__).parent / "samples").iterdir()}
ROWS = 8
DELIMITED = ("sacct", "helios", "acme", "openb", "lanl", "titan", "backblaze", "nvidia-smi", "bloom", "events", "table")
LINES = (*DELIMITED, "gcm", "gcm-checks", "swf", "pai", "kernel", "dcgm")
JSON = ("sacct-json", "philly", "kubernetes", "kubernetes-events")
LOGS = [name for name in FORMATS if name != "counts"]


def try_read(path: Path, name: str) -> Log | None:
    """Read a file; check what is promised of every log. None if it is refused as a whole."""
    try:
        log = read(path, format=name)
    except InputError as error:
        if str(path) not in str(error):
            raise
        return None
    if isinstance(log, xr.Dataset):
        return None
    reasons = log.quarantine["reason"]
    assert reasons.null_count() == 0
    assert (reasons.str.len_chars() > 3).all()
    assert (log.quarantine["text"].str.len_chars() <= 200).all()
    return log


def must_read(path: Path, name: str) -> Log:
    log = try_read(path, name)
    assert log is not None
    return log


def put(tmp_path: Path, data: bytes) -> Path:
    path = tmp_path / "log"
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("part", [0.4, 0.7, 0.97])
def test_cut_short(tmp_path: Path, name: str, part: float) -> None:
    data = SAMPLES[name].read_bytes()
    whole = must_read(SAMPLES[name], name)
    log = must_read(put(tmp_path, data[: int(len(data) * part)]), name)
    kept = log.table.height + sum(log.rows_folded.values())
    assert kept >= whole.rows_read * part - 4  # the header is a part of what is cut, and a row of it may be hit


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("junk", [b"\0" * 4096, "\u00fc\u2028".encode(), b"\xe9\xff\xfe", b"\x1b[0m", b'"', b"{{"])
def test_bytes_put_into_the_middle(tmp_path: Path, name: str, junk: bytes) -> None:
    data = SAMPLES[name].read_bytes()
    middle = data.index(b"\n", len(data) * 6 // 10) + 3
    log = must_read(put(tmp_path, data[:middle] + junk + data[middle:]), name)
    whole = must_read(SAMPLES[name], name)
    assert log.table.height >= whole.table.height - 2
    assert log.rows_read >= whole.rows_read - 2


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig", "latin-1"])
def test_encodings(tmp_path: Path, name: str, encoding: str) -> None:
    text = SAMPLES[name].read_text().replace(",u,", ",\u00fc,").replace("text", "te\u00e9t")
    log = must_read(put(tmp_path, text.encode(encoding)), name)
    assert log.table.height == must_read(SAMPLES[name], name).table.height


@pytest.mark.parametrize("name", LINES)
def test_blank_lines_and_other_line_ends(tmp_path: Path, name: str) -> None:
    whole = must_read(SAMPLES[name], name)
    data = SAMPLES[name].read_bytes()
    for changed in (data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\n\n"), b"\n\n" + data, data.rstrip(b"\n")):
        log = must_read(put(tmp_path, changed), name)
        assert (log.table.height, log.rows_read) == (whole.table.height, whole.rows_read)


@pytest.mark.parametrize("name", DELIMITED)
def test_repeated_header_and_rows(tmp_path: Path, name: str) -> None:
    header, rest = SAMPLES[name].read_text().split("\n", 1)
    log = must_read(put(tmp_path, f"{header}\n{rest}{header}\n{rest}".encode()), name)
    assert log.rows_folded["repeated headers"] == 1
    assert log.rows_read == 2 * ROWS + 1


@pytest.mark.parametrize("name", DELIMITED)
def test_reordered_columns(tmp_path: Path, name: str) -> None:
    whole = must_read(SAMPLES[name], name)
    delimiter = "|" if name == "sacct" else "," if name != "nvidia-smi" else ", "
    lines = [line.split(delimiter) for line in SAMPLES[name].read_text().splitlines()]
    turned = "\n".join(delimiter.join(reversed(fields)) for fields in lines)
    log = must_read(put(tmp_path, turned.encode()), name)
    assert log.table.equals(whole.table)
    assert read(put(tmp_path, turned.encode())).notes[0] == read(SAMPLES[name]).notes[0]  # type: ignore[union-attr]


@pytest.mark.parametrize("name", [name for name in DELIMITED if name != "lanl"])
def test_extra_delimiters_and_line_breaks_in_a_field(tmp_path: Path, name: str) -> None:
    delimiter = "|" if name == "sacct" else ","
    lines = SAMPLES[name].read_text().splitlines()
    spoiled = [
        *lines[:3],
        lines[3] + delimiter * 3 + "x",
        *lines[4:6],
        lines[6].replace(delimiter, "\n", 1),
        *lines[7:],
    ]
    log = must_read(put(tmp_path, "\n".join(spoiled).encode()), name)
    assert log.table.height + sum(log.rows_folded.values()) >= ROWS - 3
    assert log.quarantine.height >= 1
    assert "fields where the header has" in log.quarantine["reason"][0]


BAD_VALUES = {
    "sacct": [
        ("2024-01-05T01:00:00|2024", "1970-01-01T00:00:00|2024"),
        ("|2|billing", "|-2|billing"),
        ("n[0-1]", "n[0-"),
    ],
    "helios": [("2020-04-02 00:05:00", "1970-01-01 00:00:00"), (",8,32,1,", ",-8,32,1,")],
    "acme": [("2023-03-02 00:05:00+08:00", "1970-01-01 00:00:00+08:00"), (",2,16,", ",2,-16,")],
    "pai": [(",4.0,", ",-4.0,")],
    "openb": [("openb-pod-0002,12000,16384,1,", "openb-pod-0002,12000,16384,-1,")],
    "lanl": [("6/22/2005 10:54", "1/1/1970 0:00"), ("2,cluster,49,6152,80,3", "2,cluster,-49,6152,80,3")],
    "titan": [("2014-01-03 00:00:00", "1970-01-01 00:00:00")],
    "backblaze": [("2024-01-01,Z2", "1970-01-01,Z2"), (",0,0,2404", ",0,0,-2404")],
    "nvidia-smi": [("2024-01-05T02", "1970-01-01T02")],
    "kernel": [("2024-01-05T03:21:12", "1970-01-05T03:21:12")],
    "dcgm": [("1704448800002", "12")],
    "bloom": [("2022-03-22", "1970-01-01"), ("gpu,7.3,note 4", "gpu,-7.3,note 4")],
    "events": [("2024-01-05T02", "1970-01-01T02"), (",n3,", ",,")],
    "table": [
        ("2024-01-05T03:00:00,2024-01-05T04", "1970-01-01T00:00:00,2024-01-05T04"),
        (",1,8,FAILED,n5", ",1,-8,FAILED,n5"),
    ],
    "swf": [("3 120 10 3600 48", "3 120 10 -5 48")],
    "sacct-json": [('"start": 1704416402', '"start": 12'), ('"count": 16', '"count": -16')],
    "gcm": [("2024-01-05T03:00:00+00:00", "1970-01-01T00:00:00+00:00"), ("gres/gpu=16", "gres/gpu=-16")],
    "gcm-checks": [("1704448803.5", "12")],
    "philly": [("2017-10-07 02:23:45", "1970-01-01 00:00:00")],
    "kubernetes": [(' "2024-01-05T01:00:00Z"', ' "1970-01-01T01:00:00Z"')],
    "kubernetes-events": [("2024-01-05T02:00:00Z", "1970-01-01T02:00:00Z")],
}


@pytest.mark.parametrize("name", LOGS)
def test_bad_values_are_set_aside_or_refused(tmp_path: Path, name: str) -> None:
    """Years around 1970 and negative sizes never get into the table."""
    text = SAMPLES[name].read_text()
    for old, new in BAD_VALUES[name]:
        assert old in text
        log = must_read(put(tmp_path, text.replace(old, new, 1).encode()), name)
        times = log.table.select(pl.col(pl.Datetime("us", "UTC")).dt.year().min())
        assert all(year is None or year > 2000 for year in times.row(0))
        sizes = [column for column in ("n_gpus", "n_nodes", "days", "lost_hours") if column in log.table.columns]
        assert all((log.table[column].min() or 0) >= 0 for column in sizes)  # type: ignore[operator]


def test_nodes_that_are_not_assigned(tmp_path: Path) -> None:
    text = SAMPLES["sacct"].read_text().replace("n[2-3]", "None assigned").replace("n[3-4]", "(null)")
    nodes = must_read(put(tmp_path, text.encode()), "sacct").table["nodes"].to_list()
    assert nodes[2:4] == [None, None]
    assert nodes[4] == ["n4", "n5"]


PACK: dict[str, Callable[[bytes], bytes]] = {".gz": gzip.compress, ".xz": lzma.compress}


@pytest.mark.parametrize("suffix", [".gz", ".xz", ".zst"])
@pytest.mark.parametrize("name", ["sacct", "philly", "swf"])
def test_packed_files_cut_short_are_refused(tmp_path: Path, name: str, suffix: str) -> None:
    path = tmp_path / f"log{suffix}"
    if suffix == ".zst":
        lines = pl.DataFrame({"line": SAMPLES[name].read_text().splitlines()})
        lines.write_csv(path, include_header=False, quote_style="never", compression="zstd")
    else:
        path.write_bytes(PACK[suffix](SAMPLES[name].read_bytes()))
    assert must_read(path, name).rows_read == ROWS
    data = path.read_bytes()
    for keep in (len(data) // 2, len(data) - 9):
        path.write_bytes(data[:keep])
        with pytest.raises(InputError, match="cut short or damaged"):
            read(path)


# What random damage once found: each made a reader fail with an error that was not its own.
ONCE = {
    "titan": ["SN,location,insert,remove,duration,out,event\n1,c99999999999999999999-0c0s0n0,x,y,1,TRUE,\n"],
    "gcm-checks": [
        '{"node": "n", "health_check": null, "result": 2, "start_time": 1704448800}\n',
        '{"node": "n", "health_check": "x", "result": ["2"], "start_time": {"a": 1}}\n',
    ],
    "table": [
        "{}\n{}\n",
        '{"job_id": [1], "start": 1704448800, "end": 1704448900, "nodes": {"a": 1}, "n_gpus": 8}\n',
        "job_id,start,end\r1,2,3",
    ],
    "counts": ["failures,exposure_node_days\n1e31,10\n"],
    "swf": ["; a: b\n1 0 10 3600 5" + "0" * 30 + " -1 -1 48 7200 -1 1 3 1 -1 2 -1 -1 -1\n"],
}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in ONCE.items() for text in texts])
def test_what_was_once_a_crash(tmp_path: Path, name: str, text: str) -> None:
    try_read(put(tmp_path, text.encode()), name)
    try_read(put(tmp_path, text.encode()), "auto")


NASTY = st.sampled_from(
    [b"", b"\0", b'"', b",", b"|", b"\n", b"\r", b"{", b"]", b"\\", b"\xff", b"-1", b"nan", b"9" * 30, b"None", b"1970"]
)


@pytest.mark.parametrize("name", FORMATS)
@given(edits=st.lists(st.tuples(st.floats(0, 1), st.integers(0, 30), NASTY), min_size=1, max_size=4))
@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_damage(tmp_path: Path, name: str, edits: list[tuple[float, int, bytes]]) -> None:
    data = SAMPLES[name].read_bytes()
    for place, size, junk in edits:
        cut = int(place * len(data))
        data = data[:cut] + junk + data[cut + size :]
    log = try_read(put(tmp_path, data), name)
    if log is not None and name in BY_LINE:
        text = data.decode("utf-8", errors="replace")
        assert log.rows_read == sum(BY_LINE[name](line.strip(" \t\r\0")) for line in text.split("\n"))
    try_read(put(tmp_path, data), "auto")


BY_LINE: dict[str, Callable[[str], bool]] = {
    "kernel": lambda line: bool(line.strip()),
    "dcgm": lambda line: bool(line),
    "swf": lambda line: bool(line) and not line.startswith(";"),
}
"""Which lines are rows of a format whose rows are lines, counted without the reader."""

BIG = """
import resource, sys
from pathlib import Path
from meantime.datasets import read
from meantime.errors import InputError

folder, name = Path(sys.argv[1]), sys.argv[2]
read(folder / "small", format=name)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
log = read(folder / "big", format=name)
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before, log.rows_read, len(log.quarantine))
"""


@pytest.mark.slow
@pytest.mark.parametrize("name", ["sacct", "philly", "swf", "kernel", "kubernetes", "table"])
def test_field_of_ten_megabytes(tmp_path: Path, name: str) -> None:
    """Memory grows by less than 30 times the file (text, its lines, its fields, and what replaces a bad character)."""
    data = SAMPLES[name].read_bytes()
    words = {
        "sacct": b"train",
        "philly": b"m1",
        "swf": b" 48 ",
        "kernel": b"python",
        "kubernetes": b"n1",
        "table": b"n1",
    }
    (tmp_path / "small").write_bytes(data)
    (tmp_path / "big").write_bytes(data.replace(words[name], words[name].strip() + b"x" * 10_000_000, 1))
    out = subprocess.run(
        [sys.executable, "-c", BIG, str(tmp_path), name], capture_output=True, text=True, check=True, timeout=120
    )
    grown, rows, _ = map(int, out.stdout.split())
    assert rows == must_read(SAMPLES[name], name).rows_read
    assert grown * 1024 < 300_000_000
