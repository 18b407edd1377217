"""The report: one HTML file that needs nothing else, neither network nor script."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import jinja2
import xarray as xr

from meantime.errors import InputError
from meantime.files import write_text
from meantime.forecast import Plan
from meantime.forecast.forecast import SEED, checked_gpus
from meantime.inference import provenance
from meantime.intervals import PROBABILITY
from meantime.report import method, sections, words
from meantime.report.evidence import NEW, choose_cluster, clusters, gpus_per_node, largest_job, shown_clusters
from meantime.report.figures import (
    ettr_by_gpus,
    forest,
    has_job_sizes,
    has_job_states,
    job_sizes,
    job_states,
    mitigation_shares,
    mttf_by_size,
    shrinkage,
)
from meantime.report.judged import judgements
from meantime.report.measures import fix_table, price_measures
from meantime.report.measures import intro as fix_intro
from meantime.report.numbers import INTERVAL, day, label, listing, visible
from meantime.report.own import own_part
from meantime.report.parts import PartsPage, parts_page
from meantime.report.picture import Picture
from meantime.report.plans import GPUS, check_plans, default_plans, describe, forecast_plans
from meantime.report.rows import rows_read
from meantime.report.runs import RunsPart, runs_part
from meantime.report.style import DARK, LIGHT

_NAMED = 3
_SHADED = " The shaded region holds no data; there the band is the model's extrapolation."
_UNNAMED = "cluster"
"""The name a cluster has where its log gives it none."""


def write_report(
    tree: xr.DataTree,
    path: str | os.PathLike[str],
    *,
    gpus: Sequence[int] = GPUS,
    plans: Mapping[str, Plan] | None = None,
    cluster: str | None = None,
    title: str | None = None,
    seed: int = SEED,
    jobs: Any = None,
    events: Any = None,
    backtested: xr.Dataset | None = None,
    calibrated: xr.Dataset | None = None,
) -> Path:
    """Write the report of a fit as one self-contained HTML file, whole or not at all.

    Parameters
    ----------
    tree
        A fit, as `fit` or `load_fit` returns it.
    path
        The file to write.
    gpus
        Sizes of the job to forecast; of no use to a fit of lives, repairs or incidents.
    plans
        Plans to compare, by name; the summary is about the first. Default: the best checkpoint
        interval, hourly checkpoints, and a fast restart with quick writes.
    cluster
        Cluster to forecast for, or ``"new"``; default the one with most node-days.
    title
        Title of the page.
    seed
        Seed of the forecasts' draws: the same fit and seed give the same report.
    jobs, events
        The log that the fit is of, as `meantime.datasets.read` returns it. With it the report has a part on runs: where
        their wallclock went, ETTR as measured, goodput lost.

    Returns
    -------
    pathlib.Path
        The file.

    Raises
    ------
    InputError
        If the sizes, plans or cluster cannot be used, or the file cannot be written; if a log is given with a fit of
        lives, repairs or incidents, whose report is about these alone.
    """
    path = Path(path)
    text = render(
        tree,
        gpus=gpus,
        plans=plans,
        cluster=cluster,
        title=title,
        seed=seed,
        jobs=jobs,
        events=events,
        backtested=backtested,
        calibrated=calibrated,
    )
    write_text(path, text)
    return path


def render(
    tree: xr.DataTree,
    *,
    gpus: Sequence[int] = GPUS,
    plans: Mapping[str, Plan] | None = None,
    cluster: str | None = None,
    title: str | None = None,
    seed: int = SEED,
    jobs: Any = None,
    events: Any = None,
    backtested: xr.Dataset | None = None,
    calibrated: xr.Dataset | None = None,
) -> str:
    """Make the report's HTML; see `write_report`."""
    record = provenance(tree)
    judged = {key: picture.drawn(key) for key, picture in judgements(backtested, calibrated).items()}
    parts = parts_page(tree, cluster=cluster)
    if parts is not None:
        return _render_parts(tree, parts, title, judged, with_log=jobs is not None)
    sizes = sorted(checked_gpus(gpus))
    compared = check_plans(plans or default_plans(gpus_per_node(tree)))
    chosen = choose_cluster(tree, cluster)
    forecasts = forecast_plans(tree, sizes, compared, cluster=chosen, seed=seed)
    names = clusters(tree)
    first = next(iter(compared))
    priced = price_measures(tree, max(sizes), compared[first], cluster=chosen, seed=seed)
    runs = None if jobs is None else runs_part(jobs, events, tree, cluster=chosen, seed=seed)
    own = own_part(tree, cluster=chosen, seed=seed)
    pictures = _pictures(tree, forecasts, priced, sizes, chosen, seed) | _pictures_of(runs)
    if own is not None:
        pictures["own"] = own.picture
    return _template("report.html.j2").render(
        title=title or _title(names),
        lead=_lead(tree, record, chosen, names),
        converged=record.get("diagnostics", {}).get("converged") is not False,
        light=LIGHT,
        dark=DARK,
        headlines=words.headlines(tree, forecasts, sizes, chosen),
        answers=words.answers(tree, forecasts, compared, sizes, chosen, priced, own),
        short_table=words.short_table(forecasts[first], sizes),
        interval=INTERVAL,
        probability=f"{PROBABILITY:.2f}",
        plans=[(label(name), describe(plan)) for name, plan in compared.items()],
        read_facts=sections.read_facts(tree),
        judged=judged,
        rows_read=rows_read(tree),
        reader_notes=sections.reader_notes(tree),
        failures=sections.failures_by_size(tree),
        rates=sections.rate_table(tree, chosen),
        fix_intro=fix_intro(priced, first),
        fix_table=fix_table(priced),
        runs=runs,
        own=own,
        plan_table=sections.plan_table(forecasts, sizes),
        clusters=sections.failures_by_cluster(tree),
        notes=sections.notes(tree, compared),
        marked=_marked(largest_job(tree), sizes),
        diagnostics=sections.diagnostics(tree),
        problems=sections.problems(tree),
        verdict=method.verdict(record),
        method=method.paragraphs(tree, record),
        provenance=sections.provenance_facts(tree),
        figures={name: picture.drawn(name) for name, picture in pictures.items()},
    )


def _render_parts(
    tree: xr.DataTree, page: PartsPage, title: str | None, judged: Mapping[str, Any], *, with_log: bool
) -> str:
    """Make the page of a fit of lives, repairs or incidents."""
    record = provenance(tree)
    if with_log:
        raise InputError(f"a log of jobs adds nothing to a report of {record['model']!r}; expected the fit alone")
    model, made = visible(str(record.get("model"))), day(str(record.get("created", "a day unknown")))
    return _template("parts.html.j2").render(
        title=title or page.title,
        lead=f"From {sections.short_source(tree)}; model {model}, fitted on {made}.",
        converged=record.get("diagnostics", {}).get("converged") is not False,
        light=LIGHT,
        dark=DARK,
        page=page,
        judged=judged,
        rows_read=rows_read(tree),
        reader_notes=sections.reader_notes(tree),
        diagnostics=sections.diagnostics(tree),
        problems=sections.problems(tree),
        verdict=method.verdict(record),
        provenance=sections.provenance_facts(tree),
        probability=f"{PROBABILITY:.2f}",
        figures={part.key: part.picture.drawn(part.key) for part in page.sections if part.picture is not None},
    )


def _template(name: str) -> jinja2.Template:
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("meantime.report", "templates"),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template(name)


def _pictures(
    tree: xr.DataTree,
    forecasts: Mapping[str, xr.Dataset],
    priced: xr.Dataset,
    sizes: Sequence[int],
    cluster: str,
    seed: int,
) -> dict[str, Picture]:
    shown = shown_clusters(tree, cluster)
    pictures = {
        "forest": Picture(
            draw=lambda width: forest(tree, clusters=shown, width=width),
            caption="Failures per 1,000 node-days of each component: fitted median and 90 % interval, and the rate as "
            "counted. The fit draws rare components towards the others, the more the fewer failures they have.",
            description="Forest plot of failure rates by component. The numbers are in the table that follows.",
        ),
        "mttf": Picture(
            draw=lambda width: mttf_by_size(tree, gpus=sizes, cluster=cluster, seed=seed, width=width),
            caption="Mean time to failure of a job against its size."
            + (" Points are the data: node-days over failures." if largest_job(tree) else "")
            + (_SHADED if 0 < largest_job(tree) < max(sizes) else ""),
            description="Mean time to failure against job size, both axes logarithmic, falling from left to right. "
            "The numbers at the sizes asked are in the first table of this report.",
        ),
        "ettr": Picture(
            draw=lambda width: ettr_by_gpus(forecasts, largest=largest_job(tree), width=width),
            caption="Expected share of the wallclock that is productive (ETTR), by size of the job. Dark band: what "
            "the data leave open about the rates. Light band: what one run gets, luck included. Grey: the other plans.",
            description="ETTR against job size, one panel for each plan. The numbers are in the table that follows.",
        ),
    }
    pictures["fix"] = Picture(
        draw=lambda width: mitigation_shares(priced, width=width),
        caption="What measures gain in expected ETTR. Bars: fair share of what all gain together (Shapley), with its "
        "interval. Diamonds: what each gains alone. At the right: the probability that it gains most alone.",
        description="Bars: share of the joint gain of each measure. The numbers are in the table that follows.",
    )
    pictures["shrinkage"] = Picture(
        draw=lambda width: shrinkage(tree, width=width),
        caption="What the fit makes of the counts, a dot for each cell of the table. On the dashed line it "
        "keeps what was counted; cells with few failures move towards their neighbours.",
        description="Fitted rates against rates as counted, both axes logarithmic. Dots with many failures lie on the "
        "diagonal, those with few are drawn towards the middle.",
    )
    if has_job_sizes(tree):
        pictures["sizes"] = Picture(
            draw=lambda width: job_sizes(tree, width=width),
            caption="How large jobs were, as shares of the jobs and of the GPU time they used.",
            description="Bars: share of jobs and of GPU time by size of the job.",
        )
    if has_job_states(tree):
        pictures["states"] = Picture(
            draw=lambda width: job_states(tree, width=width),
            caption="How jobs ended, as shares of the jobs and of the GPU time they used.",
            description="Bars: share of jobs and of GPU time by final state of the job.",
        )
    return pictures


_RUNS = {
    "ledger": (
        "Where the wallclock of runs went, by their size, and the ETTR measured. In brackets: the number of runs.",
        "Stacked bars: shares of the wallclock that were productive, lost, restart, checkpoint and queue, by size.",
    ),
    "measured": (
        "ETTR measured on runs of 24 hours and more, beside what the fit expects of such runs. What lies below the "
        "expected bands was lost to other things than failures of the infrastructure: preemption, mostly.",
        "Dots: measured ETTR by size of the run, beside bands of the expected ETTR. Numbers are in the table below.",
    ),
    "lost": (
        "GPU-hours that failures cost, by size of the job that lost them.",
        "Stacked bars: GPU-hours lost at first and second hand, by job size. Numbers are in the table that follows.",
    ),
}


def _pictures_of(runs: RunsPart | None) -> dict[str, Picture]:
    if runs is None:
        return {}
    return {
        name: Picture(draw=draw, caption=_RUNS[name][0], description=_RUNS[name][1])
        for name, draw in runs.figures.items()
    }


def _title(names: Sequence[str]) -> str:
    if list(names) == [_UNNAMED]:
        return "Failures and forecast"
    if len(names) > _NAMED:
        return f"Failures and forecast: {len(names)} clusters"
    return f"Failures and forecast: {listing([label(name) for name in names])}"


def _lead(tree: xr.DataTree, record: Mapping[str, Any], cluster: str, names: Sequence[str]) -> str:
    about = ""
    if cluster == NEW:
        about = " Forecasts are for a cluster that is not in the data."
    elif len(names) > 1:
        about = f" Forecasts are for {label(cluster)}, one of {len(names)} clusters in the data."
    model = visible(str(record.get("model", "of unknown name")))
    made = day(str(record.get("created", "a day unknown")))
    return f"From {sections.short_source(tree)}; model {model}, fitted on {made}.{about}"


def _marked(largest: int, sizes: Sequence[int]) -> str:
    """Say what the asterisk in the first table means, if it is used."""
    if not largest:
        return "the size of the largest job in the data is unknown, so every size counts as extrapolated"
    return "larger than any job in the data" if max(sizes) > largest else ""
