"""Components that fail: domain, symptom, severity, and which of several causes wins.

After the failure taxonomy and the health checks of Kokolis et al., "Revisiting Reliability in
Large-Scale Machine Learning Research Clusters" (HPCA 2025, arXiv 2410.21680, Table I and section
II). The domains are those of its table: a symptom may come from the user's program, from system
software, or from hardware. A high-severity check takes the node away at once, a low-severity one after
its jobs have ended. The paper says that the most isolating of several causes wins, but not their
order; the order here (``priority``, 1 wins) is ours: parts of the node that need a repair and are
most likely the origin come first (a PCIe fault takes the GPU off the bus, and not the reverse; a lost
GPU takes its link down), then links and storage, then software, then what has many causes.

Users change and add components by a TOML file, see `load_components`; which driver errors belong to which component
stands in `meantime.datasets.xids`.
"""

import dataclasses
from collections.abc import Mapping
from typing import Any

import polars as pl

from meantime.datasets.source import PathLike
from meantime.datasets.toml_tables import read_toml
from meantime.errors import InputError

UNATTRIBUTED = "unattributed"
"""The component of a failure without a known cause."""
SEVERITIES = ("low", "high")
SEVERITY = pl.Enum(SEVERITIES)
DOMAINS = ("user program", "system software", "hardware")


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Component:
    """One component.

    Attributes
    ----------
    name
        As it stands in events and failure tables.
    symptom
        What is seen.
    domains
        Where the cause may lie, from `DOMAINS`.
    severity
        ``"high"`` or ``"low"``: of a check that finds it and says nothing else.
    priority
        1 wins over 2 where several explain one failure.
    """

    name: str
    symptom: str
    domains: tuple[str, ...]
    severity: str
    priority: int


def _rows() -> tuple[Component, ...]:
    user, system, hardware = DOMAINS
    table = [
        ("pcie", "PCIe error", (hardware,), "high"),
        ("gpu_memory", "uncorrectable GPU memory error, failed row remap", (hardware,), "high"),
        ("gpu_hardware", "GPU unavailable, off the bus", (system, hardware), "high"),
        ("nvlink", "GPU NVLink error", (hardware,), "high"),
        ("host_memory", "main memory error", (hardware,), "high"),
        ("host_hardware", "CPU, power supply, fan or chassis fault", (hardware,), "high"),
        ("block_device", "block device error", (hardware,), "high"),
        ("infiniband_link", "InfiniBand link error", (hardware,), "high"),
        ("filesystem_mount", "missing file system mount", (system, hardware), "high"),
        ("ethernet_link", "Ethernet link error", (hardware,), "low"),
        ("gpu_driver", "GPU driver or firmware error", (system,), "low"),
        ("system_services", "service down: scheduler daemon, authentication", (user, system, hardware), "low"),
        ("nccl_timeout", "collective timed out", (user, system, hardware), "low"),
        ("out_of_memory", "out of memory", (user,), "low"),
        ("user_program", "error in the user's program", (user,), "low"),
    ]
    return tuple(
        Component(name=name, symptom=symptom, domains=domains, severity=severity, priority=priority)
        for priority, (name, symptom, domains, severity) in enumerate(table, start=1)
    )


COMPONENTS = _rows()


def taxonomy(extra: tuple[Component, ...] = ()) -> pl.DataFrame:
    """Give the taxonomy as a table: ``component``, ``symptom``, ``domains``, ``severity``, ``priority``.

    Parameters
    ----------
    extra
        Components to add, or to put in the place of those of the same name.

    Raises
    ------
    InputError
        If a domain or severity is not one of `DOMAINS` and `SEVERITIES`.
    """
    components = {component.name: component for component in (*COMPONENTS, *extra)}
    for component in components.values():
        if unknown := set(component.domains) - set(DOMAINS):
            raise InputError(f"component {component.name}: domain {unknown.pop()!r}; expected {', '.join(DOMAINS)}")
        if component.severity not in SEVERITIES:
            raise InputError(f"component {component.name}: severity {component.severity!r}; expected low or high")
    rows = sorted(components.values(), key=lambda component: (component.priority, component.name))
    return pl.DataFrame(
        {
            "component": [row.name for row in rows],
            "symptom": [row.symptom for row in rows],
            "domains": [list(row.domains) for row in rows],
            "severity": [row.severity for row in rows],
            "priority": [row.priority for row in rows],
        },
        schema_overrides={"severity": SEVERITY, "domains": pl.List(pl.String)},
    )


def load_components(path: PathLike) -> tuple[Component, ...]:
    """Read components from a TOML file, for ``taxonomy(load_components("site.toml"))``.

    ::

        [component.coolant_pump]
        symptom = "pump of the rack stopped"
        domains = ["hardware"]
        severity = "high"
        priority = 0           # before all others

        [component.ethernet_link]
        severity = "high"      # the rest as shipped

    Parameters
    ----------
    path
        The file. Fields that it leaves out are those of the shipped component of that name; a new component needs all.

    Raises
    ------
    InputError
        If the file cannot be read, or a field is unknown, missing or of the wrong type.
    """
    tables = read_toml(path, "[component.NAME] with symptom, domains, severity and priority").get("component", {})
    if not isinstance(tables, Mapping):
        raise InputError(f"{path}: component is {tables!r}; expected tables such as [component.pcie]")
    known = {component.name: component for component in COMPONENTS}
    made = tuple(_component(name, fields, known.get(name), path) for name, fields in tables.items())
    taxonomy(made)
    return made


def _component(name: str, fields: Any, known: Component | None, path: PathLike) -> Component:
    wanted: dict[str, type] = {"symptom": str, "domains": list, "severity": str, "priority": int}
    where = f"{path}: [component.{name}]"
    if not isinstance(fields, Mapping):
        raise InputError(f"{where} is {fields!r}; expected a table")
    for field, value in fields.items():
        if field not in wanted:
            raise InputError(f"{where} has {field!r}; expected {', '.join(wanted)}")
        if not isinstance(value, wanted[field]) or isinstance(value, bool):
            raise InputError(
                f"{where}: {field} is {value!r}; expected {'a list of' if wanted[field] is list else 'a'} "
                f"{'whole number' if wanted[field] is int else 'text'}"
            )
    values = {} if known is None else dataclasses.asdict(known)
    values.update(fields, name=name)
    if missing := [field for field in wanted if field not in values]:
        raise InputError(f"{where} lacks {', '.join(missing)}; a component that is new needs all four")
    return Component(**{**values, "domains": tuple(map(str, values["domains"]))})


def user_components(table: pl.DataFrame) -> list[str]:
    """Name the components of a taxonomy whose cause can only be the user's program."""
    only_user = (pl.col("domains").list.len() == 1) & pl.col("domains").list.contains(DOMAINS[0])
    return table.filter(only_user)["component"].to_list()
