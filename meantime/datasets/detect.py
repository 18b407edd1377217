"""One way in: find out what a file is, say so, and read it."""

import dataclasses
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from meantime.datasets.counts import VALUES as COUNT_COLUMNS
from meantime.datasets.events import REQUIRED as EVENT_COLUMNS
from meantime.datasets.failure_table import failure_table
from meantime.datasets.formats import ALL, BY_NAME, Format, options_of
from meantime.datasets.log import Log
from meantime.datasets.mapping import MappingLike, load_mapping
from meantime.datasets.merge import merge_logs
from meantime.datasets.sniff import Sniff, sniff
from meantime.datasets.source import PathLike
from meantime.datasets.training_events import is_training
from meantime.errors import InputError

FORMATS = tuple(BY_NAME)
"""Names of the readers; ``auto`` finds the one that fits."""

_COMMON = ("mapping", "timezone", "cluster", "gpus_per_node")
_OF_KIND = {"jobs": "table", "events": "events", "counts": "counts"}


def read(
    paths: PathLike | Sequence[PathLike],
    format: str = "auto",
    mapping: MappingLike | None = None,
    *,
    timezone: str | None = None,
    cluster: str | None = None,
    gpus_per_node: int | None = None,
    **options: Any,
) -> Log | xr.Dataset:
    """Read a log, or several files of one log.

    Parameters
    ----------
    paths
        One file or several. Rows that stand in several files count once.
    format
        ``"auto"``, or one of `FORMATS`; `meantime.datasets.formats` says what each is.
    mapping
        Which column is which, for ``table``, ``events`` and ``counts``: a dict or a TOML file, see
        `meantime.datasets.mapping`.
    timezone
        Zone of times that name none. Default: that of the mapping, else what the reader says (mostly UTC).
    cluster
        Name of the cluster where the file has none.
    gpus_per_node
        GPUs of a node, for logs that do not say how many GPUs a job had.
    **options
        What only the reader of a format takes, such as ``node``, ``year`` and ``boot_time`` for kernel logs.

    Returns
    -------
    Log or xr.Dataset
        A log; of counts, the failure table. `to_table` makes the failure table of any of them.

    Raises
    ------
    InputError
        If a file cannot be read, no format fits (the message says what was found, and what the nearest lacks), or
        two do (the message names them and the option that decides).
    """
    files = [paths] if isinstance(paths, str | Path) or not isinstance(paths, Sequence) else list(paths)
    if not files:
        raise InputError("no file was given; expected at least one path")
    if wrong := [file for file in files if not isinstance(file, str | os.PathLike)]:
        raise InputError(f"paths holds {wrong[0]!r}; expected the names of files")
    if not isinstance(format, str):
        raise InputError(f"format is {format!r}; expected auto, {', '.join(FORMATS)}")
    if format != "auto" and format not in FORMATS:
        raise InputError(f"format {format!r} is unknown; expected auto, {', '.join(FORMATS)}")
    found = [(format, "as given") if format != "auto" else recognise(path, mapping) for path in files]
    if len({name for name, _ in found}) > 1:
        kinds = ", ".join(f"{path} is {name}" for path, (name, _) in zip(files, found, strict=True))
        raise InputError(f"the files are of different formats ({kinds}); read them one by one")
    chosen = BY_NAME[found[0][0]]
    _check_options(chosen, options)
    common = {"mapping": mapping, "timezone": timezone, "cluster": cluster, "gpus_per_node": gpus_per_node}
    given = options_of(chosen, {**common, **options})
    whys = [why for _, why in found]
    if chosen.together:
        made = chosen.reader(files if len(files) > 1 else files[0], **given)
        return _told(made, whys[0])
    if chosen.name == "counts":
        if len(files) > 1:
            raise InputError(f"{len(files)} files of counts were given; expected one, with all counts")
        return chosen.reader(files[0], **given)
    logs = [_told(chosen.reader(path, **given), why) for path, why in zip(files, whys, strict=True)]
    numbered = chosen.attempts_given or (chosen.name == "table" and _has_attempts(files, mapping))
    return merge_logs(logs, attempts_given=numbered)


def to_table(log: Log | xr.Dataset, events: Any = None, **options: Any) -> xr.Dataset:
    """Make the failure table of whatever `read` gave.

    Parameters
    ----------
    log
        A log of jobs, outages or lives, or a failure table, which is returned as it is.
    events
        A log of events, for a log of jobs.
    **options
        For jobs those of `meantime.datasets.failure_table.failure_table`; for outages and lives those of the function
        that the format names in `meantime.datasets.formats`.

    Raises
    ------
    InputError
        If the log holds events, or its format does not say how long its nodes were at risk.
    """
    if isinstance(log, xr.Dataset):
        return log
    if log.kind == "jobs":
        return failure_table(log, events, **options)
    maker = BY_NAME[log.format].table if log.format in BY_NAME else None
    if maker is None:
        raise InputError(f"{log.source}: holds {log.kind}, which are no exposure; expected jobs, outages or lives")
    return maker(log, **options)


def recognise(path: PathLike, mapping: MappingLike | None = None) -> tuple[str, str]:
    """Find the format of a file from its beginning.

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
        return _OF_KIND[kind], f"a mapping of {kind} was given"
    seen = sniff(path)
    fits = _fits(seen)
    if len(fits) == 1:
        return fits[0]
    if fits:
        choices = "; ".join(f"{name}: {why}" for name, why in fits)
        raise InputError(
            f"{path}: could be read in {len(fits)} ways ({choices}); say which with format (--format NAME)"
        )
    if is_training(seen.item):
        raise InputError(
            f"{path}: is a log of training, not of jobs: {_shown(seen)}; expected it where training is measured: "
            f"`meantime training {path}`, or read_training in Python"
        )
    raise InputError(f"{path}: is no log that is known: {_shown(seen)}; {_nearest(seen)}expected {_EXPECTED}")


def candidates(names: Sequence[str], container: str = "csv") -> list[tuple[str, str]]:
    """List the formats that columns of these names fit, each with the reason.

    Parameters
    ----------
    names
        Names of columns.
    container
        ``"csv"``, ``"parquet"`` or ``"jsonl"``.
    """
    return _fits(Sniff(container="text" if container == "csv" else container, names=tuple(names)))


_EXPECTED = (
    "sacct output (sacct -P, with a header), another format that the documentation lists, "
    f"columns {', '.join(COUNT_COLUMNS)} (counts), {', '.join(EVENT_COLUMNS)} (events), job_id, start, end (table), "
    "or a mapping of columns"
)


def _fits(seen: Sniff) -> list[tuple[str, str]]:
    return [(format.name, why) for format in ALL if (why := format.signs.fits(seen)) is not None]


def _shown(seen: Sniff) -> str:
    if seen.container.startswith("json") and not seen.names:
        return "it begins as JSON, but no whole object stands there"
    names = ", ".join(seen.names)[:200] or "none"
    return f"its {'keys' if seen.container.startswith('json') else 'columns'} are {names}"


def _nearest(seen: Sniff) -> str:
    near = [said for format in ALL if (said := format.signs.lacks(seen)) is not None]
    return f"nearly fits: {'; '.join(near)}; " if near else ""


def _check_options(format: Format, options: dict[str, Any]) -> None:
    own = [name for name in format.takes if name not in _COMMON]
    for name, value in options.items():
        if name not in own:
            listed = f"expected {', '.join(own)}" if own else "it takes none"
            raise InputError(f"option {name} is not one of the format {format.name}; {listed}")
        if name == "year" and isinstance(value, str):
            if not value.isdigit():
                raise InputError(f"year is {value!r}; expected a whole number such as 2024")
            options[name] = int(value)


def _told(made: Log | xr.Dataset, why: str) -> Log:
    assert isinstance(made, Log)
    return dataclasses.replace(made, notes=(f"read as {made.format}: {why}", *made.notes))


def _has_attempts(files: Sequence[PathLike], mapping: MappingLike | None) -> bool:
    return "attempt" in load_mapping(mapping).columns or any(sniff(path).has("attempt") for path in files)
