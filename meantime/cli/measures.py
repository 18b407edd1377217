"""Commands that measure logs: `runs`, `losses`, `sensitivity`, `quality` and `training`."""

from pathlib import Path
from typing import Annotated, Any

import typer

from meantime.cli.app import app
from meantime.cli.groups import spread
from meantime.cli.options import AsJson, Attribution, MinGpus, Paths, Reading, Scan, Timezone, print_json
from meantime.cli.reading import attributed, read_both, taxonomy_of
from meantime.errors import InputError

Gap = Annotated[
    str,
    typer.Option(
        "--gap",
        help="A job goes on with a run that ended at most so long before it was submitted.",
        rich_help_panel="Runs",
    ),
]


@app.command()
@spread
def runs(
    paths: Paths,
    reading: Reading,
    attribution: Attribution,
    gap: Gap = "1h",
    restart: Annotated[
        str, typer.Option("--restart", help="Assumed start of every attempt.", rich_help_panel="Runs")
    ] = "5min",
    checkpoint_interval: Annotated[
        str, typer.Option("--checkpoint-interval", help="Assumed work between checkpoints.", rich_help_panel="Runs")
    ] = "1h",
    checkpoint_write: Annotated[
        str, typer.Option("--checkpoint-write", help="Assumed time a write stops the work.", rich_help_panel="Runs")
    ] = "0s",
    min_gpus: MinGpus = 0,
    most: Annotated[int, typer.Option("--most", min=1, help="Runs to show; --json has all.")] = 15,
    as_json: AsJson = False,
) -> None:
    """Measure runs, stitched over requeues, preemptions and resubmissions: ETTR, queue, restarts, and a ledger.

    What the scheduler does not know, the time of restarts and checkpoints, is assumed as stated.
    """
    import polars as pl

    from meantime.datasets import measure_runs, runs_document
    from meantime.report.console import console
    from meantime.report.log_tables import print_runs
    from meantime.units import seconds

    log, checks = read_both(paths, reading)
    measured = measure_runs(
        _jobs_of(log, paths),
        checks,
        restart=restart,
        checkpoint_interval=checkpoint_interval,
        checkpoint_write=checkpoint_write,
        gap=gap,
        **attributed(attribution),
        table=taxonomy_of(reading.taxonomy),
    ).filter(pl.col("n_gpus").fill_null(0) >= min_gpus)
    assumed = {"restart": restart, "checkpoint_interval": checkpoint_interval, "checkpoint_write": checkpoint_write}
    content = runs_document(
        measured, source=_source(paths), assumptions={name: seconds(text) for name, text in assumed.items()}
    )
    if as_json:
        print_json(content)
    else:
        print_runs(content, console(), most=most)


@app.command()
@spread
def losses(
    paths: Paths,
    reading: Reading,
    attribution: Attribution,
    gap: Gap = "1h",
    lost: Annotated[
        str, typer.Option("--lost", help="What a job loses at most when it is cut off.", rich_help_panel="Losses")
    ] = "30min",
    tolerance: Annotated[
        str,
        typer.Option(
            "--tolerance",
            help="Longest time from the end of a preempted job to the start of the one that took its nodes.",
            rich_help_panel="Losses",
        ),
    ] = "1min",
    cluster_gpus: Annotated[
        int | None,
        typer.Option("--cluster-gpus", min=1, help="GPUs of the cluster, for utilisation.", rich_help_panel="Losses"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Say where the GPU time of a cluster went: states, job sizes, and what failures cost at first and second hand.

    Second order: jobs preempted by the restart of a failed one. `meantime goodput` forecasts the same from a fit.
    """
    from meantime.datasets import goodput
    from meantime.report.console import console
    from meantime.report.log_tables import print_losses

    log, checks = read_both(paths, reading)
    content = goodput(
        _jobs_of(log, paths),
        checks,
        lost=lost,
        tolerance=tolerance,
        total_gpus=cluster_gpus,
        gap=gap,
        **attributed(attribution),
        table=taxonomy_of(reading.taxonomy),
    )
    if as_json:
        print_json({"schema": "meantime.losses/1", **content})
    else:
        print_losses(content, console())


@app.command()
@spread
def sensitivity(
    paths: Paths,
    reading: Reading,
    windows: Annotated[
        str,
        typer.Option("--windows", help="Windows before a job's end, comma separated.", rich_help_panel="Failures"),
    ] = "5min,10min,15min,20min,30min",
    after: Annotated[
        str, typer.Option("--after", help="Windows after a job's end, comma separated.", rich_help_panel="Failures")
    ] = "5min",
    severities: Annotated[
        str, typer.Option("--severities", help="Least severities of events.", rich_help_panel="Failures")
    ] = "high,low",
    min_gpus: MinGpus = 0,
    scan: Scan = None,
    as_json: AsJson = False,
) -> None:
    """Show how the failure rates move with the window and the severity of the attribution rule. Needs --events.

    Example: `meantime sensitivity sacct.txt --events events.csv`
    """
    from meantime.datasets import sensitivity as run_sensitivity
    from meantime.datasets import sensitivity_document
    from meantime.report.console import console
    from meantime.report.log_tables import print_sensitivity

    log, checks = read_both(paths, reading, scan=scan)
    table = run_sensitivity(
        _jobs_of(log, paths),
        checks,
        before=_parts(windows),
        after=_parts(after),
        severities=_parts(severities),
        gpus_per_node=reading.gpus_per_node or 8,
        min_gpus=min_gpus,
        taxonomy_table=taxonomy_of(reading.taxonomy),
    )
    content = sensitivity_document(table, source=_source(paths))
    if as_json:
        print_json(content)
    else:
        print_sensitivity(content, console())


@app.command()
@spread
def quality(
    paths: Paths,
    reading: Reading,
    attribution: Attribution,
    silence: Annotated[
        str, typer.Option("--silence", help="Longest time without a start of any job.", rich_help_panel="Quality")
    ] = "1d",
    node_silence: Annotated[
        str, typer.Option("--node-silence", help="Longest time without a job on a node.", rich_help_panel="Quality")
    ] = "14d",
    longest: Annotated[
        str, typer.Option("--longest", help="Longest believable runtime.", rich_help_panel="Quality")
    ] = "30d",
    examples: Annotated[
        int, typer.Option("--examples", min=0, help="Most rows to show of each finding.", rich_help_panel="Quality")
    ] = 5,
    as_json: AsJson = False,
) -> None:
    """Look for what a log should not hold or lacks: overlaps, gaps, duplicates, impossible times and sizes, silence.

    Each finding comes with rows to look at. Nothing is changed or left out because of it.
    """
    from meantime.datasets import check_quality
    from meantime.report.console import console
    from meantime.report.log_tables import print_quality

    log, checks = read_both(paths, reading)
    content = check_quality(
        _jobs_of(log, paths),
        checks,
        gpus_per_node=reading.gpus_per_node or 8,
        silence=silence,
        node_silence=node_silence,
        longest=longest,
        examples=examples,
        **attributed(attribution),
        table=taxonomy_of(reading.taxonomy),
    )
    if as_json:
        print_json({"schema": "meantime.quality/1", **content})
    else:
        print_quality(content, console())


@app.command()
def training(
    path: Annotated[
        Path,
        typer.Argument(
            metavar="PATH",
            help="Events of training runs: JSON lines, ml-goodput-measurement or resiliency records.",
            show_default=False,
        ),
    ],
    timezone: Timezone = None,
    as_json: AsJson = False,
) -> None:
    """Measure training logs: how long restarts, checkpoint writes and the detection of failures take; ledgers.

    `--json` has the samples as fields of a plan, ready for `Plan.from_dict`.
    """
    from meantime.datasets import read_training, training_document
    from meantime.report.console import console, print_command
    from meantime.report.log_tables import print_training

    content = training_document(read_training(path, timezone=timezone or "UTC"))
    if as_json:
        print_json(content)
        return
    print_training(content, console())
    means = {row["kind"]: row["mean"] for row in content["durations"]}
    fields = [name for name in ("restart", "checkpoint_write", "detection", "queue") if name in means]
    if not fields:
        return
    told = console(stderr=True)
    told.print("In Python: Plan(**training_samples(read_training(path)).plan_fields()) takes the samples as they are.")
    options = " ".join(f"--{name.replace('_', '-')} {means[name]:.3g}s" for name in fields)
    print_command("With the means: ", f"forecast fit.nc --gpus 16384 {options}", told)


def _jobs_of(log: Any, paths: list[Path]) -> Any:
    import xarray as xr

    if isinstance(log, xr.Dataset):
        raise InputError(f"{paths[0]}: holds counts; expected a log of jobs")
    return log


def _source(paths: list[Path]) -> str:
    return ", ".join(str(path) for path in paths)


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]
