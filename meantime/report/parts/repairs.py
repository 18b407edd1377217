"""The page of a fit of repairs: how long nodes are away, and what that asks of spares."""

import numpy as np
import xarray as xr

from meantime.inference import provenance, repair_hours
from meantime.intervals import summarise
from meantime.report.evidence import source_facts
from meantime.report.figures import repair_times
from meantime.report.numbers import INTERVAL, count, duration, duration_between, label, odds, opening
from meantime.report.parts.page import PartsPage, Section
from meantime.report.picture import Picture
from meantime.report.sections import source_of
from meantime.report.table import Table
from meantime.report.words import Answer, Headline, gate

MOST_CLASSES = 20
_COUNTED = (
    "A repair is the time from the begin of an outage to its end. Outages that went on when the log ended are "
    "censored; those without a length are left out and counted."
)
_MODELS = {
    "repair": (
        "Repair times of a class are log-normal. Medians and spreads of the classes are drawn from common "
        "distributions, so that classes with few repairs borrow from the others. The mean of a log-normal hangs on its "
        "tail: where real times have a heavier one, the longest repairs are longer than this says."
    ),
    "repair_tail": (
        "Repair times of a class are a mixture of two log-normals: common repairs, and a share of long ones that end "
        "later and are spread wider. What classes have in common is drawn from common distributions, so that classes "
        "with few repairs borrow from the others."
    ),
}


def repairs_page(tree: xr.DataTree) -> PartsPage:
    """Return the page of a fit of `repair` or `repair_tail`."""
    table, hours = tree["fit_data"].to_dataset(), repair_hours(tree)
    names = [str(name) for name in table["class"].values]
    number = table["repairs"].values + np.bincount(table["open_class"].values.astype(int), minlength=len(names))
    mean, coming = (summarise(hours[name].values) for name in ("mean", "next"))
    of_class = summarise(hours["mean_of_class"].transpose("class", "sample").values)
    nine = float(np.quantile(hours["next"].values, 0.9))
    kind = label(source_facts(tree).get("class", "class"))
    return PartsPage(
        title="Repair times",
        headlines=(
            Headline(
                name="Mean repair", value=duration(mean[1]), note=f"over all classes\n{duration_between(*mean[2:])}"
            ),
            Headline(name="Half are done within", value=duration(coming[1]), note="a repair to come"),
            Headline(name="Nine in ten within", value=duration(nine), note="a repair to come"),
        ),
        answers=(
            Answer(
                question="How long is a node away?",
                text=f"On average {duration(mean[1])} ({duration_between(*mean[2:])}); but half of the repairs are "
                f"over within {duration(coming[1])}, and one in ten takes longer than {duration(nine)}. The mean is "
                "what spares are planned with: nodes in repair are failures times mean repair time, whatever its law.",
            ),
            Answer(
                question="Which take longest?",
                text=_longest(names, hours["mean_of_class"].transpose("class", "sample").values),
            ),
            Answer(
                question="How sure is this?",
                text=f"Everything rests on {count(float(number.sum()))} repairs, "
                f"{count(table.sizes['open'])} of which were not over. Ranges are {INTERVAL}s. {gate(tree)}",
            ),
        ),
        read=(
            ("Source", source_of(tree)),
            ("Repairs", count(float(number.sum()))),
            ("Not over yet", count(table.sizes["open"])),
            ("Classes by", kind),
        ),
        sections=(
            Section(
                key="classes",
                heading="Repair times by class",
                picture=Picture(
                    draw=lambda width: repair_times(tree, width=width),
                    caption="The time within which half, nine in ten and 99 in 100 repairs of a class are over, with "
                    f"the {INTERVAL} of each.",
                    description="Dots with intervals on a logarithmic scale of hours, three for each class. Means are "
                    "in the table that follows.",
                ),
                table=_table(names, number, of_class, hours),
            ),
        ),
        counted=_COUNTED,
        model=_MODELS[str(provenance(tree)["model"])],
    )


def _longest(names: list[str], means: np.ndarray) -> str:
    if len(names) == 1:
        return "The fit has one class; fit by component to tell them apart."
    median = np.median(means, axis=1)
    order = np.argsort(-median, kind="stable")
    sure = float((means.argmax(axis=0) == order[0]).mean())
    return (
        f"{opening(label(names[order[0]]))}, on average {duration(median[order[0]])}, and "
        f"{label(names[order[-1]])} the shortest, {duration(median[order[-1]])}. The probability that no other class "
        f"takes longer than the first is {odds(sure)}."
    )


def _table(names: list[str], number: np.ndarray, means: np.ndarray, hours: xr.Dataset) -> Table:
    coming = hours["next_of_class"].transpose("class", "sample").values
    order = np.argsort(-number, kind="stable")[:MOST_CLASSES]
    rows = [
        (
            label(names[index]),
            count(float(number[index])),
            f"{duration(means[index, 1])} ({duration_between(*means[index, 2:])})",
            duration(float(np.median(coming[index]))),
            duration(float(np.quantile(coming[index], 0.9))),
        )
        for index in order
    ]
    more = "" if len(names) <= MOST_CLASSES else f"; the {MOST_CLASSES} largest of {count(len(names))} classes"
    return Table(
        caption=f"Repairs by class, mean with {INTERVAL}{more}",
        head=("Class", "Repairs", "Mean", "Half within", "Nine in ten"),
        rows=tuple(rows),
    )
