"""Slurm's words: host lists, TRES, states."""

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.datasets.hostlist import MAX_HOSTS, expand_column, expand_hosts
from meantime.datasets.jobs import STATES as OUR_STATES
from meantime.datasets.slurm import STATES, count_gpus, state_map, whole_numbers


@pytest.mark.parametrize(
    ("text", "hosts"),
    [
        ("rsc[001-003,020],gpu-a7", ["rsc001", "rsc002", "rsc003", "rsc020", "gpu-a7"]),
        ("n[8-11]", ["n8", "n9", "n10", "n11"]),
        ("r[1-2]n[3-4]", ["r1n3", "r1n4", "r2n3", "r2n4"]),
        ("a[1]-ib,b", ["a1-ib", "b"]),
        ("solo", ["solo"]),
    ],
)
def test_host_lists_expand(text: str, hosts: list[str]) -> None:
    assert expand_hosts(text) == hosts


@pytest.mark.parametrize(
    "text", ["a[", "a[]", "a]1[", "a,,b", "a,", "a[3-1]", "a[1-x]", f"a[0-{MAX_HOSTS}]", "a[1-2000]b[1-2000]"]
)
def test_malformed_and_huge_host_lists_are_null(text: str) -> None:
    assert expand_hosts(text) is None


@settings(deadline=None)
@given(st.sets(st.integers(0, 9999), min_size=1, max_size=50), st.integers(1, 6))
def test_ranges_of_any_set_come_back(numbers: set[int], width: int) -> None:
    expected = [f"node{i:0{width}d}" for i in sorted(numbers)]
    parts = []
    for i in sorted(numbers):
        if parts and parts[-1][1] == i - 1 and len(f"{i:0{width}d}") == len(f"{parts[-1][0]:0{width}d}"):
            parts[-1][1] = i
        else:
            parts.append([i, i])
    text = ",".join(f"{a:0{width}d}-{b:0{width}d}" if b > a else f"{a:0{width}d}" for a, b in parts)
    assert expand_hosts(f"node[{text}]") == expected


def test_column_of_host_lists() -> None:
    column = pl.Series(["b,a", "None assigned", None, "n[1-2]", "a", "bad[", "a"])
    assert expand_column(column).to_list() == [["b", "a"], None, None, ["n1", "n2"], ["a"], None, ["a"]]


def test_gpus_of_tres_count_once() -> None:
    cases = {
        "cpu=1,gres/gpu=8,node=1": 8,
        "billing=1,gres/gpu:a100=8,gres/gpu=8": 8,
        "gres/gpu=8,gres/gpu:a100=8": 8,
        "gres/gpu:a100=4,gres/gpu:h100=4,node=2": 8,
        "gres/gpumem=40,gres/gpuutil=7,gres/gpu=2": 2,
        "gres/gpu=2K": 2048,
        "cpu=4,mem=1G": 0,
        "": None,
    }
    assert count_gpus(pl.Series([*cases, None])).to_list() == [*cases.values(), None]


def test_states_as_sacct_prints_them() -> None:
    raw = [
        "CANCELLED by 1185300516",
        "CANCELLED+",
        "OUT_OF_ME+",
        "BOOT_FAIL",
        "DEADLINE",
        "REVOKED",
        "SUSPENDED",
        "RESIZING",
    ]
    expected = ["CANCELLED", "CANCELLED", "OUT_OF_MEMORY", "NODE_FAIL", "TIMEOUT", "CANCELLED", "RUNNING", "RUNNING"]
    assert [state_map(raw)[text] for text in raw] == expected
    assert state_map(["BROKEN", "", "RE+", "7"]) == {}
    assert set(STATES.values()) <= set(OUR_STATES)


def test_shortened_numbers_are_written_out() -> None:
    assert whole_numbers(pl.Series(["2K", "17", "1.5K", "x"])).to_list() == ["2048", "17", "1536", "x"]
