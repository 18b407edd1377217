"""Commands that forecast and report: `demo`, `forecast`, `ettr`, `report` and `planner`."""

import shlex
from pathlib import Path
from typing import Annotated, Any

import typer

from meantime.cli.ahead import show_ahead, show_periods
from meantime.cli.app import app
from meantime.cli.groups import spread
from meantime.cli.options import (
    AsJson,
    Cluster,
    Events,
    FitPath,
    Gpus,
    Horizon,
    Mapping,
    PlanOptions,
    RunOptions,
    Seed,
    Timezone,
    print_json,
    sizes_of,
)
from meantime.errors import InputError

_AHEAD = "Ahead (fits of over_time)"


@app.command()
def demo(
    output: Annotated[Path, typer.Option("--output", help="Folder for the results.")] = Path("out"),
) -> None:
    """Fit published and simulated clusters and forecast 1,024 to 131,072 GPUs; takes under a minute."""
    from meantime.demo import run_demo

    run_demo(output)


@app.command()
@spread
def forecast(
    path: FitPath,
    gpus: Gpus,
    *,
    run: RunOptions,
    cluster: Cluster = None,
    horizon: Horizon = None,
    periods: Annotated[
        int | None,
        typer.Option("--periods", min=1, help="A row for each of so many periods ahead.", rich_help_panel=_AHEAD),
    ] = None,
    every: Annotated[
        str | None,
        typer.Option("--every", help="Length of those periods, e.g. 30d. Default: as fitted.", rich_help_panel=_AHEAD),
    ] = None,
    starts: Annotated[
        str | None,
        typer.Option(
            "--starts",
            help="Follow a run that starts so long after the data (90d), or on a date, while the rates move.",
            rich_help_panel=_AHEAD,
        ),
    ] = None,
    seed: Seed = 0,
    as_json: AsJson = False,
    as_csv: Annotated[bool, typer.Option("--csv", help="Print CSV.")] = False,
) -> None:
    """Forecast MTTF, ETTR and the best checkpoint interval of jobs of given sizes from a fit.

    Several durations of an option, comma separated, are compared.

    Example: `meantime forecast fit.nc --gpus 1024,16384,131072 --restart 5min,1min --checkpoint-write 30s`

    The months of the next quarter: `meantime forecast fit.nc --gpus 16384 --periods 3 --every 30d`
    """
    from meantime.cli.reading import fit_of
    from meantime.forecast import forecast as run_forecast
    from meantime.forecast import to_csv, to_json
    from meantime.report.console import console, print_command
    from meantime.report.terminal import print_forecast

    if as_json and as_csv:
        raise InputError("--json and --csv were both given; choose one")
    sizes = sizes_of(gpus)
    if starts is not None:
        if (horizon, periods, every) != (None, None, None) or as_csv:
            raise InputError("--starts follows a run; expected neither --horizon, --periods, --every nor --csv with it")
        show_ahead(path, sizes, run.made(), starts=starts, cluster=cluster, seed=seed, as_json=as_json)
        return
    if periods is not None or every is not None:
        ahead: dict[str, Any] = {"horizon": horizon, "periods": periods, "every": every}
        show_periods(path, sizes, run.made(), ahead, cluster=cluster, seed=seed, as_json=as_json, as_csv=as_csv)
        return
    result = run_forecast(fit_of(path), sizes, run.made(), cluster=cluster, horizon=horizon, seed=seed)
    if as_json:
        print(to_json(result), end="")
    elif as_csv:
        print(to_csv(result), end="")
    else:
        print_forecast(result, console(), title=f"Forecast from {path}")
        chosen = f" --cluster {shlex.quote(cluster)}" if cluster else ""
        print_command("Next: ", f"report {shlex.quote(str(path))} --output report.html{chosen}", console(stderr=True))


@app.command()
@spread
def ettr(
    rate: Annotated[float, typer.Option("--rate", help="Failures per 1,000 node-days.", show_default=False)],
    gpus: Annotated[int, typer.Option("--gpus", help="Size of the job in GPUs.", show_default=False)],
    *,
    run: PlanOptions,
    as_json: AsJson = False,
) -> None:
    """Compute MTTF and ETTR of a long run from a failure rate; no log or fit needed.

    Example: `meantime ettr --rate 6.5 --gpus 131072 --restart 5min --checkpoint-write 30s`
    """
    from meantime.forecast import ettr_point
    from meantime.report.console import console, print_ettr

    point = ettr_point(rate, gpus, run.made())
    if as_json:
        print_json(point)
        return
    print_ettr(point, console())


@app.command()
def report(
    path: FitPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the report.")] = Path("report.html"),
    gpus: Gpus = "1024,4096,16384,65536,131072",
    cluster: Cluster = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the report.")] = None,
    log: Annotated[
        list[Path] | None,
        typer.Option("--log", help="The job log of the fit: adds a part on runs, their ETTR, and goodput lost."),
    ] = None,
    events: Events = None,
    mapping: Mapping = None,
    timezone: Timezone = None,
    figures: Annotated[
        Path | None, typer.Option("--figures", help="Folder for the figures as PNG files, too.", show_default=False)
    ] = None,
) -> None:
    """Write a report of a fit as one self-contained HTML file.

    Example: `meantime report fit.nc --log sacct.txt --events events.csv --output report.html --figures figures`
    """
    from meantime.cli.reading import fit_of, read_events, read_log
    from meantime.report import save_figures, write_report
    from meantime.report.console import console

    if log is None and events:
        raise InputError("--events was given without --log; expected the job log that they belong to")
    sizes, tree = sizes_of(gpus), fit_of(path)
    jobs = None
    if log:
        jobs = read_log(log, "auto", mapping, timezone=timezone, cluster=None, gpus_per_node=None, option=None)
    checks = read_events(events, "auto", None, timezone=timezone, option=None, taxonomy=None)
    write_report(tree, output, gpus=sizes, cluster=cluster, title=title, jobs=jobs, events=checks)
    console(stderr=True).print(f"Wrote {output}. Open it in a browser.", soft_wrap=True)
    if figures is not None:
        written = save_figures(tree, figures, gpus=sizes, cluster=cluster, jobs=jobs, events=checks)
        console(stderr=True).print(f"Wrote {len(written)} figures to {figures}.", soft_wrap=True)


@app.command()
@spread
def planner(
    path: FitPath,
    output: Annotated[Path, typer.Option("--output", "-o", help="File of the page.")] = Path("planner.html"),
    gpus: Annotated[int, typer.Option("--gpus", help="Size of the job that the page starts with.")] = 16_384,
    smallest: Annotated[int, typer.Option("--smallest", help="Lower end of the scale of GPUs.")] = 1024,
    largest: Annotated[int, typer.Option("--largest", help="Upper end of the scale of GPUs.")] = 1_000_000,
    *,
    run: RunOptions,
    cluster: Cluster = None,
    title: Annotated[str | None, typer.Option("--title", help="Heading of the page.")] = None,
    seed: Seed = 0,
) -> None:
    """Write a page of sliders that plans runs from a fit: one HTML file that needs no network.

    Example: `meantime planner fit.nc --gpus 24576 --restart 10min --queue 5min --output planner.html`
    """
    from meantime.cli.reading import fit_of
    from meantime.report import write_planner
    from meantime.report.console import console

    write_planner(
        fit_of(path),
        output,
        gpus=gpus,
        plan=run.made(),
        smallest=smallest,
        largest=largest,
        cluster=cluster,
        title=title,
        seed=seed,
    )
    console(stderr=True).print(f"Wrote {output}. Open it in a browser.", soft_wrap=True)
