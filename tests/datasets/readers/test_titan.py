"""Titan's GPUs: typed rows of both files."""

from pathlib import Path

import pytest

from meantime.datasets.lives import lives_table
from meantime.datasets.readers.titan import read_titan
from meantime.errors import InputError

DAY = 86400
STAYS = f"""SN,location,insert,remove,duration,out,event
325412000001,c11-2c1s4n1,2014-01-01 00:00:00,2014-01-11 00:00:00,{10 * DAY},TRUE,
325412000001,c3-0c0s0n0,2014-02-01 00:00:00,2014-02-21 00:00:00,{20 * DAY},TRUE,OTB
325412000001,c3-0c0s0n0,,2014-02-06 00:00:00,,TRUE,DBE
325412000001,c3-0c0s0n0,,2014-02-09 00:00:00,,TRUE,DBE
325412000002,c0-0c0s0n0,2014-11-02 00:00:00,2014-11-02 03:00:00,14400,FALSE,
325412000002,c0-0c0s0n0,,2013-02-06 00:00:00,,TRUE,DBE
325412000003,c0-0c0s0,2014-01-01 00:00:00,2014-01-11 00:00:00,1,TRUE,
325412000003,c0-0c0s0n1,2014-01-11 00:00:00,2014-01-01 00:00:00,1,TRUE,
325412000003,c0-0c0s0n1,2014-01-11 00:00:00,2014-01-12 00:00:00,1,TRUE,XXX
,c0-0c0s0n1,2014-01-11 00:00:00,2014-01-12 00:00:00,1,TRUE,
"""
SUMMARY = f"""SN,time,nlife,nloc,last,col,row,cage,slot,node,max_loc_events,time_max_loc,dbe,dbe_loc,otb,\
otb_loc,out,batch,days,years,dead,dead_otb,dead_dbe
1,{100 * DAY},1,1,2019-01-01,11,2,1,4,1,0,{100 * DAY},0,0,0,0,TRUE,new,100,0.27,0,0,0
2,{50 * DAY},2,2,2018-01-01,11,2,1,4,1,1,{40 * DAY},1,1,1,1,TRUE,old,50,0.14,1,0,1
3,{25 * DAY},1,1,2018-01-01,0,2,1,4,1,0,1,0,0,1,1,TRUE,old,25,0.07,1,1,0
4,{25 * DAY},1,1,2018-01-01,0,2,1,4,1,0,1,0,0,1,1,TRUE,old,25,0.07,1,0,0
5,ten,1,1,2018-01-01,0,2,1,4,1,0,1,0,0,1,1,TRUE,old,25,0.07,0,0,0
"""


def test_stays(tmp_path: Path) -> None:
    path = tmp_path / "gc_full.csv"
    path.write_text(STAYS)
    log = read_titan(path)
    table = log.table
    assert log.kind == "lives"
    assert (log.rows_read, table.height, log.quarantine["line"].to_list()) == (10, 5, [7, 8, 9, 10, 11])
    first = table.filter(table["unit"] == "325412000001").sort("age")
    assert first["event"].to_list() == [None, "gpu_memory", "gpu_memory", "gpu_hardware"]
    assert first["age_entry"].to_list() == [0, 10, 15, 18]
    assert first["age"].to_list() == [10, 15, 18, 30]
    assert first["days"].sum() == 30
    assert first.row(0, named=True)["cage"] == 1
    assert table.filter(table["unit"] == "325412000002")["days"].to_list() == [4 / 24]  # clocks went back
    reasons = log.quarantine["reason"].to_list()
    assert "no stay of this GPU there" in reasons[0]
    assert "location 'c0-0c0s0' is not such as" in reasons[1]
    assert "before it begins" in reasons[2]
    assert reasons[3] == "event 'XXX' is unknown"
    assert "serial number is missing" in reasons[4]
    made = lives_table(log)
    assert float(made["exposure"].sum()) == pytest.approx(30 + 4 / 24, rel=1e-12)
    assert made["failures"].sel(cluster="titan").to_series().to_dict() == {"gpu_hardware": 1, "gpu_memory": 2}


def test_summary(tmp_path: Path) -> None:
    path = tmp_path / "gc_summary_loc.csv"
    path.write_text(SUMMARY)
    log = read_titan(path)
    assert log.table["age"].to_list() == [100, 50, 25]
    assert log.table["age_entry"].to_list() == [0, 0, 0]
    assert log.table["event"].to_list() == [None, "gpu_memory", "gpu_hardware"]
    assert log.quarantine["reason"].to_list() == [
        "dead, but neither of dead_otb and dead_dbe",
        "its length is not known",
    ]
    by_batch = lives_table(log, group="batch")
    assert by_batch["exposure"].to_series().to_dict() == {"new": 100, "old": 75}
    with pytest.raises(InputError, match="has no column 'rack'"):
        lives_table(log, group="rack")
    path.write_text("SN,location\n1,c\n")
    with pytest.raises(InputError, match="Titan's GPUs lacks insert, remove, duration, event"):
        read_titan(path)
