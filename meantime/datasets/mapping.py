"""How the columns of a table are called: a mapping, in Python or in a TOML file.

::

    kind = "jobs"              # or "events", or "counts"

    [columns]                  # name in the jobs, events or counts table = name in the file
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
    exposure_node_days = 110592    # of counts: one exposure for all rows, where no column gives it
    job_size = 16384               # of counts: one size for all rows, where no column gives it

`save_mapping` writes such a file, so that a mapping found once is kept beside the log.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any, Literal, cast, get_args

from meantime.datasets.events import COLUMNS as EVENT_COLUMNS
from meantime.datasets.jobs import EXTRA, OPTIONAL, REQUIRED, STATES
from meantime.datasets.source import PathLike
from meantime.datasets.toml_tables import read_toml, write_tables
from meantime.errors import InputError
from meantime.files import write_text

type MappingKind = Literal["jobs", "events", "counts"]

JOB_COLUMNS = (*REQUIRED, *OPTIONAL, *EXTRA)
COUNT_COLUMNS = ("failures", "exposure_node_days", "cluster", "component", "job_size", "period", "node")
COLUMNS = {"jobs": JOB_COLUMNS, "events": EVENT_COLUMNS, "counts": COUNT_COLUMNS}
"""Columns that a mapping of each kind may name."""
EXPECTED = '[columns] with lines such as job_id = "id"'
"""What a file of a mapping should hold, for messages."""
_OPTIONS: dict[str, tuple[type, ...]] = {
    "cluster": (str,),
    "timezone": (str,),
    "time_unit": (str,),
    "time_format": (str,),
    "gpus_per_node": (int,),
    "delimiter": (str,),
    "exposure_node_days": (int, float),
    "job_size": (int,),
}
_WORDS = {(str,): "text", (int,): "a whole number", (int, float): "a number"}
_KINDS: tuple[str, ...] = get_args(MappingKind.__value__)


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class TableMapping:
    """What the columns of a file mean (see the module's text for each field)."""

    columns: Mapping[str, str] = dataclasses.field(default_factory=dict)
    states: Mapping[str, str] = dataclasses.field(default_factory=dict)
    kind: MappingKind = "jobs"
    cluster: str | None = None
    timezone: str | None = None
    time_unit: str = "s"
    time_format: str | None = None
    gpus_per_node: int | None = None
    delimiter: str | None = None
    exposure_node_days: float | None = None
    job_size: int | None = None


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
        return _from_dict(read_toml(mapping, EXPECTED), str(mapping))
    return _from_dict(mapping, "mapping")


def save_mapping(mapping: MappingLike, path: PathLike) -> None:
    """Write a mapping as a TOML file that `load_mapping` reads, whole or not at all.

    Parameters
    ----------
    mapping
        As `load_mapping` takes it.
    path
        The file to write; one that is there is replaced.

    Raises
    ------
    InputError
        As `load_mapping`, or if the file cannot be written.
    """
    plan = load_mapping(mapping)
    given = {name: getattr(plan, name) for name in _OPTIONS}
    usual = {field.name: field.default for field in dataclasses.fields(TableMapping)}
    options = {name: value for name, value in given.items() if value is not None and value != usual[name]}
    tables = {"columns": plan.columns, "states": plan.states, "options": options}
    write_text(path, write_tables({"kind": plan.kind}, tables))


def _from_dict(given: Mapping[str, Any], where: str) -> TableMapping:
    nested = any(isinstance(value, Mapping) for value in given.values()) or "kind" in given
    parts = dict(given) if nested else {"columns": dict(given)}
    _expect_names(parts, ("kind", "columns", "states", "options"), where, "table")
    columns, states, options = (dict(parts.get(name, {})) for name in ("columns", "states", "options"))
    kind = parts.get("kind") or _guess_kind(columns)
    if kind not in _KINDS:
        raise InputError(f"{where}: kind is {kind!r}; expected one of {', '.join(_KINDS)}")
    _expect_names(columns, COLUMNS[kind], where, "column")
    _expect_names(options, tuple(_OPTIONS), where, "option")
    for name, value in {**columns, **options, **states}.items():
        wanted = _OPTIONS.get(name, (str,)) if name in options else (str,)
        if not isinstance(value, wanted) or isinstance(value, bool):
            raise InputError(f"{where}: {name} is {value!r}; expected {_WORDS[wanted]}")
    if unknown := [state for state in states.values() if state not in STATES]:
        raise InputError(f"{where}: state {unknown[0]!r} is unknown; expected one of {', '.join(STATES)}")
    for name in ("gpus_per_node", "job_size"):
        if options.get(name, 1) < 1:
            raise InputError(f"{where}: {name} is {options[name]}; expected 1 or more")
    if not options.get("exposure_node_days", 1) > 0:
        raise InputError(f"{where}: exposure_node_days is {options['exposure_node_days']}; expected above 0")
    return TableMapping(columns=columns, states=states, kind=cast(MappingKind, kind), **options)


def _guess_kind(columns: Mapping[str, Any]) -> str:
    """Tell events and counts, which say so by their columns, from jobs."""
    if "job_id" in columns:
        return "jobs"
    return "events" if "time" in columns else "counts" if "failures" in columns else "jobs"


def _expect_names(given: Mapping[str, Any], known: tuple[str, ...], where: str, what: str) -> None:
    if unknown := [name for name in given if name not in known]:
        raise InputError(f"{where}: {what} {unknown[0]!r} is unknown; expected one of {', '.join(known)}")
