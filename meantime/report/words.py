"""What a fit says, in plain words: the sentences and the short table at the head of a report."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

from meantime.forecast import Plan
from meantime.inference import predict_rate, provenance, size_law
from meantime.inference.exact import EXACT_METHODS
from meantime.intervals import PROBABILITY, summarise
from meantime.report.evidence import NEW, component_rates, counts, gpus_per_node, largest_job, mttf_hours
from meantime.report.measures import fix_first
from meantime.report.numbers import (
    INTERVAL,
    SPACE,
    between,
    count,
    days_number,
    duration,
    duration_between,
    fraction,
    fraction_between,
    gpus,
    label,
    listing,
    odds,
    opening,
    quantity,
    share,
    signed,
    three,
)
from meantime.report.own import OwnPart
from meantime.report.plans import describe
from meantime.units import PER_1000_NODE_DAYS

_FREQUENT = 3
_CERTAIN = 0.95
_ODDS = round(10 * PROBABILITY)


@dataclass(frozen=True, slots=True, kw_only=True)
class Headline:
    """One large figure: what it is of, the figure, and its range or qualification."""

    name: str
    value: str
    note: str
    extrapolated: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """A question a reader has, and the answer in a few sentences."""

    question: str
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ShortRow:
    """One size in the short table, every entry as text."""

    gpus: str
    mttf: str
    mttf_range: str
    failures_per_day: str
    failures_range: str
    interval: str
    ettr: str
    ettr_range: str
    run: str
    run_range: str
    days: str
    days_range: str
    extrapolated: bool


def headlines(
    tree: xr.DataTree, forecasts: Mapping[str, xr.Dataset], sizes: Sequence[int], cluster: str
) -> list[Headline]:
    """Return the three figures to remember: what fails most, MTTF at the largest job seen, ETTR at the largest size."""
    size, (_, median, lower, upper) = _today(tree, sizes, cluster)
    name, forecast = next(iter(forecasts.items()))
    ettr = forecast["ettr"].sel(gpus=max(sizes))
    low, high = _figure(ettr, "lower"), _figure(ettr, "upper")
    return [
        _first_headline(_rates(tree, cluster)),
        Headline(
            name="Mean time to failure" + (" today" if largest_job(tree) else ""),
            value=duration(median),
            note=f"at {gpus(size)}\n{duration_between(lower, upper)}",
        ),
        Headline(
            name=f"ETTR, plan “{label(name)}”",
            value=fraction(_figure(ettr, "median")),
            note=f"at {gpus(max(sizes))}\n{fraction_between(low, high)}",
            extrapolated=bool(forecast["extrapolated"].sel(gpus=max(sizes))),
        ),
    ]


def answers(
    tree: xr.DataTree,
    forecasts: Mapping[str, xr.Dataset],
    plans: Mapping[str, Plan],
    sizes: Sequence[int],
    cluster: str,
    priced: xr.Dataset,
    own: OwnPart | None = None,
) -> list[Answer]:
    """Answer what a reader asks first, in the order asked.

    Parameters
    ----------
    tree
        A fit.
    forecasts, plans
        By the name of the plan; the first is the one the words are about.
    sizes
        Sizes asked, GPUs.
    cluster
        The cluster they are about, or ``"new"``.
    priced
        The measures, as of `meantime.report.measures.price_measures`.
    own
        What the model of the fit adds to the report.
    """
    added = [] if own is None else [Answer(question=own.question, text=own.answer)]
    return [
        Answer(question="What fails most?", text=_frequent(tree, cluster)),
        Answer(question="How long does a job run between failures today?", text=_mttf_today(tree, sizes, cluster)),
        *added,
        Answer(question="What should we expect at larger sizes?", text=_larger(forecasts, plans, sizes)),
        Answer(question="What should be fixed first, and what does that buy?", text=fix_first(priced)),
        Answer(question="How sure is this?", text=_sure(tree, sizes)),
    ]


def short_table(forecast: xr.Dataset, sizes: Sequence[int]) -> list[ShortRow]:
    """Lay out one plan's forecast at the sizes asked, every entry as text."""
    rows = []
    for size in sizes:
        at = forecast.sel(gpus=size)
        mttf, ettr, run, days = (at[name] for name in ("mttf", "ettr", "ettr_run", "days_to_finish"))
        failures = at["failures_per_day"]
        rows.append(
            ShortRow(
                gpus=count(size),
                mttf=duration(_figure(mttf, "median")),
                mttf_range=duration_between(_figure(mttf, "lower"), _figure(mttf, "upper")),
                failures_per_day=three(_figure(failures, "median")),
                failures_range=between(_figure(failures, "lower"), _figure(failures, "upper")),
                interval=duration(float(at["chosen_interval"])),
                ettr=fraction(_figure(ettr, "median")),
                ettr_range=fraction_between(_figure(ettr, "lower"), _figure(ettr, "upper")),
                run=fraction(_figure(run, "median")),
                run_range=fraction_between(_figure(run, "lower"), _figure(run, "upper")),
                days=days_number(_figure(days, "median")),
                days_range=f"{days_number(_figure(days, 'lower'))} to {days_number(_figure(days, 'upper'))}",
                extrapolated=bool(at["extrapolated"]),
            )
        )
    return rows


def _figure(values: xr.DataArray, name: str) -> float:
    return float(values.sel(figure=name))


def _first_headline(rates: xr.DataArray) -> Headline:
    if rates.sizes["component"] == 1:
        _, median, lower, upper = summarise(rates.values.ravel()) * PER_1000_NODE_DAYS
        note = f"in 1,000 node-days\n{between(lower, upper)}"
        return Headline(name="Failures of a node", value=three(median), note=note)
    top, portion, first = _top(rates)
    return Headline(
        name="Fails most",
        value=opening(label(top)),
        note=f"{share(portion)} of all failures\n{odds(first)} sure to lead",
    )


def _rates(tree: xr.DataTree, cluster: str) -> xr.DataArray:
    """Return rates per node-day (sample, component): over the log's sizes, or at the largest for a new cluster."""
    if cluster != NEW:
        return component_rates(tree, cluster)
    return predict_rate(tree, [max(largest_job(tree), gpus_per_node(tree))], cluster=NEW).isel(gpus=0)


def _top(rates: xr.DataArray) -> tuple[str, float, float]:
    """Return the most frequent component, its share of all failures, and the probability that it is the first."""
    values = rates.transpose("sample", "component").values
    index = int(np.median(values, axis=0).argmax())
    portion = float(np.median(values[:, index] / values.sum(axis=1)))
    return str(rates["component"].values[index]), portion, float((values.argmax(axis=1) == index).mean())


def _frequent(tree: xr.DataTree, cluster: str) -> str:
    rates = _rates(tree, cluster)
    values = rates.transpose("sample", "component").values
    _, total, lower, upper = summarise(values.sum(axis=1)) * PER_1000_NODE_DAYS
    in_all = f"a node fails {three(total)} times in 1,000 days of work ({between(lower, upper)})"
    if rates.sizes["component"] == 1:
        return f"The fit does not tell components apart. In all, {in_all}."
    portions = np.median(values / values.sum(axis=1, keepdims=True), axis=0)
    order = np.argsort(-np.median(values, axis=0))[:_FREQUENT]
    names = [label(rates["component"].values[index]) for index in order]
    others = listing([f"{name} ({share(portions[index])})" for name, index in zip(names[1:], order[1:], strict=True)])
    return (
        f"{opening(names[0])} accounts for {share(portions[order[0]])} of all failures, followed by {others}. "
        f"The probability that it comes first is {odds(_top(rates)[2])}. Taking all components together, {in_all}."
    )


def _today(tree: xr.DataTree, sizes: Sequence[int], cluster: str) -> tuple[int, np.ndarray]:
    """Return the largest size seen (or the smallest asked, if that is unknown) and its MTTF figures in hours."""
    size = largest_job(tree) or min(sizes)
    rate = predict_rate(tree, [size], cluster=cluster).sum("component").isel(gpus=0)
    return size, summarise(mttf_hours(rate.values, size, gpus_per_node(tree)))


def _mttf_today(tree: xr.DataTree, sizes: Sequence[int], cluster: str) -> str:
    size, (_, median, lower, upper) = _today(tree, sizes, cluster)
    which = "the largest in the data" if largest_job(tree) else "the smallest size asked about"
    return (
        f"A job on {gpus(size)}, {which}, meets a failure every {duration(median)} on average "
        f"({duration_between(lower, upper)}). {_law(tree)}"
    )


def _law(tree: xr.DataTree) -> str:
    """Say whether twice the nodes halve the time, as far as the data tell."""
    if provenance(tree)["model"] != "component_size":
        return "The model takes it that nodes fail equally often in jobs of every size: twice the nodes, half the time."
    law = size_law(tree)
    figures = law["overall"]
    median, lower, upper = (100 * np.expm1(float(figures.sel(figure=name))) for name in ("median", "lower", "upper"))
    ends = f"{signed(lower)} to {signed(upper)}"
    change = f"with each doubling of the job the rate of a node changes by {signed(median)}{SPACE}% ({ends})"
    if float(law["overall_negligible"]) >= _CERTAIN:
        verdict = f"Twice the nodes halve that time: {change}, which hardly matters."
    elif lower > 0:
        verdict = f"In larger jobs nodes fail more often, {change}: twice the nodes more than halve the time."
    elif upper < 0:
        verdict = f"In larger jobs nodes fail less often, {change}: twice the nodes do not quite halve the time."
    else:
        verdict = f"Whether twice the nodes halve that time the data do not decide: {change}."
    return f"{verdict} {law.attrs['contradiction']}".strip()


def _larger(forecasts: Mapping[str, xr.Dataset], plans: Mapping[str, Plan], sizes: Sequence[int]) -> str:
    first, *rest = forecasts
    small, large = min(sizes), max(sizes)
    text = f"Of the wallclock of a run, {_productive(forecasts[first], large)} is productive at {gpus(large)}"
    if small != large:
        text += f", against {_productive(forecasts[first], small)} at {gpus(small)}"
    text += f" (plan “{label(first)}”: {describe(plans[first])})."
    if rest:
        others = [f"{_productive(forecasts[name], large)} with “{label(name)}”" for name in rest]
        text += f" At {gpus(large)} it would be {listing(others)}."
    return text


def _productive(forecast: xr.Dataset, size: int) -> str:
    figures = forecast["ettr"].sel(gpus=size)
    lower, upper = (share(_figure(figures, name)).removesuffix(f"{SPACE}%") for name in ("lower", "upper"))
    return share(_figure(figures, "median")) + (f" ({lower} to {upper})" if lower != upper else "")


def _sure(tree: xr.DataTree, sizes: Sequence[int]) -> str:
    table = counts(tree)
    parts = [
        f"Everything rests on {count(float(table['failures'].sum()))} failures in "
        f"{quantity(float(table['exposure'].sum()))} node-days. Ranges are {INTERVAL}s: if the model holds, the truth "
        f"lies inside {_ODDS} times in 10."
    ]
    seen = largest_job(tree)
    beyond = [size for size in sizes if seen and size > seen]
    if beyond:
        factor = max(beyond) / seen
        times = count(factor) if factor >= 10 else three(factor).rstrip("0").rstrip(".")
        larger = listing([count(size) for size in beyond])
        parts.append(
            f"No job in the data used more than {gpus(seen)}. The figures for {larger} GPUs reach up to {times} times "
            "further and assume that the trend goes on."
        )
    elif not seen:
        parts.append("The size of the largest job in the data is not known, so every size counts as extrapolated.")
    return " ".join([*parts, gate(tree)])


def gate(tree: xr.DataTree) -> str:
    """Say in a sentence whether the draws can be trusted."""
    found = provenance(tree)
    if found.get("diagnostics", {}).get("converged") is False:
        return "The fit did not converge: do not rely on these figures."
    if found.get("method") in EXACT_METHODS:
        return "The posterior is exact; no sampler was needed."
    if found.get("method") == "laplace":
        return "The posterior is an approximation, for a first look."
    return "The sampler passed all of its checks."
