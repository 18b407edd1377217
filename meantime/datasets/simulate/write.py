"""Writing a simulated cluster as its log files: sacct text, an event log and the truth."""

import dataclasses
import datetime as dt
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from meantime.datasets.simulate.frames import Simulation
from meantime.datasets.simulate.sacct_text import TIME, sacct_rows
from meantime.errors import InputError
from meantime.files import atomic_path, write_text


def write_cluster(cluster: Simulation, folder: str | os.PathLike[str], *, steps: bool = False) -> dict[str, Path]:
    """Write a simulated cluster to `folder`, which is made if need be.

    Parameters
    ----------
    cluster
        What `simulate_cluster` returned.
    folder
        Where ``sacct.txt``, ``events.csv`` and ``truth.json`` go.
    steps
        Also write the ``.batch`` and ``.extern`` row of every attempt, as ``sacct`` without ``-X`` does.

    Returns
    -------
    dict
        ``"sacct"``, ``"events"``, ``"truth"`` -> path.

    Raises
    ------
    InputError
        If the folder cannot be made or written.

    Notes
    -----
    ``sacct.txt`` is as printed by ``sacct -D -P -o`` with the fields of
    `meantime.datasets.simulate.sacct_text.SACCT_COLUMNS`, times without a zone, in UTC. ``events.csv`` has
    the columns time, node, component, severity, source, detail.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made: {error.strerror}; choose a folder that can be written") from error
    paths = {"sacct": folder / "sacct.txt", "events": folder / "events.csv", "truth": folder / "truth.json"}
    with atomic_path(paths["sacct"]) as path:
        sacct_rows(cluster, steps=steps).write_csv(path, separator="|", quote_style="never")
    with atomic_path(paths["events"]) as path:
        cluster.events.with_columns(pl.col("time").dt.strftime(TIME)).write_csv(path)
    write_text(paths["truth"], json.dumps(truth_document(cluster), indent=1) + "\n")
    return paths


def truth_document(cluster: Simulation) -> dict[str, Any]:
    """Collect the truth behind a simulated cluster as JSON types: plan, rates, lemons, failures, table."""
    truth, table = cluster.truth, cluster.table
    names = truth["component"].values.tolist()
    sizes = table["job_size"].values
    return {
        "schema": "meantime.simulated_cluster/1",
        "seed": cluster.seed,
        "plan": {field.name: _plain(getattr(cluster.plan, field.name)) for field in dataclasses.fields(cluster.plan)},
        "log_end": cluster.log_end.strftime(TIME),
        "shared_nodes": truth.attrs["shared_nodes"],
        "first_order_gpu_hours": truth.attrs["first_order_gpu_hours"],
        "second_order_gpu_hours": truth.attrs["second_order_gpu_hours"],
        "components": {
            name: {
                "rate_per_node_day_at_64_gpus": float(np.exp(truth["level"].values[k])),
                "slope_per_doubling": float(truth["slope"].values[k]),
                "rate_per_node_day": dict(
                    zip(map(str, truth["job_size"].values), truth["rate"].values[k].tolist(), strict=True)
                ),
            }
            for k, name in enumerate(names)
        },
        "lemons": truth["node"].values[truth["lemon"].values].tolist(),
        "lemon_factor": dict(
            zip(map(str, sizes), truth["lemon_factor"].sel(job_size=sizes).values.tolist(), strict=True)
        ),
        "exposure_node_days": dict(zip(map(str, sizes), table["exposure"].values[0].tolist(), strict=True)),
        "failures": cluster.failures.with_columns(
            pl.col("time").dt.strftime(TIME), pl.col("state").cast(pl.String)
        ).to_dicts(),
    }


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, tuple):
        return list(value)
    if isinstance(value, np.timedelta64 | dt.timedelta):
        return str(value)
    return value.isoformat() if isinstance(value, dt.datetime) else value
