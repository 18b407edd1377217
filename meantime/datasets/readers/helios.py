"""Helios traces of SenseTime: clusters Venus, Earth, Saturn and Uranus (CC BY 4.0; cite Hu et al., SC 2021).

The input is ``cluster_log.csv`` of one cluster of ::

    git clone https://github.com/S-Lab-System-Group/HeliosData    # data/<cluster>/cluster_log.csv

and, for the calendar exposure, ``cluster_gpu_number.csv`` beside it (`read_helios_gpus`).

Decisions: times have no zone and are read as China's (one offset, no summer time). ``vc`` (virtual cluster) becomes
``partition``. The one job SUSPENDED holds its nodes and is RUNNING.
"""

import polars as pl

from meantime.datasets.jobs import STATES, Conventions, jobs_log
from meantime.datasets.log import Log
from meantime.datasets.ragged import LINE
from meantime.datasets.readers._columns import load
from meantime.datasets.source import PathLike
from meantime.datasets.times import check_timezone
from meantime.errors import InputError

NEEDED = ("job_id", "vc", "gpu_num", "node_num", "state", "submit_time", "start_time", "end_time")

_RENAMED = {
    "job_id": "job_id",
    "user": "user",
    "vc": "partition",
    "state": "state",
    "node_num": "n_nodes",
    "gpu_num": "n_gpus",
    "submit_time": "submit",
    "start_time": "start",
    "end_time": "end",
}


def read_helios(path: PathLike, *, cluster: str = "helios", timezone: str = "Asia/Shanghai") -> Log:
    """Read the job log of one cluster (see the module's text for the download and the decisions).

    Parameters
    ----------
    path
        The CSV file; .gz, .xz and .zst are unpacked.
    cluster
        Name of the cluster: the file does not say it.
    timezone
        Zone of the times.
    """
    raw = load(path, NEEDED, "the Helios job log")
    return jobs_log(
        raw.frame.select(LINE, *(pl.col(o).alias(n) for o, n in _RENAMED.items() if o in raw.frame.columns)),
        file=raw.file,
        format="helios",
        texts=raw.texts,
        states={**{state: state for state in STATES}, "SUSPENDED": "RUNNING"},
        conventions=Conventions(cluster=cluster, timezone=check_timezone(timezone)),
        quarantine=raw.quarantine,
        folded=raw.folded,
        notes=raw.notes,
    )


def read_helios_gpus(path: PathLike) -> pl.DataFrame:
    """Read how many GPUs each virtual cluster had on each day.

    Parameters
    ----------
    path
        ``cluster_gpu_number.csv``: ``date``, a column for each virtual cluster, ``total``.

    Returns
    -------
    pl.DataFrame
        ``date``, ``vc`` and ``gpus``, the total left out: its sum over the days, divided by the GPUs of a node, is
        the calendar exposure in node-days.

    Raises
    ------
    InputError
        If a date is not one, a number of GPUs is no whole number, or the total of a day is not the sum of its row.
    """
    raw = load(path, ("date", "total"), "the table of GPUs by day")
    if raw.quarantine.height:
        first = raw.quarantine.row(0, named=True)
        raise InputError(f"{raw.file}: line {first['line']}: {first['reason']}; expected a whole table")
    names = [name for name in raw.frame.columns if name not in ("date", LINE)]
    day = pl.col("date").cast(pl.String).str.strip_chars().str.slice(0, 10).str.to_date("%Y-%m-%d", strict=False)
    frame = raw.frame.with_columns(day.alias("__day"), *(pl.col(name).cast(pl.Int64, strict=False) for name in names))
    parts = [name for name in names if name != "total"]
    summed = pl.sum_horizontal(parts)
    wrong = frame.filter(
        pl.col("__day").is_null() | pl.any_horizontal(pl.col(names).is_null()) | (summed != pl.col("total"))
    )
    if wrong.height:
        line = wrong[LINE][0]
        raise InputError(
            f"{raw.file}: line {line}: {raw.texts([line])[0][:100]!r}; expected a date, whole numbers, and their total"
        )
    return (
        frame.select(pl.col("__day").alias("date"), *parts)
        .unpivot(index="date", variable_name="vc", value_name="gpus")
        .sort("date", maintain_order=True)
    )
