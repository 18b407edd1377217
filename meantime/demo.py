"""The demonstration: published counts and a simulated cluster's logs become forecasts, a report and a planner page."""

import os
from pathlib import Path

import xarray as xr
from rich.console import Console

from meantime.datasets import Log, failure_table, read
from meantime.datasets.published import load_llama3
from meantime.datasets.simulate import simulate_cluster, write_cluster
from meantime.errors import InputError
from meantime.forecast import Plan, forecast, to_json
from meantime.inference import fit, save_fit
from meantime.report import save_figures, write_planner, write_report
from meantime.report.console import console, print_command
from meantime.report.terminal import print_fit, print_forecast

GPUS = (1024, 4096, 16384, 65536, 131072)
PLAN = Plan(restart="5min", checkpoint_write="30s")
SEED = 1
_SHOWN = 6


def run_demo(output: str | os.PathLike[str], *, seed: int = SEED, out: Console | None = None) -> list[Path]:
    """Fit Llama 3's published interruptions and a simulated cluster's logs, forecast, and write the pages.

    Parameters
    ----------
    output
        Folder for the logs, fits, forecasts, figures and the report; made if absent.
    seed
        Seed of the simulated cluster and of the fits.
    out
        Console to print to. Default: standard output.

    Returns
    -------
    list[pathlib.Path]
        The files written, the report first.

    Raises
    ------
    InputError
        If the folder cannot be made.
    """
    out = out or console()
    folder = Path(output)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--output {folder}: cannot be made: {error.strerror}") from error

    out.rule("1. Published: 54 days of Llama 3 on 16,384 GPUs", align="left")
    llama = _fit(load_llama3(), "component", seed, out)
    print_forecast(forecast(llama, GPUS, PLAN, seed=seed), out, title="Forecast at Llama 3's failure rates")

    out.rule("2. Your own log: sacct and health checks (here of a simulated cluster)", align="left")
    with out.status("Simulating 100,000 jobs on 2,000 nodes ..."):
        simulated = simulate_cluster(seed=seed, days=60.0)
        paths = write_cluster(simulated, folder)
    with out.status(f"Reading {paths['sacct'].name} and {paths['events'].name} ..."):
        table = _table(paths["sacct"], paths["events"])
    cluster = _fit(table, "component_size", seed, out)
    result = forecast(cluster, GPUS, PLAN, seed=seed)
    print_forecast(result, out, title="Forecast for the simulated cluster")

    with out.status("Writing the report, the planner page and figures ..."):
        save_fit(llama, folder / "llama3.nc")
        save_fit(cluster, folder / "fit.nc")
        to_json(result, folder / "forecast.json")
        report = write_report(cluster, folder / "report.html", gpus=GPUS, title="A simulated cluster", seed=seed)
        planner = write_planner(cluster, folder / "planner.html", title="Planner: a simulated cluster", seed=seed)
        figures = save_figures(cluster, folder, gpus=GPUS, seed=seed)
    out.rule("Written", align="left")
    data = [folder / name for name in ("forecast.json", "fit.nc", "llama3.nc")]
    written = [report, planner, *figures, *data, *paths.values()]
    for path in written:
        out.print(f"  {path}", soft_wrap=True)
    out.print("\nTry next:")
    out.print(f"  open {report} and {planner} in a browser")
    print_command("  ", f"jobs {paths['sacct']} --events {paths['events']}", out)
    print_command("  ", f"forecast {folder / 'fit.nc'} --gpus 24576 --restart 10min,1min --checkpoint-interval 1h", out)
    return written


def _table(jobs: Path, events: Path) -> xr.Dataset:
    log, checks = read(jobs), read(events)
    assert isinstance(log, Log)
    return failure_table(log, checks)


def _fit(table: xr.Dataset, model: str, seed: int, out: Console) -> xr.DataTree:
    tree = fit(table, model, seed=seed, progress=out.is_terminal)
    print_fit(tree, out, most=_SHOWN)
    return tree
