"""What a reader returns: a table, the rows it could not use, and an account of every row it read."""

import dataclasses
import html
from collections.abc import Mapping, Sequence
from typing import Literal

import polars as pl

from meantime.errors import InputError

type Kind = Literal["jobs", "events", "outages", "lives"]

QUARANTINE_SCHEMA = {"file": pl.String, "line": pl.Int64, "reason": pl.String, "text": pl.String}
TEXT_LIMIT = 200
"""Characters of a quarantined row that are kept."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Log:
    """A log that was read: every row of it is in the table, folded into it, or in quarantine.

    Attributes
    ----------
    table
        One row a job attempt (see `meantime.datasets.jobs`), an event (`meantime.datasets.events`), an outage of a
        node (`meantime.datasets.outages`) or the life of a part (`meantime.datasets.lives`).
    quarantine
        Rows that could not be used: ``file``, ``line`` (1 = first line of the file), ``reason``,
        ``text`` (at most 200 characters).
    rows_read
        Rows of the file, header and blank lines not counted.
    rows_folded
        Rows that were understood but are no rows of the table of their own, by kind:
        ``{"steps": 880, "duplicates": 7}``.
    source
        Where the rows came from.
    format
        Name of the reader.
    kind
        ``"jobs"``, ``"events"``, ``"outages"`` or ``"lives"``.
    notes
        What the reader decided and the user may want to know, one sentence each.
    """

    table: pl.DataFrame
    quarantine: pl.DataFrame
    rows_read: int
    rows_folded: Mapping[str, int]
    source: str
    format: str
    kind: Kind = "jobs"
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        accounted = self.table.height + sum(self.rows_folded.values()) + self.quarantine.height
        if self.rows_read != accounted:
            raise AssertionError(
                f"{self.source}: {self.rows_read} rows read but {accounted} accounted for "
                f"({self.table.height} used, {dict(self.rows_folded)} folded, {self.quarantine.height} quarantined)"
            )

    def _repr_html_(self) -> str:
        """Show the account of the rows and the head of the table in a notebook; text from the log is escaped."""
        folded = "".join(f" + {number:,} {kind} folded" for kind, number in self.rows_folded.items())
        account = (
            f"{self.source} ({self.format}, {self.kind}): {self.rows_read:,} rows read = {self.table.height:,} used"
            f"{folded} + {self.quarantine.height:,} quarantined"
        )
        notes = "".join(f"<li>{html.escape(note)}</li>" for note in self.notes)
        listed = f"<ul>{notes}</ul>" if notes else ""
        return f"<p>{html.escape(account)}</p>{listed}{self.table._repr_html_()}"


def empty_quarantine() -> pl.DataFrame:
    """Make a quarantine without rows."""
    return pl.DataFrame(schema=QUARANTINE_SCHEMA)


def make_quarantine(file: str, lines: Sequence[int], reasons: Sequence[str], texts: Sequence[str]) -> pl.DataFrame:
    """Make a quarantine of rows of one file; texts are cut to `TEXT_LIMIT` characters."""
    return pl.DataFrame(
        {
            "file": [file] * len(lines),
            "line": list(lines),
            "reason": list(reasons),
            "text": [text[:TEXT_LIMIT] for text in texts],
        },
        schema=QUARANTINE_SCHEMA,
    )


def add_counts(*parts: Mapping[str, int]) -> dict[str, int]:
    """Add counts by name; names with zero are left out."""
    total: dict[str, int] = {}
    for part in parts:
        for name, count in part.items():
            if count:
                total[name] = total.get(name, 0) + count
    return total


def join_logs(logs: Sequence[Log]) -> Log:
    """Put logs of one kind and format together, in order, without looking for rows they share.

    Raises
    ------
    InputError
        If the logs are of different kinds, or there is none.
    """
    if not logs:
        raise InputError("no file was given; expected at least one path")
    kinds = sorted({log.kind for log in logs})
    if len(kinds) > 1:
        raise InputError(f"files of different kinds were given together: {', '.join(kinds)}; read them one by one")
    if len(logs) == 1:
        return logs[0]
    return Log(
        table=pl.concat([log.table for log in logs], how="diagonal"),
        quarantine=pl.concat([log.quarantine for log in logs]),
        rows_read=sum(log.rows_read for log in logs),
        rows_folded=add_counts(*(log.rows_folded for log in logs)),
        source=", ".join(log.source for log in logs),
        format="+".join(dict.fromkeys(log.format for log in logs)),
        kind=logs[0].kind,
        notes=tuple(dict.fromkeys(note for log in logs for note in log.notes)),
    )
