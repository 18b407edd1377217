"""A table as text, ready for the template to escape."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as text: `head` names the columns, the first column names the rows.

    `kind` is how it is set: ``"dense"`` with many columns, ``"slim"`` with few, ``""`` else.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    foot: tuple[tuple[str, ...], ...] = ()
    kind: str = ""
