"""`make setup`, which every target begins with, on machines of all kinds: Pythons are stand-ins here.

A stand-in answers the version question with its exit status, makes a .venv whose Python is a
stand-in too, and writes down how it was called.
"""

import os
import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("sh", "make", "cat", "rm", "mkdir", "touch", "cp", "sed", "expand")
MINE = ("Makefile", "requirements.lock", "pyproject.toml", "scripts/setup.sh")

GOOD = """#!/bin/sh
echo "$(basename "$0") $*" >>"$LOG"
case "$*" in
*"import sys"*) exit 0 ;;
"-m venv .venv") mkdir -p .venv/bin && cp "$0" .venv/bin/python ;;
*"pip install"*) [ ! -e "$BREAK" ] ;;
"--version") echo "Python 3.12.99" ;;
esac
"""
OLD = """#!/bin/sh
exit 1
"""
BARE = GOOD.replace('"import sys"*) exit 0 ;;', '"import sys"*) exit 0 ;;\n*ensurepip*) exit 1 ;;')


class Machine:
    """A project folder with a space in its name, and a PATH with nothing but git's and make's needs."""

    def __init__(self, folder: Path) -> None:
        self.project = folder / "my project"
        self.bin = folder / "bin"
        self.log = folder / "log"
        self.broken = folder / "broken"
        self.bin.mkdir()
        for name in MINE:
            (self.project / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, self.project / name)
        for tool in TOOLS:
            found = shutil.which(tool)
            assert found, f"this test needs {tool}"
            (self.bin / tool).symlink_to(found)
        self.script("basename", '#!/bin/sh\necho "${1##*/}"\n')

    def script(self, name: str, text: str) -> None:
        (self.bin / name).write_text(text)
        (self.bin / name).chmod(0o755)

    def make(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        home = self.project.parent
        environment = {"PATH": str(self.bin), "HOME": str(home), "LOG": str(self.log), "BREAK": str(self.broken)}
        command = [self.bin / "make", *(arguments or ["setup"])]
        return subprocess.run(command, cwd=self.project, env=environment, capture_output=True, text=True, check=False)

    def calls(self) -> str:
        return self.log.read_text() if self.log.exists() else ""

    @property
    def stamped(self) -> bool:
        return (self.project / ".venv/.installed").exists()


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_no_python_is_one_clear_sentence(machine: Machine) -> None:
    machine.script("python3", OLD)
    result = machine.make()
    assert result.returncode != 0
    sentence, *rest = result.stderr.strip().splitlines()
    assert sentence.startswith("meantime needs Python 3.12, 3.13 or 3.14 and found none")
    assert all(line.startswith("make: ") for line in rest)
    assert not (machine.project / ".venv").exists()


@pytest.mark.parametrize("name", ["python3", "python3.12", "python3.13", "python3.14", "python"])
def test_first_python_that_runs_is_taken(machine: Machine, name: str) -> None:
    for other in ("python3", "python3.12", "python3.13", "python3.14", "python"):
        machine.script(other, OLD)
    machine.script(name, GOOD)
    result = machine.make()
    assert result.returncode == 0, result.stderr
    assert f"{name} -m venv .venv" in machine.calls()
    assert machine.stamped


def test_pythons_of_pyenv_are_found_behind_a_failing_shim(machine: Machine) -> None:
    machine.script("python3", OLD)
    folder = machine.project.parent / ".pyenv/versions/3.13.0/bin"
    folder.mkdir(parents=True)
    (folder / "python").write_text(GOOD)
    (folder / "python").chmod(0o755)
    assert machine.make().returncode == 0
    assert "python -m venv .venv" in machine.calls()


def test_named_python_is_preferred(machine: Machine) -> None:
    machine.script("python3", GOOD)
    machine.script("mine", GOOD)
    assert machine.make("setup", "PYTHON=mine").returncode == 0
    assert "mine -m venv .venv" in machine.calls()


def test_python_without_venv_says_so(machine: Machine) -> None:
    machine.script("python3", BARE)
    result = machine.make()
    assert result.returncode != 0
    assert "needs the venv module" in result.stderr
    assert not (machine.project / ".venv").exists()


def test_installs_the_hashed_lock_and_then_the_project_alone(machine: Machine) -> None:
    machine.script("python3", GOOD)
    machine.make()
    installs = [line for line in machine.calls().splitlines() if "pip install" in line]
    assert len(installs) == 2
    assert "--require-hashes --requirement requirements.lock" in installs[0]
    assert "--no-deps" in installs[1]
    assert installs[1].endswith("--editable .")


def test_second_call_does_nothing(machine: Machine) -> None:
    machine.script("python3", GOOD)
    machine.make()
    first = machine.calls()
    assert machine.make().returncode == 0
    assert machine.calls() == first


def test_changed_lock_installs_into_the_same_environment(machine: Machine) -> None:
    machine.script("python3", GOOD)
    machine.make()
    stamp = (machine.project / ".venv/.installed").stat().st_mtime
    os.utime(machine.project / "requirements.lock", (stamp + 2, stamp + 2))
    before = machine.calls().count("pip install")
    machine.make()
    assert machine.calls().count("pip install") == before + 2
    assert machine.calls().count("-m venv") == 1


def test_failed_installation_leaves_no_stamp_and_the_next_call_starts_over(machine: Machine) -> None:
    machine.script("python3", GOOD)
    machine.broken.touch()
    assert machine.make().returncode != 0
    assert not machine.stamped
    machine.broken.unlink()
    assert machine.make().returncode == 0
    assert machine.stamped
    assert machine.calls().count("-m venv") == 2


def test_failed_update_leaves_no_stamp(machine: Machine) -> None:
    machine.script("python3", GOOD)
    machine.make()
    machine.broken.touch()
    (machine.project / "requirements.lock").touch()
    os.utime(machine.project / ".venv/.installed", (0, 0))
    assert machine.make().returncode != 0
    assert not machine.stamped


def test_moved_folder_installs_afresh(machine: Machine) -> None:
    machine.script("python3", GOOD)
    machine.make()
    machine.project = machine.project.rename(machine.project.with_name("moved"))
    assert machine.make().returncode == 0
    assert machine.calls().count("-m venv") == 2
    assert (machine.project / ".venv/.installed").read_text().strip() == str(machine.project.resolve())


def test_parallel_targets_install_once(machine: Machine) -> None:
    machine.script("python3", GOOD)
    result = machine.make("-j4", "test", "types", "lint")
    assert result.returncode == 0, result.stderr
    assert machine.calls().count("--require-hashes") == 1
    assert "python -m pytest" in machine.calls()


def test_help_needs_no_python(machine: Machine) -> None:
    result = machine.make("help")
    assert result.returncode == 0
    assert "demo" in result.stdout
    assert machine.calls() == ""
