"""The example of a planning tool runs and says what the library says."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "planning_tool.py"


@pytest.mark.slow
def test_the_example_runs_from_anywhere(tmp_path: Path) -> None:
    done = subprocess.run([sys.executable, EXAMPLE], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0].split()[:2] == ["GPUs", "days"]
    assert [line.split()[0] for line in lines[1:5]] == ["4,096", "8,192", "16,384", "32,768"]
    assert lines[5].startswith("chosen: ")
    assert {line.split(":")[0] for line in lines[6:]} == {
        "restart to 2min",
        "asynchronous checkpoint, 1s blocking",
    }
    assert not list(tmp_path.iterdir())
