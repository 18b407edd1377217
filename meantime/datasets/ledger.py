"""The ledger of a run: where each microsecond of its wallclock went.

Scheduler logs say when a run waited and ran, not when it saved its work. That part is assumed, and every assumption
is an argument: an attempt begins with a restart, then works and writes a checkpoint in turns; one that did not
complete loses what it did since its last checkpoint. The parts add up to the wallclock because each is cut from
what the ones before it left; nothing is rescaled, and the sum is checked.
"""

from collections.abc import Sequence
from typing import Any

import polars as pl

from meantime.datasets.runs import GAP, OVER, stitch_runs
from meantime.errors import InputError
from meantime.units import Duration, seconds

PARTS = ("productive", "lost", "restart", "checkpoint", "queue", "unknown")
"""Parts of a wallclock. ``unknown``: nothing of the run was in the scheduler, or the log has no times for it."""
KEPT = ("COMPLETED", "RUNNING", "PENDING")
"""States of attempts that lose nothing."""


def attempt_ledger(
    attempts: pl.DataFrame,
    *,
    restart: Duration = "5min",
    checkpoint_interval: Duration = "1h",
    checkpoint_write: Duration = "0s",
) -> pl.DataFrame:
    """Split the time of every attempt, from the end of the one before it to its own.

    Parameters
    ----------
    attempts
        Of `meantime.datasets.runs.stitch_runs`.
    restart
        Initialisation and loading at the start of an attempt.
    checkpoint_interval, checkpoint_write
        Work between checkpoints, and the time for which writing one stops the work.

    Returns
    -------
    pl.DataFrame
        `attempts` with `PARTS` as durations (whole microseconds), whose sum is ``until`` - ``previous``.

    Raises
    ------
    InputError
        If the interval is no time at all.
    """
    begin = min(_micros(restart, "restart"), 2**62)
    interval, write = _micros(checkpoint_interval, "checkpoint_interval"), _micros(checkpoint_write, "checkpoint_write")
    if interval < 1:
        raise InputError(f"checkpoint_interval is {checkpoint_interval!r}; expected more than no time")
    runtime = (pl.col("until") - pl.col("begin")).dt.total_microseconds()
    state = pl.col("state").cast(pl.String)
    last = pl.col("run_attempt") == pl.col("run_attempt").max().over("cluster", "run")
    kept = pl.coalesce(state.is_in(KEPT), last)
    cycle = interval + write
    split = (
        attempts.with_columns(runtime.alias("__runtime"), kept.alias("__kept"))
        .with_columns(pl.min_horizontal("__runtime", pl.lit(begin, dtype=pl.Int64)).alias("restart"))
        .with_columns((pl.col("__runtime") - pl.col("restart")).alias("__left"))
        .with_columns((pl.col("__left") // cycle).alias("__saved"), (pl.col("__left") % cycle).alias("__tail"))
        .with_columns(pl.min_horizontal("__tail", pl.lit(interval, dtype=pl.Int64)).alias("__work"))
    )
    in_vain = pl.when("__kept").then(0).otherwise("__tail")
    work, writing = (
        pl.when("__kept").then(part).otherwise(0) for part in ("__work", pl.col("__tail") - pl.col("__work"))
    )
    parts = {
        "productive": pl.col("__saved") * interval + work,
        "lost": in_vain,
        "restart": pl.col("restart"),
        "checkpoint": pl.col("__saved") * write + writing,
        "queue": (pl.col("begin") - pl.col("eligible")).dt.total_microseconds(),
        "unknown": (pl.col("eligible") - pl.col("previous")).dt.total_microseconds(),
    }
    split = split.with_columns(part.cast(pl.Int64).alias(name) for name, part in parts.items())
    whole = (pl.col("until") - pl.col("previous")).dt.total_microseconds()
    check_sum(split.with_columns(whole.alias("__whole")), "__whole")
    return split.select(*attempts.columns, pl.col(*PARTS).cast(pl.Duration("us")))


def measure_runs(
    jobs: Any,
    events: Any = None,
    *,
    restart: Duration = "5min",
    checkpoint_interval: Duration = "1h",
    checkpoint_write: Duration = "0s",
    gap: Duration = GAP,
    over: Sequence[str] = OVER,
    **attribution: Any,
) -> pl.DataFrame:
    """Measure every run of a log: its ledger, ETTR, queue, restarts and interruptions.

    The measured ETTR rests on the assumptions on checkpoints below, as it does in the paper (arXiv 2410.21680,
    section 8), which takes every attempt to end in a failure; here attempts that completed lose nothing.

    Parameters
    ----------
    jobs, events, gap, over, **attribution
        As in `meantime.datasets.runs.stitch_runs`.
    restart, checkpoint_interval, checkpoint_write
        As in `attempt_ledger`.

    Returns
    -------
    pl.DataFrame
        One row a run, in order of ``cluster`` and ``run``: ``user`` and ``name`` (where known), ``n_gpus`` (largest
        attempt), ``jobs``, ``attempts`` (that ran), ``restarts``, ``infrastructure``, ``preempted`` and ``other``
        interruptions, ``submit``, ``end``, ``running``, ``state`` (of the last attempt), ``wallclock``, its `PARTS`
        (durations), ``scheduled`` (time in attempts), ``median_queue`` (of its attempts) and ``ettr``: productive over
        wallclock, the latter without the part ``unknown``; null for a run that never ran.
    """
    attempts = attempt_ledger(
        stitch_runs(jobs, events, gap=gap, over=over, **attribution),
        restart=restart,
        checkpoint_interval=checkpoint_interval,
        checkpoint_write=checkpoint_write,
    )
    optional = [name for name in ("user", "name") if name in attempts.columns]
    state = pl.col("state").cast(pl.String)
    ran = pl.col("start").is_not_null()
    last = pl.col("run_attempt") == pl.col("run_attempt").max().over("cluster", "run")
    cut = ran & ~pl.coalesce(state.is_in(KEPT), last) & ~pl.col("infrastructure")
    attempts = attempts.with_columns(
        (cut & (state == "PREEMPTED")).fill_null(False).alias("__preempted"),
        (cut & (state != "PREEMPTED").fill_null(True)).fill_null(False).alias("__other"),
    )
    runs = attempts.group_by("cluster", "run", maintain_order=True).agg(
        *(pl.col(name).first() for name in optional),
        pl.col("n_gpus").max(),
        pl.col("job_id").n_unique().cast(pl.Int64).alias("jobs"),
        ran.sum().cast(pl.Int64).alias("attempts"),
        pl.col("infrastructure").sum().cast(pl.Int64),
        pl.col("__preempted").sum().cast(pl.Int64).alias("preempted"),
        pl.col("__other").sum().cast(pl.Int64).alias("other"),
        pl.col("previous").first().alias("submit"),
        pl.col("until").last().alias("end"),
        (ran & pl.col("end").is_null()).any().alias("running"),
        pl.col("state").last(),
        pl.col(*PARTS).sum(),
        (pl.col("until") - pl.col("begin")).filter(ran).sum().alias("scheduled"),
        pl.col("queue").filter(ran).median().alias("median_queue"),
    )
    runs = runs.with_columns(
        (pl.col("end") - pl.col("submit")).alias("wallclock"), (pl.col("attempts") - 1).clip(0).alias("restarts")
    )
    check_sum(runs.with_columns(pl.col(*PARTS).dt.total_microseconds()), pl.col("wallclock").dt.total_microseconds())
    counted = (pl.col("wallclock") - pl.col("unknown")).dt.total_microseconds()
    ettr = pl.when((pl.col("attempts") > 0) & (counted > 0)).then(
        pl.col("productive").dt.total_microseconds() / counted
    )
    order = ["cluster", "run", *optional, "n_gpus", "jobs", "attempts", "restarts", "infrastructure", "preempted"]
    order += ["other", "submit", "end", "running", "state", "wallclock", *PARTS, "scheduled", "median_queue"]
    return runs.select(*order, ettr.alias("ettr"))


def check_sum(frame: pl.DataFrame, whole: str | pl.Expr) -> None:
    """Assert that the `PARTS` of every row (whole microseconds, none negative) add up to its whole."""
    total = pl.col(whole) if isinstance(whole, str) else whole
    wrong = frame.filter((pl.sum_horizontal(PARTS) != total) | (pl.min_horizontal(PARTS) < 0))
    if wrong.height:
        raise AssertionError(f"{wrong.height} ledgers do not add up, the first: {wrong.row(0, named=True)}")


def _micros(duration: Duration, name: str) -> int:
    return round(seconds(duration, name=name) * 1e6)
