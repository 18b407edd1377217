"""Commands that read logs: `jobs` and `fit`."""

import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any

import typer

from meantime.cli.app import app
from meantime.cli.groups import spread
from meantime.cli.options import WEEK, AsJson, Counting, Paths, Reading, Scan, Seed, print_json
from meantime.cli.priors import chosen_priors
from meantime.cli.reading import counted, read_both, table_of
from meantime.errors import InputError

INTERRUPTION = "interruption"


@app.command()
@spread
def jobs(
    paths: Paths,
    reading: Reading,
    counting: Counting,
    scan: Scan = None,
    as_json: AsJson = False,
) -> None:
    """Show what a log holds: rows used and quarantined, states, exposure, failures by size and component."""
    import polars as pl

    from meantime.datasets import Log, describe, summarise
    from meantime.report.console import console, print_command
    from meantime.report.terminal import print_description, print_summary

    log, checks = read_both(paths, reading, scan=scan)
    if isinstance(log, Log) and log.kind != "jobs":
        content = describe(log)
        if as_json:
            print_json({"schema": "meantime.log/1", **content})
        else:
            print_description(content, console())
        return
    content = summarise(
        log,
        checks,
        rule=counting.rule,
        gpus_per_node=reading.gpus_per_node or 8,
        **counted(counting, reading, by_node=counting.by_node),
    )
    if isinstance(log, pl.LazyFrame):
        content["source"] = ", ".join(map(str, paths))
    if as_json:
        print_json({"schema": "meantime.jobs/1", **content})
        return
    print_summary(content, console())
    if content["failures"] is None:
        return
    print_command("Next: ", _next_fit(content), console(stderr=True))


@app.command()
@spread
def fit(
    paths: Paths,
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the fit (netCDF).", show_default=False)],
    model: Annotated[
        str,
        typer.Option("--model", help="constant, component, component_gamma, component_size, over_time, incident, ..."),
    ] = "component_size",
    *,
    reading: Reading,
    counting: Counting,
    scan: Scan = None,
    nodes: Annotated[
        int | None, typer.Option("--nodes", min=1, help="incident: nodes of the cluster.", rich_help_panel="Exposure")
    ] = None,
    days: Annotated[
        float | None, typer.Option("--days", help="incident: days watched.", rich_help_panel="Exposure")
    ] = None,
    priors: Annotated[
        Path | None, typer.Option("--priors", help="TOML or JSON file of the model's priors.", show_default=False)
    ] = None,
    priors_from: Annotated[
        Path | None,
        typer.Option("--priors-from", help="An earlier fit of the same model, whose posterior is the prior."),
    ] = None,
    change_points: Annotated[
        bool,
        typer.Option("--change-points", help="over_time: rates may also jump; say when.", rich_help_panel="Failures"),
    ] = False,
    covariates: Annotated[
        str | None,
        typer.Option(
            "--covariates", help="Columns of lives for lifetime, e.g. batch,cage.", rich_help_panel="Failures"
        ),
    ] = None,
    seed: Seed = 0,
    chains: Annotated[int, typer.Option("--chains", min=1, rich_help_panel="Sampling")] = 4,
    draws: Annotated[int, typer.Option("--draws", min=4, help="Draws a chain.", rich_help_panel="Sampling")] = 1000,
    tune: Annotated[int, typer.Option("--tune", min=1, help="Warm-up a chain.", rich_help_panel="Sampling")] = 500,
    method: Annotated[
        str,
        typer.Option("--method", help="auto, conjugate, quadrature, laplace or nuts.", rich_help_panel="Sampling"),
    ] = "auto",
    backend: Annotated[
        str,
        typer.Option("--backend", help="Sampler of NUTS: numpyro, or nutpie (an extra).", rich_help_panel="Sampling"),
    ] = "numpyro",
    allow_unconverged: Annotated[
        bool,
        typer.Option("--allow-unconverged", help="Keep a fit that fails the gate.", rich_help_panel="Sampling"),
    ] = False,
) -> None:
    """Fit a failure model to a log (or to counts) and write the posterior to a file."""
    from meantime import inference
    from meantime.report.console import console, print_command
    from meantime.report.terminal import print_fit

    if not output.parent.is_dir():
        raise InputError(f"--output {output}: folder {output.parent} does not exist")
    if output.is_dir():
        raise InputError(f"--output {output}: is a folder; expected the name of a file, such as fit.nc")
    if model == "over_time" and counting.period is None:
        counting = replace(counting, period=WEEK)
    table = table_of(paths, reading, counting, scan=scan, model=model, nodes=nodes, days=days, covariates=covariates)
    if counting.period is not None and "period" not in table.dims:
        raise InputError(f"--period {counting.period}: what was read has no periods; expected a log of jobs")
    tree = inference.fit(
        table,
        model=model,
        priors=chosen_priors(priors, priors_from, model, change_points=change_points),
        method=method,
        backend=backend,
        seed=seed,
        chains=chains,
        draws=draws,
        tune=tune,
        allow_unconverged=allow_unconverged,
        progress=console(stderr=True).is_terminal,
    )
    inference.save_fit(tree, output)
    print_fit(tree, console())
    if "cluster" not in table.dims:
        console(stderr=True).print(f"Wrote {output}.", soft_wrap=True)
        return
    named = [str(name) for name in table["cluster"].values]
    chosen = f" --cluster {shlex.quote(named[0])}" if len(named) > 1 else ""
    print_command(
        f"Wrote {output}. Next: ",
        f"forecast {shlex.quote(str(output))} --gpus 1024,16384,131072{chosen}",
        console(stderr=True),
    )


def _next_fit(content: dict[str, Any]) -> str:
    """Write the fit of what was just read: the options as typed, and what the log needs besides."""
    typed = [word for word in sys.argv[sys.argv.index("jobs") + 1 :] if word != "--json"] if "jobs" in sys.argv else []
    if content["failures"]["rule"] == INTERRUPTION and INTERRUPTION not in typed:
        typed += ["--rule", INTERRUPTION]
    if not content["sizes"]:
        typed += ["--model", "component"]
    return shlex.join(["fit", *typed, "--output", "fit.nc"])
