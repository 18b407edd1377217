"""The options that commands share, and how what was typed becomes values."""

import dataclasses
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from meantime.errors import InputError

if TYPE_CHECKING:
    from meantime.forecast import Plan

WEEK = "1w"
"""Periods of a model of rates that move, unless told otherwise."""

Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH...",
        help="Job logs (sacct text, CSV, Parquet, JSONL; .gz, .xz and .zst are unpacked) or tables of counts.",
        show_default=False,
    ),
]
FitPath = Annotated[Path, typer.Argument(metavar="FIT", help="A fit written by `meantime fit`.", show_default=False)]
Format = Annotated[
    str,
    typer.Option(
        "--format", help="auto, or a name of docs/formats.md: sacct, table, counts, ...", rich_help_panel="Reading"
    ),
]
Events = Annotated[
    list[Path] | None,
    typer.Option("--events", help="Health-check events or kernel logs of the nodes.", rich_help_panel="Reading"),
]
Mapping = Annotated[
    Path | None,
    typer.Option("--mapping", help="TOML file that maps your columns to meantime's.", rich_help_panel="Reading"),
]
ReaderOption = Annotated[
    list[str] | None,
    typer.Option(
        "--option", help="NAME=VALUE for one format alone, e.g. year=2025 for a syslog.", rich_help_panel="Reading"
    ),
]
Timezone = Annotated[
    str | None,
    typer.Option(
        "--timezone", help="Zone of times without one, e.g. US/Pacific; default UTC.", rich_help_panel="Reading"
    ),
]
ClusterName = Annotated[
    str | None,
    typer.Option("--cluster", help="Name of the cluster where the log has none.", rich_help_panel="Reading"),
]
EventsFormat = Annotated[
    str, typer.Option("--events-format", help="As --format, of the events.", rich_help_panel="Reading")
]
EventsMapping = Annotated[
    Path | None,
    typer.Option("--events-mapping", help="As --mapping, of the events.", rich_help_panel="Reading"),
]
EventsOption = Annotated[
    list[str] | None,
    typer.Option("--events-option", help="As --option, of the events.", rich_help_panel="Reading"),
]
TaxonomyFile = Annotated[
    Path | None,
    typer.Option(
        "--taxonomy",
        help="TOML file with components and Xids of your own: priorities, severities.",
        rich_help_panel="Reading",
    ),
]
Scan = Annotated[
    bool | None,
    typer.Option(
        "--scan/--no-scan",
        help="Scan Parquet that has the columns of the jobs table without reading it into memory; repeated rows are "
        "then not looked for. Default: where it has 5 million rows or more.",
        rich_help_panel="Reading",
        show_default=False,
    ),
]
GpusPerNode = Annotated[int, typer.Option("--gpus-per-node", min=1, help="GPUs of a node.")]
LogGpusPerNode = Annotated[
    int | None,
    typer.Option(
        "--gpus-per-node",
        min=1,
        help="GPUs of a node (8); given, it also counts the GPUs of jobs whose log names none.",
        rich_help_panel="Reading",
    ),
]
Rule = Annotated[
    Literal["infrastructure", "interruption"] | None,
    typer.Option(
        "--rule",
        help="What a failure is: **infrastructure** (NODE_FAIL, or FAILED with a high-severity event near its end; "
        "the default) or **interruption** (any attempt that was followed by another).",
        rich_help_panel="Failures",
    ),
]
Before = Annotated[
    str, typer.Option("--before", help="Events this long before a job's end count.", rich_help_panel="Failures")
]
After = Annotated[
    str, typer.Option("--after", help="Events this long after a job's end count.", rich_help_panel="Failures")
]
MinRuntime = Annotated[
    str,
    typer.Option("--min-runtime", help="Failures of shorter attempts do not count.", rich_help_panel="Failures"),
]
MinSeverity = Annotated[
    Literal["low", "high"],
    typer.Option("--min-severity", help="Least severity of events that count.", rich_help_panel="Failures"),
]
MinGpus = Annotated[
    int, typer.Option("--min-gpus", min=0, help="Smaller jobs do not count.", rich_help_panel="Failures")
]
Components = Annotated[
    str | None,
    typer.Option(
        "--components",
        help="The components wanted, comma separated; the rest is 'other'. Default: those that are seen.",
        rich_help_panel="Failures",
    ),
]
Period = Annotated[
    str | None,
    typer.Option("--period", help="Count by periods of this length, e.g. 7d.", rich_help_panel="Exposure"),
]
LogStart = Annotated[
    str | None,
    typer.Option(
        "--log-start",
        help="Start of the log (UTC): runtime before it does not count. Default: the first start.",
        rich_help_panel="Exposure",
    ),
]
LogEnd = Annotated[
    str | None,
    typer.Option(
        "--log-end",
        help="End of the log (UTC): running jobs are cut there. Default: the latest time.",
        rich_help_panel="Exposure",
    ),
]
ByNode = Annotated[
    bool, typer.Option("--by-node", help="Count by node instead of job size.", rich_help_panel="Exposure")
]
Exposure = Annotated[
    Literal["busy", "calendar"],
    typer.Option(
        "--exposure",
        help="**busy**: node-days of jobs. **calendar**: node-days in service, busy or idle.",
        rich_help_panel="Exposure",
    ),
]
Inventory = Annotated[
    Path | None,
    typer.Option(
        "--inventory",
        help="For calendar exposure: table with node, and cluster, arrival, retirement where known.",
        rich_help_panel="Exposure",
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Reading:
    """How a log and its events are read."""

    format: Format = "auto"
    events: Events = None
    mapping: Mapping = None
    option: ReaderOption = None
    timezone: Timezone = None
    cluster: ClusterName = None
    gpus_per_node: LogGpusPerNode = None
    events_format: EventsFormat = "auto"
    events_mapping: EventsMapping = None
    events_option: EventsOption = None
    taxonomy: TaxonomyFile = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Attribution:
    """Which events explain the end of a job."""

    before: Before = "10min"
    after: After = "5min"
    min_severity: MinSeverity = "high"


@dataclass(frozen=True, slots=True, kw_only=True)
class Counting(Attribution):
    """What counts as a failure, and as exposure."""

    rule: Rule = None
    min_runtime: MinRuntime = "0s"
    min_gpus: MinGpus = 0
    components: Components = None
    period: Period = None
    log_start: LogStart = None
    log_end: LogEnd = None
    by_node: ByNode = False
    exposure: Exposure = "busy"
    inventory: Inventory = None


Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random draw.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", help="Cluster to forecast for, or **new**; needed where the fit has several."),
]
Horizon = Annotated[
    str | None,
    typer.Option(
        "--horizon",
        help="For a fit of over_time: average the rates from the end of the data over this time (90d) or until a date "
        "(2026-06-30). Default: the rates of its last period.",
        show_default=False,
    ),
]
Gpus = Annotated[str, typer.Option("--gpus", help="Job sizes in GPUs, comma separated.", show_default=False)]
_PLAN = "Plan (durations with a unit)"
Restart = Annotated[
    str | None,
    typer.Option("--restart", help="Initialisation and loading.", rich_help_panel=_PLAN, show_default="5min"),
]
Write = Annotated[
    str | None,
    typer.Option("--checkpoint-write", help="Time a write blocks the job.", rich_help_panel=_PLAN, show_default="30s"),
]
Interval = Annotated[
    str | None,
    typer.Option(
        "--checkpoint-interval",
        help="**optimal**, or time between checkpoints.",
        rich_help_panel=_PLAN,
        show_default="optimal",
    ),
]
Queue = Annotated[
    str | None,
    typer.Option("--queue", help="Wait at the start and after each failure.", rich_help_panel=_PLAN, show_default="0s"),
]
Detection = Annotated[
    str | None,
    typer.Option("--detection", help="Time until a failure is noticed.", rich_help_panel=_PLAN, show_default="0s"),
]
Productive = Annotated[
    str | None,
    typer.Option("--productive", help="Productive time the run needs.", rich_help_panel=_PLAN, show_default="30d"),
]
PlanGpusPerNode = Annotated[
    int | None,
    typer.Option("--gpus-per-node", min=1, help="GPUs of a node.", rich_help_panel=_PLAN, show_default="8"),
]
PlanFile = Annotated[
    Path | None,
    typer.Option(
        "--plan",
        help="Take the plan from JSON: a plan, or what `meantime plan --json` or the planner page saved. Options typed "
        "beside it go before it.",
        rich_help_panel=_PLAN,
        show_default=False,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanOptions:
    """The plan of a run without its length."""

    restart: Restart = None
    checkpoint_write: Write = None
    checkpoint_interval: Interval = None
    queue: Queue = None
    detection: Detection = None
    gpus_per_node: PlanGpusPerNode = None
    plan_file: PlanFile = None

    def made(self) -> "Plan":
        """Return the plan: what was typed goes before what a file says, and that before the defaults."""
        from meantime.forecast import Plan, read_plan

        fields = {field.name: getattr(self, field.name) for field in dataclasses.fields(self)}
        path = fields.pop("plan_file")
        typed = {name: _listed(value) for name, value in fields.items() if value is not None}
        return Plan(**typed) if path is None else dataclasses.replace(read_plan(path), **typed)


@dataclass(frozen=True, slots=True, kw_only=True)
class RunOptions(PlanOptions):
    """The plan of a run of a length."""

    productive: Productive = None


def sizes_of(text: str) -> list[int]:
    try:
        return [int(part.replace("_", "")) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--gpus is {text!r}; expected whole numbers, comma separated, such as 1024,16384") from error


def _listed(value: Any) -> Any:
    """Make a list of several durations, comma separated."""
    return [part.strip() for part in value.split(",")] if isinstance(value, str) and "," in value else value


def print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, allow_nan=False, default=str))
