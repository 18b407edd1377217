"""The evidence tables of a report, every entry as text, ready for the template to escape."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from meantime.forecast import Plan
from meantime.inference import provenance
from meantime.inference.exact import EXACT_METHODS
from meantime.inference.gate import MAX_CUT_SHARE, MAX_RHAT, MIN_ESS
from meantime.intervals import summarise
from meantime.report.evidence import NEW, clusters, counts, gpus_per_node, measured, measured_clusters, source_facts
from meantime.report.numbers import (
    INTERVAL,
    NOTHING,
    between,
    compact,
    count,
    day,
    fraction,
    fraction_between,
    label,
    listing,
    quantity,
    sentence,
    share,
    three,
    visible,
)
from meantime.report.rows import ENTRIES as ROW_ENTRIES
from meantime.report.table import Table
from meantime.units import PER_1000_NODE_DAYS

MOST_REMARKS = 20
MOST_CLUSTERS = 60
MOST_COMPONENTS = 60
_MOST_FILES = 3
_LONGEST_SOURCE = 120


def read_facts(tree: xr.DataTree) -> list[tuple[str, str]]:
    """Return what was read, as (name, value): source, span, exposure, failures, largest job."""
    table, facts = counts(tree), source_facts(tree)
    attrs = table.attrs
    kinds = {"busy": "time that jobs ran", "calendar": "calendar time", "stated": "as stated by the source"}
    kind = str(attrs.get("exposure_kind", "stated"))
    largest = float(attrs.get("largest_job_gpus", 0))
    found = [("Source", _plain(source_of(tree)))]
    if facts.get("log_start") and facts.get("log_end"):
        found.append(("Span", f"{day(facts['log_start'])} to {day(facts['log_end'])}"))
    return [
        *found,
        ("Exposure", f"{quantity(float(table['exposure'].sum()))} node-days ({kinds.get(kind, label(kind))})"),
        ("Failures", count(float(table["failures"].sum()))),
        ("GPUs a node", count(float(attrs.get("gpus_per_node", 8)))),
        ("Largest job", f"{count(largest)} GPUs" if largest else "not known"),
        ("Clusters", _some([label(name) for name in clusters(tree)])),
    ]


def source_of(tree: xr.DataTree) -> str:
    """Name the source of the data."""
    return visible(str(tree["fit_data"].attrs.get("source") or "counts without a stated source"))


def short_source(tree: xr.DataTree) -> str:
    """Name the source in little room: of files their names without folders, of many the first and how many more."""
    names = [name.rpartition("/")[2] or name for name in source_of(tree).split(", ")]
    if len(names) > _MOST_FILES:
        names = [names[0], f"{count(len(names) - 1)} other files"]
    return listing(names)[:_LONGEST_SOURCE]


def reader_notes(tree: xr.DataTree) -> list[str]:
    """Return what the reader of the log decided and wants known, one sentence each."""
    found = source_facts(tree).get("notes")
    return [sentence(_plain(note)) for note in found[:MOST_REMARKS]] if isinstance(found, list) else []


def failures_by_size(tree: xr.DataTree) -> Table:
    """Return counted failures by component, and by job size where the data have it, with the exposure below."""
    table = counts(tree).sum("cluster")
    if "job_size" not in table.dims:
        table = table.expand_dims(job_size=[0])
    table = table.isel(job_size=np.flatnonzero(table["exposure"].values > 0))
    failures = table["failures"].transpose("component", "job_size")
    order = np.argsort(-failures.sum("job_size").values, kind="stable")
    order, rest = order[:MOST_COMPONENTS], order[MOST_COMPONENTS:]
    sizes = [count(size) for size in table["job_size"].values] if table.sizes["job_size"] > 1 else []
    rows = [
        (label(failures["component"].values[index]), *_cells(failures.values[index], wide=bool(sizes)))
        for index in order
    ]
    if rest.size:
        rows.append((_others(rest.size), *_cells(failures.values[rest].sum(axis=0), wide=bool(sizes))))
    exposure = table["exposure"].values
    shown = [compact(value) for value in exposure] if sizes else []
    where = ", all clusters together" if len(clusters(tree)) > 1 else ""
    return Table(
        caption=f"Failures counted, by component{' and GPUs of the job' if sizes else ''}{where}",
        head=("Component", *sizes, "All"),
        rows=tuple(rows),
        foot=(
            ("All components", *_cells(failures.sum("component").values, wide=bool(sizes))),
            ("Node-days", *shown, (compact if sizes else quantity)(float(exposure.sum()))),
        ),
        kind="dense" if sizes else "slim",
    )


def failures_by_cluster(tree: xr.DataTree) -> Table | None:
    """Return failures, exposure and rate as counted of each cluster, largest first; None if there is only one."""
    names = clusters(tree)
    if len(names) == 1:
        return None
    table = counts(tree).sel(cluster=names)
    failures = table["failures"].sum([name for name in table["failures"].dims if name != "cluster"]).values
    exposure = table["exposure"].sum([name for name in table["exposure"].dims if name != "cluster"]).values
    rows = [
        (label(name), count(n), quantity(time), three(PER_1000_NODE_DAYS * n / time) if time else NOTHING)
        for name, n, time in zip(names, failures, exposure, strict=True)
    ]
    return Table(
        caption="Clusters" if len(rows) <= MOST_CLUSTERS else f"The {MOST_CLUSTERS} largest of {len(rows)} clusters",
        head=("Cluster", "Failures", "Node-days", "Per 1,000 node-days"),
        rows=tuple(rows[:MOST_CLUSTERS]),
        kind="slim",
    )


def rate_table(tree: xr.DataTree, cluster: str) -> Table:
    """Return fitted rates beside rates as counted: of a cluster's components, or of clusters if there is but one."""
    names = clusters(tree)
    name = names[0] if cluster == NEW else cluster
    found = measured(tree, name)
    by_cluster = found.sizes["component"] == 1 and len(names) > 1
    if by_cluster:
        found = measured_clusters(tree, most=MOST_CLUSTERS)
    values = found["fitted"].values
    portions = np.median(values / values.sum(axis=1, keepdims=True), axis=0)
    figures = summarise(values, axis=0) * PER_1000_NODE_DAYS
    rows: list[tuple[str, ...]] = []
    order = np.argsort(-figures[:, 1], kind="stable")
    order, rest = order[:MOST_COMPONENTS], order[MOST_COMPONENTS:]
    for index in order:
        row = found.isel(component=int(index))
        entries = (
            label(row["component"].item()),
            count(float(row["failures"])),
            three(float(row["raw"]) * PER_1000_NODE_DAYS),
            three(figures[index, 1]),
            between(figures[index, 2], figures[index, 3]),
            share(float(portions[index])),
        )
        rows.append(entries[:-1] if by_cluster else entries)
    if rest.size and not by_cluster:
        rows.append(_other_rates(found.isel(component=rest), values))
    head = ("Cluster" if by_cluster else "Component", "Failures", "As counted", "Fitted", INTERVAL, "Share of all")
    return Table(
        caption="Failures per 1,000 node-days" + (f", {label(name)}" if len(names) > 1 and not by_cluster else ""),
        head=head[:-1] if by_cluster else head,
        rows=tuple(rows),
    )


def _other_rates(found: xr.Dataset, values: np.ndarray) -> tuple[str, ...]:
    """Give the row of the components that have none of their own, from draws of all components."""
    together = found["fitted"].values.sum(axis=1)
    _, median, lower, upper = summarise(together) * PER_1000_NODE_DAYS
    return (
        _others(found.sizes["component"]),
        count(float(found["failures"].sum())),
        three(float(found["raw"].sum()) * PER_1000_NODE_DAYS),
        three(median),
        between(lower, upper),
        share(float(np.median(together / values.sum(axis=1)))),
    )


def _others(number: int) -> str:
    return f"{count(number)} others together"


def plan_table(forecasts: Mapping[str, xr.Dataset], gpus: Sequence[int]) -> Table:
    """Return the expected ETTR of every plan at the sizes asked, with its interval."""
    rows = []
    for size in gpus:
        entries = []
        for forecast in forecasts.values():
            ettr = {name: float(forecast["ettr"].sel(gpus=size, figure=name)) for name in ("median", "lower", "upper")}
            entries.append(f"{fraction(ettr['median'])} ({fraction_between(ettr['lower'], ettr['upper'])})")
        rows.append((count(size), *entries))
    return Table(
        caption=f"Expected ETTR: median ({INTERVAL})",
        head=("GPUs", *(label(name) for name in forecasts)),
        rows=tuple(rows),
    )


def notes(tree: xr.DataTree, plans: Mapping[str, Plan]) -> list[str]:
    """Return what a reader must know before using the forecasts, one sentence each."""
    per_node = gpus_per_node(tree)
    others = {name: plan.gpus_per_node for name, plan in plans.items() if plan.gpus_per_node != per_node}
    return [
        f"A node of the data has {per_node} GPUs, one of the plan “{label(name)}” {number}: failures per node-day are "
        "used as they are."
        for name, number in others.items()
    ]


_CHECKS = {
    "max_rhat": ("Largest R-hat", f"at most {MAX_RHAT}"),
    "min_ess_bulk": ("Smallest effective sample size, centre", f"at least {MIN_ESS}"),
    "min_ess_tail": ("Smallest effective sample size, tails", f"at least {MIN_ESS}"),
    "divergences": ("Divergent trajectories", "0"),
    "cut_share": ("Trajectories cut short", f"at most {share(MAX_CUT_SHARE)}"),
    "mean_steps": ("Steps of a trajectory, on average", NOTHING),
}


def diagnostics(tree: xr.DataTree) -> Table | None:
    """Return what the sampler's checks found beside what is wanted; None for an exact posterior."""
    record = provenance(tree)
    found = record.get("diagnostics") or {}
    if record.get("method") in EXACT_METHODS or "max_rhat" not in found:
        return None
    rows = [
        (text, _diagnostic(name, float(found[name])), wanted)
        for name, (text, wanted) in _CHECKS.items()
        if found.get(name) is not None
    ]
    return Table(caption="Checks of the sampler", head=("Check", "Found", "Wanted"), rows=tuple(rows), kind="slim")


def problems(tree: xr.DataTree) -> list[str]:
    """Return what the checks hold against the draws, one sentence each."""
    found = (provenance(tree).get("diagnostics") or {}).get("problems") or []
    return [sentence(_plain(problem)) for problem in found[:MOST_REMARKS]]


_ACCOUNTED = ("failures", "log_start", "log_end", "notes", "states", "sizes", *ROW_ENTRIES)
"""Entries of a table's provenance that have a place of their own in the report."""


def provenance_facts(tree: xr.DataTree) -> list[tuple[str, str]]:
    """Return where the fit comes from, as (name, value): model, sampler, digest, rule, priors, versions."""
    record = provenance(tree)
    names = {
        "model": "Model",
        "method": "Method",
        "backend": "Sampler",
        "seed": "Seed",
        "created": "Fitted",
        "data_digest": "Digest of the data",
    }
    found = [(text, _plain(record[name])) for name, text in names.items() if record.get(name) not in (None, "")]
    groups = {
        "Sampling": record.get("sampling"),
        "Priors": record.get("priors"),
        "Data": {name: value for name, value in source_facts(tree).items() if name not in _ACCOUNTED},
        "Versions": record.get("versions"),
    }
    return found + [(text, listed) for text, group in groups.items() if (listed := _pairs(group))]


def _pairs(group: Any) -> str:
    """Write a mapping as ``"name value, name value"``, entries without a value left out."""
    if not isinstance(group, Mapping):
        return ""
    pairs = [f"{label(name)} {_plain(value)}" for name, value in group.items() if value not in (None, "", [], {})]
    return ", ".join(pairs)


def _cells(values: np.ndarray, *, wide: bool) -> tuple[str, ...]:
    return (*([count(value) for value in values] if wide else []), count(float(values.sum())))


def _some(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names) if len(names) <= most else f"{', '.join(names[:most])} and {len(names) - most} more"


def _diagnostic(name: str, value: float) -> str:
    if name == "max_rhat":
        return f"{value:.3f}"
    if name == "cut_share":
        return share(value)
    return three(value) if name == "mean_steps" else count(value)


def _plain(value: Any) -> str:
    if isinstance(value, Mapping):
        return _pairs(value)
    text = f"{value:.6g}" if isinstance(value, float) else visible(str(value))
    return text if len(text) <= 300 else text[:299] + "…"
