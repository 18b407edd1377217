"""Slurm accounting as facebookresearch/gcm exports it, to JSON or Parquet.

The input is what its collector writes, for example ::

    gcm sacct_publish --sink file --sink-opts file_path=/logs/sacct.jsonl

a row with ``time``, ``end_ds``, ``cluster`` and ``sacct``, an object of sacct's fields; or those as columns
of a Parquet, CSV or JSON lines file. What is decided is as in `meantime.datasets.sacct`; besides, rows of a job that
was published several times are one (the latest snapshot), and times carry their zone.
"""

import json
from typing import Any

import polars as pl

from meantime.datasets.jobs import Conventions
from meantime.datasets.json_items import Item, read_items
from meantime.datasets.log import Log
from meantime.datasets.ragged import LINE
from meantime.datasets.raw import read_raw
from meantime.datasets.sacct import slurm_jobs
from meantime.datasets.sniff import sniff
from meantime.datasets.source import PathLike
from meantime.datasets.times import check_timezone
from meantime.errors import InputError

FIELDS = (
    "JobID",
    "JobIDRaw",
    "State",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "NNodes",
    "AllocNodes",
    "AllocTRES",
    "ReqTRES",
    "NodeList",
    "User",
    "QOS",
    "Partition",
    "Restarts",
    "Cluster",
)
"""Fields of sacct that are used where they are there."""
NEEDED = ("State", "Start", "End")


def is_gcm_job(item: Item) -> bool:
    """Tell whether an object is a row of the export."""
    return isinstance(item.get("sacct"), dict) or {"JobID", *NEEDED} <= set(item)


def read_gcm_jobs(
    path: PathLike, *, timezone: str = "UTC", cluster: str = "cluster", gpus_per_node: int | None = None
) -> Log:
    """Read the export (see the module's text for the command and the decisions).

    Parameters
    ----------
    path
        Parquet, JSON lines, one JSON array, or CSV; .gz, .xz and .zst are unpacked.
    timezone
        Zone of times that name none.
    cluster
        Name of the cluster where no row says it.
    gpus_per_node
        GPUs of a node, for clusters whose TRES do not track GPUs.
    """
    check_timezone(timezone)
    seen = sniff(path)
    frame, texts, quarantine, folded, notes = (
        _from_json(path) if seen.container in ("json", "jsonl") else _from_table(path)
    )
    names = {name.lower(): name for name in FIELDS if name in frame.columns}
    missing = [name for name in NEEDED if name.lower() not in names]
    if not {"jobid", "jobidraw"} & set(names):
        missing.insert(0, "JobID")
    if missing:
        raise InputError(f"{path}: lacks {', '.join(missing)} of sacct; expected JobID, State, Start and End")
    return slurm_jobs(
        frame,
        names,
        file=str(path),
        format="gcm",
        texts=texts,
        conventions=Conventions(cluster=cluster, timezone=timezone),
        gpus_per_node=gpus_per_node,
        quarantine=quarantine,
        folded=folded,
        notes=notes,
    )


def _from_json(path: PathLike) -> tuple[pl.DataFrame, Any, pl.DataFrame, dict[str, int], tuple[str, ...]]:
    items = read_items(path, None, is_gcm_job, "row of gcm's sacct export")
    rows = []
    for item, number in zip(items.objects, items.numbers, strict=True):
        fields = item["sacct"] if isinstance(item.get("sacct"), dict) else item
        row = {name: _plain(fields.get(name)) for name in FIELDS}
        row["Cluster"] = _plain(item.get("cluster")) or row["Cluster"]
        rows.append({**row, LINE: number})
    seen = {name for row in rows for name, value in row.items() if value is not None}
    frame = pl.DataFrame(rows, schema={**dict.fromkeys(FIELDS, pl.String), LINE: pl.Int64})
    kept = [name for name in FIELDS if name in seen or name in NEEDED]
    return frame.select(*kept, LINE), items.texts, items.quarantine, {}, ()


def _plain(value: Any) -> str | None:
    if value is None or isinstance(value, str):
        return value
    return ",".join(map(str, value)) if isinstance(value, list) else json.dumps(value)


def _from_table(path: PathLike) -> tuple[pl.DataFrame, Any, pl.DataFrame, dict[str, int], tuple[str, ...]]:
    raw = read_raw(path)
    frame = raw.frame
    if "sacct" in frame.columns and isinstance(frame.schema["sacct"], pl.Struct):
        fields = frame["sacct"].struct.unnest()
        outer = frame.drop("sacct", *(name for name in frame.columns if name in fields.columns))
        frame = pl.concat([outer, fields], how="horizontal")
        if "cluster" in frame.columns:
            frame = frame.with_columns(pl.col("cluster").alias("Cluster"))
    kept = [name for name in FIELDS if name in frame.columns]
    typed = frame.select(
        LINE,
        *(pl.col(name) if isinstance(frame.schema[name], pl.List) else pl.col(name).cast(pl.String) for name in kept),
    )
    return typed, raw.texts, raw.quarantine, raw.folded, raw.notes
