"""Every row of the log is shown somewhere: what is shown adds up to what was read."""

import json
from typing import Any

import pytest
import xarray as xr

from meantime.report.rows import rows_read

BASE = {
    "rows_read": 1000,
    "rows_used": 900,
    "quarantined": 12,
    "folded": {"steps": 60, "duplicates": 8},
    "never_ran": 20,
}


def tree_of(facts: dict[str, Any]) -> xr.DataTree:
    return xr.DataTree.from_dict({"fit_data": xr.Dataset(attrs={"provenance": json.dumps(facts)})})


def shown(facts: dict[str, Any]) -> dict[str, int]:
    table = rows_read(tree_of(facts))
    assert table is not None
    (total,) = table.foot
    found = {text: int(number.replace(",", "")) for text, number in table.rows}
    assert sum(found.values()) == int(total[1].replace(",", "")) == facts["rows_read"]
    return found


def test_rows_are_shown_by_what_became_of_them() -> None:
    assert shown(BASE) == {
        "used: jobs that ran on GPUs": 900,
        "merged into other rows: steps": 60,
        "merged into other rows: duplicates": 8,
        "jobs that never ran": 20,
        "set aside as not usable": 12,
    }


@pytest.mark.parametrize(
    "reasons",
    [
        {"reasons": [{"reason": "end before start", "rows": 7}, {"reason": "no time", "rows": 5}]},
        {"quarantine_reasons": {"end before start": 7, "no time": 5}},
    ],
)
def test_rows_set_aside_are_shown_by_reason(reasons: dict[str, Any]) -> None:
    found = shown(BASE | reasons)
    assert (found["set aside: end before start"], found["set aside: no time"]) == (7, 5)


def test_reasons_that_are_not_recorded_are_owned_up_to() -> None:
    found = shown(BASE | {"quarantine_reasons": {"end before start": 7}})
    assert (found["set aside: end before start"], found["set aside for other reasons"]) == (7, 5)


def test_a_gap_is_shown_and_not_hidden() -> None:
    assert shown(BASE | {"rows_read": 1010})["not accounted for"] == 10


def test_counts_have_no_log() -> None:
    assert rows_read(tree_of({"format": "published"})) is None
    assert rows_read(xr.DataTree.from_dict({"fit_data": xr.Dataset()})) is None


@pytest.mark.parametrize("wrong", ["many", None, True, [1], -3])
def test_entries_of_another_kind_do_no_harm(wrong: object) -> None:
    assert rows_read(tree_of({"rows_read": wrong})) is None
    assert shown(BASE | {"never_ran": wrong})["not accounted for"] == 20
