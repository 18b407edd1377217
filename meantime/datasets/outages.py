"""The outages table: one row a node that went down, for logs of nodes rather than of jobs.

Columns: ``cluster`` str, ``node`` str, ``start`` and ``end`` UTC timestamps (end null: not repaired when the log was
written, or not said), ``component`` str (``unattributed`` without a cause), ``detail`` str; and whatever else the
reader keeps (its own text says what).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl
import xarray as xr

from meantime.datasets.columns import Check, Texts, divide, nulls, set_aside, text_column
from meantime.datasets.dense import to_dense
from meantime.datasets.jobs import Conventions
from meantime.datasets.log import Log, add_counts, empty_quarantine
from meantime.datasets.ragged import LINE
from meantime.datasets.table import build_table
from meantime.datasets.taxonomy import UNATTRIBUTED
from meantime.datasets.times import UTC, choose_hours, parse_times
from meantime.errors import InputError
from meantime.units import Duration, seconds

COLUMNS = ("cluster", "node", "start", "end", "component", "detail")


def outages_log(
    raw: pl.DataFrame,
    *,
    file: str,
    format: str,
    texts: Texts,
    conventions: Conventions,
    keep: Sequence[str] = (),
    checks: Sequence[Check] = (),
    problems: Sequence[pl.Series] = (),
    quarantine: pl.DataFrame | None = None,
    folded: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
) -> Log:
    """Make the outages table of one file from columns under their canonical names, and `LINE`.

    Parameters
    ----------
    raw
        Columns of the outages table (``node``, ``start`` needed), those of `keep`, and `LINE`. Rows that repeat
        another stay: two boards of a node may fail in one minute.
    file, format
        Name of the file and of its reader.
    texts
        Gives the text of lines, for the quarantine.
    conventions
        What the columns do not say.
    keep
        Further columns of `raw` that go into the table as they are.
    checks
        What else a row may not be, besides lacking a node or a start or ending before it started.
    problems
        Why values of further columns did not convert, null where they did.
    quarantine, folded, notes
        What has already been set aside, folded and decided.
    """
    height, has = raw.height, set(raw.columns)
    times = {
        name: parse_times(
            raw[name] if name in has else nulls(height, UTC).alias(name),
            timezone=conventions.timezone,
            unit=conventions.time_unit,
            form=conventions.time_format,
        )
        for name in ("start", "end")
    }
    start, end, _ = choose_hours(times["start"], times["end"], None)
    text = {n: text_column(raw[n]) if n in has else nulls(height, pl.String) for n in ("node", "component", "detail")}
    cluster = (
        text_column(raw["cluster"]).fill_null(conventions.cluster)
        if "cluster" in has
        else pl.repeat(conventions.cluster, height, eager=True)
    )
    frame = pl.DataFrame(
        [
            raw[LINE],
            cluster.alias("cluster"),
            text["node"].alias("node"),
            start.alias("start"),
            end.alias("end"),
            text["component"].fill_null(UNATTRIBUTED).alias("component"),
            text["detail"].alias("detail"),
            *(raw[name] for name in keep),
        ]
    )
    problems = [*problems, *(parsed.problem for parsed in times.values() if parsed.problem is not None)]
    no_start = (
        pl.col("start").is_null() if times["start"].problem is None else pl.col("start").is_null() & pl.col("__unsaid")
    )
    if times["start"].problem is not None:
        frame = frame.with_columns(times["start"].problem.is_null().alias("__unsaid"))
    wrong: list[Check] = [
        (pl.col("node").is_null(), pl.lit("node is missing")),
        (no_start, pl.lit("start is missing")),
        (pl.col("end") < pl.col("start"), pl.format("end '{}' lies before start '{}'", "end", "start")),
        *checks,
    ]
    good, bad = divide(frame, problems, wrong)
    aside = pl.concat([empty_quarantine() if quarantine is None else quarantine, set_aside(bad, file, texts)])
    counts = add_counts(folded or {})
    return Log(
        table=good.select(*COLUMNS, *keep),
        quarantine=aside.sort("line", maintain_order=True),
        rows_read=good.height + aside.height + sum(counts.values()),
        rows_folded=counts,
        source=file,
        format=format,
        kind="outages",
        notes=tuple(notes),
    )


def incidents(outages: pl.DataFrame, by: Sequence[str] = ("cluster",), *, window: Duration = "1min") -> pl.DataFrame:
    """Join outages that start in the same minute, or in another window of time, into one incident.

    Operators enter all nodes that a power cut or a switch took down under one time, so the rows of a minute are
    one cause, not independent failures.

    Parameters
    ----------
    outages
        Table of a log of outages.
    by
        Columns within which times are compared.
    window
        Length of the windows, from midnight UTC on.

    Returns
    -------
    pl.DataFrame
        `by`, ``start`` of the window, ``nodes`` (distinct ones hit) and ``outages`` (rows), in order of `by` and time.
    """
    keys = [*by, "start"]
    every = f"{max(1, round(seconds(window, name='window') * 1e6))}us"
    return (
        outages.with_columns(pl.col("start").dt.truncate(every))
        .group_by(keys)
        .agg(pl.col("node").n_unique().cast(pl.Int64).alias("nodes"), pl.len().cast(pl.Int64).alias("outages"))
        .sort(keys)
    )


def hit_probability(hit: Any, n_nodes: int, job_nodes: int) -> np.ndarray:
    r"""Probability that an incident on m of N nodes hits a job on k nodes drawn at random.

    .. math:: 1 - \binom{N-m}{k} / \binom{N}{k}

    Parameters
    ----------
    hit
        Nodes that each incident hits (m), any shape, 0 to `n_nodes`.
    n_nodes
        Nodes of the system (N).
    job_nodes
        Nodes of the job (k), 0 to `n_nodes`.

    Returns
    -------
    numpy.ndarray
        float64, the shape of `hit`. Exact to rounding: a product of k factors, none of them large.
    """
    if not 0 <= job_nodes <= n_nodes:
        raise InputError(f"a job of {job_nodes} nodes does not fit {n_nodes} nodes; expected 0 to {n_nodes}")
    m = np.asarray(hit, dtype=float)
    if ((m < 0) | (m > n_nodes)).any():
        raise InputError(f"an incident hits {m.min():g} to {m.max():g} of {n_nodes} nodes; expected 0 to {n_nodes}")
    unique, place = np.unique(m, return_inverse=True)
    steps = np.arange(job_nodes)
    missed = np.prod(np.clip(1 - unique[:, None] / (n_nodes - steps), 0, 1), axis=1)
    return (1 - missed)[place].reshape(m.shape)


def outage_table(
    log: Log,
    nodes: pl.DataFrame,
    *,
    days: str = "days",
    by_node: bool = True,
    components: Sequence[str] | None = None,
    gpus_per_node: int = 1,
) -> xr.Dataset:
    """Count outages and days in service by cluster and component, and by node.

    Parameters
    ----------
    log
        A log of outages.
    nodes
        ``cluster``, ``node`` and a column of days in service; also nodes that never failed. Outages of nodes that
        are not among them are left out, and counted in the provenance.
    days
        Name of the column of days.
    by_node
        Whether the table has a dimension of nodes.
    components
        Components wanted, in order. Default: those seen, in the order of the alphabet.
    gpus_per_node
        GPUs (or other units) of a node.

    Returns
    -------
    xr.Dataset
        A failure table; its exposure is of the calendar.
    """
    if log.kind != "outages":
        raise InputError(f"{log.source}: holds {log.kind}; expected outages")
    keys = ["cluster", "node"] if by_node else ["cluster"]
    known = log.table.join(nodes.select("cluster", "node"), on=["cluster", "node"], how="semi")
    names = list(components) if components is not None else sorted(known["component"].unique().to_list())
    known = known.filter(pl.col("component").is_in(names))
    labels: dict[str, list[Any]] = {
        "cluster": nodes["cluster"].unique(maintain_order=True).to_list(),
        "component": names,
    }
    if by_node:
        labels["node"] = nodes["node"].unique(maintain_order=True).to_list()
    exposure = nodes.group_by(keys, maintain_order=True).agg(pl.col(days).sum().alias("days"))
    counts = known.group_by([*keys, "component"]).len("failures")
    return build_table(
        to_dense(counts, "failures", labels),
        to_dense(exposure, "days", {name: labels[name] for name in labels if name != "component"}),
        **labels,
        gpus_per_node=gpus_per_node,
        exposure_kind="calendar",
        source=log.source,
        largest_job_gpus=0,
        provenance={
            "format": log.format,
            "rows_read": log.rows_read,
            "rows_used": known.height,
            "quarantined": log.quarantine.height,
            "folded": dict(log.rows_folded),
            "of_other_nodes_or_components": log.table.height - known.height,
            "failures": known.height,
            "log_start": str(log.table["start"].min()),
            "log_end": str(log.table.select(pl.max_horizontal(pl.col("start", "end").max())).item()),
            "notes": list(log.notes),
        },
    )
