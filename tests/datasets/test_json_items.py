"""Items of JSON documents, whole and damaged."""

import json
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.datasets.json_items import Items, read_items, split_items, text_at, value_at
from meantime.errors import InputError

ITEMS = [{"id": i, "tres": [{"type": "gres", "count": i}], "name": f"jobs \u00fc {i} {{"} for i in range(5)]


def split(text: str, key: str | None = "jobs") -> Items:
    return split_items(text, key, lambda item: "id" in item, "job", file="file")


@pytest.mark.parametrize("indent", [None, 2])
@pytest.mark.parametrize(
    "document",
    [ITEMS, {"jobs": ITEMS}, {"meta": {"x": 1}, "jobs": ITEMS, "errors": []}],
)
def test_documents(document: object, indent: int | None) -> None:
    items = split(json.dumps(document, indent=indent))
    assert (items.objects, items.numbers, items.quarantine.height) == (ITEMS, [1, 2, 3, 4, 5], 0)
    assert items.texts([2]) == [json.dumps(ITEMS[1])]


def test_lines_and_one_object() -> None:
    assert split("\n".join(map(json.dumps, ITEMS))).objects == ITEMS
    assert split(json.dumps(ITEMS[0], indent=1)).objects == ITEMS[:1]
    assert split("[]").objects == []


@pytest.mark.parametrize("indent", [None, 2])
def test_damage_costs_the_items_it_hits(indent: int | None) -> None:
    text = json.dumps({"jobs": ITEMS}, indent=indent)
    hit = text.index('"id": 2')
    items = split(text[:hit] + "\0\ufffd" + text[hit + 5 :])
    assert [item["id"] for item in items.objects] == [0, 1, 3, 4]
    assert items.quarantine["line"].to_list() == [3]
    assert items.quarantine["reason"][0].startswith("not JSON: ")


def test_cut_short_and_not_an_item() -> None:
    text = json.dumps(ITEMS)
    items = split(text[: text.index('"id": 4') + 4])
    assert ([item["id"] for item in items.objects], items.quarantine["line"].to_list()) == ([0, 1, 2, 3], [5])
    assert items.quarantine["reason"][0].startswith("not JSON")
    whole = split(text[:-1])
    assert (len(whole.objects), whole.quarantine["line"].to_list()) == (5, [6])
    assert whole.quarantine["reason"][0].startswith("the array is not closed")
    odd = split('[{"id": 1}, 7, {"no": 1}, {"id": 2}]')
    assert (odd.numbers, odd.quarantine["line"].to_list()) == ([1, 4], [2, 3])
    assert set(odd.quarantine["reason"]) == {"is no job"}


def test_depth_and_length_are_bounded() -> None:
    assert split("[" + "[" * 100_000).quarantine["reason"][0] == "not JSON: nested too deeply"
    assert split('[{"id": 1' + "0" * 5000 + "}]").quarantine.height == 1
    assert split('[{"' * 30_000).quarantine.height == 1


@given(cut=st.integers(0, 400), size=st.integers(0, 40), put=st.sampled_from(["", "\0", '"', "{", "]", "\n", "\\"]))
@settings(max_examples=150, deadline=None)
def test_any_damage_is_accounted_for(cut: int, size: int, put: str) -> None:
    """Whatever is cut out or put in: no crash, and items away from the damage survive."""
    text = json.dumps({"jobs": ITEMS}, indent=1)
    cut = min(cut, len(text))
    items = split(text[:cut] + put + text[cut + size :])
    known = {item["id"] for item in items.objects}
    ends = [text.index(f'"id": {i}') for i in range(5)] + [len(text)]
    untouched = {i for i in range(5) if cut < ends[i] - 20 and cut + size < ends[i] - 20}
    # A hit on a bracket may leave valid JSON in which one item holds the rest; that is said.
    assert untouched <= known or items.quarantine.height
    if put in ("\0", '"') and size == 0 and cut > 20:
        assert untouched <= known
    assert len(items.numbers) == len(set(items.numbers))


def test_file_without_items_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "jobs.json"
    path.write_text('{"errors": ["no permission"]}')
    with pytest.raises(InputError, match=r"jobs\.json: holds no job: item 1: is no job"):
        read_items(path, "jobs", lambda item: "id" in item, "job")


def test_paths() -> None:
    item = {"a": {"b": 3, "c": [1], "d": True}}
    assert (value_at(item, "a", "c"), text_at(item, "a", "b"), text_at(item, "a", "d")) == ([1], "3", None)
    assert (value_at(item, "x", "y"), text_at(item, "a", "c", "z")) == (None, None)
