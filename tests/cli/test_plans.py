"""The planning commands print what the library returns, as a table and as JSON."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from meantime.datasets.published import load_llama3
from meantime.inference import fit, save_fit

MEANTIME = Path(sys.executable).with_name("meantime")
COMMANDS = {
    "plan": ["--gpus", "4096,16384", "--work", "1e12", "--throughput", "4096=1e6,16384=3.8e6", "--price", "2"],
    "interval": ["--gpus", "16384", "--checkpoint-interval", "1h"],
    "spares": ["--gpus", "16384", "--repair", "24h"],
    "mitigate": ["--gpus", "16384", "--with", "restart=1min", "--with", "checkpoint=5s"],
    "goodput": ["--jobs", "4096=8192,8=3000", "--cluster-gpus", "16000"],
    "simulate": ["--gpus", "1024", "--runs", "50", "--productive", "10d"],
}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fit") / "fit.nc"
    save_fit(fit(load_llama3(), "constant", seed=1), path)
    return path


def run(*arguments: str | Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([MEANTIME, *arguments], capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_command_gives_a_table_and_json_of_its_schema(command: str, saved: Path) -> None:
    table = run(command, saved, *COMMANDS[command])
    assert table.returncode == 0, table.stderr
    assert max(map(len, table.stdout.splitlines())) <= 80
    result = run(command, saved, *COMMANDS[command], "--json")
    assert result.returncode == 0, result.stderr
    content = json.loads(result.stdout)
    assert content["schema"] == f"meantime.{command}/1"
    assert content["rows"]
    assert content["interval"] == {"kind": "eti", "probability": 0.9}


def test_planner_writes_one_page(saved: Path, tmp_path: Path) -> None:
    page = tmp_path / "planner.html"
    result = run("planner", saved, "--output", page, "--gpus", "24576", "--restart", "90s", "--title", "Our plan")
    assert result.returncode == 0, result.stderr
    assert "planner.html" in result.stderr
    html = page.read_text("utf-8")
    assert "<h1>Our plan</h1>" in html
    assert '"gpus":24576' in html
    assert '"restart":1.5' in html


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["spares", "--gpus", "1024", "--repair", "24"], "24"),
        (["mitigate", "--gpus", "1024", "--with", "restart=halve it"], "halve it"),
        (["planner", "--gpus", "512"], "512"),
        (["planner", "--restart", "1min,2min"], "restart"),
        (["plan", "--gpus", "1024", "--work", "1e12", "--throughput", "fast"], "fast"),
    ],
)
def test_unusable_options_end_in_one_line(arguments: list[str], word: str, saved: Path) -> None:
    result = run(arguments[0], saved, *arguments[1:])
    assert result.returncode == 2
    assert len(result.stderr.strip().splitlines()) == 1
    assert word in result.stderr
