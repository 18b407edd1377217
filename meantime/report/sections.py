"""The evidence tables of a report, every entry as text, ready for the template to escape."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from meantime.forecast import Plan
from meantime.inference import provenance
from meantime.intervals import summarise
from meantime.report.evidence import NEW, clusters, component_rates, counts, gpus_per_node, raw_rates, source_facts
from meantime.report.numbers import (
    INTERVAL,
    NOTHING,
    between,
    count,
    fraction,
    fraction_between,
    label,
    quantity,
    share,
    three,
    visible,
)
from meantime.units import PER_1000_NODE_DAYS

_FACTS = ("rows_read", "rows_used", "rows_folded", "quarantined", "notes", "states")
"""Entries of a table's provenance that have a place of their own in the report."""
MOST_REASONS = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Table:
    """A table as text: `head` names the columns, the first column names the rows.

    `kind` is how it is set: ``"dense"`` with many columns, ``"slim"`` with few, ``""`` else.
    """

    caption: str
    head: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    foot: tuple[tuple[str, ...], ...] = ()
    kind: str = ""


def read_facts(tree: xr.DataTree) -> list[tuple[str, str]]:
    """Return what was read, as (name, value): source, rows, exposure, failures, largest job."""
    table, facts = counts(tree), source_facts(tree)
    attrs = table.attrs
    kinds = {"busy": "time that jobs ran", "calendar": "calendar time", "stated": "as stated by the source"}
    kind = str(attrs.get("exposure_kind", "stated"))
    found = [("Source", label(attrs.get("source") or "not stated"))]
    found += [(text, _amount(name, facts[name])) for name, text in _ROWS.items() if name in facts]
    found += [
        ("Exposure", f"{quantity(float(table['exposure'].sum()))} node-days ({kinds.get(kind, label(kind))})"),
        ("Failures", count(float(table["failures"].sum()))),
        ("GPUs a node", count(float(attrs.get("gpus_per_node", 8)))),
        (
            "Largest job",
            f"{count(largest)} GPUs" if (largest := float(attrs.get("largest_job_gpus", 0))) else "not known",
        ),
        ("Clusters", ", ".join(label(name) for name in clusters(tree)[:12])),
    ]
    return found


_ROWS = {
    "rows_read": "Rows read",
    "rows_used": "Rows used",
    "rows_folded": "Rows folded",
    "quarantined": "Rows set aside",
}


def quarantine(tree: xr.DataTree) -> Table | None:
    """Return the rows that were set aside by reason, or None if there are none or no reasons are known."""
    reasons = source_facts(tree).get("quarantined")
    if not isinstance(reasons, Mapping) or not reasons:
        return None
    ordered = sorted(reasons.items(), key=lambda item: -float(item[1]))
    rows = [(label(reason), count(float(number))) for reason, number in ordered[:MOST_REASONS]]
    if len(ordered) > MOST_REASONS:
        rows.append(("other reasons", count(sum(float(number) for _, number in ordered[MOST_REASONS:]))))
    return Table(caption="Rows set aside, and why", head=("Reason", "Rows"), rows=tuple(rows), kind="slim")


def failures_by_size(tree: xr.DataTree) -> Table:
    """Return counted failures by component, and by job size where the data have it, with the exposure below."""
    table = counts(tree).sum("cluster")
    if "job_size" not in table.dims:
        table = table.expand_dims(job_size=[0])
    table = table.isel(job_size=np.flatnonzero(table["exposure"].values > 0))
    failures = table["failures"].transpose("component", "job_size")
    order = np.argsort(-failures.sum("job_size").values, kind="stable")
    sizes = [count(size) for size in table["job_size"].values] if table.sizes["job_size"] > 1 else []
    rows = [
        (label(failures["component"].values[index]), *_cells(failures.values[index], wide=bool(sizes)))
        for index in order
    ]
    exposure = table["exposure"].values
    shown = [quantity(value) for value in exposure] if sizes else []
    where = ", all clusters together" if len(clusters(tree)) > 1 else ""
    return Table(
        caption=f"Failures counted, by component{' and GPUs of the job' if sizes else ''}{where}",
        head=("Component", *sizes, "All"),
        rows=tuple(rows),
        foot=(
            ("All components", *_cells(failures.sum("component").values, wide=bool(sizes))),
            ("Node-days", *shown, quantity(float(exposure.sum()))),
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
        caption="Clusters",
        head=("Cluster", "Failures", "Node-days", "Per 1,000 node-days"),
        rows=tuple(rows[:MOST_REASONS]),
        kind="slim",
    )


def component_table(tree: xr.DataTree, cluster: str) -> Table:
    """Return the fitted rate of every component of one cluster beside the rate as counted."""
    name = clusters(tree)[0] if cluster == NEW else cluster
    rates, raw = component_rates(tree, name), raw_rates(tree, name)
    failures = counts(tree)["failures"].sel(cluster=name)
    failures = failures.sum("job_size") if "job_size" in failures.dims else failures
    values = rates.values
    portions = np.median(values / values.sum(axis=1, keepdims=True), axis=0)
    figures = summarise(values, axis=0) * PER_1000_NODE_DAYS
    rows = []
    for index in np.argsort(-figures[:, 1], kind="stable"):
        component = rates["component"].values[index]
        known = component in raw["component"].values
        counted = failures.sel(component=component) if known else failures.sum()
        as_counted = raw.sel(component=component) if known else raw.sum()
        rows.append(
            (
                label(component),
                count(float(counted)),
                three(float(as_counted) * PER_1000_NODE_DAYS),
                three(figures[index, 1]),
                between(figures[index, 2], figures[index, 3]),
                share(float(portions[index])),
            )
        )
    return Table(
        caption=f"Failures per 1,000 node-days, {label(name)}",
        head=("Component", "Failures", "As counted", "Fitted", INTERVAL, "Share of all"),
        rows=tuple(rows),
    )


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
    "max_rhat": ("Largest R-hat", "at most 1.01"),
    "min_ess_bulk": ("Smallest effective sample size, bulk", "at least 400"),
    "min_ess_tail": ("Smallest effective sample size, tails", "at least 400"),
    "divergences": ("Divergent transitions", "0"),
    "max_treedepth_share": ("Draws at the largest tree depth", "few"),
}


def diagnostics(tree: xr.DataTree) -> Table | None:
    """Return what the sampler's checks found beside what is wanted; None for an exact posterior."""
    found = provenance(tree).get("diagnostics") or {}
    rows = [
        (text, _diagnostic(name, found[name]), wanted)
        for name, (text, wanted) in _CHECKS.items()
        if found.get(name) is not None
    ]
    return (
        Table(caption="Checks of the sampler", head=("Check", "Found", "Wanted"), rows=tuple(rows), kind="slim")
        if rows
        else None
    )


def provenance_facts(tree: xr.DataTree) -> list[tuple[str, str]]:
    """Return where the fit comes from, as (name, value): model, priors, seed, digest, versions, rule."""
    record = provenance(tree)
    found = [
        (text, _plain(record[name]))
        for name, text in (
            ("model", "Model"),
            ("method", "Method"),
            ("backend", "Sampler"),
            ("seed", "Seed"),
            ("created", "Fitted"),
            ("data_digest", "Digest of the data"),
        )
        if record.get(name) not in (None, "")
    ]
    found += [(f"Prior {name}", _plain(value)) for name, value in _mapping(record.get("priors")).items()]
    facts = {name: value for name, value in source_facts(tree).items() if name not in _FACTS}
    found += [(f"Data: {label(name)}", _plain(value)) for name, value in facts.items()]
    found += [(f"Version of {name}", _plain(value)) for name, value in _mapping(record.get("versions")).items()]
    return found


def _cells(values: np.ndarray, *, wide: bool) -> tuple[str, ...]:
    return (*([count(value) for value in values] if wide else []), count(float(values.sum())))


def _amount(name: str, value: Any) -> str:
    """Write a number of rows; of those merged say which, of those set aside a table of its own does."""
    if isinstance(value, Mapping):
        total = count(sum(float(number) for number in value.values()))
        parts = [f"{count(float(number))} {label(kind)}" for kind, number in value.items()]
        return f"{total} ({', '.join(parts[:6])})" if parts and name == "rows_folded" else total
    return count(float(value)) if isinstance(value, int | float) else _plain(value)


def _diagnostic(name: str, value: Any) -> str:
    if name == "max_rhat":
        return f"{float(value):.3f}"
    return share(float(value)) if name.endswith("share") else count(float(value))


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _plain(value: Any) -> str:
    text = f"{value:.6g}" if isinstance(value, float) else visible(str(value))
    return text if len(text) <= 300 else text[:299] + "…"
