"""Jobs of Kubernetes, from pods, Jobs and Kueue's Workloads.

The input is the output of ::

    kubectl get jobs,pods,workloads.kueue.x-k8s.io -A -o json > jobs.json

(or of fewer of them, ``kubectl get pods -A -o json``; finished pods are gone once they are deleted, so export often and
give all files). Decisions:

- A job is what controls pods: a Job, or an operator's object such as a PyTorchJob; ``job_id`` is namespace/name. Pods
  of ReplicaSets, StatefulSets, DaemonSets and of nodes are services, not jobs, and are folded. A pod without a
  controller is a job of its own. A Job that is part of something larger (a JobSet) has that as ``run_id``.
- An attempt is a stretch of time in which pods of the job ran without a break. GPUs (``gpus`` names the resources) are
  the most held at once, nodes those of all its pods; the pods are folded into it.
- The last attempt has the state that the Job's condition tells (Complete: COMPLETED, DeadlineExceeded: TIMEOUT), every
  other that of its pods, the worst first: NODE_FAIL (evicted by a taint, node shut down or gone), PREEMPTED,
  OUT_OF_MEMORY (OOMKilled), TIMEOUT, FAILED, CANCELLED, RUNNING, COMPLETED. See
  `meantime.datasets.readers.kubernetes_pods`.
- A Workload gives the queue (``partition``) and tells preemption of an attempt that ended within 15 minutes before; one
  whose job and pods are not in the file is a row of its own (start: Admitted; end: Finished or Evicted).
- Restarts of containers inside a pod are no attempts: their times are not kept (noted).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from meantime.datasets.jobs import STATES, Conventions, jobs_log
from meantime.datasets.json_items import Item, read_items, text_at, value_at
from meantime.datasets.log import Log, make_quarantine
from meantime.datasets.ragged import LINE
from meantime.datasets.readers.kubernetes_pods import Pod, attempts_of, identity, read_pod
from meantime.datasets.readers.kueue import mark_preempted, queue_of, workload_row
from meantime.datasets.source import PathLike

KINDS = ("Job", "Pod", "Workload")
GPUS = ("nvidia.com/gpu", "amd.com/gpu")
SERVICES = ("ReplicaSet", "StatefulSet", "DaemonSet", "Node", "ReplicationController")

_SCHEMA: dict[str, Any] = {
    "job_id": pl.String,
    "run_id": pl.String,
    "attempt": pl.Int64,
    "submit": pl.String,
    "start": pl.String,
    "end": pl.String,
    "n_nodes": pl.Int64,
    "n_gpus": pl.Int64,
    "nodes": pl.List(pl.String),
    "state": pl.String,
    "user": pl.String,
    "partition": pl.String,
    LINE: pl.Int64,
}


def is_job_or_pod(item: Item) -> bool:
    """Tell whether an object is a Job, a Pod or a Workload."""
    return item.get("kind") in KINDS and isinstance(item.get("metadata"), dict)


def read_kubernetes(path: PathLike, *, cluster: str = "cluster", gpus: Sequence[str] = GPUS) -> Log:
    """Read jobs (see the module's text for the command and the decisions).

    Parameters
    ----------
    path
        The JSON file; .gz, .xz and .zst are unpacked.
    cluster
        Name of the cluster.
    gpus
        Names of the resources that are GPUs; their limits (else requests) add up.
    """
    items = read_items(path, "items", is_job_or_pod, "Job, Pod or Workload of Kubernetes")
    numbered = list(zip(items.numbers, items.objects, strict=True))
    jobs = {_key(item): (number, item) for number, item in numbered if item["kind"] == "Job"}
    loads = [(number, item) for number, item in numbered if item["kind"] == "Workload"]
    pods: dict[str, list[Pod]] = {}
    services, unnamed = 0, []
    for number, item in numbered:
        if item["kind"] == "Pod":
            pod = read_pod(item, number, gpus)
            if pod.owner_kind in SERVICES:
                services += 1
            elif not pod.job:
                unnamed.append(number)
            else:
                pods.setdefault(pod.job, []).append(pod)
    queues = {job: queue for _, load in loads if (job := _owner(load)) and (queue := queue_of(load))}
    rows: list[dict[str, Any]] = []
    for name in dict.fromkeys([*jobs, *pods]):
        rows += _rows(name, jobs.get(name), pods.get(name, []), queues)
    known = {row["job_id"] for row in rows}
    alone = [(number, load) for number, load in loads if (_owner(load) or _key(load)) not in known]
    for _, load in loads:
        mark_preempted(load, [row for row in rows if row["job_id"] == _owner(load)])
    rows += [{**workload_row(load, _owner(load) or _key(load), gpus), LINE: number} for number, load in alone]
    n_pods = sum(map(len, pods.values()))
    from_pods = sum(row["__pods"] for row in rows if "__pods" in row)
    described = sum(1 for name in jobs if name in pods)
    restarts = sum(pod.restarts for group in pods.values() for pod in group)
    notes = []
    if restarts:
        notes.append(f"{restarts} restarts of containers inside pods are not attempts: their times are not kept")
    aside = make_quarantine(str(path), unnamed, ["a pod without a name"] * len(unnamed), items.texts(unnamed))
    frame = pl.DataFrame([{k: row.get(k) for k in _SCHEMA} for row in rows], schema=_SCHEMA).sort(
        LINE, maintain_order=True
    )
    return jobs_log(
        frame,
        file=str(path),
        format="kubernetes",
        texts=items.texts,
        states={state: state for state in STATES},
        conventions=Conventions(cluster=cluster),
        quarantine=pl.concat([items.quarantine, aside]),
        folded={
            "pods of attempts": n_pods - from_pods,
            "pods of services": services,
            "jobs that their pods describe": described,
            "workloads of jobs": len(loads) - len(alone),
        },
        notes=notes,
    )


def _rows(name: str, job: tuple[int, Item] | None, pods: list[Pod], queues: Mapping[str, str]) -> list[dict[str, Any]]:
    """Make the rows of one job; ``__pods`` is how many pods became the row itself rather than part of it."""
    number, item = job if job is not None else (pods[0].number, {})
    common = {
        "job_id": name,
        "run_id": _run(item, pods),
        "user": _label(item, pods),
        "partition": queues.get(name) or text_at(item, "metadata", "labels", "kueue.x-k8s.io/queue-name"),
        "submit": text_at(item, "metadata", "creationTimestamp") or (pods[0].created if pods else None),
    }
    told = _condition(item)
    if not pods:
        status = item.get("status") if isinstance(item.get("status"), dict) else {}
        end = text_at(status, "completionTime") or (told[1] if told else None)
        start = text_at(status, "startTime")
        state = told[0] if told else "RUNNING" if value_at(status, "active") else "PENDING"
        return [{**common, "attempt": 1, "start": start, "end": end, "state": state, LINE: number}]
    made = attempts_of(pods)
    rows = []
    for i, attempt in enumerate(made, start=1):
        last = i == len(made)
        state = _last_state(told[0], attempt.state) if last and told else attempt.state
        rows.append(
            {
                **common,
                "attempt": i,
                "submit": common["submit"] if i == 1 else attempt.created,
                "start": attempt.start,
                "end": None if state == "RUNNING" else attempt.end,
                "n_nodes": len(attempt.nodes) or None,
                "n_gpus": attempt.gpus,
                "nodes": attempt.nodes or None,
                "state": state,
                LINE: attempt.number,
                "__pods": 1,
            }
        )
    return rows


def _last_state(told: str, of_pods: str) -> str:
    """Choose between what the Job tells and what its pods tell: these know better why it failed."""
    known = told in ("COMPLETED", "TIMEOUT") or of_pods in ("RUNNING", "COMPLETED", "PENDING", "CANCELLED")
    return told if known else of_pods


def _condition(job: Item) -> tuple[str, str | None] | None:
    """Give the state and time that the conditions of a Job tell."""
    conditions = value_at(job, "status", "conditions")
    for condition in conditions if isinstance(conditions, list) else []:
        if text_at(condition, "status") != "True":
            continue
        kind, reason = text_at(condition, "type"), text_at(condition, "reason")
        time = text_at(condition, "lastTransitionTime")
        if kind == "Complete":
            return "COMPLETED", time
        if kind == "Failed":
            return ("TIMEOUT" if reason == "DeadlineExceeded" else "FAILED"), time
    return None


def _key(item: Item) -> str:
    return identity(text_at(item, "metadata", "namespace"), text_at(item, "metadata", "name"))


def _owner(item: Item) -> str | None:
    """Name the controller of an object; None if it has none."""
    owners = value_at(item, "metadata", "ownerReferences")
    for owner in owners if isinstance(owners, list) else []:
        if name := text_at(owner, "name"):
            return identity(text_at(item, "metadata", "namespace"), name)
    return None


def _run(job: Item, pods: list[Pod]) -> str | None:
    return _owner(job) if job else None if not pods else pods[0].run


def _label(job: Item, pods: list[Pod]) -> str | None:
    for name in ("user", "owner", "app.kubernetes.io/created-by"):
        if found := text_at(job, "metadata", "labels", name):
            return found
    return pods[0].user if pods else None
