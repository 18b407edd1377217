"""Jobs and events from CSV, JSON lines or Parquet, under whatever column names."""

import polars as pl

from meantime.datasets.columns import whole_column
from meantime.datasets.events import COLUMNS as EVENT_COLUMNS
from meantime.datasets.events import REQUIRED as EVENT_REQUIRED
from meantime.datasets.events import events_log
from meantime.datasets.jobs import STATES, Conventions, jobs_log
from meantime.datasets.log import Log
from meantime.datasets.mapping import JOB_COLUMNS, MappingLike, TableMapping, load_mapping
from meantime.datasets.ragged import LINE
from meantime.datasets.raw import RawTable, read_raw
from meantime.datasets.source import PathLike
from meantime.datasets.times import check_timezone
from meantime.errors import InputError


def read_table(
    path: PathLike,
    mapping: MappingLike | None = None,
    *,
    timezone: str | None = None,
    cluster: str | None = None,
    gpus_per_node: int | None = None,
) -> Log:
    """Read a table of jobs (or events, if the mapping says so).

    Parameters
    ----------
    path
        CSV (any common delimiter; .gz, .xz and .zst are unpacked), JSON lines or Parquet.
    mapping
        Which column is which, see `meantime.datasets.mapping`. Columns that it does not name are
        taken where they bear the name of a column of the jobs table.
    timezone
        Zone of times that name none. Default: that of the mapping, else UTC.
    cluster
        Name of the cluster where no column gives it. Default: that of the mapping, else ``cluster``.
    gpus_per_node
        GPUs = nodes times this, where no column gives GPUs. Default: that of the mapping.

    Raises
    ------
    InputError
        If the file cannot be read, or lacks a column that is needed or mapped.
    """
    plan = load_mapping(mapping)
    raw = read_raw(path, delimiter=plan.delimiter)
    conventions = Conventions(
        cluster=cluster or plan.cluster or "cluster",
        timezone=check_timezone(timezone or plan.timezone or "UTC"),
        time_unit=plan.time_unit,
        time_format=plan.time_format,
    )
    known = JOB_COLUMNS if plan.kind == "jobs" else EVENT_COLUMNS
    frame = _rename(raw, plan, known)
    _check_columns(frame, raw, plan)
    if plan.kind == "events":
        return events_log(
            frame,
            file=raw.file,
            format=f"events ({raw.format})",
            texts=raw.texts,
            conventions=conventions,
            quarantine=raw.quarantine,
            folded=raw.folded,
            notes=raw.notes,
        )
    frame, notes = _add_gpus(frame, gpus_per_node or plan.gpus_per_node)
    return jobs_log(
        frame,
        file=raw.file,
        format=f"table ({raw.format})",
        texts=raw.texts,
        states={**{state: state for state in STATES}, **plan.states},
        conventions=conventions,
        quarantine=raw.quarantine,
        folded=raw.folded,
        notes=(*raw.notes, *notes),
    )


def read_events(
    path: PathLike, mapping: MappingLike | None = None, *, timezone: str | None = None, cluster: str | None = None
) -> Log:
    """Read a table of events: CSV, JSON lines or Parquet with ``time``, ``node``, ``component`` and more.

    See `meantime.datasets.events` for the columns, and `read_table` for the parameters and errors.
    """
    plan = load_mapping(mapping) if mapping is not None else TableMapping(kind="events")
    if plan.kind != "events":
        raise InputError('the mapping is one of jobs; expected kind = "events" and the columns time, node, component')
    return read_table(path, plan, timezone=timezone, cluster=cluster)


def _rename(raw: RawTable, plan: TableMapping, known: tuple[str, ...]) -> pl.DataFrame:
    found = {name.strip(): name for name in raw.frame.columns}
    if absent := [f"{new} = {old!r}" for new, old in plan.columns.items() if old not in found]:
        raise InputError(f"{raw.file}: no column for {absent[0]}; the file has {_listed(raw)}")
    taken = set(plan.columns.values())
    own = {name: name for name in known if name in found and name not in plan.columns and name not in taken}
    return raw.frame.select(LINE, *(pl.col(found[old]).alias(new) for new, old in {**own, **plan.columns}.items()))


def _check_columns(frame: pl.DataFrame, raw: RawTable, plan: TableMapping) -> None:
    has = set(frame.columns)
    if plan.kind == "events":
        missing = [name for name in EVENT_REQUIRED if name not in has]
    else:
        missing = [name for name in ("job_id", "start") if name not in has]
        missing += [] if {"end", "elapsed"} & has else ["end (or elapsed)"]
    if missing:
        raise InputError(
            f"{raw.file}: no column for {', '.join(missing)}; the file has {_listed(raw)}; "
            "expected these names or a mapping to them, such as {'job_id': 'id'}"
        )


def _listed(raw: RawTable) -> str:
    names = [name for name in raw.frame.columns if name != LINE]
    return (", ".join(names) or "no column")[:300]


def _add_gpus(frame: pl.DataFrame, gpus_per_node: int | None) -> tuple[pl.DataFrame, list[str]]:
    if "n_gpus" in frame.columns:
        return frame, []
    if gpus_per_node is None or "n_nodes" not in frame.columns:
        return frame, ["GPUs of jobs are not known: map n_gpus, or n_nodes and give gpus_per_node"]
    gpus = whole_column(frame["n_nodes"]).values * gpus_per_node
    note = f"GPUs of jobs are n_nodes x {gpus_per_node}, as given"
    return frame.with_columns(gpus.alias("n_gpus")), [note]
