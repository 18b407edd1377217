"""One way in: find out what a file is, say so, and read it."""

import dataclasses
from collections.abc import Callable, Sequence
from pathlib import Path

import xarray as xr

from meantime.datasets.counts import VALUES as COUNT_COLUMNS
from meantime.datasets.counts import read_counts
from meantime.datasets.events import REQUIRED as EVENT_COLUMNS
from meantime.datasets.log import Log
from meantime.datasets.mapping import MappingLike, load_mapping
from meantime.datasets.merge import merge_logs
from meantime.datasets.raw import column_names
from meantime.datasets.sacct import read_sacct
from meantime.datasets.source import PathLike
from meantime.datasets.tabular import read_events, read_table
from meantime.errors import InputError

FORMATS = ("sacct", "counts", "events", "table")
"""Names of the readers; ``auto`` finds the one that fits."""


def read(
    paths: PathLike | Sequence[PathLike],
    format: str = "auto",
    mapping: MappingLike | None = None,
    *,
    timezone: str | None = None,
    cluster: str | None = None,
    gpus_per_node: int | None = None,
) -> Log | xr.Dataset:
    """Read a log, or several files of one log.

    Parameters
    ----------
    paths
        One file or several. Rows that stand in several files count once.
    format
        ``"auto"``, ``"sacct"``, ``"table"`` (CSV, JSON lines or Parquet of jobs), ``"events"`` (of events) or
        ``"counts"`` (already aggregated).
    mapping
        Which column is which, for ``table`` and ``events``: a dict or a TOML file, see
        `meantime.datasets.mapping`.
    timezone
        Zone of times that name none. Default: that of the mapping, else UTC.
    cluster
        Name of the cluster where the file has none.
    gpus_per_node
        GPUs of a node, for logs that do not say how many GPUs a job had.

    Returns
    -------
    Log or xr.Dataset
        A log; of counts, the failure table.

    Raises
    ------
    InputError
        If a file cannot be read, no format fits (the message says what was found), or two do (the message names
        them and the option that decides).
    """
    files = [paths] if isinstance(paths, str | Path) or not isinstance(paths, Sequence) else list(paths)
    if not files:
        raise InputError("no file was given; expected at least one path")
    if format != "auto" and format not in FORMATS:
        raise InputError(f"format {format!r} is unknown; expected auto, {', '.join(FORMATS)}")
    found = [(format, "as given") if format != "auto" else recognise(path, mapping) for path in files]
    if len({name for name, _ in found}) > 1:
        kinds = ", ".join(f"{path} is {name}" for path, (name, _) in zip(files, found, strict=True))
        raise InputError(f"the files are of different formats ({kinds}); read them one by one")
    name = found[0][0]
    if name == "counts":
        if len(files) > 1:
            raise InputError(f"{len(files)} files of counts were given; expected one, with all counts")
        return read_counts(files[0], gpus_per_node=gpus_per_node or 8, cluster=cluster or "cluster")
    reader = _readers(mapping, timezone, cluster, gpus_per_node)[name]
    logs = [_told(reader(path), why) for path, (_, why) in zip(files, found, strict=True)]
    given = name == "table" and "attempt" in load_mapping(mapping).columns
    return merge_logs(logs, attempts_given=given or (name == "table" and _has_attempts(files)))


def recognise(path: PathLike, mapping: MappingLike | None = None) -> tuple[str, str]:
    """Find the format of a file from the names of its columns.

    Returns
    -------
    tuple
        One of `FORMATS`, and why.

    Raises
    ------
    InputError
        If none or several fit.
    """
    if mapping is not None:
        kind = load_mapping(mapping).kind
        return ("table" if kind == "jobs" else "events"), f"a mapping of {kind} was given"
    names, container = column_names(path)
    fits = candidates(names, container)
    if len(fits) == 1:
        return fits[0]
    if fits:
        choices = "; ".join(f"{name}: {why}" for name, why in fits)
        raise InputError(
            f"{path}: could be read in {len(fits)} ways ({choices}); say which with format (--format NAME)"
        )
    shown = ", ".join(names)[:200] or "none"
    raise InputError(
        f"{path}: is no log that is known: its columns are {shown}; expected sacct output (sacct -P, with a header), "
        f"columns {', '.join(COUNT_COLUMNS)} (counts), {', '.join(EVENT_COLUMNS)} (events), "
        "job_id, start, end (table), or a mapping of columns"
    )


def candidates(names: Sequence[str], container: str) -> list[tuple[str, str]]:
    """List the formats that columns of these names fit, each with the reason."""
    lower = {name.lower() for name in names}
    fits = []
    if container == "csv" and lower & {"jobid", "jobidraw"} and {"state", "start", "end"} <= lower:
        identity = "JobID" if "jobid" in lower else "JobIDRaw"
        fits.append(("sacct", f"the header has {identity}, State, Start and End"))
    for format, wanted in (("counts", COUNT_COLUMNS), ("events", EVENT_COLUMNS), ("table", ("job_id", "start", "end"))):
        if set(wanted) <= set(names):
            fits.append((format, f"the columns include {', '.join(wanted)}"))
    return fits


def _readers(
    mapping: MappingLike | None, timezone: str | None, cluster: str | None, gpus_per_node: int | None
) -> dict[str, Callable[[PathLike], Log]]:
    name = cluster or "cluster"
    return {
        "sacct": lambda path: read_sacct(path, timezone=timezone or "UTC", cluster=name, gpus_per_node=gpus_per_node),
        "events": lambda path: read_events(path, mapping, timezone=timezone),
        "table": lambda path: read_table(
            path, mapping, timezone=timezone, cluster=cluster, gpus_per_node=gpus_per_node
        ),
    }


def _told(log: Log, why: str) -> Log:
    return dataclasses.replace(log, notes=(f"read as {log.format}: {why}", *log.notes))


def _has_attempts(files: Sequence[PathLike]) -> bool:
    return any("attempt" in column_names(path)[0] for path in files)
