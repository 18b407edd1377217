"""What the README and the docstrings show is what happens."""

import doctest
import importlib
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PYTHON = [text for language, text in BLOCK.findall(README) if language == "python"]
CONSOLE = "".join(text for language, text in BLOCK.findall(README) if language == "console")
SHOWN = re.findall(r"^\$ meantime (ettr .*)\n((?:(?!\$ ).*\n)*)", CONSOLE, re.MULTILINE)
MODULES = sorted(
    ".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__")
    for path in (ROOT / "meantime").rglob("*.py")
    if re.search(r">>> (?!.*\+SKIP)", path.read_text(encoding="utf-8"))
)


@pytest.mark.parametrize("module", MODULES)
def test_docstring_examples(module: str) -> None:
    result = doctest.testmod(importlib.import_module(module), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert result.attempted > 0
    assert result.failed == 0


@pytest.mark.slow
@pytest.mark.parametrize("code", PYTHON)
def test_readme_python_runs(code: str, tmp_path: Path) -> None:
    result = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert result.stdout.strip()


@pytest.mark.parametrize(("arguments", "shown"), SHOWN)
def test_readme_ettr_shows_the_real_output(arguments: str, shown: str, tmp_path: Path) -> None:
    command = [Path(sys.executable).with_name("meantime"), *shlex.split(arguments)]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    if shown:
        assert result.stdout.split() == shown.split()


def test_readme_begins_with_its_two_commands() -> None:
    first_screen = README[:1200]
    assert "$ make demo" in first_screen
    assert "$ make test" in first_screen
    assert len(SHOWN) == len(PYTHON) == 1


def test_readme_commands_exist() -> None:
    commands = set(re.findall(r"^\$ meantime (\w+)", CONSOLE, re.MULTILINE))
    assert commands >= {"ettr", "fit", "forecast", "report"}
    for command in commands:
        result = subprocess.run(
            [Path(sys.executable).with_name("meantime"), command, "--help"], capture_output=True, text=True, check=False
        )
        assert result.returncode == 0, result.stderr
    contributing = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
    targets = set(" ".join(re.findall(r"(?:\$ |`)make ([a-z ]+)", README + contributing)).split())
    rules = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert targets >= {"demo", "test", "setup"}
    for target in targets:
        assert re.search(rf"^{target}:", rules, re.MULTILINE), f"no such target: make {target}"
