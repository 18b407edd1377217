"""Published job traces: rows typed in exactly the columns of each, and what becomes of them."""

from pathlib import Path

import polars as pl
import pytest

from meantime.datasets.log import Log
from meantime.datasets.readers.acme import read_acme
from meantime.datasets.readers.helios import read_helios, read_helios_gpus
from meantime.datasets.readers.openb import read_openb
from meantime.datasets.readers.pai import read_pai
from meantime.datasets.readers.swf import read_swf
from meantime.errors import InputError

SEREN = """job_id,user,node_num,gpu_num,cpu_num,type,state,submit_time,start_time,end_time,duration,queue,gpu_time
dlctk696s0jbvitv,uf794,1,8,96,Other,COMPLETED,2023-03-01 00:18:22+08:00,2023-03-01 00:18:29+08:00,\
2023-03-01 02:18:29+08:00,7200,7.0,57600
dlc1,uf794,128,1024,96,Pretrain,NODE_FAIL,2023-03-01 00:18:22+08:00,2023-03-01 00:18:29+08:00,\
2023-03-02 00:18:29+08:00,86400,7.0,1
dlc2,u,1,8,96,Other,CANCELLED,2023-03-01 00:18:22+08:00,,,0,0,0
dlc3,u,1,8,96,Other,EXPLODED,2023-03-01 00:18:22+08:00,,,0,0,0
"""
KALOS = """job_id,user,node_num,gpu_num,cpu_num,mem_per_pod_GB,shared_mem_per_pod,type,state,submit_time,\
start_time,end_time,fail_time,stop_time,duration,queue,gpu_time
dlc,u,2,16,96,800,100,Pretrain,FAILED,2023-05-17 11:00:58+00:00,2023-05-17 11:01:08+00:00,\
2023-05-17 11:01:16+00:00,2023-05-17 11:01:16+00:00,,18,10,128
"""
HELIOS = """job_id,user,vc,gpu_num,cpu_num,node_num,state,submit_time,start_time,end_time,duration,queue
1,uABC,vcX,16,32,2,COMPLETED,2020-04-01 00:03:00,2020-04-01 00:05:00,2020-04-01 01:05:00,3600,120
2,uABC,vcX,8,32,1,SUSPENDED,2020-04-01 00:03:00,2020-04-01 00:05:00,2020-04-01 01:05:00,3600,120
"""
OPENB = """name,cpu_milli,memory_mib,num_gpu,gpu_milli,gpu_spec,qos,pod_phase,creation_time,deletion_time,scheduled_time
openb-pod-0000,12000,16384,1,1000,,LS,Running,0,12537496,0
openb-pod-0001,6000,12288,1,460,,LS,Running,427061,12902960,427061
openb-pod-2263,32200,132096,4,1000,,LS,Failed,10814729,10815277,10814729
openb-pod-0017,88000,327680,8,1000,,Burstable,Succeeded,9437497,10769854,9437500
openb-pod-7432,8000,30517,1,470,,BE,Pending,100,200,
openb-pod-0001,x,12288,eight,460,,LS,Failed,427061,12902961x,427061
"""


def write(tmp_path: Path, name: str, text: str) -> Path:
    (tmp_path / name).write_text(text)
    return tmp_path / name


def hours(log: Log) -> list[float | None]:
    return log.table.select((pl.col("end") - pl.col("start")).dt.total_seconds() / 3600).to_series().to_list()


def balanced(log: Log) -> Log:
    assert log.rows_read == log.table.height + sum(log.rows_folded.values()) + log.quarantine.height
    return log


def test_acme(tmp_path: Path) -> None:
    log = balanced(read_acme(write(tmp_path, "trace_seren.csv", SEREN)))
    assert log.table["state"].to_list() == ["COMPLETED", "NODE_FAIL", "CANCELLED"]
    assert (log.table["n_gpus"].to_list(), log.table["n_nodes"].to_list()) == ([8, 1024, 8], [1, 128, 1])
    assert hours(log) == [2, 24, None]
    assert log.table["start"][0].isoformat() == "2023-02-28T16:18:29+00:00"
    assert set(log.table["cluster"]) == {"seren"}
    assert log.quarantine["reason"].to_list() == ["state 'EXPLODED' is unknown"]
    kalos = read_acme(write(tmp_path, "trace_kalos.csv", KALOS))
    assert (kalos.table["cluster"][0], hours(kalos)) == ("kalos", [8 / 3600])
    with pytest.raises(InputError, match="Acme job trace lacks gpu_num"):
        read_acme(write(tmp_path, "odd.csv", SEREN.replace("gpu_num", "gpus")))


def test_helios(tmp_path: Path) -> None:
    log = balanced(read_helios(write(tmp_path, "cluster_log.csv", HELIOS), cluster="venus"))
    assert log.table["start"][0].isoformat() == "2020-03-31T16:05:00+00:00"
    assert log.table.select("cluster", "partition", "n_gpus", "state").rows() == [
        ("venus", "vcX", 16, "COMPLETED"),
        ("venus", "vcX", 8, "RUNNING"),
    ]


def test_helios_gpus(tmp_path: Path) -> None:
    text = "date,vcA,vcB,total\n2020-04-01,800,200,1000\n2020-04-02,800,264,1064\n"
    gpus = read_helios_gpus(write(tmp_path, "gpus.csv", text))
    assert gpus["gpus"].sum() == 2064
    assert gpus.row(0) == (gpus["date"][0], "vcA", 800)
    with pytest.raises(InputError, match=r"gpus\.csv: line 3: .*expected a date, whole numbers, and their total"):
        read_helios_gpus(write(tmp_path, "gpus.csv", text.replace("1064", "1000")))


def test_openb(tmp_path: Path) -> None:
    log = balanced(read_openb(write(tmp_path, "pods.csv", OPENB)))
    assert log.table["state"].to_list() == ["CANCELLED", "RUNNING", "FAILED", "COMPLETED", "PENDING"]
    assert log.table["n_gpus"].to_list() == [1, 1, 4, 8, 1]
    assert log.table["start"][0].isoformat() == "2023-01-01T00:00:00+00:00"
    assert hours(log) == [12537496 / 3600, None, 548 / 3600, (10769854 - 9437500) / 3600, None]
    assert "n_gpus 'eight' is not a whole number" in log.quarantine["reason"][0]
    assert "end '12902961x' is not a time" in log.quarantine["reason"][0]
    assert any("2 pods share a GPU" in note for note in log.notes)


SWF = """; Version: 2.2
; Computer: KIT FH2
; UnixStartTime: 1464739200
; MaxNodes: 1152
; MaxProcs: 24048
;
1 0 10 3600 48 -1 -1 48 7200 -1 1 3 1 -1 2 -1 -1 -1
2 60 -1 -1 -1 -1 -1 24 7200 -1 5 3 1 -1 2 -1 -1 -1
3 60 0 100 16 -1 -1 16 7200 -1 -1 4 1 -1 2 -1 -1 -1
4 100 20 250 16 -1 -1 16 7200 -1 1 4 1 -1 2 -1 -1 -1
4 100 20 100 16 -1 -1 16 7200 -1 2 4 1 -1 2 -1 -1 -1
4 -1 50 150 16 -1 -1 16 7200 -1 3 4 1 -1 2 -1 -1 -1
5 0 10 3600 48 -1 -1
6 zero 10 3600 48 -1 -1 48 7200 -1 1 3 1 -1 2 -1 -1 -1
7 0 10 60 48 -1 -1 48 7200 -1 9 3 1 -1 2 -1 -1 -1
8 0 10 60 -8 -1 -1 -1 7200 -1 0 3 1 -1 2 -1 -1 -1
"""


def test_swf(tmp_path: Path) -> None:
    log = balanced(read_swf(write(tmp_path, "kit.swf", SWF)))
    table = log.table
    assert table["job_id"].to_list() == ["1", "2", "3", "4", "4", "8"]
    assert table["attempt"].to_list() == [1, 1, 1, 1, 2, 1]
    assert table["state"].to_list() == ["COMPLETED", "CANCELLED", None, "REQUEUED", "COMPLETED", "FAILED"]
    assert table["n_gpus"].to_list() == [48, 24, 16, 16, 16, None]
    assert table["start"][0].isoformat() == "2016-06-01T00:00:10+00:00"
    bursts = table.filter(pl.col("job_id") == "4")
    assert bursts["submit"].dt.epoch("s").to_list() == [1464739200 + 100, 1464739200 + 220]
    assert bursts["start"].dt.epoch("s").to_list() == [1464739200 + 120, 1464739200 + 270]
    assert (table["start"][1], table["end"][1]) == (None, None)
    assert log.rows_folded == {"summaries of partial executions": 1}
    assert log.quarantine["line"].to_list() == [13, 14, 15]
    assert log.quarantine["reason"].to_list() == [
        "7 columns where SWF has 18",
        "a column is no number",
        "state '9' is unknown",
    ]
    assert set(table["cluster"]) == {"KIT FH2"}
    assert "24,048 on 1,152 nodes, about 20.875 each" in log.notes[0]
    undated = read_swf(write(tmp_path, "x.swf", SWF.replace("UnixStartTime: 1464739200", "Note: none")))
    assert "dates are not real" in undated.notes[0]
    with pytest.raises(InputError, match="line 1: 'a,b' is no row of SWF"):
        read_swf(write(tmp_path, "y.swf", "a,b\n"))


TASK = """4b3f,tensorflow,2.0,Terminated,4550879.0,4551416.0,600.0,29.296875,50.0,MISC
4b3f,ps,1.0,Failed,4550879.0,4551416.0,600.0,29.3,,CPU
4b40,worker,16.0,Running,4550879.0,,600.0,29.3,100.0,V100
4b41,worker,8.0,Waiting,,,600.0,29.3,100.0,V100
4b42,worker,8.0,Lost,4550879.0,4551416.0,600.0,29.3,100.0,V100
4b43,worker,many,Failed,4550879.0,4551416.0,600.0,29.3,100.0,V100
4b44,worker
"""
JOB = """job_name,inst_id,user,status,start_time,end_time
4b3f,8cb3,58540f,Terminated,4550870.0,4551416.0
4b40,8cb4,58541f,Running,4550000.0,
"""
INSTANCE = """4b3f,tensorflow,0d39,54db,e387,Terminated,4550879.0,4551416.0,471d
4b3f,tensorflow,0d40,54dc,e388,Terminated,4550879.0,4551416.0,471d
4b40,worker,0d41,54dd,e389,Running,4550879.0,,471e
4b40,worker,0d42,54de,e390,Running,4550879.0,,471f
"""


def test_pai(tmp_path: Path) -> None:
    task = write(tmp_path, "pai_task_table.csv", TASK)
    log = balanced(read_pai(task))
    assert log.table["job_id"].to_list() == ["4b3f/tensorflow", "4b3f/ps", "4b40/worker", "4b41/worker"]
    assert log.table["n_gpus"].to_list() == [1, 0, 16, 8]
    assert log.table["state"].to_list() == ["COMPLETED", "FAILED", "RUNNING", "PENDING"]
    # 1970-02-23 00:07:59 in China, a Monday, and so is this
    assert log.table["start"].dt.convert_time_zone("Asia/Shanghai")[0].strftime("%A %H:%M:%S") == "Monday 00:07:59"
    assert log.quarantine["line"].to_list() == [5, 6, 7]
    assert "n_gpus 'many' is not a whole number" in log.quarantine["reason"][1]
    full = balanced(read_pai([write(tmp_path, "i.csv", INSTANCE), task, write(tmp_path, "j.csv", JOB)]))
    assert full.rows_folded == {"job rows": 2, "instance rows": 4}
    assert full.table["nodes"].to_list() == [["471d"], None, ["471e", "471f"], None]
    assert full.table["n_nodes"].to_list() == [1, None, 2, None]
    assert full.table["user"].to_list() == ["58540f", "58540f", "58541f", None]
    assert (full.table["start"] - full.table["submit"]).dt.total_seconds().to_list()[:2] == [9, 9]
    with pytest.raises(InputError, match=r"no task table of PAI among .*job table"):
        read_pai([tmp_path / "j.csv"])
    with pytest.raises(InputError, match="both task tables"):
        read_pai([task, task])
    with pytest.raises(InputError, match="is no table of PAI: its first line is 'a,b'"):
        read_pai(write(tmp_path, "z.csv", "a,b\n1,2\n"))
