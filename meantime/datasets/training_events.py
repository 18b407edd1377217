"""What training frameworks write about their runs, brought to eight events.

meantime's own form is JSON lines, one object an event, with ``time`` (ISO 8601 or seconds since 1970), ``run`` and
``event``, one of

====================  ==========================================================================================
``run_start``         the run's first process starts
``step``              a training step is done; ``step`` is its number
``checkpoint_start``  writing a checkpoint begins to stop the work; ``step``
``checkpoint_end``    the checkpoint is safe and the work goes on; ``step``
``failure_detected``  it was noticed that the run had stopped or hung; ``failed_at`` (time) where it is known
``restart_start``     the process of a further attempt starts
``restart_end``       it has initialised and loaded a checkpoint, and works; ``step``, from which
``run_end``           the run ends; ``status`` (``completed`` where absent)
====================  ==========================================================================================

Two other forms are read as well:

- entries of *ml-goodput-measurement* (https://github.com/AI-Hypercomputer/ml-goodput-measurement): ``job_name`` and
  one of ``job_start_time``, ``job_end_time``, ``step_start_time`` with ``step_count``, ``tpu_init_..._time``,
  ``training_prep_..._time``, ``data_loading_..._time``, ``custom_badput_event_..._time`` with
  ``custom_badput_event_type``; seconds since 1970. A second ``job_start_time`` is a restart; the first step after it
  ends it; the start of a step is the end of the one before. A custom event whose type names a checkpoint is one. The
  other phases are folded.
- events of Google Cloud's *resiliency* library: ``timestamp``, ``job_name``, ``event_type`` (``job_started``,
  ``checkpoint_loaded``, ``checkpoint_saved``, ``job_terminated``, ``user_scheduled``, ``user_terminated``), ``step``.

Entries exported from Cloud Logging hold these under ``jsonPayload``.
"""

import dataclasses
import datetime as dt
import zoneinfo
from collections.abc import Mapping
from typing import Any

from meantime.datasets.times import YEARS

EVENTS = (
    "run_start",
    "step",
    "checkpoint_start",
    "checkpoint_end",
    "failure_detected",
    "restart_start",
    "restart_end",
    "run_end",
)
ATTEMPT = "attempt_start"
"""An attempt starts; the first of a run is its ``run_start``, others are a ``restart_start``."""
STOP = "attempt_end"
"""An attempt ends; the last of a run is its ``run_end``, others are a ``failure_detected``."""

_RUN = ("run", "run_id", "job_name", "job")
_TIME = ("time", "timestamp", "ts")
_RESILIENCY = {
    "job_started": ATTEMPT,
    "checkpoint_loaded": "restart_end",
    "checkpoint_saved": "checkpoint_end",
    "job_terminated": STOP,
    "user_terminated": "run_end",
    "user_scheduled": None,
}
_GOODPUT = {
    "job_start_time": ATTEMPT,
    "job_end_time": STOP,
    "step_start_time": "step",
    "custom_badput_event_start_time": "checkpoint_start",
    "custom_badput_event_end_time": "checkpoint_end",
}
_PHASES = ("tpu_init", "training_prep", "data_loading")
_MICROS = 1_000_000


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """One event: ``time`` and ``failed_at`` in microseconds since 1970; ``event`` None: understood, but no event."""

    run: str
    time: int
    event: str | None
    step: int | None = None
    failed_at: int | None = None
    status: str | None = None
    rank: int = 0
    form: str = "meantime"


def is_training(item: Mapping[str, Any]) -> bool:
    """Tell whether a JSON object is an event of a training run."""
    try:
        understand(item, zoneinfo.ZoneInfo("UTC"))
    except ValueError:
        return False
    return True


def understand(content: Any, zone: zoneinfo.ZoneInfo) -> Entry:
    """Make an event of one JSON value.

    Raises
    ------
    ValueError
        With the reason, if it is none.
    """
    if isinstance(content, Mapping) and isinstance(content.get("jsonPayload"), Mapping):
        content = content["jsonPayload"]
    if not isinstance(content, Mapping):
        raise ValueError("not a JSON object")
    if "event" in content:
        return _own(content, zone)
    if "event_type" in content:
        return _resiliency(content, zone)
    return _goodput(content, zone)


def _own(content: Mapping[str, Any], zone: zoneinfo.ZoneInfo) -> Entry:
    if content["event"] not in EVENTS:
        raise ValueError(f"event {content['event']!r} is unknown; expected {', '.join(EVENTS)}")
    failed = content.get("failed_at")
    return Entry(
        run=_run(content),
        time=_time(_first(content, _TIME), zone),
        event=content["event"],
        step=_whole(content, "step"),
        failed_at=None if failed is None else _time(failed, zone),
        status=None if content.get("status") is None else str(content["status"]),
        rank=_whole(content, "rank") or 0,
    )


def _resiliency(content: Mapping[str, Any], zone: zoneinfo.ZoneInfo) -> Entry:
    kind = content["event_type"]
    if kind not in _RESILIENCY:
        raise ValueError(f"event_type {kind!r} is unknown; expected {', '.join(_RESILIENCY)}")
    return Entry(
        run=_run(content),
        time=_time(_first(content, _TIME), zone),
        event=_RESILIENCY[kind],
        step=_whole(content, "step"),
        rank=_whole(content, "node_rank") or 0,
        form="resiliency",
    )


def _goodput(content: Mapping[str, Any], zone: zoneinfo.ZoneInfo) -> Entry:
    for key, event in _GOODPUT.items():
        if key in content:
            told = "checkpoint" in str(content.get("custom_badput_event_type", "checkpoint")).lower()
            return Entry(
                run=_run(content),
                time=_time(content[key], zone),
                event=event if told else None,
                step=_whole(content, "step_count"),
                form="ml-goodput-measurement",
            )
    for key in (f"{phase}_{edge}_time" for phase in _PHASES for edge in ("start", "end")):
        if key in content:
            return Entry(run=_run(content), time=_time(content[key], zone), event=None, form="ml-goodput-measurement")
    raise ValueError("no event; expected a field event, event_type, or one such as step_start_time")


def _run(content: Mapping[str, Any]) -> str:
    return str(_first(content, _RUN))


def _first(content: Mapping[str, Any], names: tuple[str, ...]) -> Any:
    for name in names:
        if content.get(name) is not None:
            return content[name]
    raise ValueError(f"{names[0]} is missing")


def _whole(content: Mapping[str, Any], name: str) -> int | None:
    value = content.get(name)
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float) or value != int(value) or abs(value) > 2**53:
        raise ValueError(f"{name} {str(value)[:40]!r} is not a whole number")
    return int(value)


def _time(value: Any, zone: zoneinfo.ZoneInfo) -> int:
    """Give microseconds since 1970."""
    shown = str(value)[:40]
    if isinstance(value, int | float) and not isinstance(value, bool):
        if not abs(value) < 1e12:
            raise ValueError(f"time {shown!r} is not in seconds since 1970")
        micros = round(value * _MICROS)
    elif isinstance(value, str):
        try:
            parsed = dt.datetime.fromisoformat(value)
        except ValueError:
            raise ValueError(f"time {shown!r} is not a time") from None
        parsed = parsed if parsed.tzinfo is not None else parsed.replace(tzinfo=zone)
        micros = round((parsed - _EPOCH) / dt.timedelta(microseconds=1))
    else:
        raise ValueError(f"time {shown!r} is not a time")
    if not _EDGES[0] <= micros <= _EDGES[1]:
        raise ValueError(f"time {shown!r} lies outside the years {YEARS[0]} to {YEARS[1]}")
    return micros


_EPOCH = dt.datetime(1970, 1, 1, tzinfo=dt.UTC)
_EDGES = tuple(int((dt.datetime(year, 1, 1, tzinfo=dt.UTC) - _EPOCH).total_seconds()) * _MICROS for year in YEARS)
