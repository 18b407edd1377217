"""Counts that are already aggregated: failures and exposure by component, size and so on.

CSV, JSON lines or Parquet with ``failures`` and ``exposure_node_days``, and any of ``cluster``,
``component``, ``job_size``, ``period`` and ``node``. The exposure of a row is that of its cluster, job size, period
and node, whatever the component: rows of several components repeat it, and it is not added up over them.
A combination that is absent had no failure. A mapping (kind ``counts``, see `meantime.datasets.mapping`) gives columns
under other names, and an exposure or a size that is one for all rows; the Llama 3 table reads with ::

    kind = "counts"
    [columns]
    failures = "interruption_count"
    [options]
    cluster = "Llama 3"
    exposure_node_days = 110592
    job_size = 16384
"""

from collections.abc import Mapping
from typing import Any

import numpy as np
import polars as pl
import xarray as xr

from meantime.datasets.columns import text_column
from meantime.datasets.dense import to_dense
from meantime.datasets.exposure import size_bucket
from meantime.datasets.frames import to_polars
from meantime.datasets.mapping import MappingLike, load_mapping
from meantime.datasets.ragged import LINE
from meantime.datasets.raw import read_raw
from meantime.datasets.source import PathLike
from meantime.datasets.table import MAX_CELLS, build_table
from meantime.datasets.times import parse_times
from meantime.errors import InputError

KEYS = ("cluster", "component", "job_size", "period", "node")
VALUES = ("failures", "exposure_node_days")
_DEFAULTS = {"cluster": "cluster", "component": "all"}
_TOLERANCE = 1e-9
"""Relative difference below which two exposures are the same number printed twice."""


def read_counts(
    path: PathLike,
    mapping: MappingLike | None = None,
    *,
    gpus_per_node: int | None = None,
    cluster: str | None = None,
) -> xr.Dataset:
    """Read a failure table from a file of counts.

    Parameters
    ----------
    path
        See the module's text for the columns.
    mapping
        Which column is which, and what is one for all rows.
    gpus_per_node
        GPUs of a node. Default: that of the mapping, else 8.
    cluster
        Name of the cluster where no column gives it. Default: that of the mapping, else ``cluster``.

    Raises
    ------
    InputError
        If a column is missing, a count is not a whole number of 0 or more, an exposure is negative or not
        finite, rows repeat a combination, or rows of the same cluster, size, period and node
        disagree on the exposure. The message names the rows.
    """
    plan = load_mapping(mapping if mapping is not None else {"kind": "counts"})
    if plan.kind != "counts":
        raise InputError(f'{path}: the mapping is one of {plan.kind}; expected kind = "counts"')
    raw = read_raw(path, delimiter=plan.delimiter)
    if raw.quarantine.height:
        first = raw.quarantine.row(0, named=True)
        raise InputError(f"{raw.file}: line {first['line']}: {first['reason']}; expected a whole table of counts")
    found = {name.strip(): name for name in raw.frame.columns}
    if absent := [f"{new} = {old!r}" for new, old in plan.columns.items() if old not in found]:
        raise InputError(f"{raw.file}: no column for {absent[0]}; the file has {', '.join(found)[:300]}")
    frame = raw.frame.with_columns(pl.col(found[old]).alias(new) for new, old in plan.columns.items())
    one = {"exposure_node_days": plan.exposure_node_days, "job_size": plan.job_size}
    frame = frame.with_columns(
        pl.lit(value).alias(name) for name, value in one.items() if value is not None and name not in frame.columns
    )
    return _make(
        frame,
        where=raw.file,
        row="row" if raw.format == "parquet" else "line",
        gpus_per_node=gpus_per_node or plan.gpus_per_node or 8,
        cluster=cluster or plan.cluster or "cluster",
        source=raw.file,
        provenance={"format": f"counts ({raw.format})", "notes": list(raw.notes)},
    )


def failure_table_from_counts(
    counts: Any,
    *,
    gpus_per_node: int = 8,
    cluster: str = "cluster",
    exposure_kind: str = "stated",
    source: str = "counts",
    largest_job_gpus: int | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Make a failure table from a data frame or a dict of columns (see the module's text for those).

    Parameters
    ----------
    counts
        Any data frame, or a dict of sequences.
    gpus_per_node
        GPUs of a node.
    cluster
        Name of the cluster where no column gives it.
    exposure_kind, source, largest_job_gpus, provenance
        As in `meantime.datasets.table.build_table`.

    Raises
    ------
    InputError
        As `read_counts`.
    """
    frame = pl.DataFrame(counts, strict=False) if isinstance(counts, Mapping) else to_polars(counts, "counts")
    return _make(
        frame.with_columns(pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(LINE)),
        where=source,
        row="row",
        gpus_per_node=gpus_per_node,
        cluster=cluster,
        source=source,
        exposure_kind=exposure_kind,
        largest_job_gpus=largest_job_gpus,
        provenance=provenance or {},
    )


def _make(
    raw: pl.DataFrame,
    *,
    where: str,
    row: str,
    gpus_per_node: int,
    cluster: str,
    source: str,
    provenance: Mapping[str, Any],
    exposure_kind: str = "stated",
    largest_job_gpus: int | None = None,
) -> xr.Dataset:
    if missing := [name for name in VALUES if name not in raw.columns]:
        names = ", ".join(name for name in raw.columns if name != LINE)
        raise InputError(f"{where}: no column {missing[0]!r} (found {names}); expected {', '.join(VALUES)}")
    if raw.is_empty():
        raise InputError(f"{where}: has no row; expected one for each combination of {', '.join(KEYS)}")
    frame = _typed(raw, where, row, cluster)
    keys = [name for name in KEYS if name in frame.columns]
    at_risk = [name for name in keys if name != "component"]
    _check_unique(frame, keys, where, row)
    exposure = _one_exposure(frame, at_risk, where, row)
    largest = frame["job_size"].max() if "job_size" in keys else None
    if "job_size" in keys:
        buckets = pl.col("job_size").map_elements(size_bucket, return_dtype=pl.Int64)
        frame, exposure = frame.with_columns(buckets), exposure.with_columns(buckets)
    labels = {
        name: frame[name].unique(maintain_order=True).to_list()
        if name in ("cluster", "component", "node")
        else sorted(frame[name].unique().to_list())
        for name in keys
    }
    cells = int(np.prod([len(values) for values in labels.values()]))
    if cells > MAX_CELLS:
        raise InputError(f"{where}: makes a table of {cells:,} cells; at most {MAX_CELLS:,} are accepted")
    failures = to_dense(frame, "failures", {name: labels[name] for name in keys})
    days = to_dense(exposure, "exposure_node_days", {name: labels[name] for name in at_risk})
    return build_table(
        failures,
        days,
        **labels,
        gpus_per_node=gpus_per_node,
        exposure_kind=exposure_kind,
        source=source,
        largest_job_gpus=largest_job_gpus if largest_job_gpus is not None else int(largest or 0),  # type: ignore[arg-type]
        provenance={"rows_read": raw.height, "rows_used": raw.height, "quarantined": 0, **provenance},
    )


def _typed(raw: pl.DataFrame, where: str, row: str, cluster: str) -> pl.DataFrame:
    failures = _numbers(raw, "failures", where, row)
    _refuse(raw, (failures != failures.round()) | (failures >= 2**53), "failures", "a whole number", where, row)
    new = {
        LINE: raw[LINE],
        "failures": failures.cast(pl.Int64),
        "exposure_node_days": _numbers(raw, "exposure_node_days", where, row),
    }
    for name in ("cluster", "component", "node"):
        if name in raw.columns:
            new[name] = text_column(raw[name])
            _refuse(raw, new[name].is_null(), name, "a name", where, row)
    if "job_size" in raw.columns:
        sizes = _numbers(raw, "job_size", where, row)
        _refuse(raw, (sizes < 1) | (sizes != sizes.round()), "job_size", "a whole number of GPUs", where, row)
        new["job_size"] = sizes.cast(pl.Int64)
    if "period" in raw.columns:
        new["period"] = _periods(raw, where, row)
    frame = pl.DataFrame([series.alias(name) for name, series in new.items()])
    for name, value in {**_DEFAULTS, "cluster": cluster}.items():
        if name not in frame.columns:
            frame = frame.with_columns(pl.lit(value).alias(name))
    return frame


def _numbers(raw: pl.DataFrame, name: str, where: str, row: str) -> pl.Series:
    text = raw[name].str.strip_chars() if raw[name].dtype == pl.String else raw[name]
    numbers = text.cast(pl.Float64, strict=False)
    bad = numbers.is_null() | ~numbers.is_finite().fill_null(False) | (numbers < 0).fill_null(False)
    _refuse(raw, bad, name, "a finite number, 0 or more", where, row)
    return numbers


def _periods(raw: pl.DataFrame, where: str, row: str) -> pl.Series:
    column = raw["period"]
    if column.dtype == pl.String:
        days = column.str.strip_chars().str.to_date("%Y-%m-%d", strict=False)
        column = column if days.null_count() else days.cast(pl.Datetime("us"))
    times = parse_times(column).utc
    _refuse(raw, times.is_null(), "period", "the start of a period, such as 2024-01-01", where, row)
    return times.dt.replace_time_zone(None)


def _refuse(raw: pl.DataFrame, bad: pl.Series, name: str, wanted: str, where: str, row: str) -> None:
    if bad.any():
        first = raw.filter(bad).row(0, named=True)
        raise InputError(f"{where}: {row} {first[LINE]}: {name} is {first[name]!r}; expected {wanted}")


def _check_unique(frame: pl.DataFrame, keys: list[str], where: str, row: str) -> None:
    repeated = frame.filter(pl.struct(keys).is_duplicated())
    if repeated.is_empty():
        return
    first = repeated.head(1)
    other = repeated.join(first.select(keys), on=keys)[1]
    cell = ", ".join(f"{name}={first[name][0]}" for name in keys)
    raise InputError(
        f"{where}: {row}s {first[LINE][0]} and {other[LINE][0]} are both for {cell}; expected one row for each"
    )


def _one_exposure(frame: pl.DataFrame, at_risk: list[str], where: str, row: str) -> pl.DataFrame:
    value = pl.col("exposure_node_days")
    off = frame.filter((value - value.first().over(at_risk)).abs() > _TOLERANCE * value.first().over(at_risk).abs())
    if not off.is_empty():
        second = off.row(0, named=True)
        first = frame.join(off.head(1).select(at_risk), on=at_risk).row(0, named=True)
        cell = ", ".join(f"{name}={second[name]}" for name in at_risk)
        raise InputError(
            f"{where}: {row}s {first[LINE]} and {second[LINE]} give {cell} an exposure of "
            f"{first['exposure_node_days']:g} and {second['exposure_node_days']:g} node-days; expected one"
        )
    return frame.unique(at_risk, keep="first", maintain_order=True)
