"""Data flows downwards: who may import whom, read from the source and from import-linter's own word."""

import ast
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ("cli", "demo", "report", "forecast", "ettr", "inference", "models", "datasets")
FOUNDATIONS = ("errors", "files", "intervals", "units")


def imported(path: Path) -> set[str]:
    """Return the dotted names of meantime that a source file imports, outside `if TYPE_CHECKING`."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    guarded = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        for inner in ast.walk(node)
    }
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in guarded:
            continue
        if isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno}: imports are absolute"
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in names if name.split(".")[0] == "meantime"}


def test_every_module_belongs_to_a_layer() -> None:
    tops = {path.stem if path.suffix else path.name for path in (ROOT / "meantime").iterdir()}
    assert tops - {"__init__", "__pycache__", "__main__", "py"} <= {*LAYERS, *FOUNDATIONS}


@pytest.mark.parametrize("layer", [*LAYERS, *FOUNDATIONS])
def test_imports_point_downwards(layer: str) -> None:
    package = ROOT / "meantime" / layer
    sources = [*package.rglob("*.py"), *package.parent.glob(f"{layer}.py")]
    rank = {name: index for index, name in enumerate(LAYERS)}
    own = rank.get(layer, len(LAYERS))
    for path in sources:
        for name in imported(path):
            target = name.split(".")[1]
            assert rank.get(target, len(LAYERS)) >= own, f"{path.relative_to(ROOT)} imports upwards: {name}"
            if layer == "ettr":
                assert target in {"ettr", *FOUNDATIONS}, f"{path.relative_to(ROOT)} is arrays only but imports {name}"


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [Path(sys.executable).with_name("lint-imports"), "--no-cache"]
    environment = {**os.environ, "PYTHONPATH": str(folder), "NO_COLOR": "1"}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


def test_import_linter_finds_what_breaks_the_layers(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "meantime", tmp_path / "meantime", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    clean = lint(tmp_path)
    assert clean.returncode == 0, clean.stdout

    (tmp_path / "meantime/datasets/upwards.py").write_text("import meantime.inference\nimport matplotlib\n")
    (tmp_path / "meantime/ettr/labels.py").write_text("import xarray\n")
    broken = lint(tmp_path)
    assert broken.returncode == 1
    assert "0 kept, 3 broken" in broken.stdout
    for line in (
        "meantime.datasets is not allowed to import meantime.inference",
        "meantime.ettr is not allowed to import xarray",
        "meantime.datasets is not allowed to import matplotlib",
    ):
        assert line in broken.stdout, broken.stdout


def test_files_stay_small() -> None:
    for folder in ("meantime", "tests", "scripts", "benchmarks"):
        for path in (ROOT / folder).rglob("*.py"):
            lines = len(path.read_text(encoding="utf-8").splitlines())
            assert lines <= 500, f"{path.relative_to(ROOT)} has {lines} lines: one idea a file"
