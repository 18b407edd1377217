"""Philly, the cluster of Microsoft's ATC 2019 paper (CC BY 4.0; cite Jeon et al., USENIX ATC 2019).

The input is ``cluster_job_log`` (JSON) of ::

    git clone https://github.com/msr-fiddle/philly-traces    # git lfs pull; tar -xzf trace-data.tar.gz

or the list that others cut from it, with ``id``, ``num_gpus`` and ``attempts`` (no status, no machines).

Decisions:

- A row is an attempt; a job without one is a row that never ran.
- The trace says how jobs ended, not why attempts did. The last attempt has the job's status (``Pass`` COMPLETED,
  ``Killed`` CANCELLED, ``Failed`` FAILED; RUNNING where it has no end), an earlier one is REQUEUED. Neither tells
  failures of machines, so rates come from the rule ``interruption``.
- The cut list has no status, so its states are not known.
- GPUs and nodes of an attempt are those of its ``detail``; in the cut list every attempt has ``num_gpus``.
- Times are local without a zone. They are read as UTC, which keeps differences of clock times; the trace's other
  files say PST and PDT, that is ``timezone="America/Los_Angeles"``, which counts the hour of 2017-11-05 right.
"""

from collections.abc import Iterator
from typing import Any

import polars as pl

from meantime.datasets.jobs import Conventions, jobs_log
from meantime.datasets.json_items import Item, read_items, text_at
from meantime.datasets.log import Log
from meantime.datasets.ragged import LINE
from meantime.datasets.source import PathLike
from meantime.datasets.times import check_timezone

STATUS = {"Pass": "COMPLETED", "Killed": "CANCELLED", "Failed": "FAILED"}
RETRIED, RUNNING, WAITING = "earlier attempt", "no end yet", "no attempt yet"

_STATES = {**STATUS, RETRIED: "REQUEUED", RUNNING: "RUNNING", WAITING: "PENDING"}
_SCHEMA: dict[str, Any] = {
    "job_id": pl.String,
    "attempt": pl.Int64,
    "submit": pl.String,
    "start": pl.String,
    "end": pl.String,
    "n_nodes": pl.Int64,
    "n_gpus": pl.Int64,
    "nodes": pl.List(pl.String),
    "user": pl.String,
    "partition": pl.String,
    "state": pl.String,
    LINE: pl.Int64,
}
_CUT_COLUMNS = ("job_id", "attempt", "submit", "start", "end", "n_gpus", LINE)


def is_philly(item: Item) -> bool:
    """Tell whether an object is a job of the trace, whole or cut."""
    return isinstance(item.get("attempts"), list) and ("jobid" in item or is_cut(item))


def is_cut(item: Item) -> bool:
    """Tell whether an object is a job of the cut list."""
    return "id" in item and "num_gpus" in item


def read_philly(path: PathLike, *, cluster: str = "philly", timezone: str = "UTC") -> Log:
    """Read the job log (see the module's text for the download and the decisions).

    Parameters
    ----------
    path
        The JSON file; .gz, .xz and .zst are unpacked.
    cluster
        Name of the cluster.
    timezone
        Zone of the times.
    """
    items = read_items(path, None, is_philly, "job of Philly")
    cut = bool(items.objects) and all(is_cut(item) for item in items.objects)
    rows = [
        row
        for number, item in zip(items.numbers, items.objects, strict=True)
        for row in (_cut_rows(item, number) if cut else _rows(item, number))
    ]
    frame = pl.DataFrame(rows, schema=_SCHEMA, strict=False, orient="row")
    notes = [] if cut else ["the trace does not say why attempts ended: use the rule 'interruption'"]
    return jobs_log(
        frame.select(_CUT_COLUMNS) if cut else frame,
        file=str(path),
        format="philly",
        texts=items.texts,
        states=_STATES,
        conventions=Conventions(cluster=cluster, timezone=check_timezone(timezone)),
        quarantine=items.quarantine,
        notes=notes,
    )


def _rows(item: Item, number: int) -> Iterator[dict[str, Any]]:
    common = {
        "job_id": text_at(item, "jobid"),
        "submit": text_at(item, "submitted_time"),
        "user": text_at(item, "user"),
        "partition": text_at(item, "vc"),
        LINE: number,
    }
    status = text_at(item, "status") or ""
    attempts = item["attempts"]
    if not attempts:
        yield {**common, "attempt": 1, "state": status or WAITING}
    for i, attempt in enumerate(attempts, start=1):
        last = i == len(attempts)
        start, end = (_time(text_at(attempt, name)) for name in ("start_time", "end_time"))
        state = RETRIED if not last else RUNNING if start and not end else status
        yield {**common, "attempt": i, "start": start, "end": end, "state": state, **_machines(attempt)}


def _machines(attempt: Any) -> dict[str, Any]:
    detail = attempt.get("detail") if isinstance(attempt, dict) else None
    if not isinstance(detail, list):
        return {"n_nodes": None, "n_gpus": None, "nodes": None}
    machines = [part for part in detail if isinstance(part, dict)]
    names = list(dict.fromkeys(ip for part in machines if (ip := text_at(part, "ip"))))
    gpus = [part["gpus"] for part in machines if isinstance(part.get("gpus"), list)]
    known = bool(names) and len(gpus) == len(machines)
    return {"n_nodes": len(names) or None, "n_gpus": sum(map(len, gpus)) if known else None, "nodes": names or None}


def _cut_rows(item: Item, number: int) -> Iterator[dict[str, Any]]:
    gpus = item["num_gpus"]
    for i, attempt in enumerate(item["attempts"] or [None], start=1):
        yield {
            "job_id": text_at(item, "id"),
            "attempt": i,
            "submit": text_at(item, "submitted_time"),
            "start": _time(text_at(attempt, "start_time")),
            "end": _time(text_at(attempt, "end_time")),
            "n_gpus": gpus if isinstance(gpus, int) and not isinstance(gpus, bool) else None,
            LINE: number,
        }


def _time(text: str | None) -> str | None:
    return None if text in (None, "", "None") else text
