"""Bad input: one clear line on standard error, exit status 2 or 3, nothing half-written."""

import subprocess
import sys
from pathlib import Path

import pytest

MEANTIME = Path(sys.executable).with_name("meantime")
HEADER = "JobID|State|Submit|Start|End|NNodes|AllocTRES|NodeList\n"
GOOD = "1|COMPLETED|2025-01-01T00:00:00|2025-01-01T00:01:00|2025-01-01T02:00:00|1|gres/gpu=8|n1\n"
COUNTS = "component,job_size,failures,exposure_node_days\n"


def run(*arguments: str | Path, cwd: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run([MEANTIME, *arguments], cwd=cwd, capture_output=True, text=True, check=False)


def assert_refused(result: subprocess.CompletedProcess[str], *words: str, code: int = 2) -> None:
    assert result.returncode == code, result.stderr
    lines = result.stderr.strip().splitlines()
    assert len(lines) == 1, result.stderr
    assert "Traceback" not in result.stderr
    for word in words:
        assert word in lines[0], lines[0]
    assert result.stdout == ""


FILES = {
    "wrong delimiter": (HEADER.replace("|", " ") + GOOD.replace("|", " "), ["log.txt"]),
    "missing column": (HEADER.replace("State|", "") + GOOD.replace("COMPLETED|", ""), ["log.txt", "State"]),
    "binary": (bytes(range(256)) * 20, ["log.txt"]),
    "empty": ("", ["log.txt", "empty"]),
}


@pytest.mark.parametrize("command", ["jobs", "fit"])
@pytest.mark.parametrize("case", FILES)
def test_file_that_cannot_be_read(case: str, command: str, tmp_path: Path) -> None:
    content, words = FILES[case]
    path = tmp_path / "log.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    output = ["--output", "fit.nc"] if command == "fit" else []
    assert_refused(run(command, "log.txt", *output, cwd=tmp_path), *words)
    assert [item.name for item in tmp_path.iterdir()] == ["log.txt"]


@pytest.mark.parametrize(
    ("row", "reason"),
    [
        ("2|COMPLETED|2025-01-01T00:00:00|2025-01-01T03:00:00|2025-01-01T02:00:00|1|gres/gpu=8|n1\n", "end"),
        ("2|COMPLETED|2025-01-01T00:00:00|yesterday|2025-01-01T02:00:00|1|gres/gpu=8|n1\n", "yesterday"),
    ],
)
def test_bad_rows_are_quarantined_with_line_and_reason(row: str, reason: str, tmp_path: Path) -> None:
    (tmp_path / "log.txt").write_text(HEADER + GOOD + row)
    result = run("jobs", "log.txt", "--json", cwd=tmp_path)
    assert result.returncode == 0, result.stderr
    assert '"quarantined": 1' in result.stdout
    assert '"line": 3' in result.stdout
    assert reason in result.stdout


def test_negative_exposure_is_refused_with_its_row(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text(COUNTS + "gpu,8,3,100\ngpu,16,3,-5\n")
    assert_refused(run("fit", "counts.csv", "--output", "fit.nc", cwd=tmp_path), "counts.csv", "-5", "3")
    assert not (tmp_path / "fit.nc").exists()


@pytest.mark.slow
def test_unconverged_fit_is_refused_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "counts.csv").write_text(COUNTS + "gpu,8,3,100\nnic,8,1,100\ngpu,16,3,500\nnic,16,9,500\n")
    arguments = ("fit", "counts.csv", "--output", "fit.nc", "--draws", "10", "--tune", "5")
    result = run(*arguments, cwd=tmp_path)
    assert_refused(result, "allow", code=3)
    assert not (tmp_path / "fit.nc").exists()
    kept = run(*arguments, "--allow-unconverged", cwd=tmp_path)
    assert kept.returncode == 0, kept.stderr
    assert "FAILED" in kept.stdout
    assert (tmp_path / "fit.nc").exists()


@pytest.mark.parametrize("command", [("forecast", "fit.nc", "--gpus", "1024"), ("report", "fit.nc")])
@pytest.mark.parametrize("content", [b"", b"\x89HDF\r\n\x1a\n damaged", b"not a fit at all"])
def test_damaged_fit_is_refused(content: bytes, command: tuple[str, ...], tmp_path: Path) -> None:
    (tmp_path / "fit.nc").write_bytes(content)
    assert_refused(run(*command, cwd=tmp_path), "fit.nc")
    assert [item.name for item in tmp_path.iterdir()] == ["fit.nc"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (("ettr", "--rate", "6.5", "--gpus", "1024", "--restart", "5"), "5"),
        (("ettr", "--rate", "6.5", "--gpus", "1024", "--restart", "halve it"), "halve it"),
        (("ettr", "--rate", "6.5", "--gpus", "1024", "--restart", "-5min"), "-5min"),
        (("ettr", "--rate", "-1", "--gpus", "1024"), "-1"),
        (("ettr", "--rate", "nan", "--gpus", "1024"), "nan"),
        (("ettr", "--rate", "6.5", "--gpus", "0"), "0"),
        (("forecast", "absent.nc", "--gpus", "1024"), "absent.nc"),
        (("forecast", "absent.nc", "--gpus", "many"), "many"),
        (("fit", "absent.csv", "--output", "no/such/folder/fit.nc"), "no/such/folder"),
        (("jobs", "absent.csv"), "absent.csv"),
    ],
)
def test_bad_options_are_refused(arguments: tuple[str, ...], word: str, tmp_path: Path) -> None:
    assert_refused(run(*arguments, cwd=tmp_path), word)


def test_events_of_a_report_belong_to_a_log(tmp_path: Path) -> None:
    assert_refused(run("report", "fit.nc", "--events", "events.csv", cwd=tmp_path), "--events", "without --log")
