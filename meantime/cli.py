"""The command line: parse, call the library, print. Every command is a function of the same name in Python."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from meantime.errors import InputError, MeantimeError

if TYPE_CHECKING:
    import xarray as xr

    from meantime.datasets import Log
    from meantime.forecast import Plan

app = typer.Typer(
    name="meantime",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode="markdown",
    context_settings={"help_option_names": ["-h", "--help"]},
    help="Fit Bayesian failure models to GPU-cluster logs and forecast MTTF and ETTR of large jobs.\n\n"
    "A first look: `meantime demo`. Your own log: `meantime jobs log.txt`, then `meantime fit log.txt`, "
    "then `meantime forecast fit.nc --gpus 1024,16384`.",
    add_completion=False,
)


def _version(wanted: bool) -> None:
    if wanted:
        from meantime import __version__

        print(f"meantime {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version and exit.")
    ] = False,
) -> None:
    """Take the options of no command."""


Paths = Annotated[
    list[Path],
    typer.Argument(
        metavar="PATH...",
        help="Job logs (sacct text, CSV, Parquet, JSONL; .gz, .xz and .zst are unpacked) or tables of counts.",
        show_default=False,
    ),
]
FitPath = Annotated[Path, typer.Argument(metavar="FIT", help="A fit written by `meantime fit`.", show_default=False)]
Format = Annotated[str, typer.Option("--format", help="auto, sacct, table or counts.", rich_help_panel="Reading")]
Events = Annotated[
    list[Path] | None,
    typer.Option("--events", help="Health-check events: time,node,component,severity,...", rich_help_panel="Reading"),
]
Mapping = Annotated[
    Path | None,
    typer.Option("--mapping", help="TOML file that maps your columns to meantime's.", rich_help_panel="Reading"),
]
Timezone = Annotated[
    str | None,
    typer.Option(
        "--timezone", help="Zone of times without one, e.g. US/Pacific; default UTC.", rich_help_panel="Reading"
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
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of every random draw.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON.")]
Cluster = Annotated[
    str | None,
    typer.Option("--cluster", help="Cluster to forecast for, or **new**; needed where the fit has several."),
]
Gpus = Annotated[str, typer.Option("--gpus", help="Job sizes in GPUs, comma separated.", show_default=False)]
_PLAN = "Plan (durations with a unit; several, comma separated, are compared)"
Restart = Annotated[str, typer.Option("--restart", help="Initialisation and loading.", rich_help_panel=_PLAN)]
Write = Annotated[str, typer.Option("--checkpoint-write", help="Time a write blocks the job.", rich_help_panel=_PLAN)]
Interval = Annotated[
    str,
    typer.Option("--checkpoint-interval", help="**optimal**, or time between checkpoints.", rich_help_panel=_PLAN),
]
Queue = Annotated[str, typer.Option("--queue", help="Wait at the start and after each failure.", rich_help_panel=_PLAN)]
Detection = Annotated[str, typer.Option("--detection", help="Time until a failure is noticed.", rich_help_panel=_PLAN)]


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", help="Folder for the results.")] = Path("out"),
) -> None:
    """Fit published and simulated clusters and forecast 1,024 to 131,072 GPUs; takes about a minute."""
    from meantime.demo import run_demo

    run_demo(output)


@app.command()
def jobs(
    paths: Paths,
    format: Format = "auto",
    events: Events = None,
    mapping: Mapping = None,
    timezone: Timezone = None,
    gpus_per_node: LogGpusPerNode = None,
    rule: Rule = None,
    before: Before = "10min",
    after: After = "5min",
    min_runtime: MinRuntime = "0s",
    as_json: AsJson = False,
) -> None:
    """Show what a log holds: rows used and quarantined, states, exposure, failures by size and component."""
    from meantime.datasets import Log, summarise
    from meantime.report.terminal import console, print_summary

    log = _read(paths, format=format, mapping=mapping, timezone=timezone, gpus_per_node=gpus_per_node)
    if not isinstance(log, Log):
        raise InputError(f"{paths[0]} holds counts, no jobs; use: meantime fit {paths[0]} --output fit.nc")
    summary = summarise(
        log,
        _read_events(events, timezone),
        gpus_per_node=gpus_per_node or 8,
        before=before,
        after=after,
        rule=rule,
        min_runtime=min_runtime,
    )
    if as_json:
        _print_json(summary)
        return
    print_summary(summary, console())
    console(stderr=True).print("Next: meantime fit " + " ".join(map(str, paths)) + " --output fit.nc")


@app.command()
def fit(
    paths: Paths,
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the fit (netCDF).", show_default=False)],
    model: Annotated[
        str, typer.Option("--model", help="constant, component, component_gamma or component_size.")
    ] = "component_size",
    format: Format = "auto",
    events: Events = None,
    mapping: Mapping = None,
    timezone: Timezone = None,
    gpus_per_node: LogGpusPerNode = None,
    rule: Rule = None,
    before: Before = "10min",
    after: After = "5min",
    min_runtime: MinRuntime = "0s",
    seed: Seed = 0,
    chains: Annotated[int, typer.Option("--chains", min=1, rich_help_panel="Sampling")] = 4,
    draws: Annotated[int, typer.Option("--draws", min=1, help="Draws a chain.", rich_help_panel="Sampling")] = 1000,
    tune: Annotated[int, typer.Option("--tune", min=1, help="Warm-up a chain.", rich_help_panel="Sampling")] = 500,
    allow_unconverged: Annotated[
        bool,
        typer.Option("--allow-unconverged", help="Keep a fit that fails the gate.", rich_help_panel="Sampling"),
    ] = False,
) -> None:
    """Fit a failure model to a log (or to counts) and write the posterior to a file."""
    from meantime import inference
    from meantime.datasets import Log, failure_table
    from meantime.report.terminal import console, print_fit

    if not output.parent.is_dir():
        raise InputError(f"--output {output}: folder {output.parent} does not exist")
    table = _read(paths, format=format, mapping=mapping, timezone=timezone, gpus_per_node=gpus_per_node)
    if isinstance(table, Log):
        table = failure_table(
            table,
            _read_events(events, timezone),
            gpus_per_node=gpus_per_node or 8,
            before=before,
            after=after,
            rule=rule or "infrastructure",
            min_runtime=min_runtime,
        )
    tree = inference.fit(
        table,
        model=model,
        seed=seed,
        chains=chains,
        draws=draws,
        tune=tune,
        allow_unconverged=allow_unconverged,
        progress=console(stderr=True).is_terminal,
    )
    inference.save_fit(tree, output)
    print_fit(tree, console())
    console(stderr=True).print(f"Wrote {output}. Next: meantime forecast {output} --gpus 1024,16384,131072")


@app.command()
def forecast(
    path: FitPath,
    gpus: Gpus,
    restart: Restart = "5min",
    checkpoint_write: Write = "30s",
    checkpoint_interval: Interval = "optimal",
    queue: Queue = "0s",
    detection: Detection = "0s",
    productive: Annotated[
        str, typer.Option("--productive", help="Productive time the run needs.", rich_help_panel=_PLAN)
    ] = "30d",
    gpus_per_node: GpusPerNode = 8,
    cluster: Cluster = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Forecast MTTF, ETTR and the best checkpoint interval of jobs of given sizes from a fit.

    Example: `meantime forecast fit.nc --gpus 1024,16384,131072 --restart 5min,1min --checkpoint-write 30s`
    """
    from meantime import inference
    from meantime.forecast import forecast as run_forecast
    from meantime.forecast import to_csv, to_json
    from meantime.report.terminal import console, print_forecast

    if as_json and as_csv:
        raise InputError("--json and --csv were both given; choose one")
    sizes = _sizes(gpus)
    plan = _plan(
        restart=restart,
        checkpoint_write=checkpoint_write,
        checkpoint_interval=checkpoint_interval,
        queue=queue,
        detection=detection,
        productive=productive,
        gpus_per_node=gpus_per_node,
    )
    result = run_forecast(inference.load_fit(path), sizes, plan, cluster=cluster, seed=seed)
    if as_json:
        print(to_json(result), end="")
    elif as_csv:
        print(to_csv(result), end="")
    else:
        print_forecast(result, console(), title=f"Forecast from {path}")
        console(stderr=True).print(f"Next: meantime report {path} --output report.html")


@app.command()
def ettr(
    rate: Annotated[float, typer.Option("--rate", help="Failures per 1,000 node-days.", show_default=False)],
    gpus: Annotated[int, typer.Option("--gpus", help="Size of the job in GPUs.", show_default=False)],
    restart: Restart = "5min",
    checkpoint_write: Write = "30s",
    checkpoint_interval: Interval = "optimal",
    queue: Queue = "0s",
    detection: Detection = "0s",
    gpus_per_node: GpusPerNode = 8,
    as_json: AsJson = False,
) -> None:
    """Compute MTTF and ETTR of a long run from a failure rate; no log or fit needed.

    Example: `meantime ettr --rate 6.5 --gpus 131072 --restart 5min --checkpoint-write 30s`
    """
    from meantime.forecast import Plan, ettr_point
    from meantime.report.terminal import console, print_ettr

    plan = Plan(
        restart=restart,
        checkpoint_write=checkpoint_write,
        checkpoint_interval=checkpoint_interval,
        queue=queue,
        detection=detection,
        gpus_per_node=gpus_per_node,
    )
    point = ettr_point(rate, gpus, plan)
    if as_json:
        _print_json(point)
        return
    print_ettr(point, console())


@app.command()
def report(
    path: FitPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the report.")] = Path("report.html"),
    gpus: Gpus = "1024,4096,16384,65536,131072",
    cluster: Cluster = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the report.")] = None,
) -> None:
    """Write a report of a fit as one self-contained HTML file."""
    from meantime.inference import load_fit
    from meantime.report import write_report
    from meantime.report.terminal import console

    sizes = _sizes(gpus)
    write_report(load_fit(path), output, gpus=sizes, cluster=cluster, title=title)
    console(stderr=True).print(f"Wrote {output}. Open it in a browser.")


def main() -> None:
    """Run the command line; an error a user can mend is one line and exit status 2 or 3."""
    try:
        app()
    except MeantimeError as error:
        print(f"meantime: {' '.join(str(error).split())}", file=sys.stderr)
        sys.exit(error.exit_code)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(141)


def _read(
    paths: list[Path], *, format: str, mapping: Path | None, timezone: str | None, gpus_per_node: int | None
) -> "Log | xr.Dataset":
    from meantime.datasets import read

    return read(paths, format, mapping, timezone=timezone, gpus_per_node=gpus_per_node)


def _read_events(paths: list[Path] | None, timezone: str | None) -> "Log | None":
    from meantime.datasets import read

    return read(paths, "events", timezone=timezone) if paths else None  # type: ignore[return-value]


def _sizes(text: str) -> list[int]:
    try:
        return [int(part.replace("_", "")) for part in text.split(",")]
    except ValueError as error:
        raise InputError(f"--gpus is {text!r}; expected whole numbers, comma separated, such as 1024,16384") from error


def _plan(*, gpus_per_node: int, **durations: str) -> "Plan":
    """Make a plan of durations as typed; several, comma separated, become a list."""
    from meantime.forecast import Plan

    fields: dict[str, Any] = {
        name: [part.strip() for part in text.split(",")] if "," in text else text for name, text in durations.items()
    }
    return Plan(gpus_per_node=gpus_per_node, **fields)


def _print_json(content: Any) -> None:
    print(json.dumps(content, indent=2, allow_nan=False, default=str))


if __name__ == "__main__":
    main()
