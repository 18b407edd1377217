"""Alibaba PAI, GPU trace v2020 (cite Weng et al., NSDI 2022).

The input is ``pai_task_table.csv``, with ``pai_job_table.csv`` and ``pai_instance_table.csv`` if at hand, of ::

    curl -LO https://aliopentrace.oss-cn-beijing.aliyuncs.com/v2020GPUTraces/pai_task_table.tar.gz    # tar -xzf

The headers are published as separate files; tables with and without a header line are read, and told apart by their
columns. Decisions:

- A job of the table is a task (``job_id`` = job/task, ``run_id`` = job): all its instances start and end together.
  GPUs are instances x ``plan_gpu`` percent, rounded up to whole ones; a task without ``plan_gpu`` has none.
- ``Terminated`` is COMPLETED, ``Failed`` FAILED, ``Running`` RUNNING, ``Waiting`` PENDING.
- The job table gives submission and user, the instance table the machines; their rows are folded.
- Times are seconds with a constant taken off that keeps hour and weekday in China. They are moved by 2,609 weeks
  (to 2020): dates are not real.
"""

import dataclasses
import datetime as dt
from collections.abc import Sequence

import polars as pl

from meantime.datasets.columns import text_column
from meantime.datasets.header import Header, find_header
from meantime.datasets.jobs import Conventions, jobs_log
from meantime.datasets.log import Log, add_counts
from meantime.datasets.ragged import LINE
from meantime.datasets.readers._columns import EPOCH, shift_seconds
from meantime.datasets.records import Records, line_texts, read_records
from meantime.datasets.source import PathLike, read_bytes
from meantime.errors import InputError

TABLES = {
    "job": ("job_name", "inst_id", "user", "status", "start_time", "end_time"),
    "task": (
        "job_name",
        "task_name",
        "inst_num",
        "status",
        "start_time",
        "end_time",
        "plan_cpu",
        "plan_mem",
        "plan_gpu",
        "gpu_type",
    ),
    "instance": (
        "job_name",
        "task_name",
        "inst_name",
        "worker_name",
        "inst_id",
        "status",
        "start_time",
        "end_time",
        "machine",
    ),
}
"""Columns of each table, in the order of its file."""
STATES = {"Terminated": "COMPLETED", "Failed": "FAILED", "Running": "RUNNING", "Waiting": "PENDING"}
SHIFT = EPOCH + dt.timedelta(weeks=2609)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class _Table:
    name: str
    records: Records
    data: bytes
    file: str


def which_table(names: Sequence[str]) -> str | None:
    """Tell which table has this header, or (no header) this first row."""
    for table, columns in TABLES.items():
        if set(columns[:6]) <= set(names) and len(names) == len(columns):
            return table
    for table, columns in TABLES.items():
        if len(names) == len(columns) and names[columns.index("status")] in STATES:
            return table
    return None


def read_pai(paths: PathLike | Sequence[PathLike], *, cluster: str = "pai") -> Log:
    """Read the task table, with the job and instance tables if given (see the module's text).

    Parameters
    ----------
    paths
        The task table, or it and the others in any order; .gz, .xz and .zst are unpacked.
    cluster
        Name of the cluster.

    Raises
    ------
    InputError
        If a file cannot be read, is no such table or is given twice, or there is no task table.
    """
    given = [paths] if isinstance(paths, str) or not isinstance(paths, Sequence) else paths
    tables: dict[str, _Table] = {}
    for path in given:
        table = _read(path)
        if table.name in tables:
            raise InputError(f"{tables[table.name].file} and {path} are both {table.name} tables of PAI; expected one")
        tables[table.name] = table
    if "task" not in tables:
        found = ", ".join(f"{table.file} ({name} table)" for name, table in tables.items())
        raise InputError(f"no task table of PAI among {found}; expected pai_task_table.csv, which has the GPUs")
    task = tables["task"]
    frame = task.records.frame
    instances, share = _numbers(frame).values()
    gpus = (instances * share.fill_null(0) / 100).ceil().cast(pl.Int64, strict=False).cast(pl.String)
    odd = [text_column(frame[name]).set(number.is_not_null(), None) for name, number in _numbers(frame).items()]
    gpus = pl.select(pl.coalesce(*odd, gpus)).to_series()
    raw = pl.DataFrame(
        [
            frame.select(pl.concat_str("job_name", "task_name", separator="/")).to_series().alias("job_id"),
            frame["job_name"].alias("run_id"),
            gpus.alias("n_gpus"),
            *(
                shift_seconds(frame[old], SHIFT).alias(new)
                for old, new in (("start_time", "start"), ("end_time", "end"))
            ),
            frame["status"].alias("state"),
            frame[LINE],
        ]
    )
    folded = [task.records.folded]
    if "job" in tables:
        jobs = tables["job"].records.frame
        more = pl.DataFrame(
            [jobs["job_name"].alias("run_id"), jobs["user"], shift_seconds(jobs["start_time"], SHIFT).alias("submit")]
        )
        raw = raw.join(more.unique("run_id", keep="first"), on="run_id", how="left", maintain_order="left")
    if "instance" in tables:
        raw = raw.join(_machines(tables["instance"].records.frame), on="job_id", how="left", maintain_order="left")
    for name, table in tables.items():
        if name != "task":
            folded.append({f"{name} rows": table.records.frame.height, **table.records.folded})
    return jobs_log(
        raw,
        file=", ".join(str(path) for path in given),
        format="pai",
        texts=lambda lines: line_texts(task.data, lines),
        states=STATES,
        conventions=Conventions(cluster=cluster),
        quarantine=pl.concat([table.records.quarantine for table in tables.values()]),
        folded=add_counts(*folded),
        notes=["times keep hour and weekday in China, moved by 2,609 weeks: dates are not real"],
    )


def _numbers(frame: pl.DataFrame) -> dict[str, pl.Series]:
    return {name: frame[name].cast(pl.Float64, strict=False) for name in ("inst_num", "plan_gpu")}


def _read(path: PathLike) -> _Table:
    file = str(path)
    data = read_bytes(path)
    header = find_header(data, ",")
    name = which_table(header.names)
    if name is None:
        raise InputError(
            f"{file}: is no table of PAI: its first line is {header.text[:100]!r}; expected the columns "
            f"{', '.join(TABLES['task'])} (task), those of the job or the instance table, or such rows without a header"
        )
    if header.names[0] == TABLES[name][0]:
        records = read_records(data, header, file=file)
    else:
        records = read_records(data, Header(names=TABLES[name], delimiter=",", line=0, start=0, text="\0"), file=file)
    return _Table(name=name, records=records, data=data, file=file)


def _machines(instances: pl.DataFrame) -> pl.DataFrame:
    """Give the machines of each task, and their number."""
    named = instances.filter(pl.col("machine").str.strip_chars() != "")
    return (
        named.with_columns(pl.concat_str("job_name", "task_name", separator="/").alias("job_id"))
        .group_by("job_id")
        .agg(pl.col("machine").unique(maintain_order=True).alias("nodes"))
        .with_columns(pl.col("nodes").list.len().cast(pl.Int64).alias("n_nodes"))
    )
