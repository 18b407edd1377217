"""How the columns of a table are called: a mapping, in Python or in a TOML file.

::

    kind = "jobs"              # or "events"

    [columns]                  # name in the jobs or events table = name in the file
    job_id = "id"
    n_gpus = "num_gpus"
    submit = "submitted_time"
    start = "start_time"
    end = "end_time"           # or: elapsed = "duration", seconds from start to end

    [states]                   # state in the file = state of the jobs table
    Pass = "COMPLETED"

    [options]
    cluster = "philly"         # where no column names it
    timezone = "America/Los_Angeles"
    time_unit = "s"            # of plain numbers: s, ms or us since 1970
    time_format = "%m/%d/%Y %H:%M"
    gpus_per_node = 8          # GPUs = nodes x this, where no column gives GPUs
    delimiter = ";"
"""

import dataclasses
import tomllib
from collections.abc import Mapping
from typing import Any, cast, get_args

from meantime.datasets.events import COLUMNS as EVENT_COLUMNS
from meantime.datasets.jobs import EXTRA, OPTIONAL, REQUIRED, STATES
from meantime.datasets.log import Kind
from meantime.datasets.source import PathLike
from meantime.errors import InputError

JOB_COLUMNS = (*REQUIRED, *OPTIONAL, *EXTRA)
_OPTIONS = ("cluster", "timezone", "time_unit", "time_format", "gpus_per_node", "delimiter")
_KINDS: tuple[str, ...] = get_args(Kind.__value__)
_NUMERIC = ("gpus_per_node",)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TableMapping:
    """What the columns of a file mean (see the module's text for each field)."""

    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    states: Mapping[str, str] = dataclasses.field(default_factory=dict)
    kind: Kind = "jobs"
    cluster: str | None = None
    timezone: str | None = None
    time_unit: str = "s"
    time_format: str | None = None
    gpus_per_node: int | None = None
    delimiter: str | None = None


type MappingLike = TableMapping | Mapping[str, Any] | PathLike


def load_mapping(mapping: MappingLike | None) -> TableMapping:
    """Make a mapping of a dict, of a TOML file, or of nothing (columns under their own names).

    Parameters
    ----------
    mapping
        A dict with the tables ``columns``, ``states`` and ``options`` of the TOML form, or simply a
        dict of columns; a path to a TOML file; or a mapping that is ready.

    Raises
    ------
    InputError
        For a file that cannot be read, and for unknown columns, states, options or kinds.
    """
    if mapping is None:
        return TableMapping()
    if isinstance(mapping, TableMapping):
        return mapping
    if not isinstance(mapping, Mapping):
        return _from_dict(_read_toml(mapping), str(mapping))
    return _from_dict(mapping, "mapping")


def _read_toml(path: PathLike) -> dict[str, Any]:
    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; expected a TOML file with [columns]") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(
            f'{path}: is not TOML: {error}; expected [columns] with lines such as job_id = "id"'
        ) from error


def _from_dict(given: Mapping[str, Any], where: str) -> TableMapping:
    nested = any(isinstance(value, Mapping) for value in given.values()) or "kind" in given
    parts = dict(given) if nested else {"columns": dict(given)}
    _expect_names(parts, ("kind", "columns", "states", "options"), where, "table")
    columns, states, options = (dict(parts.get(name, {})) for name in ("columns", "states", "options"))
    kind = parts.get("kind") or ("events" if "time" in columns and "job_id" not in columns else "jobs")
    if kind not in _KINDS:
        raise InputError(f"{where}: kind is {kind!r}; expected one of {', '.join(_KINDS)}")
    _expect_names(columns, JOB_COLUMNS if kind == "jobs" else EVENT_COLUMNS, where, "column")
    _expect_names(options, _OPTIONS, where, "option")
    for name, value in {**columns, **options, **states}.items():
        wanted: type = int if name in _NUMERIC else str
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise InputError(f"{where}: {name} is {value!r}; expected {'a whole number' if wanted is int else 'text'}")
    if unknown := [state for state in states.values() if state not in STATES]:
        raise InputError(f"{where}: state {unknown[0]!r} is unknown; expected one of {', '.join(STATES)}")
    if options.get("gpus_per_node", 1) < 1:
        raise InputError(f"{where}: gpus_per_node is {options['gpus_per_node']}; expected 1 or more")
    return TableMapping(columns=columns, states=states, kind=cast(Kind, kind), **options)


def _expect_names(given: Mapping[str, Any], known: tuple[str, ...], where: str, what: str) -> None:
    if unknown := [name for name in given if name not in known]:
        raise InputError(f"{where}: {what} {unknown[0]!r} is unknown; expected one of {', '.join(known)}")
