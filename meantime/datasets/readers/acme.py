"""AcmeTrace of the Shanghai AI Laboratory: clusters Seren and Kalos (CC BY 4.0; cite Hu et al., NSDI 2024).

The input is ``trace_seren.csv`` or ``trace_kalos.csv`` of ::

    git clone https://github.com/InternLM/AcmeTrace    # data/job_trace/

Decisions: times carry their zone. ``duration`` is ignored: in Kalos it includes the queue, against its definition;
start and end count. ``type`` becomes ``qos``. A state other than those of the jobs table is quarantined.
"""

import polars as pl

from meantime.datasets.jobs import STATES, Conventions, jobs_log
from meantime.datasets.log import Log
from meantime.datasets.ragged import LINE
from meantime.datasets.readers._columns import load
from meantime.datasets.source import PathLike

NEEDED = ("job_id", "node_num", "gpu_num", "type", "state", "submit_time", "start_time", "end_time")
KALOS = ("fail_time", "stop_time", "mem_per_pod_GB")
"""Columns that only the trace of Kalos has."""

_RENAMED = {
    "job_id": "job_id",
    "user": "user",
    "type": "qos",
    "state": "state",
    "node_num": "n_nodes",
    "gpu_num": "n_gpus",
    "submit_time": "submit",
    "start_time": "start",
    "end_time": "end",
}


def read_acme(path: PathLike, *, cluster: str | None = None, timezone: str = "Asia/Shanghai") -> Log:
    """Read a job trace of Acme (see the module's text for the download and the decisions).

    Parameters
    ----------
    path
        The CSV file; .gz, .xz and .zst are unpacked.
    cluster
        Name of the cluster. Default: ``kalos`` if the file has its columns, else ``seren``.
    timezone
        Zone of times without one; the published files have none of these.
    """
    raw = load(path, NEEDED, "the Acme job trace")
    kalos = set(KALOS) & set(raw.frame.columns)
    return jobs_log(
        raw.frame.select(LINE, *(pl.col(o).alias(n) for o, n in _RENAMED.items() if o in raw.frame.columns)),
        file=raw.file,
        format="acme",
        texts=raw.texts,
        states={state: state for state in STATES},
        conventions=Conventions(cluster=cluster or ("kalos" if kalos else "seren"), timezone=timezone),
        quarantine=raw.quarantine,
        folded=raw.folded,
        notes=[*raw.notes, "the column duration is not used: start and end are"],
    )
