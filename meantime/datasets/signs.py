"""How files are recognised: by the names of their columns or keys, and by their first lines.

A pair of tests for each format: why a file is one, and what a file that is nearly one lacks.
"""

import dataclasses
import re
from collections.abc import Callable, Sequence

from meantime.datasets.readers import gcm_jobs, kubernetes, kubernetes_events, nvidia_smi, pai, philly, sacct_json
from meantime.datasets.sniff import Sniff

_DMESG = re.compile(r"\[(?:\s*\d+\.\d+|[A-Z][a-z]{2} [A-Z][a-z]{2} [ \d]\d \d\d:\d\d:\d\d \d{4})\] ")

type Test = Callable[[Sniff], str | None]


@dataclasses.dataclass(frozen=True, slots=True)
class Signs:
    """Tests of one format.

    Attributes
    ----------
    fits
        Why a file is of the format, or None.
    lacks
        What a file that is nearly of it lacks, or None.
    """

    fits: Test
    lacks: Test


def by_columns(what: str, *needed: str, marks: Sequence[str] = (), without: Sequence[str] = ()) -> Signs:
    """Recognise a table by columns; one with a `marks` column and half of those needed is nearly one."""
    telling = set(marks or needed)

    def fits(seen: Sniff) -> str | None:
        if not seen.has(*needed) or not set(without).isdisjoint(seen.names):
            return None
        return f"the columns include {', '.join(needed)}"

    def lacks(seen: Sniff) -> str | None:
        missing = seen.lacks(*needed)
        near = bool(missing) and 2 * len(missing) <= len(needed) and not telling.isdisjoint(seen.names)
        return f"{what} lacks {', '.join(missing)}" if near and set(without).isdisjoint(seen.names) else None

    return Signs(fits, lacks)


def either(*signs: Signs) -> Signs:
    """Join tests: a file that fits any of them fits."""

    def fits(seen: Sniff) -> str | None:
        return next((why for sign in signs if (why := sign.fits(seen))), None)

    def lacks(seen: Sniff) -> str | None:
        return next((said for sign in signs if (said := sign.lacks(seen))), None)

    return Signs(fits, lacks)


def _never(_: Sniff) -> None:
    return None


def _fits_sacct(seen: Sniff) -> str | None:
    lower = {name.lower() for name in seen.names}
    if seen.container != "text" or not lower & {"jobid", "jobidraw"} or not {"state", "start", "end"} <= lower:
        return None
    return f"the header has {'JobID' if 'jobid' in lower else 'JobIDRaw'}, State, Start and End"


def _lacks_sacct(seen: Sniff) -> str | None:
    lower = {name.lower() for name in seen.names}
    missing = [name for name in ("State", "Start", "End") if name.lower() not in lower]
    if lower & {"jobid", "jobidraw"}:
        return f"sacct output lacks {', '.join(missing)}" if missing else None
    return "sacct output lacks JobID" if not missing else None


def _fits_gcm(seen: Sniff) -> str | None:
    if seen.has("sacct") and not {"end_ds", "time", "cluster"}.isdisjoint(seen.names):
        return "the rows have an object sacct"
    if seen.container != "text" and seen.has("JobID", *gcm_jobs.NEEDED):
        return "the columns include sacct's JobID, State, Start, End"
    return None


def _fits_sacct_json(seen: Sniff) -> str | None:
    if seen.array == "jobs" and (not seen.item or sacct_json.is_sacct_job(dict(seen.item))):
        return "it is a JSON document with jobs, each with job_id and state"
    return None


def _lacks_sacct_json(seen: Sniff) -> str | None:
    return "sacct --json lacks job_id or state in its jobs" if seen.array == "jobs" and seen.item else None


def _fits_swf(seen: Sniff) -> str | None:
    if seen.container != "text":
        return None
    rows = [line.split() for line in seen.lines if not line.lstrip().startswith(";")]
    if len(rows) < len(seen.lines) and all(len(row) == 18 for row in rows[:1]):
        return "header comments begin with ; and rows have 18 columns"
    whole = [row for row in rows if len(row) == 18 and all(_is_number(field) for field in row)]
    return "rows are 18 numbers" if rows and len(whole) * 2 > len(rows) else None


def _lacks_swf(seen: Sniff) -> str | None:
    comments = [line for line in seen.lines if line.startswith(";") and ":" in line]
    return "SWF lacks rows of 18 columns" if seen.container == "text" and len(comments) >= 2 else None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _fits_philly(seen: Sniff) -> str | None:
    if seen.container == "json" and seen.array == "" and philly.is_philly(dict(seen.item)):
        kind = "id, num_gpus" if philly.is_cut(dict(seen.item)) else "jobid"
        return f"it is a JSON list of jobs with {kind} and attempts"
    return None


def _lacks_philly(seen: Sniff) -> str | None:
    near = seen.array == "" and seen.has("attempts")
    return "the job log of Philly lacks jobid (or id and num_gpus)" if near else None


def _fits_pai(seen: Sniff) -> str | None:
    if seen.container != "text" or not seen.lines:
        return None
    table = pai.which_table([field.strip() for field in seen.lines[0].rstrip("\r").split(",")])
    return None if table is None else f"its columns are those of the {table} table of PAI"


def _fits_kernel(seen: Sniff) -> str | None:
    if seen.has("MESSAGE", "__REALTIME_TIMESTAMP"):
        return "the rows are those of journalctl -o json"
    if seen.container != "text":
        return None
    if any("NVRM: " in line or "SXid (" in line for line in seen.lines):
        return "there are lines of NVIDIA's driver (NVRM)"
    kernel = sum(" kernel: " in line or _DMESG.match(line) is not None for line in seen.lines)
    return "most lines are those of a kernel log" if kernel * 2 > len(seen.lines) > 0 else None


def _fits_kubernetes(seen: Sniff) -> str | None:
    kind = seen.item.get("kind")
    return f"the items are of kind {kind}" if kubernetes.is_job_or_pod(dict(seen.item)) else None


def _lacks_kubernetes(seen: Sniff) -> str | None:
    kind = seen.item.get("kind")
    if not seen.has("apiVersion", "kind") or kind in (*kubernetes.KINDS, "Event"):
        return None
    return f"the items of Kubernetes are of kind {kind}; the file lacks Jobs, Pods, Workloads or Events"


def _fits_kubernetes_events(seen: Sniff) -> str | None:
    return "the items are of kind Event" if kubernetes_events.is_event(dict(seen.item)) else None


def _fits_smi(seen: Sniff) -> str | None:
    if not nvidia_smi.is_nvidia_smi(list(seen.names)):
        return None
    return "the columns are those of nvidia-smi's retired pages or remapped rows"


def _lacks_smi(seen: Sniff) -> str | None:
    near = any(name.startswith(("retired_pages.", "remapped_rows.")) for name in seen.names)
    return f"the list of nvidia-smi lacks {nvidia_smi.RETIRED[1]}" if near else None


def _fits_dcgm(seen: Sniff) -> str | None:
    told = any(line.startswith(("DCGM_FI_", "# HELP DCGM_", "# TYPE DCGM_")) for line in seen.lines)
    return "the lines are metrics of DCGM" if seen.container == "text" and told else None


SACCT = Signs(_fits_sacct, _lacks_sacct)
SACCT_JSON = Signs(_fits_sacct_json, _lacks_sacct_json)
GCM = Signs(_fits_gcm, _never)
SWF = Signs(_fits_swf, _lacks_swf)
PHILLY = Signs(_fits_philly, _lacks_philly)
PAI = Signs(_fits_pai, _never)
KERNEL = Signs(_fits_kernel, _never)
KUBERNETES = Signs(_fits_kubernetes, _lacks_kubernetes)
KUBERNETES_EVENTS = Signs(_fits_kubernetes_events, _never)
NVIDIA_SMI = Signs(_fits_smi, _lacks_smi)
DCGM = Signs(_fits_dcgm, _never)
