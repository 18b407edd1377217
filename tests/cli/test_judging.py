"""`meantime compare` and `check` print what the library returns, as a table and as JSON."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from meantime.datasets.table import build_table
from meantime.inference import fit, save_fit

MEANTIME = Path(sys.executable).with_name("meantime")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("fits")
    table = build_table([[9], [40], [7]], [2e3, 1e4, 3e3], cluster=list("abc"), component=["gpu"])
    save_fit(fit(table, "constant", seed=1), folder / "vague.nc")
    save_fit(fit(table, "constant", seed=1, priors={"shape": 8.0, "rate": 2_000.0}), folder / "firm.nc")
    save_fit(fit(table.isel(cluster=[0, 1]), "constant", seed=1), folder / "other.nc")
    return folder


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([MEANTIME, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.slow
def test_compare(folder: Path) -> None:
    table = run("compare", folder / "vague.nc", folder / "firm.nc")
    assert table.returncode == 0, table.stderr
    assert max(map(len, table.stdout.splitlines())) <= 80
    content = json.loads(run("compare", folder / "vague.nc", folder / "firm.nc", "--json").stdout)
    assert content["schema"] == "meantime.compare/1"
    assert [row["model"] for row in content["rows"]] == ["firm", "vague"]
    refused = run("compare", folder / "vague.nc", folder / "other.nc")
    assert refused.returncode == 2
    assert len(refused.stderr.strip().splitlines()) == 1
    assert "different data" in refused.stderr


@pytest.mark.slow
def test_check(folder: Path) -> None:
    table = run("check", folder / "firm.nc", "--figure", folder / "pit.png")
    assert table.returncode == 0, table.stderr
    assert "dispersion" in table.stdout
    assert (folder / "pit.png").stat().st_size > 5_000
    content = json.loads(run("check", folder / "firm.nc", "--json").stdout)
    assert content["schema"] == "meantime.check/1"
    assert {row["what"] for row in content["rows"]} == {"zero cells", "largest count", "dispersion", "total by cluster"}
    refused = run("check", folder / "firm.nc", "--figure", folder / "pit.doc")
    assert refused.returncode == 2
    assert ".doc" in refused.stderr
