"""The ledger of a run from its training log: what was saved, and what was lost, step by step."""

import dataclasses

import polars as pl

from meantime.datasets.ledger import PARTS, check_sum
from meantime.datasets.training import TrainingLog

_WORKING, _STARTING, _WRITING, _DOWN, _NOWHERE = range(5)
_NEXT = {
    "run_start": _STARTING,
    "restart_start": _STARTING,
    "restart_end": _WORKING,
    "step": _WORKING,
    "checkpoint_start": _WRITING,
    "checkpoint_end": _WORKING,
    "failure_detected": _DOWN,
    "run_end": _NOWHERE,
}
_REACHED = ("step", "checkpoint_start", "checkpoint_end")
"""Events whose step says how far the work before them came."""


def training_ledger(log: TrainingLog) -> pl.DataFrame:
    """Split the time from the first to the last event of every run.

    Each stretch between two events has one part: ``restart`` from the start of an attempt to its first work,
    ``checkpoint`` while one is written, ``queue`` from noticing a failure to the next attempt, ``unknown`` where the
    log tells nothing. The rest is work, productive unless it was lost: when an attempt goes on from a step, the work
    on later steps before it is lost (where the step is not known, what was done since the last checkpoint), and so is
    the time until a failure was noticed, and a checkpoint that was not finished.

    Returns
    -------
    pl.DataFrame
        One row a run: ``run``, ``begin``, ``end``, ``attempts``, ``failures``, ``checkpoints``, ``last_step``,
        ``wallclock``, the `meantime.datasets.ledger.PARTS` (durations, which add up to it exactly) and ``ettr``.
    """
    table = log.table.with_columns(pl.col("time").dt.epoch("us"))
    rows = [
        {"run": name, **_split(list(events.select("time", "event", "step", "status").iter_rows()))}
        for (name,), events in table.group_by("run", maintain_order=True)
    ]
    counts = ("attempts", "failures", "checkpoints", "last_step")
    whole = ("begin", "end", *counts, *PARTS)
    frame = pl.DataFrame(rows, schema={"run": pl.String, **dict.fromkeys(whole, pl.Int64)}, orient="row")
    check_sum(frame, pl.col("end") - pl.col("begin"))
    wallclock = pl.col("end") - pl.col("begin")
    times = pl.col("begin", "end").cast(pl.Datetime("us")).dt.replace_time_zone("UTC")
    return frame.select(
        "run",
        times,
        *counts,
        wallclock.cast(pl.Duration("us")).alias("wallclock"),
        pl.col(*PARTS).cast(pl.Duration("us")),
        pl.when(wallclock > 0).then(pl.col("productive") / wallclock).alias("ettr"),
    )


@dataclasses.dataclass(slots=True)
class _Books:
    """What is known so far of one run; ``work`` is a stack of (step, microseconds), ``safe`` how much of it is."""

    parts: dict[str, int]
    work: list[tuple[int | None, int]]
    safe: int = 0

    def lose(self, step: int | None) -> None:
        """Take back the work on steps after the one that the run goes on from."""
        while self.work:
            last, micros = self.work[-1]
            known = step is not None and last is not None
            if (last <= step) if known else (len(self.work) <= self.safe):  # type: ignore[operator]
                break
            self.parts["lost"] += micros
            self.work.pop()
        self.safe = min(self.safe, len(self.work))


def _split(events: list[tuple[int, str, int | None, str | None]]) -> dict[str, int | None]:
    books = _Books(parts=dict.fromkeys(PARTS, 0), work=[])
    counts = {"attempts": 0, "failures": 0, "checkpoints": 0}
    now, doing, step, resumed = events[0][0], _NOWHERE, None, True
    for time, event, number, status in events:
        reached = number if event in _REACHED and number is not None else step
        _book(books, doing, event, reached, time - now)
        now = time
        if event in ("run_start", "restart_start"):
            counts["attempts"] += 1
            resumed = event == "run_start"
        elif event == "failure_detected":
            counts["failures"] += doing != _DOWN
            resumed = False
        elif event in ("restart_end", "step") and not resumed:
            books.lose(number if event == "restart_end" or number is None else number - 1)
            resumed = True
        elif event == "checkpoint_end":
            counts["checkpoints"] += 1
            books.safe = len(books.work)
        if event == "run_end" and status not in (None, "completed", "COMPLETED"):
            books.lose(None)
        step = number if number is not None else step
        doing = _NEXT[event]
    if not resumed:
        books.lose(None)
    books.parts["productive"] += sum(micros for _, micros in books.work)
    return {"begin": events[0][0], "end": now, **counts, "last_step": step, **books.parts}


def _book(books: _Books, doing: int, event: str, step: int | None, micros: int) -> None:
    """Put the time up to an event down to the part that it belongs to."""
    cut_off = event in ("failure_detected", "restart_start")
    if doing == _WORKING and not cut_off:
        books.work.append((step, micros))
    elif doing == _STARTING:
        books.parts["restart"] += micros
    elif doing == _WRITING and not cut_off:
        books.parts["checkpoint"] += micros
    elif doing in (_WORKING, _WRITING):
        books.parts["lost"] += micros
    elif doing == _DOWN:
        books.parts["queue"] += micros
    else:
        books.parts["unknown"] += micros
