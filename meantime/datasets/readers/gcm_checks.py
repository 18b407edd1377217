"""Health checks of facebookresearch/gcm: the rows that its checks report.

The input is what ``health_checks check-iblink ... --sink file`` (or another sink) wrote, as JSON lines or Parquet:
``node``, ``cluster``, ``health_check``, ``type``, ``result`` (0 ok, 1 warning, 2 critical, 3 unknown), ``_msg``,
``job_id``, ``start_time`` and ``end_time`` (seconds since 1970). Decisions:

- A warning is an event of low, a critical result one of high severity; results of 0 and 3 are folded.
- The component is that of the check (`CHECKS`); checks that name an Xid have that Xid's (the first one named), in the
  severity of the check. A check that is not in the list is its own component, in small letters and underscores.
- The time is ``end_time`` (when the result was known), else ``start_time``.
"""

import polars as pl

from meantime.datasets.events import events_log
from meantime.datasets.jobs import Conventions
from meantime.datasets.log import Log
from meantime.datasets.ragged import LINE
from meantime.datasets.readers._columns import load
from meantime.datasets.source import PathLike
from meantime.datasets.xids import xid_table

NEEDED = ("node", "health_check", "result", "start_time")
SEVERITIES = {1: "low", 2: "high"}
XID_CHECK = "xid errors"
CHECKS = {
    "airstore credential count": "system_services",
    "check blockdev": "block_device",
    "check clocksource": "host_hardware",
    "check dcgmi diag": "gpu_hardware",
    "check dcgmi nvlink": "nvlink",
    "check dcgmi nvlink error": "nvlink",
    "check dcgmi nvlink status": "nvlink",
    "check dstate": "system_services",
    "check ethlink": "ethernet_link",
    "check ib interfaces": "infiniband_link",
    "check iblink": "infiniband_link",
    "check ibstat": "infiniband_link",
    "check memory size": "host_memory",
    "check mountpoint": "filesystem_mount",
    "check password status": "system_services",
    "check path access": "filesystem_mount",
    "check pci": "pcie",
    "check sensors": "host_hardware",
    "check ssh": "system_services",
    "check ssh certs": "system_services",
    "check zombie": "system_services",
    "cuda memtest": "gpu_memory",
    "directory exists check": "filesystem_mount",
    "disk size": "block_device",
    "disk usage": "block_device",
    "file exists check": "filesystem_mount",
    "hca count": "infiniband_link",
    "io errors": "block_device",
    "ipmitool sel": "host_hardware",
    "link flaps": "infiniband_link",
    "mce errors": "host_memory",
    "mounted directory": "filesystem_mount",
    "nccl-tests": "nccl_timeout",
    "nvidia smi": "gpu_hardware",
    "nvidia smi clock_freq": "gpu_hardware",
    "nvidia smi ecc_corrected": "gpu_memory",
    "nvidia smi ecc_uncorrected": "gpu_memory",
    "nvidia smi gpu_num": "gpu_hardware",
    "nvidia smi gpu_temp": "gpu_hardware",
    "nvidia smi mem_usage": "user_program",
    "nvidia smi retired_pages": "gpu_memory",
    "nvidia smi row_remap": "gpu_memory",
    "nvidia smi row_remap_failed": "gpu_memory",
    "nvidia smi row_remap_pending": "gpu_memory",
    "nvidia smi running_procs": "user_program",
    "nvidia smi running_procs_and_kill": "user_program",
    "pcie aer errors": "pcie",
    "processor frequency": "host_hardware",
    "running process": "system_services",
    "service status": "system_services",
    "slurm cluster availability": "system_services",
    "slurm state": "system_services",
    "slurmctld count": "system_services",
    XID_CHECK: "gpu_driver",
}
"""Health checks of gcm, and the component of each."""

_XID = r"XID error: (\d+)"


def read_gcm_checks(path: PathLike, *, xids: PathLike | None = None) -> Log:
    """Read health-check rows (see the module's text for the input and the decisions).

    Parameters
    ----------
    path
        JSON lines, one JSON array, CSV or Parquet; .gz, .xz and .zst are unpacked.
    xids
        TOML file that changes or adds Xid numbers.
    """
    raw = load(path, NEEDED, "the health checks of gcm")
    frame = raw.frame
    number = frame["result"].cast(pl.Float64, strict=False)
    check = frame["health_check"].cast(pl.String).str.strip_chars()
    message = (
        frame["_msg"].cast(pl.String) if "_msg" in frame.columns else pl.Series([None] * frame.height, dtype=pl.String)
    )
    end = frame["end_time"] if "end_time" in frame.columns else frame["start_time"]
    known = dict(xid_table(xids).select(pl.col("xid").cast(pl.String), "component").rows())
    own = check.str.to_lowercase().str.replace_all(r"[^a-z0-9]+", "_").str.strip_chars("_")
    xid = message.str.extract(_XID).set(check != XID_CHECK, None)
    component = pl.select(
        pl.coalesce(
            xid.replace_strict(known, default=None, return_dtype=pl.String),
            check.replace_strict(CHECKS, default=None, return_dtype=pl.String),
            own,
        )
    ).to_series()
    text = number.cast(pl.Int64, strict=False).replace_strict(SEVERITIES, default=None, return_dtype=pl.String)
    odd = frame["result"].cast(pl.String).fill_null("")
    typed = pl.DataFrame(
        [
            frame[LINE],
            pl.select(pl.coalesce(end.cast(pl.String), frame["start_time"].cast(pl.String))).to_series().alias("time"),
            frame["node"].cast(pl.String),
            component.alias("component"),
            pl.select(pl.coalesce(text, pl.format("result {}", odd))).to_series().alias("severity"),
            pl.select(pl.coalesce(pl.format("xid {}", xid), check)).to_series().alias("source"),
            message.alias("detail"),
            number.alias("__result"),
        ]
    )
    passed, untold = (pl.col("__result") == 0).fill_null(False), (pl.col("__result") == 3).fill_null(False)
    counts = {
        "checks that passed": typed.select(passed.sum()).item(),
        "checks without a result": typed.select(untold.sum()).item(),
    }
    strange = sorted(set(typed.filter(~passed & ~untold)["component"]) & (set(own.drop_nulls()) - set(CHECKS.values())))
    notes = [f"checks that are not known are components of their own: {', '.join(strange[:10])}"] if strange else []
    return events_log(
        typed.filter(~passed & ~untold).drop("__result"),
        file=raw.file,
        format="gcm-checks",
        texts=raw.texts,
        conventions=Conventions(),
        quarantine=raw.quarantine,
        folded={**raw.folded, **counts},
        notes=[*raw.notes, *notes],
    )
