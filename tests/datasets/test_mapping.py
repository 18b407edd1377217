"""Mappings: saved and loaded, of every kind."""

import string
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from meantime.datasets.counts import read_counts
from meantime.datasets.mapping import COLUMNS, TableMapping, load_mapping, save_mapping
from meantime.errors import InputError

LLAMA = {
    "kind": "counts",
    "columns": {"failures": "interruption_count"},
    "options": {"cluster": "Llama 3", "exposure_node_days": 110592, "job_size": 16384},
}
NAMES = st.text(st.characters(codec="utf-8", exclude_characters="\x00"), max_size=12)


@st.composite
def mappings(draw: st.DrawFn) -> TableMapping:
    kind = draw(st.sampled_from(sorted(COLUMNS)))
    return TableMapping(
        kind=kind,
        columns=draw(st.dictionaries(st.sampled_from(COLUMNS[kind]), NAMES, max_size=4)),
        states=draw(st.dictionaries(NAMES, st.sampled_from(["COMPLETED", "FAILED"]), max_size=3)),
        cluster=draw(st.none() | NAMES),
        time_unit=draw(st.sampled_from(["s", "ms"])),
        delimiter=draw(st.none() | st.sampled_from([*string.punctuation, "\t"])),
        gpus_per_node=draw(st.none() | st.integers(1, 16)),
        exposure_node_days=draw(st.none() | st.floats(1e-300, 1e300)),
    )


@given(mapping=mappings())
@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_saved_mappings_are_the_same(tmp_path: Path, mapping: TableMapping) -> None:
    path = tmp_path / "mapping.toml"
    save_mapping(mapping, path)
    assert load_mapping(path) == mapping


def test_llama_3_through_a_mapping(shared_data: Path, tmp_path: Path) -> None:
    path = tmp_path / "llama3.toml"
    save_mapping(LLAMA, path)
    table = read_counts(shared_data / "llama3_interruptions" / "table5.csv", path)
    assert dict(table.sizes) == {"cluster": 1, "component": 18, "job_size": 1}
    assert (int(table["failures"].sum()), float(table["exposure"].sum())) == (419, 110592)
    assert int(table["failures"].sel(component="Faulty GPU").sum()) == 148
    rate = 1000 * int(table["failures"].sel(component="NIC").sum()) / float(table["exposure"].sum())
    assert f"{rate:.6g}" == "0.0632957"
    hours = 24 * 110592 / 2048 / 419
    assert (f"{hours:.5g}", table.attrs["largest_job_gpus"]) == ("3.0931", 16384)


@pytest.mark.parametrize(
    ("mapping", "said"),
    [
        ({**LLAMA, "options": {"exposure_node_days": 0}}, "exposure_node_days is 0; expected above 0"),
        ({**LLAMA, "options": {"exposure_node_days": "many"}}, "'many'; expected a number"),
        ({**LLAMA, "options": {"job_size": 0}}, "job_size is 0"),
        ({**LLAMA, "columns": {"failures": "n"}}, "no column for failures = 'n'; the file has component, category"),
        ({"columns": {"job_id": "component"}}, 'the mapping is one of jobs; expected kind = "counts"'),
    ],
)
def test_mappings_of_counts_are_checked(shared_data: Path, mapping: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        read_counts(shared_data / "llama3_interruptions" / "table5.csv", mapping)


def test_mapping_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="cannot be written"):
        save_mapping(LLAMA, tmp_path / "gone" / "x.toml")
