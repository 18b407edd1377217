"""The lives table: one row a stretch in the life of a part (a GPU, a drive), for models of age.

Columns: ``cluster`` str, ``unit`` str (serial number), ``entry`` and ``exit`` UTC timestamps (null where the log gives
only lengths), ``age_entry`` and ``age`` days of service at the begin and end of the stretch (null: not known), ``days``
at risk, ``event`` str: what ended the stretch, as a component of the taxonomy where it knows one (null: nothing did,
the part was still well, so its life is right-censored); and whatever covariates the reader keeps.

A part observed from new has ``age_entry`` 0; one that was old when the log began has its age then (late entry). A part
with several events, or several stays, has several rows.
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl
import xarray as xr

from meantime.datasets.columns import Check, Texts, divide, set_aside
from meantime.datasets.dense import to_dense
from meantime.datasets.log import Log, add_counts, empty_quarantine
from meantime.datasets.table import build_table
from meantime.datasets.times import UTC
from meantime.errors import InputError

SCHEMA: dict[str, Any] = {
    "cluster": pl.String,
    "unit": pl.String,
    "entry": UTC,
    "exit": UTC,
    "age_entry": pl.Float64,
    "age": pl.Float64,
    "days": pl.Float64,
    "event": pl.String,
}


def lives_log(
    frame: pl.DataFrame,
    *,
    file: str,
    format: str,
    texts: Texts,
    keep: Sequence[str] = (),
    problems: Sequence[pl.Series] = (),
    checks: Sequence[Check] = (),
    quarantine: pl.DataFrame | None = None,
    folded: Mapping[str, int] | None = None,
    notes: Sequence[str] = (),
) -> Log:
    """Make the lives table of typed columns, checking each row.

    Parameters
    ----------
    frame
        The columns of `SCHEMA` (absent ones are null), those of `keep`, and `LINE`.
    file, format
        Name of the file and of its reader.
    texts
        Gives the text of lines, for the quarantine.
    keep
        Covariates.
    problems
        Why values of a row did not convert, null where they did.
    checks
        What else a row may not be, besides lacking a unit or days, or having fewer than 0 of them.
    quarantine, folded, notes
        What has already been set aside, folded and decided.
    """
    absent = [pl.lit(None, dtype=kind).alias(name) for name, kind in SCHEMA.items() if name not in frame.columns]
    frame = frame.with_columns(absent).cast(SCHEMA)  # type: ignore[arg-type]
    wrong: list[Check] = [
        (pl.col("unit").is_null(), pl.lit("the serial number is missing")),
        (pl.col("exit") < pl.col("entry"), pl.format("it ends '{}' before it begins '{}'", "exit", "entry")),
        (pl.col("days") < 0, pl.format("{} days are below 0", "days")),
        (pl.col("age") < pl.col("age_entry"), pl.format("age {} lies below that at entry, {}", "age", "age_entry")),
        *checks,
    ]
    if not problems:
        wrong.append((pl.col("days").is_null(), pl.lit("its length is not known")))
    good, bad = divide(frame, problems, wrong)
    aside = pl.concat([empty_quarantine() if quarantine is None else quarantine, set_aside(bad, file, texts)])
    counts = add_counts(folded or {})
    return Log(
        table=good.select(*SCHEMA, *keep),
        quarantine=aside.sort("line", maintain_order=True),
        rows_read=good.height + aside.height + sum(counts.values()),
        rows_folded=counts,
        source=file,
        format=format,
        kind="lives",
        notes=tuple(notes),
    )


def lives_table(log: Log, *, group: str = "cluster", components: Sequence[str] | None = None) -> xr.Dataset:
    """Count events and days at risk by group, whatever the age: the failure table of a constant rate.

    Parameters
    ----------
    log
        A log of lives.
    group
        Column that becomes the dimension ``cluster``: the cluster, or a covariate such as the model of a drive.
    components
        Events wanted, in order. Default: those seen, in the order of the alphabet.

    Returns
    -------
    xr.Dataset
        A failure table of parts: its exposure is in unit-days, ``gpus_per_node`` is 1.
    """
    if log.kind != "lives":
        raise InputError(f"{log.source}: holds {log.kind}; expected lives")
    if group not in log.table.columns:
        raise InputError(f"{log.source}: has no column {group!r}; expected one of {', '.join(log.table.columns)}")
    table = log.table.with_columns(pl.col(group).cast(pl.String).fill_null("not known").alias("cluster"))
    names = list(components) if components is not None else sorted(table["event"].drop_nulls().unique().to_list())
    labels: dict[str, list[Any]] = {
        "cluster": sorted(table["cluster"].unique().to_list()),
        "component": names or ["all"],
    }
    counted = table.filter(pl.col("event").is_in(names)).rename({"event": "component"})
    return build_table(
        to_dense(counted.group_by("cluster", "component").len("failures"), "failures", labels),
        to_dense(table, "days", {"cluster": labels["cluster"]}),
        cluster=labels["cluster"],
        component=labels["component"],
        gpus_per_node=1,
        exposure_kind="calendar",
        source=log.source,
        largest_job_gpus=0,
        provenance={
            "format": log.format,
            "unit": "days of a part",
            "rows_read": log.rows_read,
            "rows_used": log.table.height,
            "quarantined": log.quarantine.height,
            "folded": dict(log.rows_folded),
            "units": table["unit"].n_unique(),
            "failures": counted.height,
            "log_start": str(table["entry"].min()),
            "log_end": str(table["exit"].max()),
            "notes": list(log.notes),
        },
    )
