"""Attempts of a job: repeated rows folded, earlier snapshots of a row dropped, the rest numbered."""

import numpy as np
import polars as pl

from meantime.datasets.log import add_counts
from meantime.datasets.ragged import LINE

JOB = ["cluster", "job_id"]
_AT = "__at"
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
    suspects = frame["job_id"].hash().is_duplicated()  # cheaper than the names; one too many does no harm
    if not suspects.any():
        return (frame if given else frame.with_columns(attempt=pl.lit(1, dtype=pl.Int64))), {}
    several = frame.select(*_SAME, "attempt", LINE).with_row_index(_AT).filter(suspects)
    distinct = several.unique([*_SAME, "attempt"] if given else _SAME, keep="first", maintain_order=True)
    latest = distinct if given else _drop_superseded(distinct)
    folded = {"duplicates": several.height - distinct.height, "earlier snapshots": distinct.height - latest.height}
    if not given:
        order = pl.coalesce("start", "submit")
        latest = latest.sort(order, LINE, nulls_last=True).with_columns(
            attempt=pl.int_range(1, pl.len() + 1, dtype=pl.Int64).over(JOB)
        )
        numbers = pl.Series("attempt", np.ones(frame.height, dtype=np.int64))
        frame = frame.with_columns(numbers.scatter(latest[_AT], latest["attempt"]))
    if latest.height < several.height:
        kept = np.ones(frame.height, dtype=bool)
        kept[several[_AT].to_numpy()] = False
        kept[latest[_AT].to_numpy()] = True
        frame = frame.filter(pl.Series(kept))
    return (frame if frame[LINE].is_sorted() else frame.sort(LINE, maintain_order=True)), add_counts(folded)


def repeated_numbers(frame: pl.DataFrame) -> pl.Series:
    """Mark rows whose job and attempt number occurred before in the table."""
    return frame.select((~pl.struct([*JOB, "attempt"]).is_first_distinct()).alias("repeated")).to_series()


def _drop_superseded(rows: pl.DataFrame) -> pl.DataFrame:
    """Drop earlier snapshots; only jobs with a row that has no end can have any."""
    open_jobs = rows.filter(pl.col("end").is_null()).select(JOB).unique()
    if open_jobs.is_empty():
        return rows
    doubtful = rows.join(open_jobs, on=JOB, how="semi").filter(_superseded())
    return rows.join(doubtful.select(_AT), on=_AT, how="anti", maintain_order="left")


def _superseded() -> pl.Expr:
    ended = pl.col("end").is_not_null().any().over([*JOB, "start"])
    begun = (pl.col("start").is_not_null() | pl.col("end").is_not_null()).any().over([*JOB, "submit"])
    running = pl.col("start").is_not_null() & pl.col("end").is_null()
    waiting = pl.col("start").is_null() & pl.col("end").is_null()
    later = pl.int_range(pl.len()) < pl.len() - 1
    again_running = running & ~ended & later.over([*JOB, "start", pl.col("end").is_null()])
    again_waiting = waiting & ~begun & later.over([*JOB, "submit"])
    return (running & ended) | (waiting & begun) | again_running | again_waiting
