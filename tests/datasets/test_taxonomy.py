"""Components and Xid numbers: what is shipped, and what users add."""

from pathlib import Path

import polars as pl
import pytest

from meantime.datasets.taxonomy import COMPONENTS, load_components, taxonomy
from meantime.datasets.toml_tables import read_toml, write_tables
from meantime.datasets.xids import xid_table
from meantime.errors import InputError

NOT_CRITICAL = {13, 31, 43, 45, 63, 68, 92, 109}  # the list of facebookresearch/gcm


def test_shipped_xids() -> None:
    table = xid_table()
    assert table["xid"].is_unique().all()
    assert table["xid"].is_sorted()
    low = table.filter(pl.col("severity") == "low")
    assert set(low.filter(pl.col("severity_source") == "gcm")["xid"]) == NOT_CRITICAL
    assert set(low["severity_source"]) == {"gcm", "nvidia"}
    assert set(table["component"]) <= set(taxonomy()["component"])
    names = dict(table.select("xid", "name").rows())
    assert (names[48], names[74], names[79], names[119]) == (
        "Double Bit ECC Error",
        "NVLINK Error",
        "GPU has fallen off the bus",
        "GSP RPC Timeout",
    )
    assert not table["name"].str.contains(",$|^ ").any()


def test_users_change_and_add_xids(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text('[xid.31]\nseverity = "high"\n[xid.999]\nname = "Ours"\ncomponent = "coolant_pump"\n')
    rows = {row["xid"]: row for row in xid_table(path).rows(named=True)}
    assert (rows[31]["severity"], rows[31]["name"], rows[31]["severity_source"]) == (
        "high",
        "GPU memory page fault",
        str(path),
    )
    assert (rows[999]["component"], rows[999]["severity"]) == ("coolant_pump", "high")
    assert len(rows) == xid_table().height + 1


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[xid.abc]\n", r"\[xid.abc\] is no Xid"),
        ("[xid.7]\nseverity = 'fatal'\n", "severity 'fatal'; expected low, high"),
        ("[xid.7]\nname = 7\n", r"\[xid.7\] has name = 7"),
        ("[xid.7]\nkind = 'x'\n", "has kind = 'x'; expected text for name"),
        ("xid = 7\n", "xid is 7; expected tables"),
        ("[xid]\n7 = 8\n", "xid 7 is 8; expected a table"),
        ("[xid\n", "is not TOML"),
    ],
)
def test_bad_xids_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "site.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        xid_table(path)


def test_users_change_and_add_components(tmp_path: Path) -> None:
    path = tmp_path / "site.toml"
    path.write_text(
        '[component.coolant_pump]\nsymptom = "pump stopped"\ndomains = ["hardware"]\nseverity = "high"\npriority = 0\n'
        '[component.ethernet_link]\nseverity = "high"\n'
    )
    table = taxonomy(load_components(path))
    assert table["component"][0] == "coolant_pump"
    assert table.height == len(COMPONENTS) + 1
    link = table.row(by_predicate=pl.col("component") == "ethernet_link", named=True)
    assert (link["severity"], link["symptom"]) == ("high", "Ethernet link error")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[component.pump]\nsymptom = 'x'\n", "lacks domains, severity, priority"),
        ("[component.pcie]\npriority = 'first'\n", "priority is 'first'; expected a whole number"),
        ("[component.pcie]\ndomains = 'hardware'\n", "domains is 'hardware'; expected a list of text"),
        ("[component.pcie]\ndomains = ['weather']\n", "domain 'weather'; expected user program"),
        ("[component.pcie]\ncolour = 'red'\n", "has 'colour'; expected symptom"),
        ("component = 1\n", "component is 1"),
        ("[component]\npcie = 1\n", r"\[component.pcie\] is 1; expected a table"),
    ],
)
def test_bad_components_are_refused(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "site.toml"
    path.write_text(text)
    with pytest.raises(InputError, match=said):
        load_components(path)


def test_toml_is_written_as_it_is_read(tmp_path: Path) -> None:
    values = {"kind": "jobs", "number": 7}
    tables = {"columns": {"job id": 'a "b" \\ c', "x": "line\nbreak\x01\x7f"}, "empty": {}, "odd.name": {"k": "\u00fc"}}
    path = tmp_path / "x.toml"
    path.write_text(write_tables(values, tables), encoding="utf-8")
    assert read_toml(path, "x") == {**values, "columns": tables["columns"], "odd.name": tables["odd.name"]}
    with pytest.raises(InputError, match=r"gone\.toml: cannot be read"):
        read_toml(tmp_path / "gone.toml", "x")
