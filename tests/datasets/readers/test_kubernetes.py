"""Kubernetes: attempts from pods, states from their ends, Kueue's Workloads, events of nodes."""

import json
from pathlib import Path
from typing import Any

import pytest

from meantime.datasets.failure_table import failure_table
from meantime.datasets.log import Log
from meantime.datasets.readers.kubernetes import read_kubernetes
from meantime.datasets.readers.kubernetes_events import read_kubernetes_events
from meantime.errors import InputError


def at(hour: int, minute: int = 0) -> str:
    return f"2024-01-05T{hour:02d}:{minute:02d}:00Z"


def pod(name: str, owner: str | None, start: str | None, end: str | None, phase: str, **more: Any) -> dict[str, Any]:
    ended = {
        "terminated": {"exitCode": 1, "reason": more.pop("reason", "Error"), "startedAt": start, "finishedAt": end}
    }
    status: dict[str, Any] = {"phase": phase, "startTime": start}
    if end is not None:
        status["containerStatuses"] = [{"state": ended, "restartCount": more.pop("restarts", 0)}]
    if "disrupted" in more:
        status["conditions"] = [{"type": "DisruptionTarget", "status": "True", "reason": more.pop("disrupted")}]
    kind = more.pop("kind", "Job")
    owners = [] if owner is None else [{"apiVersion": "batch/v1", "kind": kind, "name": owner, "controller": True}]
    limits = {"nvidia.com/gpu": more.pop("gpus", "8"), "cpu": "96"}
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": at(0), "ownerReferences": owners},
        "spec": {"nodeName": more.pop("node", None), "containers": [{"resources": {"limits": limits}}]},
        "status": {**status, **more},
    }


def job(name: str, *conditions: dict[str, str], **status: Any) -> dict[str, Any]:
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": at(0), "labels": {"user": "ada"}},
        "spec": {"parallelism": 2},
        "status": {"conditions": list(conditions), **status},
    }


def condition(kind: str, reason: str, time: str, status: str = "True") -> dict[str, str]:
    return {"type": kind, "status": status, "reason": reason, "lastTransitionTime": time, "message": ""}


def workload(name: str, owner: str | None, *conditions: dict[str, str]) -> dict[str, Any]:
    owners = [] if owner is None else [{"kind": "Job", "name": owner}]
    template = {"spec": {"containers": [{"resources": {"requests": {"nvidia.com/gpu": "8"}}}]}}
    return {
        "apiVersion": "kueue.x-k8s.io/v1beta1",
        "kind": "Workload",
        "metadata": {"name": name, "namespace": "ml", "creationTimestamp": at(0), "ownerReferences": owners},
        "spec": {"queueName": "gold", "podSets": [{"name": "main", "count": 4, "template": template}]},
        "status": {"conditions": list(conditions)},
    }


def read(tmp_path: Path, items: list[dict[str, Any]]) -> Log:
    path = tmp_path / "jobs.json"
    path.write_text(json.dumps({"apiVersion": "v1", "items": items, "kind": "List"}, indent=4))
    log = read_kubernetes(path)
    assert log.rows_read == len(items)
    return log


def test_attempts_of_a_job(tmp_path: Path) -> None:
    items = [
        job("train", condition("Complete", "", at(9))),
        pod("train-0-a", "train", at(1), at(3), "Failed", node="n1", disrupted="DeletionByTaintManager"),
        pod("train-1-a", "train", at(1), at(3, 1), "Failed", node="n2"),
        pod("train-0-b", "train", at(4), at(9), "Succeeded", node="n3"),
        pod("train-1-b", "train", at(4), at(5), "Failed", node="n2", reason="OOMKilled", restarts=2),
        pod("train-1-c", "train", at(6), at(9), "Succeeded", node="n4"),
    ]
    log = read(tmp_path, items)
    assert log.table.select("job_id", "attempt", "state", "n_nodes", "n_gpus").rows() == [
        ("ml/train", 1, "NODE_FAIL", 2, 16),
        ("ml/train", 2, "COMPLETED", 3, 16),
    ]
    assert log.table["nodes"].to_list() == [["n1", "n2"], ["n3", "n2", "n4"]]
    assert log.table["end"].dt.hour().to_list() == [3, 9]
    assert log.table["user"].to_list() == ["ada", "ada"]
    assert log.rows_folded == {"pods of attempts": 3, "jobs that their pods describe": 1}
    assert log.notes == ("2 restarts of containers inside pods are not attempts: their times are not kept",)
    assert int(failure_table(log)["failures"].sum()) == 1


ENDS = {
    "PREEMPTED": {"phase": "Failed", "disrupted": "PreemptionByScheduler"},
    "OUT_OF_MEMORY": {"phase": "Failed", "reason": "OOMKilled"},
    "NODE_FAIL": {"phase": "Failed", "reason": "ContainerStatusUnknown"},
    "FAILED": {"phase": "Failed"},
    "COMPLETED": {"phase": "Succeeded"},
}


@pytest.mark.parametrize("state", list(ENDS))
def test_how_bare_pods_end(tmp_path: Path, state: str) -> None:
    how = dict(ENDS[state])
    log = read(tmp_path, [pod("one", None, at(1), at(2), how.pop("phase"), **how)])
    assert log.table.select("job_id", "state").rows() == [("ml/one", state)]


def test_status_reasons(tmp_path: Path) -> None:
    items = [pod(str(i), None, at(1), None, "Failed") for i in range(4)]
    for item, (reason, message) in zip(
        items,
        [
            ("Evicted", "The node was low on resource: memory."),
            ("Evicted", "disk"),
            ("NodeLost", ""),
            ("DeadlineExceeded", ""),
        ],
        strict=True,
    ):
        item["status"].update(reason=reason, message=message)
        item["status"]["conditions"] = [{"type": "Ready", "status": "False", "lastTransitionTime": at(2)}]
    log = read(tmp_path, items)
    assert log.table["state"].to_list() == ["OUT_OF_MEMORY", "NODE_FAIL", "NODE_FAIL", "TIMEOUT"]
    assert log.table["end"].dt.hour().to_list() == [2] * 4


def test_jobs_without_pods_services_and_waiting(tmp_path: Path) -> None:
    items = [
        job("gone", condition("Failed", "BackoffLimitExceeded", at(5)), startTime=at(1)),
        job("late", condition("Failed", "DeadlineExceeded", at(5)), startTime=at(1)),
        job("runs", startTime=at(1), active=2),
        job("waits"),
        pod("web-1", "web", at(1), None, "Running", kind="ReplicaSet"),
        pod("torch-0", "torch", at(1), None, "Running", kind="PyTorchJob", gpus="eight"),
        pod("new-0", "new", None, None, "Pending"),
        {"kind": "ConfigMap", "metadata": {"name": "x"}},
        pod("odd", None, at(1), at(2), "Strange"),
    ]
    log = read(tmp_path, items)
    rows = {row["job_id"]: row for row in log.table.rows(named=True)}
    assert {name: row["state"] for name, row in rows.items()} == {
        "ml/gone": "FAILED",
        "ml/late": "TIMEOUT",
        "ml/runs": "RUNNING",
        "ml/waits": "PENDING",
        "ml/torch": "RUNNING",
        "ml/new": "PENDING",
    }
    assert rows["ml/gone"]["end"].hour == 5
    assert rows["ml/torch"]["n_gpus"] is None
    assert log.rows_folded == {"pods of services": 1}
    assert log.quarantine["line"].to_list() == [8, 9]
    assert log.quarantine["reason"].to_list() == [
        "is no Job, Pod or Workload of Kubernetes",
        "state 'phase Strange' is unknown",
    ]


def test_workloads(tmp_path: Path) -> None:
    items = [
        job("a", startTime=at(1)),
        pod("a-0", "a", at(1), at(2), "Failed"),
        workload("wl-a", "a", condition("Evicted", "Preempted", at(2, 5))),
        workload("wl-b", "b", condition("Admitted", "Admitted", at(1)), condition("Finished", "JobFinished", at(4))),
        workload("wl-c", "c", condition("Evicted", "Preempted", at(3)), condition("Admitted", "x", at(3), "False")),
        workload("wl-d", None, condition("Admitted", "Admitted", at(1))),
    ]
    log = read(tmp_path, items)
    assert log.table.select("job_id", "state", "n_gpus", "partition").rows() == [
        ("ml/a", "PREEMPTED", 8, "gold"),
        ("ml/b", "COMPLETED", 32, "gold"),
        ("ml/c", "PREEMPTED", 32, "gold"),
        ("ml/wl-d", "RUNNING", 32, "gold"),
    ]
    assert log.table["start"].is_null().to_list() == [False, False, True, False]
    assert log.rows_folded == {"jobs that their pods describe": 1, "workloads of jobs": 1}


def test_nothing_of_kubernetes(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text('{"kind": "List", "items": [{"kind": "Secret"}]}')
    with pytest.raises(InputError, match="holds no Job, Pod or Workload of Kubernetes"):
        read_kubernetes(path)


def event(kind: str, name: str, reason: str, **more: Any) -> dict[str, Any]:
    return {
        "kind": "Event",
        "metadata": {"name": "e", "namespace": "default"},
        "involvedObject": {"kind": kind, "name": name},
        "reason": reason,
        "message": more.pop("message", "m"),
        "type": more.pop("type", "Warning"),
        "lastTimestamp": more.pop("last", at(3)),
        **more,
    }


def test_events(tmp_path: Path) -> None:
    items = [
        event("Node", "n1", "NodeNotReady", type="Normal", count=3),
        event("Node", "n1", "XIDError", message="NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus."),
        event("Node", "n2", "CoolantLeak"),
        event("Node", "n2", "Starting", type="Normal"),
        event("Pod", "p", "BackOff"),
        event("Pod", "p", "FailedMount", source={"host": "n3"}, last=None, eventTime=at(4)),
        event("Node", "n2", "IOError", last="soon"),
        event("Node", None, "IOError"),  # type: ignore[arg-type]
    ]
    path = tmp_path / "events.json"
    path.write_text(json.dumps({"kind": "List", "items": items}))
    log = read_kubernetes_events(path)
    assert log.table.select("node", "component", "severity", "source").rows() == [
        ("n1", "system_services", "high", "NodeNotReady"),
        ("n1", "gpu_hardware", "high", "xid 79"),
        ("n2", "coolant_leak", "low", "CoolantLeak"),
        ("n3", "filesystem_mount", "low", "FailedMount"),
    ]
    assert log.table["detail"][0] == "m (3 times)"
    assert log.table["time"].dt.hour().to_list() == [3, 3, 3, 4]
    assert log.rows_folded == {"events of other objects": 2}
    assert log.quarantine["line"].to_list() == [7, 8]
