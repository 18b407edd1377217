"""The command line among other programs: pipes, full disks, plain terminals, interrupts, wrong options."""

import json
import os
import pty
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import pytest

MEANTIME = Path(sys.executable).with_name("meantime")
LOG = """JobID|State|Submit|Start|End|NNodes|AllocTRES|NodeList
1|COMPLETED|2025-01-01T00:00:00|2025-01-01T00:01:00|2025-01-01T02:00:00|1|gres/gpu=8|n1
2|NODE_FAIL|2025-01-01T00:00:00|2025-01-01T00:01:00|2025-01-01T09:00:00|2|gres/gpu=16|n[2-3]
"""


def run(*arguments: str | Path, cwd: Path | None = None, **env: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [MEANTIME, *arguments], cwd=cwd, env={**os.environ, **env}, capture_output=True, text=True, check=False
    )


@pytest.fixture
def log(tmp_path: Path) -> Path:
    path = tmp_path / "a log.txt"
    path.write_text(LOG)
    return path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["jobs", "x", "--foo"], "--foo"),
        (["jobs"], "PATH"),
        (["plan", "x", "--gpus", "1", "--work", "1", "--throughput", "1=1", "--aim", "fame"], "'fame' is not one of"),
        (["nope"], "nope"),
        (["ettr", "--rate", "x", "--gpus", "8"], "--rate"),
        (["fit", "x", "-o", "y", "--draws", "1"], "--draws"),
    ],
)
def test_what_was_typed_wrong_is_one_line_with_a_hint(arguments: list[str], words: str) -> None:
    result = run(*arguments)
    assert result.returncode == 2
    (line,) = result.stderr.splitlines()
    assert line.startswith("meantime: ")
    assert words in line
    assert "--help`" in line
    assert result.stdout == ""


def test_a_closed_pipe_ends_quietly(log: Path) -> None:
    with subprocess.Popen([MEANTIME, "jobs", log], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()  # before anything is written
        assert process.stderr.read() == b""
    assert process.returncode == -signal.SIGPIPE  # what a shell shows as 141


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_a_full_disk_is_one_line(log: Path) -> None:
    with Path("/dev/full").open("w") as full:
        result = subprocess.run([MEANTIME, "jobs", log, "--json"], stdout=full, stderr=subprocess.PIPE, check=False)
    assert result.returncode == 1
    assert result.stderr.decode().splitlines() == ["meantime: cannot go on: No space left on device"]


def test_tables_degrade_to_ascii(log: Path) -> None:
    result = run("jobs", log, PYTHONIOENCODING="ascii")
    assert result.returncode == 0, result.stderr
    assert result.stdout.isascii()
    assert "NODE_FAIL" in result.stdout


def test_small_exposures_keep_their_figures(log: Path) -> None:
    assert "0.831 node-days" in run("jobs", log).stdout  # (119 min + 2 x 539 min) / 1,440 min, by hand


def test_the_next_command_is_the_one_to_run(log: Path) -> None:
    events = log.with_name("events.csv")
    events.write_text("time,node,component,severity,source\n2025-01-01T08:59:00,n2,gpu_memory,high,check\n")
    result = run("jobs", log.name, "--events", events.name, "--format", "sacct", "--before", "20min", cwd=log.parent)
    assert result.returncode == 0, result.stderr
    command = shlex.split(result.stderr.split("Next: ")[1])
    assert command[1:] == [
        *("fit", "a log.txt", "--events", "events.csv", "--format", "sacct", "--before", "20min", "--output", "fit.nc"),
    ]


def test_rates_out_of_all_bounds_are_refused() -> None:
    for rate in ("1e-308", "1e300"):
        result = run("ettr", "--rate", rate, "--gpus", "8", "--json")
        assert result.returncode == 2
        assert "from 1e-9 to 1e9" in result.stderr
    for rate in ("1e-9", "1e9"):
        assert json.loads(run("ettr", "--rate", rate, "--gpus", "131072", "--json").stdout)["ettr"]["renewal"] <= 1


@pytest.mark.slow
def test_an_interrupt_ends_a_fit_at_once(tmp_path: Path) -> None:
    """Interrupted when the progress bar is seen; the draws asked for would take hours."""
    counts = tmp_path / "counts.csv"
    counts.write_text("component,failures,exposure_node_days\ngpu,30,1000\nnic,10,1000\n")
    ours, theirs = pty.openpty()
    heeding = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"  # a shell may ignore it for us
    start = [sys.executable, "-c", f"{heeding}; from meantime.cli import main; main()"]
    arguments = [*start, "fit", counts, "--model", "component", "--draws", "50000000", "--output", "fit.nc"]
    with subprocess.Popen(arguments, cwd=tmp_path, stdout=subprocess.DEVNULL, stderr=theirs) as process:
        os.close(theirs)
        shown = b""
        while b"warm-up" not in shown and b"sampling" not in shown:
            shown += os.read(ours, 4096)
        process.send_signal(signal.SIGINT)
        shown = b""
        try:
            while part := os.read(ours, 4096):
                shown += part
        except OSError:  # the other end is closed
            pass
        assert process.wait(timeout=60) == 130
    os.close(ours)
    assert b"meantime: interrupted" in shown
    assert b"Traceback" not in shown
    assert [path.name for path in tmp_path.iterdir()] == ["counts.csv"]
