"""Every format is recognised by its content, named with a reason; a near miss says what is missing."""

import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import xarray as xr

from meantime.datasets import read
from meantime.datasets.detect import FORMATS, recognise, to_table
from meantime.datasets.formats import ALL
from meantime.datasets.log import Log
from meantime.errors import InputError

SAMPLES = {path.name.partition(".")[0]: path for path in (Path(__file__).parent / "samples").iterdir()}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_recognised_and_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"  # the name tells nothing
    path.write_bytes(SAMPLES[name].read_bytes())
    found, why = recognise(path)
    assert (found, bool(why)) == (name, True)
    made = read(path)
    if isinstance(made, Log):
        assert made.notes[0] == f"read as {made.format}: {why}"
        assert (made.rows_read, made.quarantine.height) == (10 if name == "dcgm" else 8, 0)  # two lines of comments
    else:
        assert name == "counts"


def test_all_formats_are_tested_and_told_apart() -> None:
    assert set(SAMPLES) == set(FORMATS) == {format.name for format in ALL}


NEAR = {
    "JobID|Start|End\n1|x|y\n": "nearly fits: sacct output lacks State;",
    "State|Start|End\n1|x|y\n": "sacct output lacks JobID;",
    "SN,location,insert,remove,out,event\n": "the stays of Titan's GPUs lacks duration;",
    "date,serial_number,model,capacity_bytes\n": "the day of drive statistics lacks failure;",
    "job_id,vc,gpu_num,state,submit_time,start_time,end_time\n": "the Helios job log lacks node_num;",
    "node,component,severity\n": "a table of events lacks time;",
    "failures,component\n": "a table of counts lacks exposure_node_days;",
    "gpu_uuid, retired_pages.address\n": "the list of nvidia-smi lacks retired_pages.cause;",
    '{"jobs": [{"id": 7}]}': "sacct --json lacks job_id or state in its jobs;",
    '[{"attempts": []}]': "the job log of Philly lacks jobid",
    "; Version: 2\n; MaxNodes: 2\n1 0 10\n": "SWF lacks rows of 18 columns;",
}


@pytest.mark.parametrize("text", list(NEAR))
def test_near_misses_say_what_is_missing(tmp_path: Path, text: str) -> None:
    path = tmp_path / "file"
    path.write_text(text)
    with pytest.raises(InputError, match=r"is no log that is known.*" + NEAR[text].replace("(", r"\(")):
        read(path)


def test_options_of_a_reader(tmp_path: Path) -> None:
    path = tmp_path / "kern.log"
    path.write_text("Jan  5 03:21:11 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n")
    log = read(path, year="2024")
    assert isinstance(log, Log)
    assert log.table["time"][0].year == 2024
    with pytest.raises(InputError, match="option colour is not one of the format kernel; expected node, year"):
        read(path, colour="red")
    with pytest.raises(InputError, match="year is 'soon'; expected a whole number"):
        read(path, year="soon")
    table = tmp_path / "table.csv"
    table.write_bytes(SAMPLES["table"].read_bytes())
    with pytest.raises(InputError, match="option node is not one of the format table; it takes none"):
        read(table, node="n")


@pytest.mark.parametrize("begin", ["[    0.000000] ", "[12345.600000] ", "[Fri Jan  5 03:21:11 2024] "])
def test_dmesg_is_not_json(tmp_path: Path, begin: str) -> None:
    path = tmp_path / "dmesg"
    path.write_text(f"{begin}Linux version 6.1\n" * 60 + f"{begin}NVRM: Xid (PCI:0000:3b:00): 79, pid=1\n")
    assert recognise(path) == ("kernel", "most lines are those of a kernel log")
    log = read(path, node="n1", boot_time="2024-01-05T00:00:00")
    assert isinstance(log, Log)
    assert log.table["component"].to_list() == ["gpu_hardware"]


def test_failure_table_of_any_log(shared_data: Path) -> None:
    lanl = to_table(read(shared_data / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz"), by_node=False)
    assert int(lanl["failures"].sum()) == 23613
    bloom = to_table(read(shared_data / "bloom_176b" / "incidents.csv"))
    assert float(bloom["exposure"].sum()) == 48 * 115
    philly = to_table(read(shared_data / "philly_multi_gpu" / "jobs.json.xz"), rule="interruption")
    assert int(philly["failures"].sum()) == 1456
    assert to_table(philly) is philly
    with pytest.raises(InputError, match="holds events, which are no exposure"):
        to_table(read(SAMPLES["kernel"]))


def test_several_files(tmp_path: Path) -> None:
    days = []
    for i in (1, 2):
        days.append(tmp_path / f"{i}.csv")
        days[-1].write_text(SAMPLES["backblaze"].read_text().replace("2024-01-01", f"2024-01-0{i}"))
    log = read(days)
    assert isinstance(log, Log)
    assert (log.table["days"].to_list(), log.rows_folded) == ([2] * 8, {"drive-days": 8})
    made = to_table(log)
    assert isinstance(made, xr.Dataset)
    assert np.isclose(float(made["exposure"].sum()), 16)
    events = read([SAMPLES["kernel"], SAMPLES["kernel"]])
    assert isinstance(events, Log)
    assert (events.table.height, events.rows_folded["duplicates"]) == (8, 8)


def test_parquet_of_each_table(tmp_path: Path) -> None:
    for name in ("helios", "acme", "openb", "events", "table"):
        csv, path = SAMPLES[name], tmp_path / f"{name}.parquet"
        pl.read_csv(csv).write_parquet(path)
        assert recognise(path)[0] == name
        first, second = read(csv), read(path)
        assert isinstance(first, Log)
        assert isinstance(second, Log)
        assert first.table.equals(second.table)


def test_json_beyond_the_head(tmp_path: Path) -> None:
    """The document is longer than what is looked at."""
    job = {
        "job_id": 7,
        "state": {"current": "FAILED"},
        "time": {"start": 1704448800, "end": 1704448900},
        "x": "y" * 1000,
    }
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"meta": {}, "jobs": [{**job, "job_id": i} for i in range(2000)]}))
    assert path.stat().st_size > 2 * 1024**2
    assert recognise(path)[0] == "sacct-json"
