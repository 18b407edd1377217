"""Commands that read logs: `jobs` and `fit`."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from meantime.cli.app import app
from meantime.cli.options import (
    After,
    AsJson,
    Before,
    Events,
    Format,
    LogGpusPerNode,
    Mapping,
    MinRuntime,
    Paths,
    ReaderOption,
    Rule,
    Seed,
    Timezone,
    print_json,
)
from meantime.errors import InputError

if TYPE_CHECKING:
    import xarray as xr

    from meantime.datasets import Log


WEEK = "1w"
"""Periods of a model of rates that move, unless told otherwise."""


@app.command()
def jobs(
    paths: Paths,
    format: Format = "auto",
    events: Events = None,
    mapping: Mapping = None,
    option: ReaderOption = None,
    timezone: Timezone = None,
    gpus_per_node: LogGpusPerNode = None,
    rule: Rule = None,
    before: Before = "10min",
    after: After = "5min",
    min_runtime: MinRuntime = "0s",
    as_json: AsJson = False,
) -> None:
    """Show what a log holds: rows used and quarantined, states, exposure, failures by size and component."""
    from meantime.datasets import Log, describe, summarise
    from meantime.report.terminal import console, print_description, print_summary

    log = _read(paths, format, mapping, timezone, gpus_per_node, option)
    if isinstance(log, Log) and log.kind != "jobs":
        content = describe(log)
        if as_json:
            print_json(content)
        else:
            print_description(content, console())
        return
    content = summarise(
        log,
        _read_events(events, timezone),
        gpus_per_node=gpus_per_node or 8,
        before=before,
        after=after,
        rule=rule,
        min_runtime=min_runtime,
    )
    if as_json:
        print_json(content)
        return
    print_summary(content, console())
    console(stderr=True).print("Next: meantime fit with the same options and --output fit.nc")


@app.command()
def fit(
    paths: Paths,
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the fit (netCDF).", show_default=False)],
    model: Annotated[
        str, typer.Option("--model", help="constant, component, component_gamma, component_size or over_time.")
    ] = "component_size",
    format: Format = "auto",
    events: Events = None,
    mapping: Mapping = None,
    option: ReaderOption = None,
    timezone: Timezone = None,
    gpus_per_node: LogGpusPerNode = None,
    rule: Rule = None,
    before: Before = "10min",
    after: After = "5min",
    min_runtime: MinRuntime = "0s",
    period: Annotated[
        str | None,
        typer.Option("--period", help="Divide time into periods: 1w (over_time does).", rich_help_panel="Failures"),
    ] = None,
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
    from meantime.report.terminal import console, print_command, print_fit

    if not output.parent.is_dir():
        raise InputError(f"--output {output}: folder {output.parent} does not exist")
    if output.is_dir():
        raise InputError(f"--output {output}: is a folder; expected the name of a file, such as fit.nc")
    table = table_of(
        paths,
        format=format,
        events=events,
        mapping=mapping,
        option=option,
        timezone=timezone,
        gpus_per_node=gpus_per_node,
        rule=rule,
        before=before,
        after=after,
        min_runtime=min_runtime,
        period=period or (WEEK if model == "over_time" else None),
    )
    if period is not None and "period" not in table.dims:
        raise InputError(f"--period {period}: what was read are counts without periods; expected a log of jobs")
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
    named = [str(name) for name in table["cluster"].values]
    cluster = f" --cluster {shlex.quote(named[0])}" if len(named) > 1 else ""
    print_command(
        f"Wrote {output}. Next: ",
        f"forecast {shlex.quote(str(output))} --gpus 1024,16384,131072{cluster}",
        console(stderr=True),
    )


def table_of(
    paths: list[Path],
    *,
    format: str = "auto",
    events: list[Path] | None = None,
    mapping: Path | None = None,
    option: list[str] | None = None,
    timezone: str | None = None,
    gpus_per_node: int | None = None,
    rule: Literal["infrastructure", "interruption"] | None = None,
    before: str = "10min",
    after: str = "5min",
    min_runtime: str = "0s",
    period: str | None = None,
) -> "xr.Dataset":
    """Read logs or counts to one failure table."""
    from meantime.datasets import Log, failure_table, to_table

    log = _read(paths, format, mapping, timezone, gpus_per_node, option)
    checks = _read_events(events, timezone)
    if not isinstance(log, Log) or log.kind != "jobs":
        return to_table(log)
    return failure_table(
        log,
        checks,
        gpus_per_node=gpus_per_node or 8,
        before=before,
        after=after,
        rule=rule or "infrastructure",
        min_runtime=min_runtime,
        period=period,
    )


def _read(
    paths: list[Path],
    format: str,
    mapping: Path | None,
    timezone: str | None,
    gpus_per_node: int | None,
    option: list[str] | None,
) -> "Log | xr.Dataset":
    from meantime.datasets import read

    extra: dict[str, Any] = dict(_named(text) for text in option or [])
    return read(paths, format, mapping, timezone=timezone, gpus_per_node=gpus_per_node, **extra)


def _read_events(paths: list[Path] | None, timezone: str | None) -> "Log | None":
    from meantime.datasets import Log, read

    if not paths:
        return None
    log = read(paths, timezone=timezone)
    if not isinstance(log, Log) or log.kind != "events":
        kind = log.kind if isinstance(log, Log) else "counts"
        raise InputError(f"--events {paths[0]}: holds {kind}, no events; expected health checks or kernel logs")
    return log


def _named(text: str) -> tuple[str, int | str]:
    name, found, value = text.partition("=")
    if not (found and name.isidentifier()):
        raise InputError(f"--option is {text!r}; expected NAME=VALUE, such as year=2025")
    return name, int(value) if value.isdecimal() else value
