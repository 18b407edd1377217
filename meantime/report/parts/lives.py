"""The page of a fit of lives: does a part fail more often when it is old, and what else makes a difference."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from meantime.inference import provenance, survival_curve
from meantime.intervals import summarise
from meantime.models.lives import YEAR
from meantime.report.figures import survival_by_age
from meantime.report.numbers import INTERVAL, between, count, label, odds, quantity, share, three
from meantime.report.parts.page import PartsPage, Section
from meantime.report.picture import Picture
from meantime.report.sections import source_of
from meantime.report.table import Table
from meantime.report.words import Answer, Headline, gate

_COUNTED = (
    "Age is the time of a part in service, never the time since a job began. A part that was in service before the log "
    "begins enters at the age it had then; one that lives on when the log ends, or that was taken out for another "
    "reason, is censored there."
)
_MODELS = {
    "lifetime": (
        "The hazard is a power of the age (Weibull): S(t) = exp(−(t / scale)^shape). A shape above 1 is wear, one "
        "below 1 early failures. Covariates multiply the hazard at all ages alike. Rows are compressed to counts and "
        "days by interval of age and pattern of covariates."
    ),
    "lifetime_steps": (
        "The hazard is constant within intervals of age; its logarithm walks from one interval to the next with steps "
        "whose width is fitted. Covariates multiply the hazard at all ages alike. Beyond the last interval the last "
        "hazard is kept, which is an assumption."
    ),
}


def lives_page(tree: xr.DataTree) -> PartsPage:
    """Return the page of a fit of `lifetime` or `lifetime_steps`."""
    table, model = tree["fit_data"].to_dataset(), str(provenance(tree)["model"])
    failures, days = float(table["failures"].sum()), float(table["exposure"].sum())
    oldest = float(table["cut"].values[-1])
    ages = _ages(oldest)
    curve = survival_curve(tree, ages)
    alive = summarise(curve["survival"].transpose("age", "sample").values)
    shown = len(ages) - 1
    return PartsPage(
        title="Lives of parts",
        headlines=(
            _trend_headline(tree, curve, model),
            Headline(
                name="Still in service",
                value=share(alive[shown, 1]),
                note=f"at an age of {_age(ages[shown])}\n{share(alive[shown, 2])} to {share(alive[shown, 3])}",
            ),
            Headline(
                name="Failures",
                value=count(failures),
                note=f"of {count(float(table['lives'].sum()))} lives\nin {quantity(days)} days",
            ),
        ),
        answers=(
            Answer(question="Do parts fail more often as they age?", text=_trend(tree, curve, ages, model)),
            Answer(question="How many live how long?", text=_alive(ages, alive)),
            Answer(question="What makes a difference?", text=_differences(tree)),
            Answer(
                question="How sure is this?",
                text=f"Everything rests on {count(failures)} failures in {quantity(days)} days of service. Ranges are "
                f"{INTERVAL}s. No part in the log was older than {_age(oldest)}; beyond that nothing is known. "
                f"{gate(tree)}",
            ),
        ),
        read=(
            ("Source", source_of(tree)),
            ("Lives", count(float(table["lives"].sum()))),
            ("Failures", count(failures)),
            ("Time in service", f"{quantity(days)} days"),
            ("Oldest", _age(oldest)),
        ),
        sections=(
            Section(
                key="age",
                heading="Hazard and survival by age",
                picture=Picture(
                    draw=lambda width: survival_by_age(tree, width=width),
                    caption="Left: failures per million days in service, by age. Right: the share that is still alive. "
                    "Lines and bands: the fit, of a part with the reference levels and mean numbers of its "
                    "covariates. Points: the lives themselves.",
                    description="Hazard and survival against age with intervals, beside the lives themselves. The "
                    "numbers are in the table that follows.",
                ),
                table=_table(ages, alive, curve),
            ),
            *_effects(tree),
        ),
        counted=_COUNTED,
        model=_MODELS[model],
    )


def _ages(oldest: float) -> np.ndarray:
    """Return round ages up to the oldest, at least one."""
    years = YEAR * np.array([0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 7.0, 10.0])
    return years[years <= oldest] if (years <= oldest).any() else np.array([oldest])


def _age(days: float) -> str:
    return f"{three(days / YEAR).rstrip('0').rstrip('.')} years" if days >= 2 * YEAR else f"{count(days)} days"


def _trend_headline(tree: xr.DataTree, curve: xr.Dataset, model: str) -> Headline:
    if model == "lifetime":
        _, median, lower, upper = summarise(tree["posterior"].to_dataset()["shape"].values.ravel())
        return Headline(name="Weibull shape", value=three(median), note=f"above 1 is wear\n{between(lower, upper)}")
    _, median, lower, upper = summarise(_ratio(curve))
    note = f"old against young\n{between(lower, upper)}"
    return Headline(name="Hazard", value=f"× {three(median)}", note=note)


def _ratio(curve: xr.Dataset) -> np.ndarray:
    """Return the hazard at the last age shown over that at the first, draw by draw."""
    hazard = curve["hazard"].transpose("age", "sample").values
    return np.asarray(hazard[-1] / hazard[0])


def _trend(tree: xr.DataTree, curve: xr.Dataset, ages: np.ndarray, model: str) -> str:
    ratio = _ratio(curve)
    _, median, lower, upper = summarise(ratio)
    wear = float((ratio > 1).mean()) if len(ages) > 1 else 0.5
    if model == "lifetime":
        shape = tree["posterior"].to_dataset()["shape"].values.ravel()
        wear = float((shape > 1).mean())
    word = "Yes" if wear > 0.95 else "No" if wear < 0.05 else "The data do not decide"
    text = f"{word}: the probability that the hazard rises with age is {odds(wear)}."
    if len(ages) > 1:
        text += (
            f" At {_age(ages[-1])} a part fails {three(median)} times as often ({between(lower, upper)}) as at "
            f"{_age(ages[0])}."
        )
    if wear < 0.05:
        text += " Old parts are the better ones; replacing them early would be money lost."
    return text


def _alive(ages: np.ndarray, alive: np.ndarray) -> str:
    parts = [
        f"{share(row[1])} ({share(row[2])} to {share(row[3])}) reach {_age(age)}"
        for age, row in zip(ages[-3:], alive[-3:], strict=True)
    ]
    return f"Of parts with the reference levels and mean numbers of the covariates, {', '.join(parts)}."


def _effect_figures(tree: xr.DataTree) -> Mapping[str, tuple[np.ndarray, float]]:
    """Return, by covariate, figures of the factor on the hazard and the probability that it is above 1."""
    if "coefficient" not in tree["posterior"]:
        return {}
    draws = tree["posterior"]["coefficient"].stack(sample=("chain", "draw"), create_index=False)
    return {
        str(name): (summarise(np.exp(values := draws.sel(covariate=name).values)), float((values > 0).mean()))
        for name in draws["covariate"].values
    }


def _differences(tree: xr.DataTree) -> str:
    effects = _effect_figures(tree)
    if not effects:
        return "The fit has no covariates; give it batch, position or vendor to learn what makes a difference."
    sure = {name: found for name, found in effects.items() if not 0.05 <= found[1] <= 0.95}
    if not sure:
        return f"Of the {count(len(effects))} covariates none surely does."
    ordered = sorted(sure, key=lambda name: -abs(float(np.log(sure[name][0][1]))))
    parts = [
        f"{label(name)} multiplies the hazard by {three(sure[name][0][1])} ({between(*sure[name][0][2:])})"
        for name in ordered[:3]
    ]
    return f"{'; '.join(parts)}. Numbers are taken per standard deviation."


def _effects(tree: xr.DataTree) -> tuple[Section, ...]:
    effects = _effect_figures(tree)
    if not effects:
        return ()
    rows = [
        (label(name), three(figures[1]), between(figures[2], figures[3]), odds(above))
        for name, (figures, above) in effects.items()
    ]
    return (
        Section(
            key="effects",
            heading="What makes a difference",
            table=Table(
                caption="Factors on the hazard; of a number, per standard deviation",
                head=("Covariate", "Factor", INTERVAL, "Above 1"),
                rows=tuple(rows),
                kind="slim",
            ),
        ),
    )


def _table(ages: np.ndarray, alive: np.ndarray, curve: xr.Dataset) -> Table:
    hazard = 1e6 * summarise(curve["hazard"].transpose("age", "sample").values)
    rows = [
        (
            _age(age),
            f"{share(now[1])} ({share(now[2])} to {share(now[3])})",
            f"{three(rate[1])} ({between(rate[2], rate[3])})",
        )
        for age, now, rate in zip(ages, alive, hazard, strict=True)
    ]
    return Table(
        caption=f"Survival and hazard by age, median ({INTERVAL})",
        head=("Age", "Still alive", "Failures per million days"),
        rows=tuple(rows),
    )
