"""What is measured in logs as documents: plain JSON types under the name of a schema."""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl

from meantime.datasets.ledger import PARTS
from meantime.datasets.summary import account
from meantime.datasets.training import TrainingLog, training_samples
from meantime.datasets.training_ledger import training_ledger

_HOUR = 3_600e6


def runs_document(runs: pl.DataFrame, *, source: str, assumptions: dict[str, float]) -> dict[str, Any]:
    """Make a document of measured runs.

    Parameters
    ----------
    runs
        Of `meantime.datasets.ledger.measure_runs`.
    source
        Where the log came from.
    assumptions
        What was assumed of restarts and checkpoints, in seconds.

    Returns
    -------
    dict
        ``rows``, the runs with durations in seconds, most GPU time first; and ``totals`` over all of them: ``runs``,
        ``attempts``, ``infrastructure``, ``gpu_hours`` by part (the wallclock of a run times its GPUs) and ``ettr``,
        productive over all GPU-hours but those unknown.
    """
    hours = {part: _gpu_hours(runs, part) for part in PARTS}
    counted = sum(hours.values()) - hours["unknown"]
    cost = pl.col("wallclock").dt.total_microseconds() * pl.col("n_gpus").fill_null(0)
    ordered = runs.sort(cost, "cluster", "run", descending=[True, False, False])
    return {
        "schema": "meantime.runs/1",
        "source": source,
        "assumptions": assumptions,
        "totals": {
            "runs": runs.height,
            "attempts": int(runs["attempts"].sum()),
            "infrastructure": int(runs["infrastructure"].sum()),
            "gpu_hours": hours,
            "ettr": hours["productive"] / counted if counted > 0 else None,
        },
        "rows": plain_rows(ordered),
    }


def sensitivity_document(table: pl.DataFrame, *, source: str) -> dict[str, Any]:
    """Make a document of `meantime.datasets.sensitivity.sensitivity`."""
    return {"schema": "meantime.sensitivity/1", "source": source, "rows": plain_rows(table)}


def training_document(log: TrainingLog) -> dict[str, Any]:
    """Make a document of a training log.

    Returns
    -------
    dict
        ``rows`` (see `meantime.datasets.summary.account`) and ``notes``; ``durations``, one for each kind that the log
        tells of: ``kind``, ``n``, ``mean``, ``median``, ``p90`` in seconds; ``plan``, the samples (in hours) of those
        that are fields of a plan, as `meantime.forecast.Plan.from_dict` takes them; and ``runs``, the ledger of each
        run, in seconds.
    """
    samples = training_samples(log)
    kinds = {name: getattr(samples, name) / np.timedelta64(1, "s") for name in samples.__dataclass_fields__}
    fields = samples.plan_fields()
    return {
        "schema": "meantime.training/1",
        "source": log.source,
        "format": log.format,
        "rows": account(log),
        "notes": list(log.notes),
        "durations": [{"kind": name, **_spread(seconds)} for name, seconds in kinds.items() if seconds.size],
        "plan": {name: {"samples": (kinds[name] / 3600).tolist(), "unit": "h"} for name in fields},
        "runs": plain_rows(training_ledger(log)),
    }


def plain_rows(frame: pl.DataFrame) -> list[dict[str, Any]]:
    """Give rows as JSON types: times in ISO 8601, durations in seconds."""
    return [{name: _plain(value) for name, value in row.items()} for row in frame.iter_rows(named=True)]


def _plain(value: Any) -> Any:
    if isinstance(value, dt.datetime):
        return value.isoformat()
    return value.total_seconds() if isinstance(value, dt.timedelta) else value


def _gpu_hours(runs: pl.DataFrame, part: str) -> float:
    return float(runs.select((pl.col(part).dt.total_microseconds() * pl.col("n_gpus") / _HOUR).sum()).item() or 0.0)


def _spread(seconds: np.ndarray) -> dict[str, float | int]:
    return {
        "n": int(seconds.size),
        "mean": float(seconds.mean()),
        "median": float(np.median(seconds)),
        "p90": float(np.quantile(seconds, 0.9)),
    }
