"""The installation check: it passes where all is well, and says what is wrong where it is not."""

import io
import json

import pytest
from rich.console import Console

from meantime.cli import main
from meantime.report import console, health
from meantime.report import doctor as found_of


@pytest.mark.slow
def test_the_self_test_passes_here() -> None:
    found = found_of()
    assert [check["passed"] for check in found["checks"]] == [True] * 3, found["checks"]
    assert found["passed"]
    assert found["packages"]["jax"]
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_a_wrong_answer_or_an_error_fails_the_check(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A wrong reference value stands for an installation that computes wrongly; exit status 1."""
    monkeypatch.setattr(health, "_ETTR", {16_384: 0.9})
    monkeypatch.setattr(health, "_exact_fit", lambda: "fine")
    monkeypatch.setattr(health, "_sampled_fit", lambda: 1 / 0)
    monkeypatch.setattr("sys.argv", ["meantime", "doctor", "--json"])
    with pytest.raises(SystemExit) as stopped:
        main()
    assert stopped.value.code == 1
    found = json.loads(capsys.readouterr().out)
    assert [check["passed"] for check in found["checks"]] == [False, True, False]
    assert "is 0.714" in found["checks"][0]["note"]
    assert found["checks"][2]["note"] == "ZeroDivisionError: division by zero"
    out = Console(width=200, record=True, file=io.StringIO())
    console.print_doctor(found, out)
    assert "FAILED" in out.export_text()


def test_without_self_test_it_only_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEANTIME_CACHE", "off")
    found = found_of(self_test=False)
    assert found["cache"] == {"folder": None, "used": False, "writable": False}
    assert found["checks"] == []
    assert found["passed"]
