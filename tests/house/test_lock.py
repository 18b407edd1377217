"""requirements.lock holds what pyproject.toml asks for, by name, version and hash alone."""

import re
import tomllib
from importlib.metadata import version
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

ROOT = Path(__file__).resolve().parents[2]
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
PIN = re.compile(r"^([a-z0-9][a-z0-9._-]*)==([^ ;\\]+)(?: ; ([^\\]+))? \\$", re.MULTILINE)
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
UNLOCKED = ("spark",)
"""Extras that requirements.lock leaves out: pyspark is a source package of 450 MB, which .ci/run installs by itself."""
ASKED = [Requirement(text) for text in PROJECT["dependencies"]] + [
    Requirement(text)
    for name, extra in PROJECT["optional-dependencies"].items()
    for text in extra
    if name not in UNLOCKED
]


def pins() -> dict[str, list[Requirement]]:
    found: dict[str, list[Requirement]] = {}
    for name, number, marker in PIN.findall(LOCK):
        text = f"{name}=={number}" + (f" ; {marker}" if marker else "")
        found.setdefault(canonicalize_name(name), []).append(Requirement(text))
    return found


@pytest.mark.parametrize("wanted", ASKED, ids=lambda requirement: requirement.name)
def test_lock_satisfies_pyproject(wanted: Requirement) -> None:
    locked = pins()[canonicalize_name(wanted.name)]
    for pin in locked:
        (specifier,) = pin.specifier
        assert wanted.specifier.contains(specifier.version), f"run `make lock`: {pin} is not {wanted}"


@pytest.mark.parametrize("wanted", ASKED, ids=lambda requirement: requirement.name)
def test_environment_is_the_locked_one(wanted: Requirement) -> None:
    here = [pin for pin in pins()[canonicalize_name(wanted.name)] if pin.marker is None or pin.marker.evaluate()]
    assert len(here) == 1
    assert here[0].specifier.contains(version(wanted.name)), f"run `make setup`: {here[0]} is locked"


def test_lock_holds_names_versions_and_hashes_only() -> None:
    kinds = {
        "pin": re.compile(PIN.pattern),
        "hash": re.compile(r"^    --hash=sha256:[0-9a-f]{64}( \\)?$"),
        "comment": re.compile(r"^\s*#[^:]*$|^# .*command:$"),
    }
    for number, line in enumerate(LOCK.splitlines(), start=1):
        assert any(kind.match(line) for kind in kinds.values()), f"requirements.lock:{number}: {line}"
    for forbidden in ("://", "@", "file:", "index-url", "find-links"):
        assert forbidden not in LOCK


def test_ci_installs_what_the_lock_leaves_out() -> None:
    """One exact version, that the extra allows; and its tests cannot be skipped there."""
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    (wanted,) = (Requirement(text) for text in PROJECT["optional-dependencies"]["spark"])
    (exact,) = re.findall(r"^PYSPARK=(\S+)$", script, re.MULTILINE)
    assert wanted.specifier.contains(exact)
    assert '"pyspark[sql]==$PYSPARK"' in script
    assert "MEANTIME_REQUIRE_SPARK=1" in script
    assert canonicalize_name(wanted.name) not in pins()


def test_every_pin_has_a_hash() -> None:
    blocks = re.split(r"^(?=[a-z0-9])", LOCK, flags=re.MULTILINE)[1:]
    assert len(blocks) == len(PIN.findall(LOCK)) > 50
    assert [block.splitlines()[0] for block in blocks if "--hash=sha256:" not in block] == []


def test_a_cap_says_why() -> None:
    lines = (ROOT / "pyproject.toml").read_text(encoding="utf-8").splitlines()
    capped = [line for line in lines if re.match(r'\s*"[A-Za-z0-9_.\[\]-]+[^"]*(<|==|~=)[^"]*"', line)]
    assert [line for line in capped if "#" not in line] == []


def test_changelog_knows_this_version() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.search(rf"^## {re.escape(PROJECT['version'])}\b", changelog, re.MULTILINE)
