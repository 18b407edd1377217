"""Events of Kubernetes nodes, also those of node-problem-detector.

The input is the output of ::

    kubectl get events -A -o json > events.json

which holds the last hour or so; run it often and give all files (rows that they share count once). Decisions:

- Events about nodes, and failed mounts of pods on a node, are kept; `REASONS` gives component and severity. A warning
  about a node whose reason is not there is a component of its own, of low severity. An Xid named in the message counts
  as that Xid.
- All other events (normal ones, those of pods, Jobs and other objects) are folded.
- The time is that of the last occurrence; ``detail`` says how often it occurred.
"""

import re
from typing import Any

import polars as pl

from meantime.datasets.events import events_log
from meantime.datasets.jobs import Conventions
from meantime.datasets.json_items import Item, read_items, text_at, value_at
from meantime.datasets.log import Log
from meantime.datasets.ragged import LINE
from meantime.datasets.source import PathLike
from meantime.datasets.xids import UNKNOWN_COMPONENT, UNKNOWN_SEVERITY, xid_table

REASONS = {
    "NodeNotReady": ("system_services", "high"),
    "KubeletNotReady": ("system_services", "high"),
    "ContainerRuntimeUnhealthy": ("system_services", "high"),
    "KernelDeadlock": ("system_services", "high"),
    "KernelOops": ("system_services", "high"),
    "TaskHung": ("system_services", "low"),
    "FrequentKubeletRestart": ("system_services", "low"),
    "FrequentContainerdRestart": ("system_services", "low"),
    "UnregisterNetDevice": ("ethernet_link", "low"),
    "NetworkUnavailable": ("ethernet_link", "high"),
    "Rebooted": ("host_hardware", "low"),
    "MemoryReadError": ("host_memory", "low"),
    "Ext4Error": ("block_device", "high"),
    "IOError": ("block_device", "high"),
    "FilesystemIsReadOnly": ("block_device", "high"),
    "OOMKilling": ("out_of_memory", "low"),
    "SystemOOM": ("out_of_memory", "low"),
    "FailedMount": ("filesystem_mount", "low"),
    "FailedAttachVolume": ("filesystem_mount", "low"),
}
"""Reasons of events, with component and severity."""
_MOUNTS = ("FailedMount", "FailedAttachVolume")
_XID = re.compile(r"Xid \([^)]*\): (\d{1,6})|\bXID[ :=]+(\d{1,6})")
_COLUMNS = ("time", "node", "component", "severity", "source", "detail")


def is_event(item: Item) -> bool:
    """Tell whether an object is an Event."""
    return item.get("kind") == "Event"


def read_kubernetes_events(path: PathLike, *, xids: PathLike | None = None) -> Log:
    """Read events (see the module's text for the command and the decisions).

    Parameters
    ----------
    path
        The JSON file; .gz, .xz and .zst are unpacked.
    xids
        TOML file that changes or adds Xid numbers.
    """
    items = read_items(path, "items", is_event, "Event of Kubernetes")
    table = {
        xid: (component, severity)
        for xid, component, severity in xid_table(xids).select("xid", "component", "severity").rows()
    }
    rows: list[dict[str, Any]] = []
    others = 0
    for number, item in zip(items.numbers, items.objects, strict=True):
        row = _row(item, table)
        if row is None:
            others += 1
        else:
            rows.append({**row, LINE: number})
    return events_log(
        pl.DataFrame(rows, schema={**dict.fromkeys(_COLUMNS, pl.String), LINE: pl.Int64}),
        file=str(path),
        format="kubernetes-events",
        texts=items.texts,
        conventions=Conventions(),
        quarantine=items.quarantine,
        folded={"events of other objects": others},
    )


def _row(item: Item, table: dict[int, tuple[str, str]]) -> dict[str, Any] | None:
    about = item.get("involvedObject") or item.get("regarding")
    kind, reason = text_at(about, "kind"), text_at(item, "reason") or ""
    message = text_at(item, "message") or text_at(item, "note") or ""
    warning = text_at(item, "type") == "Warning"
    if kind == "Node":
        node = text_at(about, "name")
    elif reason in _MOUNTS:
        node = text_at(item, "source", "host") or text_at(item, "reportingInstance")
    else:
        return None
    found = _XID.search(message)
    source = reason
    if found is not None:
        number = int(found.group(1) or found.group(2))
        component, severity = table.get(number, (UNKNOWN_COMPONENT, UNKNOWN_SEVERITY))
        source = f"xid {number}"
    elif reason in REASONS:
        component, severity = REASONS[reason]
    elif warning and reason:
        component, severity = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+", "_", reason).lower(), "low"
    else:
        return None
    times = _count(item)
    return {
        "time": _time(item),
        "node": node,
        "component": component,
        "severity": severity,
        "source": source,
        "detail": message + (f" ({times} times)" if times > 1 else "") or None,
    }


def _time(item: Item) -> str | None:
    for path in (
        ("series", "lastObservedTime"),
        ("lastTimestamp",),
        ("deprecatedLastTimestamp",),
        ("eventTime",),
        ("firstTimestamp",),
    ):
        if found := text_at(item, *path):
            return found
    return text_at(item, "metadata", "creationTimestamp")


def _count(item: Item) -> int:
    for value in (value_at(item, "series", "count"), item.get("count"), item.get("deprecatedCount")):
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    return 1
