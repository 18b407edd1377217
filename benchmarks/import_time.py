"""Seconds that `import meantime` and `meantime --help` take, each in a new process (median of several)."""

import statistics
import subprocess
import sys
import time
from pathlib import Path

REPEATS = 11
BUDGET = 0.25


def seconds(*command: str) -> float:
    """Return the median wall-clock time of a command."""
    times = []
    for _ in range(REPEATS):
        begin = time.perf_counter()
        subprocess.run(command, check=True, capture_output=True)
        times.append(time.perf_counter() - begin)
    return statistics.median(times)


def main() -> None:
    """Print the figures."""
    empty = seconds(sys.executable, "-c", "pass")
    bare = seconds(sys.executable, "-c", "import meantime")
    shell = seconds(str(Path(sys.executable).with_name("meantime")), "--help")
    print(f"python -c pass      {empty:6.3f} s")
    print(f"import meantime     {bare - empty:6.3f} s more (budget {BUDGET} s)")
    print(f"meantime --help     {shell:6.3f} s in all")


if __name__ == "__main__":
    main()
