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

TIMES = "2024-01-01 00:00:00,2024-01-01 00:00:00,2024-01-02 00:00:00"
HEADS = {
    "sacct": "JobID|State|Start|End\n1|COMPLETED|2024-01-01T00:00:00|2024-01-01T01:00:00\n",
    "sacct-json": '{"jobs": [{"job_id": 7, "state": {"current": ["FAILED"]}, "time": {"start": 1, "end": 2}}]}',
    "gcm": '{"time": 1, "end_ds": "2024-01-01", "cluster": "c", "sacct": {"JobID": "1"}}\n',
    "gcm-checks": '{"node": "n", "health_check": "check pci", "result": 0, "start_time": 1}\n',
    "swf": "; Version: 2\n; MaxNodes: 2\n1 0 10 3600 48 -1 -1 48 7200 -1 1 3 1 -1 2 -1 -1 -1\n",
    "philly": '[{"jobid": "a", "status": "Pass", "attempts": []}]',
    "helios": f"job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time\n1,u,v,8,1,1,FAILED,{TIMES}\n",
    "acme": f"job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time\n1,u,1,8,1,x,FAILED,{TIMES}\n",
    "pai": "4b3f,tensorflow,2.0,Terminated,4550879.0,4551416.0,600.0,29.296875,,MISC\n",
    "openb": "name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,"
    "scheduled_time\np,1,1,1,1000,,LS,Running,0,1,0\n",
    "lanl": "System,nodes,nodenumz,node prod,node decom,Prob Started,Prob Fixed,Facilities,Hardware,Human Error,Network,"
    "Undetermined,Software\n2,49,0,Jan-97,current,1/2/1997 3:04,1/2/1997 3:05,,CPU,,,,\n",
    "titan": "SN,location,insert,remove,duration,out,event\n1,c0-0c0s0n0,2014-01-01 00:00:00,2014-01-02 00:00:00,1,TRUE,\n",
    "backblaze": "date,serial_number,model,capacity_bytes,failure\n2024-01-01,Z1,ST,1,0\n",
    "kernel": "2024-01-05T03:21:11+0100 n1 kernel: usb 1-1\n2024-01-05T03:21:11+0100 n1 kernel: NVRM: Xid (PCI:0000:3b:00): 79\n",
    "nvidia-smi": "hostname, timestamp, gpu_uuid, remapped_rows.pending\nn, 2024-01-01T00:00:00, G, Yes\n",
    "dcgm": '# HELP DCGM_FI_DEV_XID_ERRORS x\nDCGM_FI_DEV_XID_ERRORS{gpu="0",Hostname="n"} 79 1704448800000\n',
    "bloom": "date,event_class,component,lost_hours,note\n2022-03-21,hardware,gpu,7.3,x\n",
    "kubernetes": '{"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "p", "namespace": "n"}}]}',
    "kubernetes-events": '{"kind": "List", "items": [{"kind": "Event", "metadata": {}, "reason": "NodeNotReady"}]}',
    "counts": "failures,exposure_node_days\n1,10\n",
    "events": "time,node,component\n2024-01-01T00:00:00,n,pcie\n",
    "table": "job_id,start,end\n1,2024-01-01T00:00:00,2024-01-01T01:00:00\n",
}


@pytest.mark.parametrize("name", FORMATS)
def test_each_format_is_recognised_and_named(tmp_path: Path, name: str) -> None:
    path = tmp_path / "file"
    path.write_text(HEADS[name])
    found, why = recognise(path)
    assert (found, bool(why)) == (name, True)
    made = read(path)
    assert made.notes[0] == f"read as {made.format}: {why}" if isinstance(made, Log) else name == "counts"


def test_all_formats_are_tested_and_told_apart() -> None:
    assert set(HEADS) == set(FORMATS) == {format.name for format in ALL}


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
    table.write_text(HEADS["table"])
    with pytest.raises(InputError, match="option node is not one of the format table; it takes none"):
        read(table, node="n")


def test_failure_table_of_any_log(shared_data: Path, tmp_path: Path) -> None:
    lanl = to_table(read(shared_data / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz"), by_node=False)
    assert int(lanl["failures"].sum()) == 23613
    bloom = to_table(read(shared_data / "bloom_176b" / "incidents.csv"))
    assert float(bloom["exposure"].sum()) == 48 * 115
    philly = to_table(read(shared_data / "philly_multi_gpu" / "jobs.json.xz"), rule="interruption")
    assert int(philly["failures"].sum()) == 1456
    assert to_table(philly) is philly
    path = tmp_path / "kern.log"
    path.write_text(HEADS["kernel"])
    with pytest.raises(InputError, match="holds events, which are no exposure"):
        to_table(read(path))


def test_several_files(tmp_path: Path) -> None:
    days = []
    for i in (1, 2):
        days.append(tmp_path / f"{i}.csv")
        days[-1].write_text(HEADS["backblaze"].replace("2024-01-01", f"2024-01-0{i}"))
    log = read(days)
    assert isinstance(log, Log)
    assert (log.table["days"].to_list(), log.rows_folded) == ([2], {"drive-days": 1})
    made = to_table(log)
    assert isinstance(made, xr.Dataset)
    assert np.isclose(float(made["exposure"].sum()), 2)
    scrapes = []
    for i in (1, 2):
        scrapes.append(tmp_path / f"{i}.prom")
        scrapes[-1].write_text(HEADS["dcgm"])
    events = read(scrapes)
    assert isinstance(events, Log)
    assert (events.table.height, events.rows_folded["duplicates"]) == (1, 1)


def test_parquet_of_each_table(tmp_path: Path) -> None:
    for name in ("helios", "acme", "openb", "events", "table"):
        csv, path = tmp_path / f"{name}.csv", tmp_path / f"{name}.parquet"
        csv.write_text(HEADS[name])
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
