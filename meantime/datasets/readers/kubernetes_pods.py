"""Pods of Kubernetes: their times, GPUs and ends, and the attempts that they make up.

How a pod ended, the first that applies:

- condition ``DisruptionTarget`` with reason DeletionByTaintManager, DeletionByPodGC or TerminationByKubelet, or status
  reason NodeLost, NodeShutdown, Shutdown, Terminated: NODE_FAIL; with reason PreemptionByScheduler or
  EvictionByEvictionAPI, or status reason Preempting: PREEMPTED;
- status reason Evicted (a node low on memory or disk): OUT_OF_MEMORY if the message names memory, else NODE_FAIL;
- status reason DeadlineExceeded: TIMEOUT; a container OOMKilled: OUT_OF_MEMORY; ContainerStatusUnknown: NODE_FAIL;
- phase Failed: FAILED; Succeeded: COMPLETED; Running: RUNNING (with a deletion time: CANCELLED); Pending: PENDING.
"""

import dataclasses
from collections.abc import Sequence
from typing import Any

from meantime.datasets.json_items import Item, text_at, value_at

WORST_FIRST = (
    "NODE_FAIL",
    "PREEMPTED",
    "OUT_OF_MEMORY",
    "TIMEOUT",
    "FAILED",
    "CANCELLED",
    "RUNNING",
    "COMPLETED",
    "PENDING",
)
DISRUPTIONS = {
    "DeletionByTaintManager": "NODE_FAIL",
    "DeletionByPodGC": "NODE_FAIL",
    "TerminationByKubelet": "NODE_FAIL",
    "PreemptionByScheduler": "PREEMPTED",
    "EvictionByEvictionAPI": "PREEMPTED",
}
REASONS = {
    "NodeLost": "NODE_FAIL",
    "NodeShutdown": "NODE_FAIL",
    "Shutdown": "NODE_FAIL",
    "Terminated": "NODE_FAIL",
    "Preempting": "PREEMPTED",
    "DeadlineExceeded": "TIMEOUT",
}
_PHASES = {
    "Failed": "FAILED",
    "Succeeded": "COMPLETED",
    "Running": "RUNNING",
    "Pending": "PENDING",
    "Unknown": "RUNNING",
}


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """What is kept of a pod; times are text as Kubernetes writes it (RFC 3339, UTC), which sorts in order of time."""

    number: int
    job: str
    owner_kind: str | None
    run: str | None
    user: str | None
    created: str | None
    start: str | None
    end: str | None
    node: str | None
    gpus: int | None
    state: str
    restarts: int


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """Pods of a job that ran without a break."""

    number: int
    created: str | None
    start: str | None
    end: str | None
    nodes: list[str]
    gpus: int | None
    state: str


def identity(namespace: str | None, name: str | None) -> str:
    """Name an object within its cluster; empty without a name."""
    return "" if not name else f"{namespace or 'default'}/{name}"


def read_pod(item: Item, number: int, gpus: Sequence[str]) -> Pod:
    """Take what matters from a pod."""
    metadata = item["metadata"]
    namespace = text_at(metadata, "namespace")
    owners = metadata.get("ownerReferences")
    owner = next((o for o in owners if isinstance(o, dict)), {}) if isinstance(owners, list) else {}
    labels = metadata.get("labels") if isinstance(metadata.get("labels"), dict) else {}
    ended = _ends(item)
    state = _state(item)
    return Pod(
        number=number,
        job=identity(namespace, text_at(owner, "name") or text_at(metadata, "name")),
        owner_kind=text_at(owner, "kind"),
        run=identity(namespace, text_at(labels, "jobset.sigs.k8s.io/jobset-name")) or None,
        user=text_at(labels, "user") or text_at(labels, "owner"),
        created=text_at(metadata, "creationTimestamp"),
        start=text_at(item, "status", "startTime"),
        end=None if state in ("RUNNING", "PENDING") else ended or text_at(metadata, "deletionTimestamp"),
        node=text_at(item, "spec", "nodeName"),
        gpus=container_gpus(value_at(item, "spec", "containers"), gpus),
        state=state,
        restarts=sum(_count(c.get("restartCount")) for c in _containers(item)),
    )


def container_gpus(containers: Any, names: Sequence[str]) -> int | None:
    """Add up the GPUs of containers: limits, else requests; None if a number is not understood."""
    total = 0
    for container in containers if isinstance(containers, list) else []:
        for name in names:
            amount = text_at(container, "resources", "limits", name) or text_at(
                container, "resources", "requests", name
            )
            if amount is not None and not (amount.isascii() and amount.isdigit() and len(amount) < 10):
                return None
            total += int(amount or 0)
    return total


def attempts_of(pods: Sequence[Pod]) -> list[Attempt]:
    """Join pods that overlap in time into attempts, in order; pods that never started are one if no other is."""
    began = sorted((pod for pod in pods if pod.start), key=lambda pod: (pod.start or "", pod.number))
    groups: list[list[Pod]] = []
    until: str | None = ""
    for pod in began:
        if not groups or (until is not None and (pod.start or "") >= until):
            groups.append([])
            until = pod.end
        else:
            until = None if until is None or pod.end is None else max(until, pod.end)
        groups[-1].append(pod)
    waiting = [pod for pod in pods if not pod.start]
    if waiting and not groups:
        groups.append(waiting)
    return [_attempt(group) for group in groups]


def _attempt(group: list[Pod]) -> Attempt:
    states = {pod.state for pod in group}
    ends = [pod.end for pod in group]
    return Attempt(
        number=group[0].number,
        created=min((pod.created for pod in group if pod.created), default=None),
        start=group[0].start,
        end=None if None in ends else max(end for end in ends if end is not None),
        nodes=list(dict.fromkeys(pod.node for pod in group if pod.node)),
        gpus=_most_at_once(group),
        state=next((state for state in WORST_FIRST if state in states), min(states)),
    )


def _most_at_once(group: list[Pod]) -> int | None:
    if any(pod.gpus is None for pod in group):
        return None
    changes = []
    for pod in group:
        changes.append((pod.start or "", 1, pod.gpus or 0))
        if pod.end is not None:
            changes.append((pod.end, 0, -(pod.gpus or 0)))
    held = most = 0
    for _, _, change in sorted(changes):
        held += change
        most = max(most, held)
    return most


def _state(item: Item) -> str:
    status = item.get("status") if isinstance(item.get("status"), dict) else {}
    conditions = value_at(status, "conditions")
    for condition in conditions if isinstance(conditions, list) else []:
        if text_at(condition, "type") == "DisruptionTarget" and text_at(condition, "status") == "True":
            found = DISRUPTIONS.get(text_at(condition, "reason") or "")
            if found is not None:
                return found
    reason = text_at(status, "reason") or ""
    if reason in REASONS:
        return REASONS[reason]
    if reason == "Evicted":
        return "OUT_OF_MEMORY" if "memory" in (text_at(status, "message") or "").lower() else "NODE_FAIL"
    ends = [text_at(c, "state", "terminated", "reason") for c in _containers(item)]
    if "OOMKilled" in ends:
        return "OUT_OF_MEMORY"
    phase = text_at(status, "phase") or ""
    if phase == "Failed" and "ContainerStatusUnknown" in ends:
        return "NODE_FAIL"
    if phase == "Running" and text_at(item, "metadata", "deletionTimestamp"):
        return "CANCELLED"
    return _PHASES.get(phase, f"phase {phase}" if phase else "PENDING")


def _ends(item: Item) -> str | None:
    """Give when the last container of a pod ended, else when its condition says that it did."""
    times = [text_at(c, "state", "terminated", "finishedAt") for c in _containers(item)]
    if times and all(times):
        return max(time for time in times if time)
    conditions = value_at(item, "status", "conditions")
    told = [
        text_at(condition, "lastTransitionTime")
        for condition in (conditions if isinstance(conditions, list) else [])
        if text_at(condition, "type") in ("DisruptionTarget", "ContainersReady", "Ready")
    ]
    return max((time for time in told if time), default=None)


def _containers(item: Item) -> list[dict[str, Any]]:
    listed = value_at(item, "status", "containerStatuses")
    return [c for c in listed if isinstance(c, dict)] if isinstance(listed, list) else []


def _count(value: Any) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
