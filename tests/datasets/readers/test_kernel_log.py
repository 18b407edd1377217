"""Xid lines of kernel logs, in each of the forms that tools write."""

import json
from pathlib import Path

import pytest

from meantime.datasets.log import Log
from meantime.datasets.readers.kernel_log import read_kernel_log
from meantime.errors import InputError

BUS = "NVRM: Xid (PCI:0000:3B:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."
FAULT = "NVRM: Xid (PCI:0000:3b:00): 31, pid=4711, name=python, Ch 00000010, MMU Fault"
BARE = "NVRM: Xid (0000:af:00): 62, 0000(0000) 00000000 00000000"
GPU = "NVRM: GPU at PCI:0000:3b:00: GPU-0b32a29e-0c94-cd1a-d44a-4e3ea8b2e3fc"
SWITCH = "nvidia-nvswitch3: SXid (PCI:0000:c1:00.0): 12028, Non-fatal, Link 32 egress non-posted PRIV error"
MORE = "usb 1-1: new device"


def read(tmp_path: Path, text: str, **options: object) -> Log:
    path = tmp_path / "kernel.log"
    path.write_text(text)
    log = read_kernel_log(path, **options)  # type: ignore[arg-type]
    lines = sum(1 for line in text.split("\n") if line.strip())
    assert log.rows_read == lines == log.table.height + sum(log.rows_folded.values()) + log.quarantine.height
    return log


def journal(time: int, host: str, message: object) -> str:
    return json.dumps({"__REALTIME_TIMESTAMP": str(time), "_HOSTNAME": host, "MESSAGE": message})


ISO = f"""2024-01-05T03:21:11+0100 gpu-017 kernel: {GPU}
2024-01-05T03:21:11+0100 gpu-017 kernel: {BUS}
2024-01-05T03:21:11.250000+01:00 gpu-018 kernel: {FAULT}
2024-01-05T03:21:12+0100 gpu-018 kernel: {MORE}
"""


def test_journal_short_iso(tmp_path: Path) -> None:
    log = read(tmp_path, ISO + "-- Boot 0123456789abcdef --\n")
    first, second = log.table.rows(named=True)
    assert first["time"].isoformat() == "2024-01-05T02:21:11+00:00"
    assert (first["node"], first["component"], first["severity"], first["source"]) == (
        "gpu-017",
        "gpu_hardware",
        "high",
        "xid 79",
    )
    assert first["detail"].startswith("PCI 0000:3b:00, GPU-0b32a29e-0c94-cd1a-d44a-4e3ea8b2e3fc, pid='<unknown>'")
    assert (second["node"], second["component"], second["severity"]) == ("gpu-018", "user_program", "low")
    assert second["detail"].startswith("PCI 0000:3b:00, pid=4711")
    assert log.rows_folded == {"GPU names": 1, "other lines": 2}


def test_journal_json(tmp_path: Path) -> None:
    stamp = 1704421271000000
    text = "\n".join([journal(stamp, "n1", GPU), journal(stamp + 5, "n1", BUS), journal(stamp, "n1", MORE)])
    log = read(tmp_path, f"{text}\n{journal(stamp, 'n2', BARE)[:-9]}\n")
    row = log.table.row(0, named=True)
    assert (row["node"], row["time"].isoformat()) == ("n1", "2024-01-05T02:21:11.000005+00:00")
    assert "GPU-0b32a29e" in row["detail"]
    assert log.quarantine["reason"].to_list() == ["not a JSON object"]
    assert log.rows_folded == {"GPU names": 1, "other lines": 1}


def test_syslog_needs_the_year_and_turns_it(tmp_path: Path) -> None:
    text = f"Dec 31 23:59:59 n1 kernel: [    5.1] {BUS}\nJan  1 00:00:01 n1 kernel: [123456.7] {FAULT}\n"
    log = read(tmp_path, text, year=2023, timezone="Europe/Berlin")
    assert [time.isoformat() for time in log.table["time"]] == [
        "2023-12-31T22:59:59+00:00",
        "2023-12-31T23:00:01+00:00",
    ]
    with pytest.raises(InputError, match=r"line 1: the line has no year; give year= \(e\.g\. year=2024\)"):
        read(tmp_path, text)
    with pytest.raises(InputError, match="year is 24"):
        read(tmp_path, text, year=24)


def test_dmesg_needs_node_and_boot_time(tmp_path: Path) -> None:
    text = f"[    0.000000] Linux version\n[12345.500000] {BUS}\n[12346.000000] {SWITCH}\n"
    log = read(tmp_path, text, node="n7", boot_time="2024-01-05T03:00:00")
    assert log.table["time"][0].isoformat() == "2024-01-05T06:25:45.500000+00:00"
    assert log.table.select("node", "component", "severity", "source").row(1) == ("n7", "nvlink", "low", "sxid 12028")
    with pytest.raises(InputError, match="seconds since boot; give boot_time="):
        read(tmp_path, text, node="n7")
    with pytest.raises(InputError, match="names no host; give node="):
        read(tmp_path, text, boot_time="2024-01-05T03:00:00")
    with pytest.raises(InputError, match="boot_time is 'noon'"):
        read(tmp_path, text, boot_time="noon")
    long = read(tmp_path, f"[Fri Jan  5 03:21:11 2024] {BARE}\n2024-01-05T03:21:12,123456+00:00 {BUS}\n", node="n7")
    assert [time.isoformat() for time in long.table["time"]] == [
        "2024-01-05T03:21:11+00:00",
        "2024-01-05T03:21:12.123456+00:00",
    ]


def test_what_is_wrong_is_set_aside(tmp_path: Path) -> None:
    odd = ["yesterday gpu-017 kernel: ", "2024-13-05T03:21:11Z gpu-017 kernel: ", "", "1970-01-01T00:00:00Z n kernel: "]
    text = ISO + "".join(f"{begin}{BUS}\n" for begin in odd)
    log = read(tmp_path, text)
    assert log.quarantine["line"].to_list() == [5, 6, 7, 8]
    reasons = log.quarantine["reason"].to_list()
    assert reasons[0] == reasons[2] == "the line begins with no time that is understood"
    assert "'2024-13-05T03:21:11Z' is not a time" in reasons[1]
    assert "outside the years" in reasons[3]


def test_numbers_not_known_and_numbers_of_the_site(tmp_path: Path) -> None:
    text = ISO.replace("79,", "777,")
    log = read(tmp_path, text)
    assert log.table.row(0, named=True)["component"] == "gpu_driver"
    assert log.notes == ("Xid numbers that are not in the table count as critical errors of gpu_driver: 777",)
    site = tmp_path / "site.toml"
    site.write_text('[xid.777]\nname = "Ours"\ncomponent = "coolant_pump"\nseverity = "low"\n')
    own = read(tmp_path, text, xids=site)
    assert own.table.row(0, named=True)["component"] == "coolant_pump"
    assert own.notes == ()


def test_log_without_xids_has_no_events(tmp_path: Path) -> None:
    log = read(tmp_path, f"2024-01-05T03:21:12+0100 gpu-018 kernel: {MORE}\n")
    assert (log.table.height, log.rows_folded) == (0, {"other lines": 1})
