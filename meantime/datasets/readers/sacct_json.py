"""Slurm accounting as ``sacct --json`` prints it, in the forms of its data parsers.

The input is the output of ::

    sacct --json -D -a -S 2024-01-01 -E 2024-02-01 > sacct.json

of Slurm 21.08 (parser v0.0.37) and later, also with ``--json=v0.0.42`` or flags such as ``+complex``. The parsers
differ: a number is plain or ``{"set", "infinite", "number"}``; a state is a word or a list of words; TRES are lists of
objects or one text. The jobs of ``squeue --json`` and slurmrestd, with times beside the name instead of under
``time``, are read too. What is decided is as in `meantime.datasets.sacct`; steps are inside the jobs and no rows. Times
are seconds since 1970; 0 is no time.
"""

from typing import Any

import polars as pl

from meantime.datasets.jobs import Conventions
from meantime.datasets.json_items import Item, read_items, text_at, value_at
from meantime.datasets.log import Log
from meantime.datasets.ragged import LINE
from meantime.datasets.sacct import slurm_jobs
from meantime.datasets.source import PathLike

FIELDS = (
    "JobID",
    "State",
    "Submit",
    "Start",
    "End",
    "ElapsedRaw",
    "NNodes",
    "AllocTRES",
    "ReqTRES",
    "NodeList",
    "User",
    "QOS",
    "Partition",
    "Cluster",
    "Restarts",
)

_NEEDED = ("JobID", "State", "Start", "End")


def is_sacct_job(item: Item) -> bool:
    """Tell whether an object is a job of sacct, squeue or slurmrestd."""
    return "job_id" in item and ("state" in item or "job_state" in item)


def read_sacct_json(path: PathLike, *, cluster: str = "cluster", gpus_per_node: int | None = None) -> Log:
    """Read the JSON (see the module's text for the command and the decisions).

    Parameters
    ----------
    path
        The JSON file; .gz, .xz and .zst are unpacked.
    cluster
        Name of the cluster where jobs do not say it.
    gpus_per_node
        GPUs of a node, for clusters whose TRES do not track GPUs.
    """
    items = read_items(path, "jobs", is_sacct_job, "job of Slurm")
    rows = [{**_fields(item), LINE: number} for item, number in zip(items.objects, items.numbers, strict=True)]
    frame = pl.DataFrame(rows, schema={**dict.fromkeys(FIELDS, pl.String), LINE: pl.Int64})
    seen = [name for name in FIELDS if name in _NEEDED or frame[name].null_count() < frame.height]
    return slurm_jobs(
        frame.select(*seen, LINE),
        {name.lower(): name for name in seen},
        file=str(path),
        format="sacct-json",
        texts=items.texts,
        conventions=Conventions(cluster=cluster),
        gpus_per_node=gpus_per_node,
        quarantine=items.quarantine,
        folded={},
        notes=(),
    )


def _fields(job: Item) -> dict[str, str | None]:
    time = job.get("time") if isinstance(job.get("time"), dict) else {}
    times = {
        "Submit": _number(value_at(time, "submission"), job.get("submit_time")),
        "Start": _number(value_at(time, "start"), job.get("start_time")),
        "End": _number(value_at(time, "end"), job.get("end_time")),
    }
    allocated, requested = value_at(job, "tres", "allocated"), value_at(job, "tres", "requested")
    return {
        "JobID": _identity(job),
        "State": _state(value_at(job, "state", "current"), job.get("job_state"), job.get("state")),
        **{name: None if value in (None, "0") else value for name, value in times.items()},
        "ElapsedRaw": _number(value_at(time, "elapsed")),
        "NNodes": _number(job.get("allocation_nodes"), job.get("node_count")),
        "AllocTRES": _tres(allocated if allocated is not None else job.get("tres_alloc_str")),
        "ReqTRES": _tres(requested if requested is not None else job.get("tres_req_str")),
        "NodeList": text_at(job, "nodes"),
        "User": text_at(job, "user") or text_at(job, "association", "user") or text_at(job, "user_name"),
        "QOS": text_at(job, "qos"),
        "Partition": text_at(job, "partition"),
        "Cluster": text_at(job, "cluster") or text_at(job, "association", "cluster"),
        "Restarts": _number(job.get("restart_cnt")),
    }


def _number(*values: Any) -> str | None:
    """Give the first number that is set, as text; what is no number is kept, to be refused."""
    for value in values:
        if isinstance(value, dict):
            value = None if value.get("set") is False or value.get("infinite") else value.get("number")
        if value is not None and value != "":
            return str(value)
    return None


def _identity(job: Item) -> str | None:
    array, het = (
        _number(value_at(job, "array", "job_id"), job.get("array_job_id")),
        _number(value_at(job, "het", "job_id")),
    )
    task = _number(value_at(job, "array", "task_id"), value_at(job, "array", "task"), job.get("array_task_id"))
    if array not in (None, "0") and task is not None:
        return f"{array}_{task}"
    if het not in (None, "0"):
        return f"{het}+{_number(value_at(job, 'het', 'job_offset')) or 0}"
    return _number(job.get("job_id"))


def _state(*values: Any) -> str:
    for value in values:
        if isinstance(value, list) and value:
            value = value[0]
        if isinstance(value, str):
            return value
    return ""


def _tres(value: Any) -> str | None:
    """Write TRES as sacct's text, such as ``cpu=8,gres/gpu:a100=8``."""
    if isinstance(value, str):
        return value
    if not isinstance(value, list):
        return None
    parts = []
    for part in value:
        kind, name, count = text_at(part, "type"), text_at(part, "name"), _number(value_at(part, "count"))
        if kind and count is not None:
            parts.append(f"{kind}/{name}={count}" if name else f"{kind}={count}")
    return ",".join(parts)
