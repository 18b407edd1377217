"""What could be done, as a report prices it: the components that fail most, the restart, the checkpoint."""

import numpy as np
import xarray as xr

from meantime.forecast import (
    CheaperCheckpoint,
    FasterRestart,
    Mitigation,
    Plan,
    RemoveLemons,
    ScaleComponent,
    mitigate_rates,
)
from meantime.forecast.forecast import SEED
from meantime.forecast.rates import rates_of
from meantime.inference import node_posterior, provenance
from meantime.report.numbers import INTERVAL, count, fraction, gpus, label, odds, opening, three
from meantime.report.table import Table
from meantime.units import seconds

MOST_COMPONENTS = 5
"""Components whose rate is halved, those that fail most at the size."""
FACTOR = 0.5
"""What each measure multiplies by, so that they can be compared."""
_NOTICED = 0.002
"""Gain of ETTR below which nothing is called the first thing to do."""
LIKELY = 0.5
"""Probability of being a lemon from which a node is taken out."""
MOST_DRAWS = 4000
"""Draws that the measures are priced with; the Shapley shares need every set of measures."""


def price_measures(
    tree: xr.DataTree, size: int, plan: Plan, *, cluster: str | None = None, seed: int = SEED
) -> xr.Dataset:
    """Price the halving of each rate and of each time that a run loses to failures, for a job of one size.

    Parameters
    ----------
    tree
        A fit.
    size
        GPUs of the job.
    plan
        The plan without the measures, with single values.
    cluster, seed
        As in `meantime.forecast.mitigate`.

    Returns
    -------
    xarray.Dataset
        As of `meantime.forecast.mitigate`, from at most 4,000 draws of the posterior; the measures are named as a
        person would say them: ``"halve infiniband_link failures"``.

    Raises
    ------
    InputError
        If the size, the plan or the cluster cannot be used.
    """
    rate = rates_of(tree, [size], cluster=cluster, seed=seed)
    step = -(-rate.sizes["sample"] // MOST_DRAWS)
    thinned = rate.isel(sample=slice(None, None, step))
    measures = measures_for(thinned, plan) | lemons_of(tree, cluster, seed=seed, step=step)
    found = mitigate_rates(thinned, plan, list(measures.values()), seed=seed)
    return found.assign_coords(mitigation=list(measures))


def measures_for(rate: xr.DataArray, plan: Plan) -> dict[str, Mitigation]:
    """Return the measures for draws of a rate, by name: halve the most frequent components and the times of the plan.

    A time that is nothing already is left out.
    """
    medians = rate.isel(gpus=-1).median("sample")
    order = np.argsort(-medians.values, kind="stable")[:MOST_COMPONENTS]
    names = [str(medians["component"].values[index]) for index in order]
    single = medians.sizes["component"] == 1
    found: dict[str, Mitigation] = {
        "halve all failures" if single else f"halve {name} failures": ScaleComponent(name, FACTOR) for name in names
    }
    if _takes_time(plan, "restart"):
        found["halve the restart time"] = FasterRestart(factor=FACTOR)
    if _takes_time(plan, "checkpoint_write"):
        found["halve the checkpoint write"] = CheaperCheckpoint(factor=FACTOR)
    return found


def lemons_of(tree: xr.DataTree, cluster: str | None, *, seed: int = SEED, step: int = 1) -> dict[str, Mitigation]:
    """Return the removal of the nodes that are lemons more likely than not, by name; nothing of a fit without any.

    Parameters
    ----------
    tree
        A fit.
    cluster
        A cluster of the log.
    seed
        Of the nodes' rates.
    step
        Every which draw is used.
    """
    if provenance(tree)["model"] != "node_frailty":
        return {}
    nodes = node_posterior(tree, cluster=cluster, seed=seed)
    number = min(int((nodes["lemon_probability"] >= LIKELY).sum()), nodes.sizes["node"] - 1)
    if number < 1:
        return {}
    rates = nodes["rate"].isel(sample=slice(None, None, step))
    name = "take the worst node out" if number == 1 else f"take the worst {count(number)} nodes out"
    return {name: RemoveLemons(number, rates)}


def intro(found: xr.Dataset, plan: str) -> str:
    """Say what the measures are."""
    others = [str(name) for name in found["mitigation"].values if not str(name).startswith("halve ")]
    also = f" One of them differs: {others[0]}." if others else ""
    return (
        f"Each measure halves one rate of failure or one time of the plan “{label(plan)}”, so that they can be "
        f"compared; what halving costs is for you to say.{also}"
    )


def _takes_time(plan: Plan, field: str) -> bool:
    value = plan.values(field)[0]
    return not isinstance(value, str) or seconds(value) > 0


def fix_table(found: xr.Dataset) -> Table:
    """Return what each measure buys, that which gains most first, for the template to escape."""
    one = found.isel(gpus=-1)
    rows = []
    for index in _order(one):
        row = one.isel(mitigation=int(index))
        alone, shared = row["gain_alone"], row["gain_shapley"]
        saved = row["gpu_hours_saved_per_day"]
        rows.append(
            (
                opening(label(row["mitigation"].item())),
                f"{_gain(alone, 'median')} ({_gain(alone, 'lower')} to {_gain(alone, 'upper')})",
                _gain(shared, "median"),
                three(float(saved.sel(figure="median"))),
                odds(float(row["probability_best"])),
            )
        )
    return Table(
        caption=f"Gain of expected ETTR at {gpus(int(one['gpus']))}, median ({INTERVAL})",
        head=("Measure", "Alone", "Share of all", "GPU-hours a day", "Gains most"),
        rows=tuple(rows),
    )


def fix_first(found: xr.Dataset) -> str:
    """Say which measure gains most alone, how surely, what comes next, and what all of them gain together."""
    one = found.isel(gpus=-1)
    order = _order(one)
    names = [label(one["mitigation"].values[index]) for index in order]
    before, after = (float(one[name].sel(figure="median")) for name in ("ettr_before", "ettr_after"))
    best = one.isel(mitigation=int(order[0]))["gain_alone"]
    middle, low, high = (float(best.sel(figure=name)) for name in ("median", "lower", "upper"))
    together = float(one["gpu_hours_saved_per_day"].sel(figure="median").sum())
    size = gpus(int(one["gpus"]))
    if middle < _NOTICED:
        return (
            f"At {size} little is left to gain: none of the {len(names)} measures priced adds {_NOTICED:.1%} of the "
            f"wallclock. All together would raise the expected ETTR from {fraction(before)} to {fraction(after)}."
        )
    text = (
        f"{opening(names[0])}: at {size} that alone raises the expected ETTR from {fraction(before)} to "
        f"{fraction(before + middle)} (a gain of {low:.3f} to {high:.3f}). The probability that no other of the "
        f"{len(names)} measures priced gains more is {odds(float(one['probability_best'].values[order[0]]))}."
    )
    if len(names) > 1:
        second = one.isel(mitigation=int(order[1]))["gain_alone"]
        text += f" Next comes: {names[1]} (+{_gain(second, 'median')})."
        text += (
            f" All together reach {fraction(after)} and save about {three(together)} GPU-hours a day. Measures work "
            "on the same lost time, so their gains do not add up."
        )
    return text


def _order(one: xr.Dataset) -> np.ndarray:
    return np.argsort(-one["gain_alone"].sel(figure="median").values, kind="stable")


def _gain(figures: xr.DataArray, name: str) -> str:
    return f"{float(figures.sel(figure=name)):.3f}"
