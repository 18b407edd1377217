"""Columns of host lists, which are expanded at once, against one list at a time."""

import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.datasets.hostlist import expand_column, expand_hosts

number = st.one_of(st.integers(0, 40).map(str), st.integers(0, 40).map(lambda n: f"{n:03d}"), st.just("999999999"))
span = st.one_of(number, st.tuples(number, number).map("-".join))
bracket = st.lists(span, max_size=4).map(lambda parts: "[" + ",".join(parts) + "]")
element = st.tuples(st.sampled_from(["", "n", "rsc-", "a b"]), bracket, st.sampled_from(["", "", "", "x"])).map("".join)
text = st.one_of(
    element, element, st.lists(st.one_of(element, st.sampled_from(["n1", "n2"])), max_size=3).map(",".join)
)


@settings(deadline=None, max_examples=200)
@given(st.lists(st.one_of(st.none(), text, st.sampled_from(["None assigned", "", "n1", "n1,n2", "["])), max_size=8))
def test_same_as_one_by_one(lists: list[str | None]) -> None:
    wanted = [None if entry in (None, "None assigned") else expand_hosts(entry) or None for entry in lists]
    assert expand_column(pl.Series(lists, dtype=pl.String)).to_list() == wanted
