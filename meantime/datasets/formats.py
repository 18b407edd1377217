"""The formats that are read: how each is recognised, what a near miss lacks, who reads it, and what table follows."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import xarray as xr

from meantime.datasets.counts import VALUES as COUNT_COLUMNS
from meantime.datasets.counts import read_counts
from meantime.datasets.events import REQUIRED as EVENT_COLUMNS
from meantime.datasets.lives import lives_table
from meantime.datasets.log import Log
from meantime.datasets.readers import (
    acme,
    backblaze,
    bloom,
    dcgm,
    gcm_checks,
    gcm_jobs,
    helios,
    kernel_log,
    kubernetes,
    kubernetes_events,
    lanl,
    lanl_nodes,
    nvidia_smi,
    openb,
    pai,
    philly,
    sacct_json,
    swf,
    titan,
)
from meantime.datasets.sacct import read_sacct
from meantime.datasets.signs import (
    DCGM,
    GCM,
    KERNEL,
    KUBERNETES,
    KUBERNETES_EVENTS,
    NVIDIA_SMI,
    PAI,
    PHILLY,
    SACCT,
    SACCT_JSON,
    SWF,
    Signs,
    by_columns,
    either,
)
from meantime.datasets.tabular import read_events, read_table


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """One format.

    Attributes
    ----------
    name
        As ``--format`` takes it.
    what
        What such a file is.
    signs
        How it is recognised.
    reader
        Takes the path (or paths, if `together`) and the options of `takes`.
    takes
        Names of options: ``timezone``, ``cluster``, ``gpus_per_node``, ``mapping``, and the reader's own.
    together
        Whether the reader takes all files at once, not one by one.
    attempts_given
        Whether the reader numbers attempts itself.
    table
        Makes the failure table of a log of outages or lives.
    """

    name: str
    what: str
    signs: Signs
    reader: Callable[..., Log | xr.Dataset]
    takes: tuple[str, ...] = ()
    together: bool = False
    attempts_given: bool = False
    table: Callable[..., xr.Dataset] | None = None


ALL = (
    Format(
        name="sacct",
        what="sacct output",
        signs=SACCT,
        reader=read_sacct,
        takes=("timezone", "cluster", "gpus_per_node", "delimiter"),
    ),
    Format(
        name="sacct-json",
        what="sacct --json",
        signs=SACCT_JSON,
        reader=sacct_json.read_sacct_json,
        takes=("cluster", "gpus_per_node"),
    ),
    Format(
        name="gcm",
        what="sacct rows of gcm",
        signs=GCM,
        reader=gcm_jobs.read_gcm_jobs,
        takes=("timezone", "cluster", "gpus_per_node"),
    ),
    Format(
        name="gcm-checks",
        what="health checks of gcm",
        signs=by_columns("the health checks of gcm", *gcm_checks.NEEDED, marks=("health_check",)),
        reader=gcm_checks.read_gcm_checks,
        takes=("xids",),
    ),
    Format(
        name="swf",
        what="a log in the Standard Workload Format",
        signs=SWF,
        reader=swf.read_swf,
        takes=("cluster",),
    ),
    Format(
        name="philly",
        what="the job log of Philly (JSON)",
        signs=PHILLY,
        reader=philly.read_philly,
        takes=("timezone", "cluster"),
        attempts_given=True,
    ),
    Format(
        name="helios",
        what="a job log of Helios",
        signs=by_columns("the Helios job log", *helios.NEEDED, marks=("vc",)),
        reader=helios.read_helios,
        takes=("timezone", "cluster"),
    ),
    Format(
        name="acme",
        what="a job trace of Acme (Seren, Kalos)",
        signs=by_columns("the Acme job trace", *acme.NEEDED, marks=("node_num", "gpu_num"), without=("vc",)),
        reader=acme.read_acme,
        takes=("timezone", "cluster"),
    ),
    Format(
        name="pai",
        what="tables of Alibaba PAI",
        signs=PAI,
        reader=pai.read_pai,
        takes=("cluster",),
        together=True,
    ),
    Format(
        name="openb",
        what="a pod list of Alibaba openb",
        signs=by_columns("the openb pod list", *openb.NEEDED, marks=("gpu_milli", "pod_phase")),
        reader=openb.read_openb,
        takes=("cluster",),
    ),
    Format(
        name="lanl",
        what="the outages of Los Alamos",
        signs=by_columns("the file of LA-UR-05-7318", *lanl.NEEDED, marks=("Prob Started", "nodenumz")),
        reader=lanl.read_lanl,
        takes=("timezone", "system"),
        table=lanl_nodes.lanl_table,
    ),
    Format(
        name="titan",
        what="lives of Titan's GPUs",
        signs=either(
            by_columns("the stays of Titan's GPUs", *titan.STAYS, marks=("insert", "remove")),
            by_columns("the summary of Titan's GPUs", *titan.SUMMARY, marks=("dead_otb", "dead_dbe")),
        ),
        reader=titan.read_titan,
        takes=("timezone", "cluster"),
        table=lives_table,
    ),
    Format(
        name="backblaze",
        what="drive days of Backblaze",
        signs=by_columns("the day of drive statistics", *backblaze.NEEDED, marks=("serial_number",)),
        reader=backblaze.read_backblaze,
        takes=("cluster",),
        together=True,
        table=lives_table,
    ),
    Format(
        name="kubernetes",
        what="jobs, pods and workloads of Kubernetes (JSON)",
        signs=KUBERNETES,
        reader=kubernetes.read_kubernetes,
        takes=("cluster",),
        attempts_given=True,
    ),
    Format(
        name="kubernetes-events",
        what="events of Kubernetes (JSON)",
        signs=KUBERNETES_EVENTS,
        reader=kubernetes_events.read_kubernetes_events,
        takes=("xids",),
    ),
    Format(
        name="kernel",
        what="a kernel log with Xid lines",
        signs=KERNEL,
        reader=kernel_log.read_kernel_log,
        takes=("timezone", "node", "year", "boot_time", "xids"),
    ),
    Format(
        name="nvidia-smi",
        what="retired pages or remapped rows of nvidia-smi",
        signs=NVIDIA_SMI,
        reader=nvidia_smi.read_nvidia_smi,
        takes=("timezone", "node", "time"),
    ),
    Format(
        name="dcgm",
        what="scraped metrics of DCGM",
        signs=DCGM,
        reader=dcgm.read_dcgm,
        takes=("node", "time", "xids"),
    ),
    Format(
        name="bloom",
        what="the diary of a run",
        signs=by_columns("the diary of a run", *bloom.NEEDED, marks=("event_class", "lost_hours")),
        reader=bloom.read_bloom,
        takes=("cluster",),
        table=bloom.bloom_table,
    ),
    Format(
        name="counts",
        what="failures and exposure, already counted",
        signs=by_columns("a table of counts", *COUNT_COLUMNS),
        reader=read_counts,
        takes=("mapping", "cluster", "gpus_per_node"),
    ),
    Format(
        name="events",
        what="a table of events",
        signs=by_columns("a table of events", *EVENT_COLUMNS, marks=("component",)),
        reader=read_events,
        takes=("mapping", "timezone"),
    ),
    Format(
        name="table",
        what="a table of jobs",
        signs=by_columns(
            "a table of jobs",
            "job_id",
            "start",
            "end",
            marks=("job_id",),
        ),
        reader=read_table,
        takes=("mapping", "timezone", "cluster", "gpus_per_node"),
    ),
)
"""All formats, the most particular ones first."""

BY_NAME: Mapping[str, Format] = {format.name: format for format in ALL}


def options_of(format: Format, given: Mapping[str, Any]) -> dict[str, Any]:
    """Choose the options that a format takes, leaving out those that are None."""
    return {name: value for name, value in given.items() if name in format.takes and value is not None}
