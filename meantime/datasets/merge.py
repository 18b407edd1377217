"""Several files of one log: exports overlap, and attempts are counted over all of them."""

import dataclasses
from collections.abc import Sequence

import polars as pl

from meantime.datasets.attempts import number_attempts, repeated_numbers
from meantime.datasets.log import QUARANTINE_SCHEMA, Log, add_counts, join_logs
from meantime.datasets.ragged import LINE


def merge_logs(logs: Sequence[Log], *, attempts_given: bool = False) -> Log:
    """Put logs together; jobs and events that stand in several of them count once.

    Parameters
    ----------
    logs
        Logs of one kind.
    attempts_given
        Whether the files number the attempts themselves; else they are numbered anew over all files.

    Raises
    ------
    InputError
        If the logs are of different kinds, or there is none.
    """
    joined = join_logs(logs)
    if len(logs) == 1 or joined.kind in ("outages", "lives"):
        return joined
    if joined.kind == "events":
        table = joined.table.unique(keep="first", maintain_order=True)
        folded = {"duplicates": joined.table.height - table.height}
        return dataclasses.replace(joined, table=table, rows_folded=add_counts(joined.rows_folded, folded))
    numbered = joined.table.with_columns(pl.int_range(pl.len(), dtype=pl.Int64).alias(LINE))
    table, folded = number_attempts(numbered, given=attempts_given)
    again = repeated_numbers(table)
    clashes = table.filter(again).select(
        file=pl.lit(joined.source),
        line=pl.lit(None, dtype=pl.Int64),
        reason=pl.lit("the files disagree on this attempt of the job"),
        text=pl.format("job_id={}, attempt={}", "job_id", "attempt"),
    )
    return dataclasses.replace(
        joined,
        table=table.filter(~again).drop(LINE),
        quarantine=pl.concat([joined.quarantine, clashes.cast(QUARANTINE_SCHEMA)]),  # type: ignore[arg-type]
        rows_folded=add_counts(joined.rows_folded, folded),
    )
