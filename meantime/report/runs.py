"""What only the log itself tells: where the wallclock of runs went, ETTR as measured, and goodput lost."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl
import xarray as xr
from matplotlib.figure import Figure

from meantime.datasets import goodput, measure_runs
from meantime.datasets.ledger import PARTS
from meantime.errors import InputError
from meantime.report.figures import goodput_lost, ledger_bars, measured_by_size, measured_ettr
from meantime.report.numbers import NOTHING, count, fraction, fraction_between, share, three
from meantime.report.table import Table


@dataclass(frozen=True, slots=True, kw_only=True)
class RunsPart:
    """The part of a report that is about runs: sentences, tables, and figures by name, drawn at a width."""

    sentences: tuple[str, ...]
    tables: Mapping[str, Table]
    figures: Mapping[str, Callable[[float], Figure]]


def runs_part(jobs: Any, events: Any, tree: xr.DataTree, *, cluster: str, seed: int) -> RunsPart:
    """Measure the runs of a log, and what its failures cost.

    Parameters
    ----------
    jobs, events
        The log that the fit is of; see `meantime.datasets.measure_runs`.
    tree
        The fit.
    cluster
        Cluster of the fit that measured runs are compared with.
    seed
        Of the forecasts beside the measured runs.

    Raises
    ------
    InputError
        If the log has no job that ran.
    """
    lost, runs = goodput(jobs, events), measure_runs(jobs, events)
    figures: dict[str, Callable[[float], Figure]] = {"ledger": lambda width: ledger_bars(runs, width=width)}
    tables: dict[str, Table] = {}
    measured = _measured(runs, cluster, seed)
    if measured is not None:
        tables["measured"] = _measured_table(measured)
        figures["measured"] = lambda width: measured_ettr(runs, tree, cluster=cluster, seed=seed, width=width)
    if lost["first_order"]["failures"]:
        tables["lost"] = _lost_table(lost)
        figures["lost"] = lambda width: goodput_lost(lost, width=width)
    return RunsPart(sentences=(_went(runs), _lost(lost)), tables=tables, figures=figures)


def _measured(runs: pl.DataFrame, cluster: str, seed: int) -> pl.DataFrame | None:
    try:
        return measured_by_size(runs, cluster=cluster, seed=seed)
    except InputError:
        return None


def _went(runs: pl.DataFrame) -> str:
    weighted = runs.select(
        (pl.col(part).dt.total_microseconds().cast(pl.Float64) * pl.col("n_gpus")).sum() for part in PARTS
    ).row(0, named=True)
    whole = sum(value or 0.0 for value in weighted.values())
    if not whole:
        return f"The log holds {_runs(runs.height)}; nothing ran on GPUs."
    parts = ", ".join(f"{share(weighted[part] / whole)} {part}" for part in PARTS if weighted[part])
    return (
        f"The log holds {_runs(runs.height)}. Of their wallclock, weighted by GPUs, went: {parts}. The log does "
        "not say when work was saved: a restart of 5 min and a checkpoint every hour are assumed."
    )


def _lost(lost: Mapping[str, Any]) -> str:
    first, second = lost["first_order"], lost["second_order"]
    if not first["failures"]:
        return "No attempt was ended by the infrastructure."
    text = (
        f"Failures of the infrastructure ended {_attempts(first['failures'])} "
        f"{three(first['gpu_hours'])} GPU-hours, at most {lost['lost_minutes']:g} minutes each"
    )
    if second["method"] is None:
        return f"{text}. Whether their restarts preempted other jobs the log does not tell."
    return (
        f"{text}. Jobs that gave way to their restarts lost {three(second['gpu_hours'])} GPU-hours more, "
        f"{share(lost['second_order_share'] or 0.0)} of all."
    )


def _runs(number: int) -> str:
    return "1 run" if number == 1 else f"{count(number)} runs"


def _attempts(number: int) -> str:
    return "1 attempt and cost it" if number == 1 else f"{count(number)} attempts and cost them"


def _measured_table(measured: pl.DataFrame) -> Table:
    rows = [
        (
            count(row["gpus"]),
            count(row["runs"]),
            fraction(row["ettr"]),
            NOTHING if row["lower"] is None else fraction_between(row["lower"], row["upper"]),
        )
        for row in measured.iter_rows(named=True)
    ]
    return Table(
        caption="ETTR measured, of runs of 24 hours and more",
        head=("GPUs, up to", "Runs", "ETTR", "90 % interval"),
        rows=tuple(rows),
        kind="slim",
    )


def _lost_table(lost: Mapping[str, Any]) -> Table:
    first, second = (
        {int(row["job_size"]): (row["jobs"], row["gpu_hours"]) for row in lost[order].get("by_size", [])}
        for order in ("first_order", "second_order")
    )
    rows = [
        (
            count(size),
            count(first.get(size, (0, 0.0))[0]),
            three(first.get(size, (0, 0.0))[1]),
            three(second.get(size, (0, 0.0))[1]),
        )
        for size in sorted({*first, *second})
    ]
    return Table(
        caption="GPU-hours lost to failures, by size of the job that lost them",
        head=("GPUs, up to", "Jobs failed", "Of these jobs", "Of jobs that gave way"),
        rows=tuple(rows),
        kind="slim",
    )
