"""Drives and diaries: Backblaze's daily rows, BLOOM's incidents."""

import datetime as dt
from pathlib import Path

import polars as pl
import pytest

from meantime.datasets.lives import lives_table
from meantime.datasets.readers.backblaze import read_backblaze
from meantime.datasets.readers.bloom import bloom_table, read_bloom
from meantime.errors import InputError

HEADER = "date,serial_number,model,capacity_bytes,failure,smart_5_raw,smart_9_raw\n"
DAYS = {
    "2024-01-01.csv": "2024-01-01,Z1,ST12000,12000138625024,0,0,2400\n2024-01-01,Z2,ST12000,12000138625024,0,,\n",
    "2024-01-02.csv": "2024-01-02,Z1,ST12000,12000138625024,0,0,2424\n2024-01-02,Z2,ST12000,12000138625024,1,,\n"
    "2024-01-02,Z3,WDC WUH,12000138625024,2,0,1\n1970-01-01,Z3,WDC WUH,12000138625024,0,0,1\n2024-01-02,,WDC,1,0,0,1\n",
    "2024-01-03.csv": "2024-01-03,Z1,ST12000,12000138625024,0,0,2448\n2024-01-03,Z1,ST12000,12000138625024,0,0,2448\n"
    "2024-01-03,Z3,WDC WUH,12000138625024,0,0,240\n2024-01-03,Z4\n",
}


def test_backblaze(tmp_path: Path) -> None:
    paths = []
    for name, text in DAYS.items():
        (tmp_path / name).write_text(HEADER + text)
        paths.append(tmp_path / name)
    log = read_backblaze(paths)
    assert (log.rows_read, log.table.height, log.quarantine.height) == (11, 3, 4)
    assert log.rows_folded == {"drive-days": 3, "repeated days": 1}
    one, two, three = log.table.rows(named=True)
    assert (one["unit"], one["days"], one["age_entry"], one["age"], one["event"]) == ("Z1", 3, 100, 102, None)
    assert one["exit"] - one["entry"] == dt.timedelta(days=3)
    assert (two["days"], two["event"], two["age"]) == (2, "drive", None)
    assert (three["model"], three["days"]) == ("WDC WUH", 1)
    reasons = sorted(log.quarantine["reason"])
    assert reasons[0].startswith("4 fields where") or reasons[0].startswith("2 fields where the header has 7")
    assert "date '1970-01-01' lies outside the years" in reasons[1]
    assert "failure is 2, neither 0 nor 1" in reasons[2]
    assert reasons[3] == "serial_number is missing"
    table = lives_table(log, group="model")
    assert table["exposure"].to_series().to_dict() == {"ST12000": 5, "WDC WUH": 1}
    assert int(table["failures"].sum()) == 1
    (tmp_path / "x.csv").write_text("date,serial_number,model\n")
    with pytest.raises(InputError, match="day of drive statistics lacks failure"):
        read_backblaze(tmp_path / "x.csv")


def test_bloom(shared_data: Path) -> None:
    log = read_bloom(shared_data / "bloom_176b" / "incidents.csv")
    assert (log.rows_read, log.table.height, log.quarantine.height) == (15, 6, 1)
    assert log.rows_folded == {
        "not failures: start": 1,
        "not failures: operator_change": 5,
        "not failures: milestone": 1,
        "not failures: reconfiguration": 1,
    }
    assert log.quarantine["reason"].to_list() == ["start '2022-04' is not a time"]
    hangs = log.table.filter(pl.col("event_class") == "software_hang")
    assert hangs["lost_hours"].to_list() == [18, 6, 11]
    assert log.table["lost_hours"].sum() == 42.3
    table = bloom_table(log)
    assert float(table["exposure"].sum()) == 48 * 115
    assert table["failures"].sel(cluster="bloom").to_series().to_dict() == {"dataloader": 3, "facility": 1, "gpu": 2}
    with pytest.raises(InputError, match="from 'March' to '2022-07-04'; expected dates"):
        bloom_table(log, begin="March")


# from, to: productive days of 105 s an iteration, and the shares of the days that the dates allow
SPANS = """
2022-03-18 12695 2022-07-04 94767 99.74  0.9067 0.9235
2022-03-18 12695 2022-04-28 42780 36.562 0.8917 0.8917
2022-04-28 42780 2022-07-04 94767 63.179 0.9291 0.943
"""


@pytest.mark.parametrize("line", SPANS.strip().splitlines())
def test_bloom_milestones(shared_data: Path, line: str) -> None:
    first, begin, last, end, days, low, high = line.split()
    stones = pl.read_csv(shared_data / "bloom_176b" / "milestones.csv")
    iterations = dict(stones.select("date", "iteration").rows())
    assert (iterations[first], iterations[last]) == (int(begin), int(end))
    productive = (iterations[last] - iterations[first]) * 105 / 86400
    span = (dt.date.fromisoformat(last) - dt.date.fromisoformat(first)).days
    wider = {"99.74": 110, "36.562": 41, "63.179": 68}[days]
    assert f"{productive:.5g}".startswith(days.rstrip("0")[:5])
    assert (f"{productive / wider:.4g}", f"{productive / span:.4g}") == (low, high)
