"""The part of a report that only one model has: rates over time, lemons among the nodes."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr

from meantime.forecast import lemon_removal
from meantime.inference import change_points, node_posterior, provenance, rate_over_time
from meantime.intervals import summarise
from meantime.report.evidence import NEW
from meantime.report.figures import lemon_nodes, rates_over_time
from meantime.report.measures import LIKELY
from meantime.report.model_tables import period_rows
from meantime.report.node_tables import lemon_rows
from meantime.report.numbers import (
    INTERVAL,
    NOTHING,
    between,
    count,
    day,
    listing,
    odds,
    quantity,
    share,
    three,
    visible,
)
from meantime.report.picture import Picture
from meantime.report.table import Table
from meantime.units import PER_1000_NODE_DAYS

AHEAD = "90d"
"""How far the fan of rates over time reaches."""
_NAMED = 8
_CERTAIN = 0.9


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnPart:
    """What one model adds to a report.

    Parameters
    ----------
    heading
        Of the section.
    question, answer
        For the summary.
    sentences
        The section's words.
    table
        The section's table.
    picture
        The section's figure.
    """

    heading: str
    question: str
    answer: str
    sentences: tuple[str, ...]
    table: Table
    picture: Picture


def own_part(tree: xr.DataTree, *, cluster: str, seed: int) -> OwnPart | None:
    """Return what the model of a fit adds to its report; None where the other parts say it all.

    Parameters
    ----------
    tree
        A fit that predicts rates of jobs.
    cluster
        A cluster of the log; for ``"new"`` there is nothing to add.
    seed
        Of what is drawn anew.
    """
    model = provenance(tree)["model"]
    if cluster == NEW:
        return None
    if model == "over_time":
        return _over_time(tree, cluster, seed)
    if model == "node_frailty":
        return _lemons(tree, cluster, seed)
    return None


def _over_time(tree: xr.DataTree, cluster: str, seed: int) -> OwnPart:
    rate = rate_over_time(tree, cluster=cluster, horizon=AHEAD, seed=seed).sum("component")
    values = PER_1000_NODE_DAYS * rate.transpose("period", "sample").values
    ahead = rate["ahead"].values
    seen = values[~ahead]
    first, last = summarise(seen[0]), summarise(seen[-1])
    ratio = summarise(seen[-1] / seen[0])
    rose = float((seen[-1] > seen[0]).mean())
    days = [day(str(np.datetime_as_string(moment, unit="D"))) for moment in rate["period"].values[~ahead]]
    moved = "risen" if rose >= 0.5 else "fallen"
    change = (
        f"In the last period of the log, from {days[-1]}, a node failed {three(last[1])} times in 1,000 days "
        f"({between(last[2], last[3])}), against {three(first[1])} ({between(first[2], first[3])}) in the first, from "
        f"{days[0]}: {three(ratio[1])} times as often ({between(ratio[2], ratio[3])}). The probability that the rate "
        f"has {moved} is {odds(max(rose, 1 - rose))}."
    )
    coming = summarise(values[ahead].mean(axis=0))
    future = (
        f"If it moves on as it did, it will be {three(coming[1])} ({between(coming[2], coming[3])}) over the next "
        f"{count(len(values[ahead]) * rate.attrs['period_days'])} days."
    )
    jumps = [visible(str(change_points(tree).attrs["sentence"]))] if "change" in tree["posterior"] else []
    rows = [
        (
            row["period"],
            count(row["failures"]),
            quantity(row["node_days"]),
            NOTHING if row["counted"] is None else three(row["counted"]),
            f"{three(row['rate']['median'])} ({between(row['rate']['lower'], row['rate']['upper'])})",
        )
        for row in period_rows(tree, cluster)
    ]
    return OwnPart(
        heading="Rates over time",
        question="Has it become better or worse?",
        answer=" ".join([change, *jumps]),
        sentences=(change, future, *jumps),
        table=Table(
            caption=f"Failures per 1,000 node-days by period, median ({INTERVAL}); the latest periods",
            head=("From", "Failures", "Node-days", "As counted", "Fitted"),
            rows=tuple(rows),
        ),
        picture=Picture(
            draw=lambda width: rates_over_time(tree, cluster=cluster, horizon=AHEAD, seed=seed, width=width),
            caption="Failures per 1,000 node-days over time: the fitted walk with its interval, the rates as counted, "
            "and behind the dashed line what may come."
            + (" Bars: the probability that rates jumped." if "change" in tree["posterior"] else ""),
            description="Failure rate against time with its interval, the counted rates as points, and a fan that "
            "widens ahead. The numbers of the latest periods are in the table that follows.",
        ),
    )


def _lemons(tree: xr.DataTree, cluster: str, seed: int) -> OwnPart:
    nodes = node_posterior(tree, cluster=cluster, seed=seed)
    probability = nodes["lemon_probability"].values
    fleet = len(probability)
    likely = int((probability >= LIKELY).sum())
    surest = np.argsort(-probability, kind="stable")[: min(likely, _NAMED)]
    taken = min(max(likely, 1), fleet - 1)
    answer = _which(nodes["node"].values, probability, surest, likely)
    if taken > 0:
        removal = lemon_removal(nodes, [taken]).isel(nodes=0)
        left = {name: float(removal["factor"].sel(figure=name)) for name in ("median", "lower", "upper")}
        worst = "the worst node" if taken == 1 else f"the worst {count(taken)} nodes"
        saved = f"{share(1 - left['median'])} fewer failures ({share(1 - left['upper'])} to {share(1 - left['lower'])})"
        answer += f" Without {worst} a job on the others would meet {saved}"
        answer += f"; the counts alone promise {share(1 - float(removal['factor_of_counts']))}."
    rows = [
        (
            row["node"],
            odds(row["probability"]),
            count(row["failures"]),
            f"{three(row['rate']['median'])} ({between(row['rate']['lower'], row['rate']['upper'])})",
        )
        for row in lemon_rows(tree, cluster)
    ]
    return OwnPart(
        heading="The worst nodes",
        question="Are there lemons among the nodes?",
        answer=answer,
        sentences=(
            f"{answer} Whoever counts the failures of the worst nodes and expects that many to go away is taken in by "
            "chance: part of them was bad luck, which the nodes that stay have from then on.",
        ),
        table=Table(
            caption=f"Nodes that are lemons most probably; failures per 1,000 node-days, median ({INTERVAL})",
            head=("Node", "Lemon", "Failures", "Rate"),
            rows=tuple((visible(name), *rest) for name, *rest in rows),
            kind="slim",
        ),
        picture=Picture(
            draw=lambda width: lemon_nodes(tree, cluster=cluster, seed=seed, width=width),
            caption="The nodes with the highest rates, with their intervals; colour and marker say how likely each is "
            "a lemon. Strokes: the rates as counted, which for the worst nodes are too high by chance.",
            description="Failure rates of the worst nodes in falling order, with intervals, in three classes of the "
            "probability to be a lemon. The ten likeliest are in the table that follows.",
        ),
    )


def _which(names: np.ndarray, probability: np.ndarray, surest: np.ndarray, likely: int) -> str:
    fleet = f"{count(len(probability))} nodes"
    expected = float(probability.sum())
    if not likely:
        top = float(probability.max())
        if top == 0:
            return f"The fit has no class of lemons; the rates of {fleet} differ by degrees."
        return (
            f"None of {fleet} is more likely a lemon than not; the likeliest is one with a probability of {odds(top)}."
        )
    sure = int((probability >= _CERTAIN).sum())
    named: Mapping[bool, str] = {True: ", among them ", False: ": "}
    which = listing([visible(str(names[index])) for index in surest])
    are = "is" if likely == 1 else "are"
    return (
        f"{count(likely)} of {fleet} {are} more likely a lemon than not{named[likely > _NAMED]}{which}; "
        f"{count(sure)} with a probability of {share(_CERTAIN)} or more. About {three(expected)} lemons are expected "
        "in all."
    )
