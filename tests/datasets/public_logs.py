"""Public logs, read with the names of their columns."""

from pathlib import Path

from meantime.datasets import read
from meantime.datasets.log import Log

PHILLY = {
    "job_id": "id",
    "attempt": "attempt",
    "n_gpus": "num_gpus",
    "submit": "submitted_time",
    "start": "start_time",
    "end": "end_time",
}


def read_philly(folder: Path) -> Log:
    """Read Philly's attempts from the folder of the public data sets."""
    log = read(folder / "philly_multi_gpu" / "attempts.csv", mapping=PHILLY)
    assert isinstance(log, Log)
    return log
