"""The planner: one HTML file that computes forecasts in the browser, without network, from a fit's posterior."""

import dataclasses
import json
import os
from pathlib import Path

import jinja2
import xarray as xr
from markupsafe import Markup

from meantime.errors import InputError
from meantime.files import write_text
from meantime.forecast import Plan, rates_of
from meantime.forecast.forecast import SEED
from meantime.forecast.limits import warnings_of
from meantime.forecast.rates import MAX_GPUS, checked_gpus
from meantime.inference import provenance
from meantime.intervals import PROBABILITY, describe
from meantime.report.evidence import NEW, choose_cluster, clusters, gpus_per_node
from meantime.report.numbers import INTERVAL as INTERVAL_NAME
from meantime.report.numbers import count, day, label, visible
from meantime.report.planner.bundle import as_json, asset, digest_of, library_version, script
from meantime.report.planner.controls import (
    BACKGROUND,
    CONTROLS,
    INTERVAL,
    LEMONS,
    MEASURES,
    PLAN,
    RATE,
    SPARES,
    settings_of,
)
from meantime.report.planner.lemons import lemons_of
from meantime.report.planner.tables import knots, shares_of, tables_of
from meantime.report.sections import provenance_facts, short_source
from meantime.report.style import DARK, LIGHT

SMALLEST, LARGEST = 1024, 1_000_000
"""Ends of the scale of GPUs unless told otherwise."""

_UNNAMED = "cluster"
"""The name a cluster has where its log gives it none."""
_OPEN = 6
"""Components shown before the others are folded away."""


def write_planner(
    tree: xr.DataTree,
    path: str | os.PathLike[str],
    *,
    gpus: int = 16_384,
    plan: Plan | None = None,
    smallest: int = SMALLEST,
    largest: int = LARGEST,
    cluster: str | None = None,
    title: str | None = None,
    seed: int = SEED,
) -> Path:
    """Write the planner page of a fit as one self-contained HTML file, whole or not at all.

    The page computes MTTF, ETTR and days to finish as its sliders move: the exact renewal form at the quantiles of
    the posterior rate. At the ends of the buckets of job sizes (1,024, 1,025, 2,048, ...) these are the quantiles of
    all draws; between them, and with single components scaled, they come from up to 400 of the draws.

    Parameters
    ----------
    tree
        A fit, as `fit` or `load_fit` returns it.
    path
        The file to write.
    gpus
        Size of the job that the page starts with.
    plan
        The plan that the page starts with, of single, certain values; default `Plan()` on nodes of the fit.
    smallest, largest
        Ends of the scale of GPUs.
    cluster
        Cluster to forecast for, or ``"new"``; default the one with most node-days.
    title
        Title of the page.
    seed
        Seed of what is drawn anew from the fit, and of the luck of single runs.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    InputError
        If the sizes, the plan or the cluster cannot be used, or the file cannot be written.

    Examples
    --------
    >>> from meantime.report import write_planner
    >>> write_planner(fit, "planner.html", gpus=24_576)  # doctest: +SKIP
    """
    path = Path(path)
    page = render(
        tree, gpus=gpus, plan=plan, smallest=smallest, largest=largest, cluster=cluster, title=title, seed=seed
    )
    write_text(path, page)
    return path


def render(
    tree: xr.DataTree,
    *,
    gpus: int = 16_384,
    plan: Plan | None = None,
    smallest: int = SMALLEST,
    largest: int = LARGEST,
    cluster: str | None = None,
    title: str | None = None,
    seed: int = SEED,
) -> str:
    """Make the planner's HTML; see `write_planner`."""
    plan = Plan(gpus_per_node=gpus_per_node(tree)) if plan is None else plan
    _check_sizes(gpus, smallest, largest)
    settings = settings_of(plan, gpus)
    names = clusters(tree)
    chosen = choose_cluster(tree, cluster)
    rate = rates_of(tree, knots(smallest, largest), cluster=chosen, seed=seed)
    tables = tables_of(rate)
    lemons = None if chosen == NEW else lemons_of(tree, rate, tables, cluster=chosen, seed=seed)
    removal = None if lemons is None else dataclasses.replace(LEMONS, high=lemons.most, most=lemons.most)
    near = min(rate["gpus"].values.tolist(), key=lambda size: abs(size - gpus))
    shares = shares_of(rate, near)
    order = sorted(range(len(shares)), key=lambda place: -shares[place])
    components = [(place, label(tables.components[place])) for place in order]
    notes = _notes(rate, plan)
    facts = {
        **tables.to_dict(),
        "components": tables.components,
        "labels": [label(name) for name in tables.components],
        "settings": settings | {"rates": dict.fromkeys(tables.components, 1)},
        "bounds": {control.name: control.bounds for control in CONTROLS}
        | {"gpus": {"min": smallest, "max": largest, "whole": True}, "x.": RATE.bounds}
        | {"lemons": LEMONS.bounds | {"max": 0 if lemons is None else lemons.most}},
        "lemons": None if lemons is None else lemons.to_dict(),
        "gpus_per_node": plan.gpus_per_node,
        "largest_job_gpus": int(rate.attrs["largest_job_gpus"]),
        "interval": describe(),
        "seed": seed,
        "model": json.loads(rate.attrs["model"]),
        "notes": [*warnings_of(rate), *notes],
        "colours": {"light": LIGHT, "dark": DARK},
    }
    code = script()
    return (
        _environment()
        .get_template("planner.html.j2")
        .render(
            title=title or _title(names, chosen),
            lead=_lead(tree, chosen, names),
            warnings=warnings_of(rate),
            notes=notes,
            plan=PLAN,
            measures=MEASURES,
            spares=SPARES,
            lemons=removal,
            rate=RATE,
            first=components[:_OPEN],
            others=components[_OPEN:],
            smallest=smallest,
            largest=largest,
            largest_job=int(rate.attrs["largest_job_gpus"]),
            interval=INTERVAL,
            interval_name=INTERVAL_NAME,
            background=BACKGROUND,
            probability=f"{PROBABILITY:.2f}",
            provenance=provenance_facts(tree),
            draws=count(rate.sizes["sample"]),
            light=LIGHT,
            dark=DARK,
            facts=as_json(facts),
            script=Markup(code),
            script_hash=digest_of(code),
            library=library_version(),
            library_style=Markup(asset("uPlot.min.css")),
        )
    )


def _check_sizes(gpus: int, smallest: int, largest: int) -> None:
    for size in (gpus, smallest, largest):
        checked_gpus(size)
    if not smallest < largest or not smallest <= gpus <= largest:
        raise InputError(
            f"gpus is {gpus:,} on a scale from {smallest:,} to {largest:,}; expected smallest <= gpus <= largest, "
            f"and smallest < largest <= {MAX_GPUS:,}"
        )


def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.PackageLoader("meantime.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def _title(names: list[str], chosen: str) -> str:
    if chosen == NEW:
        return "Planner: a new cluster"
    return "Planner" if names == [_UNNAMED] else f"Planner: {label(chosen)}"


def _lead(tree: xr.DataTree, cluster: str, names: list[str]) -> str:
    record = provenance(tree)
    model = visible(str(record.get("model", "of unknown name")))
    about = ""
    if cluster == NEW:
        about = " For a cluster that is not in the data."
    elif len(names) > 1:
        about = f" For {label(cluster)}, one of {len(names)} clusters in the data."
    made = day(str(record.get("created", "a day unknown")))
    return f"From {short_source(tree)}; model {model}, fitted on {made}.{about}"


def _notes(rate: xr.DataArray, plan: Plan) -> list[str]:
    """What holds at every size; what depends on the size is said by the page itself."""
    notes = []
    if rate.attrs["largest_job_gpus"] == 0:
        notes.append("The largest job of the data is not known: every size counts as extrapolated.")
    data_gpus = rate.attrs.get("data_gpus_per_node")
    if data_gpus and data_gpus != plan.gpus_per_node:
        notes.append(
            f"A node of the data has {data_gpus} GPUs and one of the plan {plan.gpus_per_node}: "
            "the rates per node-day are used as they are."
        )
    return notes
