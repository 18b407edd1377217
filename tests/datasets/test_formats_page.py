"""The page of formats lists every format with what it gives and takes."""

import re
from pathlib import Path

from meantime.datasets.formats import ALL
from meantime.datasets.log import Log
from meantime.datasets.mapping import load_mapping
from meantime.datasets.taxonomy import load_components
from meantime.datasets.xids import xid_table

ROOT = Path(__file__).resolve().parents[2]
PAGE = (ROOT / "docs" / "formats.md").read_text(encoding="utf-8")
ROWS = {row[0].strip(" `"): row for line in PAGE.splitlines() if len(row := line.strip("|").split("|")) == 4}
COMMON = {"timezone", "cluster", "gpus_per_node"}


def test_every_format_is_listed_with_its_options() -> None:
    assert list(ROWS)[2:] != []
    for format in ALL:
        options = set(re.findall(r"`(\w+)`", ROWS[format.name][3]))
        assert options == set(format.takes) - COMMON, format.name
    assert set(ROWS) - {format.name for format in ALL} == {"--format", "---"}


def test_what_each_gives() -> None:
    from meantime.datasets import read

    for path in (Path(__file__).parent / "samples").iterdir():
        made = read(path)
        said = ROWS[path.name.partition(".")[0]][2].strip()
        assert said == (made.kind if isinstance(made, Log) else "failure table")


def test_links_and_examples_are_right(tmp_path: Path) -> None:
    import importlib

    links = re.findall(r"\{mod\}`([^`]+)`", PAGE)
    assert len(links) > len(ALL)
    for link in links:
        importlib.import_module(link.partition("<")[2].strip(" >") or link)
    mapping, site = re.findall(r"```toml\n(.*?)```", PAGE, re.DOTALL)
    (tmp_path / "mapping.toml").write_text(mapping)
    (tmp_path / "site.toml").write_text(site)
    assert load_mapping(tmp_path / "mapping.toml").columns["job_id"] == "id"
    assert 163 in xid_table(tmp_path / "site.toml")["xid"].to_list()
    assert load_components(tmp_path / "site.toml")[0].name == "coolant_pump"
