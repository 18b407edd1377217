"""The page of a fit of incidents: what common causes mean to jobs of a size."""

from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.forecast import Plan, forecast
from meantime.intervals import summarise
from meantime.report.figures import incident_sizes
from meantime.report.model_tables import incident_rows
from meantime.report.numbers import INTERVAL, between, count, duration, duration_between, fraction, label, share, three
from meantime.report.parts.page import PartsPage, Section
from meantime.report.picture import Picture
from meantime.report.plans import default_plans, describe
from meantime.report.sections import source_of
from meantime.report.table import Table
from meantime.report.words import Answer, Headline, gate

_COUNTED = (
    "Outages of a cluster that begin within the same short window are one incident; its size is the number of nodes "
    "that it hit. To a job on many of them it is one failure, not one for each node."
)
_MODEL = (
    "Incidents come at a Gamma-distributed rate a day. A share of them hits several nodes, with sizes about a Pareto "
    "law from which single sizes, such as that of a rack, may stand out as far as the data say. A job on k of the N "
    "nodes, placed at random, is hit by an incident on m nodes with probability 1 − C(N − m, k) / C(N, k)."
)


def incidents_page(tree: xr.DataTree, cluster: str | None) -> PartsPage:
    """Return the page of a fit of `incident`.

    Raises
    ------
    InputError
        If there is no such cluster.
    """
    whole = tree["fit_data"].to_dataset()
    name = _chosen(whole, cluster)
    table = whole.sel(cluster=name)
    number, days, nodes = int(table["incidents"].sum()), float(table["days"]), int(table["nodes"])
    per_day = tree["posterior"]["per_day"].sel(cluster=name).stack(sample=("chain", "draw"), create_index=False)
    daily = summarise(per_day.sum("hit").values)
    several = summarise((per_day.where(per_day["hit"] > 1, 0.0).sum("hit") / per_day.sum("hit")).values)
    rows = incident_rows(tree, name)
    plan = default_plans(int(whole.attrs["gpus_per_node"]))["Best interval"]
    last = rows[-1]
    seconds = [last["seconds"][figure] / 3600 for figure in ("median", "lower", "upper")]
    factor = last["seconds"]["median"] / last["independent"]
    seen = int(table["hit"].values[table["incidents"].values > 0].max()) if number else 0
    return PartsPage(
        title="Incidents that hit several nodes" + ("" if whole.sizes["cluster"] == 1 else f": {label(name)}"),
        headlines=(
            Headline(name="Incidents a day", value=three(daily[1]), note=f"in {label(name)}\n{between(*daily[2:])}"),
            Headline(
                name="Hit several nodes",
                value=share(several[1]),
                note=f"of incidents\n{share(several[2])} to {share(several[3])}",
            ),
            Headline(
                name="Mean time to failure",
                value=duration(seconds[0]),
                note=f"of a job on all {count(nodes)} nodes\n{duration_between(*seconds[1:])}",
            ),
        ),
        answers=(
            Answer(
                question="How often is a job hit?",
                text=f"A job on all {count(nodes)} nodes of {label(name)} meets an incident every "
                f"{duration(seconds[0])} ({duration_between(*seconds[1:])}).",
            ),
            Answer(
                question="What do common causes change?",
                text=f"An incident on many nodes stops a large job once. If every node that was hit had failed by "
                f"itself, the time between failures would come out as {duration(last['independent'] / 3600)}: the job "
                f"runs {three(factor)} times as long between failures as such a count suggests.",
            ),
            Answer(
                question="How large do incidents get?",
                text=f"{share(several[1])} of incidents hit more than one node ({share(several[2])} to "
                f"{share(several[3])}); the largest in the log hit {count(seen)}.",
            ),
            Answer(
                question="How sure is this?",
                text=f"Everything rests on {count(number)} incidents in {count(days)} days. Ranges are {INTERVAL}s. "
                "Nothing is said about clusters larger than this one, whose racks and switches may be other ones. "
                f"{gate(tree)}",
            ),
        ),
        read=(
            ("Source", source_of(tree)),
            ("Cluster", label(name)),
            ("Nodes", count(nodes)),
            ("Days", count(days)),
            ("Incidents", count(number)),
            ("Largest", f"{count(seen)} nodes"),
        ),
        sections=(
            Section(
                key="sizes",
                heading="Sizes of incidents, and what they mean to jobs",
                sentences=(f"ETTR is that of the plan: {describe(plan)}.",),
                picture=Picture(
                    draw=lambda width: incident_sizes(tree, cluster=name, width=width),
                    caption="Left: incidents a year that hit at least so many nodes, fitted and counted. Right: mean "
                    "time to failure of a job by its nodes; dashed, if every node hit had failed by itself.",
                    description="Incidents by the nodes they hit, and mean time to failure against the nodes of a job, "
                    "on logarithmic axes. The numbers are in the table that follows.",
                ),
                table=_table(tree, rows, name, plan),
            ),
        ),
        counted=_COUNTED,
        model=_MODEL,
    )


def _chosen(table: xr.Dataset, cluster: str | None) -> str:
    names = [str(name) for name in table["cluster"].values]
    if cluster is None:
        return names[int(np.argmax(table["incidents"].sum("hit").values))]
    if cluster not in names:
        raise InputError(f"cluster {cluster!r} is not in the fit; expected one of {', '.join(sorted(names))}")
    return cluster


def _table(tree: xr.DataTree, rows: list[dict[str, Any]], cluster: str, plan: Plan) -> Table:
    sizes = [row["nodes"] * plan.gpus_per_node for row in rows]
    ettr = forecast(tree, sizes, plan, cluster=cluster)["ettr"]
    entries = []
    for row, size in zip(rows, sizes, strict=True):
        low, high = (row["seconds"][figure] / 3600 for figure in ("lower", "upper"))
        entries.append(
            (
                count(row["nodes"]),
                f"{duration(row['seconds']['median'] / 3600)} ({duration_between(low, high)})",
                duration(row["independent"] / 3600),
                fraction(float(ettr.sel(gpus=size, figure="median"))),
            )
        )
    return Table(
        caption=f"Jobs by nodes, median ({INTERVAL})",
        head=("Nodes", "Mean time to failure", "If nodes failed by themselves", "ETTR"),
        rows=tuple(entries),
    )
