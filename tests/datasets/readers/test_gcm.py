"""Exports of gcm: accounting rows in every container, and health checks."""

import json
from pathlib import Path

import polars as pl
import pytest

from meantime.datasets.readers.gcm_checks import read_gcm_checks
from meantime.datasets.readers.gcm_jobs import read_gcm_jobs
from meantime.errors import InputError

COMMON = {
    "JobIDRaw": "7",
    "User": "u",
    "Submit": "2024-01-05T00:00:00-08:00",
    "Start": "2024-01-05T01:00:00-08:00",
    "NNodes": 2,
    "AllocTRES": "billing=2,gres/gpu=16,node=2",
    "ReqTRES": "gres/gpu=16",
    "NodeList": ["n1", "n2"],
    "QOS": "high",
}
ROWS = [
    {**COMMON, "JobID": "7", "State": "RUNNING", "End": "Unknown"},
    {**COMMON, "JobID": "7", "State": "NODE_FAIL", "End": "2024-01-05T03:00:00-08:00"},
    {**COMMON, "JobID": "7.batch", "State": "CANCELLED", "End": "2024-01-05T03:00:00-08:00"},
    {**COMMON, "JobID": "8_3", "State": "CANCELLED by 12", "Start": "None", "End": "2024-01-05T00:30:00-08:00"},
]


def published(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    return [{"time": 1704448800, "end_ds": "2024-01-05", "cluster": "fair", "sacct": row} for row in rows]


@pytest.mark.parametrize("container", ["jsonl", "json", "parquet", "flat.parquet", "flat.csv", "text.jsonl"])
def test_accounting(tmp_path: Path, container: str) -> None:
    path = tmp_path / f"sacct.{container}"
    if container == "parquet":
        pl.DataFrame(published(ROWS)).write_parquet(path)
    elif container == "flat.parquet":
        pl.DataFrame(ROWS).with_columns(cluster=pl.lit("fair"), Cluster=pl.lit("fair")).write_parquet(path)
    elif container == "flat.csv":
        text = pl.col("NodeList").list.join(",")
        pl.DataFrame(ROWS).with_columns(text, Cluster=pl.lit("fair")).write_csv(path)
    else:
        rows = published(ROWS)
        if container == "text.jsonl":
            rows = published([{k: str(v) for k, v in row.items()} | {"NodeList": "n[1-2]"} for row in ROWS])
        path.write_text(json.dumps(rows) if container == "json" else "\n".join(map(json.dumps, rows)))
    log = read_gcm_jobs(path)
    assert log.rows_folded == {"steps": 1, "earlier snapshots": 1}
    assert log.table.select("job_id", "state", "n_gpus", "n_nodes", "cluster", "qos").rows() == [
        ("7", "NODE_FAIL", 16, 2, "fair", "high"),
        ("8_3", "CANCELLED", 16, 2, "fair", "high"),
    ]
    assert log.table["nodes"].to_list()[0] == ["n1", "n2"]
    assert log.table["start"][0].isoformat() == "2024-01-05T09:00:00+00:00"


def test_accounting_lacks(tmp_path: Path) -> None:
    path = tmp_path / "sacct.parquet"
    pl.DataFrame([{"JobID": "7", "Start": "x"}]).write_parquet(path)
    with pytest.raises(InputError, match="lacks State, End of sacct"):
        read_gcm_jobs(path)


def check(name: str, result: object, message: str = "", **more: object) -> dict[str, object]:
    return {
        "node": "n1",
        "gpu_node_id": "g1",
        "cluster": "fair",
        "derived_cluster": "fair",
        "health_check": name,
        "type": "prolog",
        "result": result,
        "_msg": message,
        "job_id": 7,
        "start_time": 1704448800.25,
        "end_time": 1704448801.5,
        **more,
    }


def test_health_checks(tmp_path: Path) -> None:
    rows = [
        check("check iblink", 2, "ib0 down"),
        check("check iblink", 0),
        check("xid errors", 2, "XID error: 79, XID causes: HW. XID error: 48, XID causes: HW. "),
        check("xid errors", 1, "non-critical XID error: 31, XID causes: app. "),
        check("nvidia smi row_remap", 3, "cannot query"),
        check("Site: Coolant", 1, "warm", end_time=None),
        check("check pci", 9),
        check("check pci", None),
        check("check pci", 2, node=None),
        check("check pci", 2, start_time=5, end_time=6),
    ]
    path = tmp_path / "checks.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)))
    log = read_gcm_checks(path)
    assert log.table.select("component", "severity", "source").rows() == [
        ("infiniband_link", "high", "check iblink"),
        ("gpu_hardware", "high", "xid 79"),
        ("user_program", "low", "xid 31"),
        ("site_coolant", "low", "Site: Coolant"),
    ]
    assert log.table["time"][0].isoformat() == "2024-01-05T10:00:01.500000+00:00"
    assert log.table["time"][3].isoformat() == "2024-01-05T10:00:00.250000+00:00"
    assert log.rows_folded == {"checks that passed": 1, "checks without a result": 1}
    assert log.quarantine["line"].to_list() == [7, 8, 9, 10]
    assert log.quarantine["reason"].to_list()[:3] == [
        "severity 'result 9' is unknown",
        "severity 'result ' is unknown",
        "node is missing",
    ]
    assert log.notes == ("checks that are not known are components of their own: site_coolant",)
