"""What mitigations buy: each alone, all together, and fair shares of the joint gain, draw by draw."""

import json
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.forecast.effects import Effects, combined
from meantime.forecast.forecast import SEED
from meantime.forecast.grid import grid_of
from meantime.forecast.horizon import Horizon
from meantime.forecast.limits import warnings_of
from meantime.forecast.mitigations import HotSpares, Mitigation
from meantime.forecast.plan import Plan, plan_or_default
from meantime.forecast.rates import checked_gpus, rates_of, with_components
from meantime.forecast.scenario import Outcome, Scenario, check_components, outcome_of
from meantime.forecast.shapley import EXACT_UP_TO, Subset, shapley_shares
from meantime.intervals import FIGURES, KIND, PROBABILITY, summarise
from meantime.units import HOURS_PER_DAY

SCHEMA = "meantime.mitigate/1"
MAX_MITIGATIONS = 40


def mitigate(
    tree: xr.DataTree,
    gpus: int | Iterable[int],
    plan: Plan | None,
    mitigations: Sequence[Mitigation],
    *,
    cluster: str | None = None,
    horizon: Horizon | None = None,
    seed: int = SEED,
) -> xr.Dataset:
    """Price mitigations for jobs of given sizes, from a fit.

    Parameters
    ----------
    tree
        A fit, as `meantime.inference.fit` returns it.
    gpus
        Sizes of the job in GPUs.
    plan
        The plan of the run without mitigations, with single values.
    mitigations
        What could be done.
    cluster
        Cluster of the fit, or ``"new"``; may be left out where it has one.
    horizon
        For a fit of `over_time`: the time ahead over which rates are averaged, or a date until which.
    seed
        Seed of every random draw.

    Returns
    -------
    xarray.Dataset
        See `mitigate_rates`.

    Raises
    ------
    InputError
        If the sizes, the plan, the cluster or a mitigation cannot be used.
    """
    rates = rates_of(tree, gpus, cluster=cluster, horizon=horizon, seed=seed)
    return mitigate_rates(rates, plan, mitigations, seed=seed)


def mitigate_rates(
    rate: xr.DataArray, plan: Plan | None, mitigations: Sequence[Mitigation], *, seed: int = SEED
) -> xr.Dataset:
    """Price mitigations from draws of the failure rate.

    Gains are in the expected ETTR, draw by draw, so that their intervals say how sure they are. What
    mitigations do together is not the sum of what they do alone: they work on the same lost time. Shapley
    shares divide the joint gain fairly and add up to it.

    Parameters
    ----------
    rate
        Failures per node-day, dims (sample, component, gpus).
    plan
        The plan of the run without mitigations, with single values.
    mitigations
        What could be done, in any order.
    seed
        Seed of uncertain values, and of the orders drawn if there are more than ten mitigations.

    Returns
    -------
    xarray.Dataset
        Dims (gpus, mitigation, figure). `ettr_before`, `ettr_after` and `gain_together` (gpus, figure);
        `gain_alone`, `gain_last` (what is lost if all but this one are done), `gain_shapley` and
        `gpu_hours_saved_per_day` (its Shapley share) (gpus, mitigation, figure); `probability_best` (gpus,
        mitigation): posterior probability that alone it gains the most; `shapley_error`;
        `interval_before`, `interval_after` and `interval_alone` (hours between checkpoints); `mttf_after` (hours).

    Raises
    ------
    InputError
        If the rates, the plan or a mitigation cannot be used.
    """
    plan = plan_or_default(plan)
    if plan.lists:
        raise InputError(f"{plan.lists[0]} of the plan is a list; expected single values to mitigate from")
    labels = _labels(mitigations)
    rates = with_components(rate)
    components = [str(name) for name in rates["component"].values]
    sizes = checked_gpus(rate["gpus"].values.tolist())
    n_draws = rates.sizes["sample"]
    hours = {name: values[0] for name, values in grid_of(plan, n_draws, seed=seed).hours.items()}
    effects = [mitigation.effects(n_draws, seed) for mitigation in mitigations]
    check_components(components, effects)
    results = []
    for size in sizes:
        draws = rates.sel(gpus=size).transpose("component", "sample").values
        scenario = Scenario(
            nodes=size / plan.gpus_per_node, rates=dict(zip(components, draws, strict=True)), hours=hours
        )
        results.append(_of_size(scenario, effects, size, np.random.default_rng([seed, size])))
    data = {name: (dims, np.stack([result[name][1] for result in results])) for name, (dims, _) in results[0].items()}
    return xr.Dataset(
        data,
        coords={"gpus": sizes, "mitigation": labels, "figure": list(FIGURES)},
        attrs={
            "schema": SCHEMA,
            "interval_kind": KIND,
            "interval_probability": PROBABILITY,
            "gpus_per_node": plan.gpus_per_node,
            "seed": seed,
            "plan": json.dumps(plan.to_dict()),
            "model": rate.attrs.get("model", "{}"),
            "notes": "\n".join([*warnings_of(rate), *_notes(mitigations, plan, results)]),
        },
    )


def _of_size(
    scenario: Scenario, effects: Sequence[Effects], size: int, rng: np.random.Generator
) -> dict[str, tuple[tuple[str, ...], np.ndarray]]:
    def found(sets: Sequence[Subset]) -> Outcome:
        return outcome_of(scenario, [combined(effects[part] for part in sorted(chosen)) for chosen in sets])

    everything: Subset = frozenset(range(len(effects)))
    singles = [frozenset([part]) for part in range(len(effects))]
    ends = found([frozenset(), everything, *singles, *(everything - single for single in singles)])
    before, after, *others = ends.ettr
    alone = np.stack(others[: len(effects)]) - before
    last = after - np.stack(others[len(effects) :])
    shares = shapley_shares(len(effects), lambda sets: found(sets).ettr, rng=rng)
    saved = HOURS_PER_DAY * size * shares.shapley
    one, many = ("gpus", "figure"), ("gpus", "mitigation", "figure")
    return {
        "ettr_before": (one, summarise(before)),
        "ettr_after": (one, summarise(after)),
        "gain_together": (one, summarise(after - before)),
        "gain_alone": (many, summarise(alone)),
        "gain_last": (many, summarise(last)),
        "gain_shapley": (many, summarise(shares.shapley)),
        "gpu_hours_saved_per_day": (many, summarise(saved)),
        "probability_best": (("gpus", "mitigation"), _probability_largest(alone)),
        "shapley_error": (("gpus", "mitigation"), shares.error),
        "interval_before": (("gpus",), ends.interval[0]),
        "interval_after": (("gpus",), ends.interval[1]),
        "interval_alone": (("gpus", "mitigation"), ends.interval[2 : 2 + len(effects)]),
        "mttf_after": (one, _mttf(ends.hazard[1])),
    }


def _mttf(hazard: np.ndarray) -> np.ndarray:
    """Figures of 1 / hazard, infinite where nothing fails."""
    with np.errstate(divide="ignore"):
        return np.append((1 / hazard).mean(), 1 / summarise(hazard)[[1, 3, 2]])


def _probability_largest(gains: np.ndarray) -> np.ndarray:
    """Share of the draws in which each is the largest; equal ones divide theirs."""
    largest = np.isclose(gains, gains.max(axis=0), rtol=1e-9, atol=1e-12)
    return np.asarray((largest / largest.sum(axis=0)).mean(axis=1))


def _labels(mitigations: Sequence[Mitigation]) -> list[str]:
    if not 0 < len(mitigations) <= MAX_MITIGATIONS:
        raise InputError(f"{len(mitigations)} mitigations; expected 1 to {MAX_MITIGATIONS}")
    labels = []
    for mitigation in mitigations:
        if not hasattr(mitigation, "effects") or isinstance(mitigation, type):
            raise InputError(f"{mitigation!r} is no mitigation; expected, for example, FasterRestart('1min')")
        labels.append(mitigation.label)
    repeated = [text for text in labels if labels.count(text) > 1]
    if repeated:
        raise InputError(f"mitigation {repeated[0]!r} is there twice; expected different ones")
    return labels


def _notes(mitigations: Sequence[Mitigation], plan: Plan, results: Sequence[dict[str, Any]]) -> list[str]:
    notes = []
    if len(mitigations) > EXACT_UP_TO:
        worst = max(float(result["shapley_error"][1].max()) for result in results)
        notes.append(f"Shapley shares are from drawn orders, to within {worst:.1g} of ETTR (standard error).")
    spares = sum(mitigation.spares for mitigation in mitigations if isinstance(mitigation, HotSpares))
    if spares:
        idle = spares * plan.gpus_per_node
        notes.append(f"{spares:,} spare nodes hold {idle:,} GPUs idle, {idle * 24:,} GPU-hours a day.")
        if str(plan.queue) in ("0s", "0min", "0h"):
            notes.append("The plan has no queue after a failure, so spares have nothing to save.")
    for name, one in zip([mitigation.label for mitigation in mitigations], results[-1]["gain_alone"][1], strict=True):
        if abs(one[0]) < 1e-9:
            notes.append(f"{name!r} changes nothing in this plan.")
    return notes
