"""Kueue's Workloads: the queue of a job, its preemptions, and rows for jobs that left nothing else."""

import datetime as dt
from collections.abc import Sequence
from typing import Any

from meantime.datasets.json_items import Item, text_at, value_at
from meantime.datasets.readers.kubernetes_pods import container_gpus

PREEMPTED_WITHIN = dt.timedelta(minutes=15)
"""An attempt that ended so long before the Workload was preempted was preempted."""


def queue_of(workload: Item) -> str | None:
    """Name the queue of a Workload."""
    return text_at(workload, "spec", "queueName")


def preemption(workload: Item) -> str | None:
    """Give when a Workload was last preempted, if it was."""
    for condition in _conditions(workload):
        kind, reason = text_at(condition, "type"), text_at(condition, "reason")
        if (kind == "Evicted" and reason == "Preempted") or kind == "Preempted":
            return text_at(condition, "lastTransitionTime")
    return None


def mark_preempted(workload: Item, rows: Sequence[dict[str, Any]]) -> None:
    """Set the state of the attempt that a preemption ended."""
    at = _time(preemption(workload))
    if at is None:
        return
    for row in rows:
        end = _time(row["end"])
        if end is not None and abs(at - end) <= PREEMPTED_WITHIN and row["state"] in ("FAILED", "CANCELLED"):
            row["state"] = "PREEMPTED"


def workload_row(workload: Item, job: str, gpus: Sequence[str]) -> dict[str, Any]:
    """Make the row of a job of which only the Workload is left; when an evicted one had begun is not kept."""
    true = {
        text_at(c, "type"): (text_at(c, "lastTransitionTime"), text_at(c, "reason"), text_at(c, "message"))
        for c in _conditions(workload)
        if text_at(c, "status") == "True"
    }
    start = true.get("Admitted", (None, None, None))[0]
    end, state = None, "RUNNING" if start else "PENDING"
    if "Finished" in true:
        end, reason, message = true["Finished"]
        words = f"{reason} {message}".lower()
        state = "FAILED" if "fail" in words or "exceeded" in words else "COMPLETED"
    elif "Evicted" in true:
        end, reason, _ = true["Evicted"]
        state = "PREEMPTED" if reason == "Preempted" else "REQUEUED"
    return {
        "job_id": job,
        "attempt": 1,
        "submit": text_at(workload, "metadata", "creationTimestamp"),
        "start": start,
        "end": end,
        "n_gpus": _gpus(workload, gpus),
        "state": state,
        "partition": queue_of(workload),
    }


def _gpus(workload: Item, names: Sequence[str]) -> int | None:
    sets = value_at(workload, "spec", "podSets")
    total = 0
    for pods in sets if isinstance(sets, list) else []:
        count, each = value_at(pods, "count"), container_gpus(value_at(pods, "template", "spec", "containers"), names)
        if not isinstance(count, int) or isinstance(count, bool) or each is None:
            return None
        total += count * each
    return total


def _conditions(workload: Item) -> list[dict[str, Any]]:
    listed = value_at(workload, "status", "conditions")
    return [c for c in listed if isinstance(c, dict)] if isinstance(listed, list) else []


def _time(text: Any) -> dt.datetime | None:
    try:
        found = dt.datetime.fromisoformat(text.replace("Z", "+00:00")) if isinstance(text, str) else None
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=dt.UTC)
