"""Attempts of a job: repeated rows folded, earlier snapshots of a row dropped, the rest numbered."""

import polars as pl

from meantime.datasets.log import add_counts
from meantime.datasets.ragged import LINE

JOB = ["cluster", "job_id"]
_SAME = [*JOB, "submit", "start", "end", "state", "n_nodes", "n_gpus"]


def number_attempts(frame: pl.DataFrame, *, given: bool) -> tuple[pl.DataFrame, dict[str, int]]:
    """Number the attempts of every job in the order of their starts (of submission, where never started).

    Two rows that agree in job, times, state and size are one (``duplicates``). A row without an end
    gives way to a row of the same start that has one, and a row without a start to one of the same
    submission that has (``earlier snapshots``): exports of a log overlap.

    Parameters
    ----------
    frame
        Columns of the jobs table, and `LINE`.
    given
        Whether the log numbers the attempts itself. Then its numbers are kept.

    Returns
    -------
    tuple
        The rows that remain, in the order of the file, and how many were folded.
    """
    suspects = frame["job_id"].is_duplicated()
    if not suspects.any():
        return (frame if given else frame.with_columns(attempt=pl.lit(1, dtype=pl.Int64))), {}
    alone = frame.filter(~suspects)
    several = frame.filter(suspects)
    distinct = several.unique([*_SAME, "attempt"] if given else _SAME, keep="first", maintain_order=True)
    latest = distinct.filter(~_superseded()) if not given else distinct
    folded = {"duplicates": several.height - distinct.height, "earlier snapshots": distinct.height - latest.height}
    if not given:
        latest = latest.sort(pl.coalesce("start", "submit"), LINE, nulls_last=True).with_columns(
            attempt=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(JOB)
        )
        alone = alone.with_columns(attempt=pl.lit(1, dtype=pl.Int64))
    return pl.concat([alone, latest.select(alone.columns)]).sort(LINE, maintain_order=True), add_counts(folded)


def repeated_numbers(frame: pl.DataFrame) -> pl.Series:
    """Mark rows whose job and attempt number occurred before in the table."""
    return frame.select((~pl.struct([*JOB, "attempt"]).is_first_distinct()).alias("repeated")).to_series()


def _superseded() -> pl.Expr:
    ended = pl.col("end").is_not_null().any().over([*JOB, "start"])
    begun = (pl.col("start").is_not_null() | pl.col("end").is_not_null()).any().over([*JOB, "submit"])
    running = pl.col("start").is_not_null() & pl.col("end").is_null()
    waiting = pl.col("start").is_null() & pl.col("end").is_null()
    later = pl.int_range(pl.len()) < pl.len() - 1
    again_running = running & ~ended & later.over([*JOB, "start", pl.col("end").is_null()])
    again_waiting = waiting & ~begun & later.over([*JOB, "submit"])
    return (running & ended) | (waiting & begun) | again_running | again_waiting
