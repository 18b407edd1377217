"""Where the rows of a log went: used, merged, left out, set aside with the reason."""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from meantime.report.evidence import source_facts
from meantime.report.numbers import count, label
from meantime.report.table import Table

MOST_REASONS = 20
LEFT_OUT = {
    "never_ran": "jobs that never ran",
    "outside_the_log": "jobs outside the span of the log",
    "gpus_not_known": "jobs whose GPUs are not known",
    "without_gpus": "jobs without GPUs",
    "below_min_gpus": "jobs smaller than asked for",
}
"""Entries of a table's provenance that count rows which were understood but not used, in words."""
ENTRIES = ("rows_read", "rows_used", "folded", "quarantined", "quarantine_reasons", "reasons", *LEFT_OUT)
"""All entries of a table's provenance that this table shows."""


def rows_read(tree: xr.DataTree) -> Table | None:
    """Return where the rows of the log went, or None where there was no log.

    The rows add up: what no entry accounts for is shown as such.
    """
    facts = source_facts(tree)
    read = _number(facts.get("rows_read"))
    if read is None:
        return None
    used = "used: jobs that ran on GPUs" if "never_ran" in facts else "used"
    rows = [(used, _number(facts.get("rows_used")) or 0)]
    rows += [(f"merged into other rows: {label(kind)}", number) for kind, number in _counts(facts.get("folded"))]
    rows += [(text, number) for name, text in LEFT_OUT.items() if (number := _number(facts.get(name)))]
    rows += _set_aside(facts)
    rest = read - sum(number for _, number in rows)
    if rest > 0:
        rows.append(("not accounted for", rest))
    return Table(
        caption="Rows read",
        head=("What became of them", "Rows"),
        rows=tuple((text, count(number)) for text, number in rows),
        foot=(("All rows read", count(read)),),
        kind="slim",
    )


def _set_aside(facts: Mapping[str, Any]) -> list[tuple[str, int]]:
    """Return rows in quarantine by reason; those whose reason is not recorded last."""
    total = _number(facts.get("quarantined")) or 0
    reasons = facts.get("reasons")
    if isinstance(reasons, list):
        named = {str(row.get("reason")): row.get("rows") for row in reasons if isinstance(row, Mapping)}
    else:
        named = facts.get("quarantine_reasons") or {}
    found = [(f"set aside: {label(reason)}", number) for reason, number in _counts(named)]
    rest = total - sum(number for _, number in found)
    text = "set aside for other reasons" if found else "set aside as not usable"
    return [*found, (text, rest)] if rest > 0 or not found else found


def _counts(value: Any) -> list[tuple[str, int]]:
    """Return the positive counts of a mapping, largest first, as many as are shown."""
    if not isinstance(value, Mapping):
        return []
    pairs = [(str(name), number) for name, entry in value.items() if (number := _number(entry))]
    return sorted(pairs, key=lambda pair: -pair[1])[:MOST_REASONS]


def _number(value: Any) -> int | None:
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value >= 0 else None
