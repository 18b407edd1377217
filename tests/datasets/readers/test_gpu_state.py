"""States of GPUs turned into events: nvidia-smi's lists and DCGM's metrics."""

from pathlib import Path

import pytest

from meantime.datasets.log import Log
from meantime.datasets.readers.dcgm import read_dcgm
from meantime.datasets.readers.nvidia_smi import read_nvidia_smi
from meantime.errors import InputError

REMAPPED = """hostname, timestamp, gpu_uuid, gpu_bus_id, remapped_rows.correctable, remapped_rows.uncorrectable, \
remapped_rows.pending, remapped_rows.failure
n1, 2024-01-05T03:00:00Z, GPU-a, 00000000:3B:00.0, 0, 0, No, No
n1, 2024-01-05T03:00:00Z, GPU-b, 00000000:5B:00.0, 0, 2, No, No
n1, 2024-01-05T04:00:00Z, GPU-b, 00000000:5B:00.0, 0, 2, No, No
n1, 2024-01-05T05:00:00Z, GPU-b, 00000000:5B:00.0, 0, 2, Yes, No
n1, 2024-01-05T06:00:00Z, GPU-b, 00000000:5B:00.0, 0, 2, Yes, Yes
n2, 2024-01-05T06:00:00Z, GPU-c, 00000000:5B:00.0, [N/A], [N/A], [N/A], [N/A]
n2, 2024-01-05T06:00:00Z, GPU-d, 00000000:5B:00.0, 0, many, Yes, No
n2, yesterday, GPU-e, 00000000:5B:00.0, 0, 1, No, No
n2, 2024-01-05T06:00:00Z
"""
RETIRED = """gpu_uuid, retired_pages.address, retired_pages.cause
GPU-a, 0x0000000000012345, Double Bit ECC
GPU-a, 0x0000000000012346, Single Bit ECC
GPU-b, [N/A], [N/A]
GPU-b, 0x1, Gremlins
"""


def balanced(log: Log) -> Log:
    assert log.rows_read == log.table.height + sum(log.rows_folded.values()) + log.quarantine.height
    return log


def test_remapped_rows(tmp_path: Path) -> None:
    path = tmp_path / "remapped.csv"
    path.write_text(REMAPPED)
    log = balanced(read_nvidia_smi(path))
    assert (log.rows_read, log.rows_folded) == (9, {"GPUs without a fault": 2, "seen before": 1})
    assert log.table.select("node", "component", "severity").rows() == [
        ("n1", "gpu_memory", "low"),
        ("n1", "gpu_memory", "low"),
        ("n1", "gpu_memory", "high"),
    ]
    assert log.table["time"].dt.hour().to_list() == [3, 5, 6]
    assert log.table["detail"].to_list() == [
        "GPU-b, 2 rows remapped after uncorrectable errors",
        "GPU-b, row remap pending",
        "GPU-b, row remap failed",
    ]
    assert log.quarantine["line"].to_list() == [8, 9, 10]
    assert log.quarantine["reason"][0] == "remapped_rows.uncorrectable 'many' is not understood"
    assert "time 'yesterday' is not a time" in log.quarantine["reason"][1]


def test_retired_pages_of_one_node(tmp_path: Path) -> None:
    path = tmp_path / "retired.csv"
    path.write_text(RETIRED)
    log = balanced(read_nvidia_smi(path, node="n1", time="2024-01-05T03:00:00"))
    assert log.table["severity"].to_list() == ["high", "low"]
    assert log.table["detail"][0] == "GPU-a, double bit ecc at 0x0000000000012345"
    assert log.quarantine["reason"].to_list() == ["retired_pages.cause 'gremlins' is not understood"]
    with pytest.raises(InputError, match=r"does not say of which node it is; give node="):
        read_nvidia_smi(path, time="2024-01-05T03:00:00")
    with pytest.raises(InputError, match=r"does not say when it was taken; give time="):
        read_nvidia_smi(path, node="n1")
    path.write_text("gpu_uuid, temperature.gpu\nGPU-a, 50\n")
    with pytest.raises(InputError, match="is no list of remapped rows or retired pages"):
        read_nvidia_smi(path, node="n1", time="2024-01-05T03:00:00")


def sample(metric: str, gpu: str, value: object, stamp: int | None = None) -> str:
    labels = f'gpu="{gpu}",UUID="GPU-{gpu}",pci_bus_id="00000000:3B:00.0",device="nvidia{gpu}",Hostname="n1"'
    return f"{metric}{{{labels}}} {value}" + ("" if stamp is None else f" {stamp}")


XID, FAILURE = "DCGM_FI_DEV_XID_ERRORS", "DCGM_FI_DEV_ROW_REMAP_FAILURE"
MINUTE = 60_000
T = 1704421200000


def test_dcgm(tmp_path: Path) -> None:
    lines = [f"# HELP {XID} Value of the last XID error encountered.", f"# TYPE {XID} gauge"]
    for i, (xid, remap) in enumerate([(0, 0), (79, 0), (79, 1), (31, 1), (0, 1), (31, 0)]):
        stamp = T + i * MINUTE
        lines += [sample(XID, "0", xid, stamp), sample(FAILURE, "0", remap, stamp), sample(XID, "1", 0, stamp)]
        lines += [sample("DCGM_FI_DEV_GPU_TEMP", "0", 61, stamp), ""]
    lines += [sample(XID, "0", "NaN", T), sample(XID, "0", 79, T)[:40], sample(XID, "0", 79)]
    path = tmp_path / "n1.prom"
    path.write_text("\n".join(lines))
    log = balanced(read_dcgm(path))
    assert log.table.select("source", "component", "severity").rows() == [
        ("xid 79", "gpu_hardware", "high"),
        ("dcgm DCGM_FI_DEV_ROW_REMAP_FAILURE", "gpu_memory", "high"),
        ("xid 31", "user_program", "low"),
        ("xid 31", "user_program", "low"),
    ]
    assert [int(time.timestamp() * 1000 - T) // MINUTE for time in log.table["time"]] == [1, 2, 3, 5]
    assert log.table["detail"][0] == "GPU-0, PCI 00000000:3B:00.0, GPU has fallen off the bus"
    assert log.rows_folded == {"other metrics and comments": 8, "values without a new fault": 14}
    assert len(log.quarantine) == 3
    assert log.quarantine["reason"][0] == "value 'NaN' is not a number"


def test_dcgm_without_times(tmp_path: Path) -> None:
    path = tmp_path / "one.prom"
    path.write_text(sample(XID, "0", 79) + "\n" + sample(XID, "1", 99999))
    log = balanced(read_dcgm(path, time="2024-01-05T03:00:00"))
    assert log.table["component"].to_list() == ["gpu_hardware", "gpu_driver"]
    with pytest.raises(InputError, match="line 1: the line has no time; give time="):
        read_dcgm(path)
    path.write_text("node_load1 3\n")
    with pytest.raises(InputError, match="has no metric of DCGM"):
        read_dcgm(path)
