"""How draws of a posterior are found: exactly, by NUTS, or roughly, from a Gaussian."""

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference import gate
from meantime.inference.exact import EXACT_METHODS, exact_diagnostics
from meantime.inference.families import FAMILIES, Family
from meantime.inference.sampling import Plan, sample
from meantime.models import Layout

if TYPE_CHECKING:
    from meantime.inference.nuts import Chains

METHODS = ("auto", *EXACT_METHODS, "laplace", "nuts")

MOST_VALUES = 60_000_000
"""Numbers stored of one variable that every cell has (480 MB): beyond, draws are thinned."""

LONGEST = 4
"""A fit that lacks only effective draws goes on sampling, up to so many times the draws asked for."""

MARGIN = 1.25
"""Goes on by what is missing of the effective draws, times this; a quarter of the draws asked for at least."""

RETRIES = 2
"""How often a fit with divergent trajectories is run again, with smaller steps and twice the warm-up each time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawn:
    """Draws of a posterior, before they are labelled.

    Parameters
    ----------
    sampled
        Sampled variables, (chain, draw, ...).
    statistics
        Sampler statistics, (chain, draw); empty unless sampled by NUTS.
    diagnostics
        What the gate looks at.
    plan
        The plan as it was carried out.
    exact
        What is known exactly, if anything.
    """

    sampled: dict[str, np.ndarray]
    statistics: dict[str, np.ndarray] = field(default_factory=dict)
    diagnostics: gate.Diagnostics
    plan: Plan
    exact: xr.Dataset | None = None


def thinned(drawn: Drawn, cells: int) -> tuple[Drawn, int]:
    """Keep every so many draws, so that what is stored of each cell stays within `MOST_VALUES`.

    Returns
    -------
    tuple
        The draws that are kept, and the step.
    """
    chains, draws = next(iter(drawn.sampled.values())).shape[:2]
    step = min(draws, max(1, -(-chains * draws * cells // MOST_VALUES)))
    if step == 1:
        return drawn, 1
    kept = {name: values[:, ::step] for name, values in drawn.sampled.items()}
    statistics = {name: values[:, ::step] for name, values in drawn.statistics.items()}
    return dataclasses.replace(drawn, sampled=kept, statistics=statistics), step


def choose_method(method: str, model: str) -> str:
    """Return the method that is meant: ``"auto"`` is the exact one of the model, or NUTS.

    Raises
    ------
    InputError
        If there is no such method, or not for this model.
    """
    if method not in METHODS:
        raise InputError(f"method is {method!r}; expected one of {', '.join(METHODS)}")
    exact = FAMILIES[model].exact
    if method == "auto":
        return exact.method if exact else "nuts"
    if method in EXACT_METHODS and (exact is None or exact.method != method):
        raise InputError(f"the model {model!r} has no {method} posterior; use method 'nuts' or 'auto'")
    return method


def draw(
    data: xr.Dataset,
    model: str,
    priors: Any,
    family: Family,
    layout: Layout,
    plan: Plan,
    method: str,
    *,
    backend: str = "numpyro",
    extend: bool = False,
    show: bool,
) -> Drawn:
    """Draw from a posterior.

    Parameters
    ----------
    data
        Checked data.
    model, priors, family, layout
        The model's name, priors, functions, and the data as it sees them.
    plan
        Seed and lengths.
    method
        As `choose_method` returns it.
    backend
        Sampler of NUTS, one of `sampling.BACKENDS`.
    extend
        Whether NUTS goes on sampling where the gate misses only effective draws.
    show
        Whether to show a progress bar.

    Returns
    -------
    Drawn
        Not yet held against the gate.
    """
    if family.exact is not None and method == family.exact.method:
        rng = np.random.default_rng([plan.seed, 1])
        sampled, exact = family.exact.draw(layout, priors, (plan.chains, plan.draws), rng)
        diagnostics = exact_diagnostics(plan.chains * plan.draws)
        return Drawn(sampled=dict(sampled), diagnostics=diagnostics, plan=plan, exact=exact)
    if method == "laplace":
        from meantime.inference.gaussian import laplace_draws

        rough, diagnostics = laplace_draws(data, model, priors, family, layout, plan)
        return Drawn(sampled=rough, diagnostics=diagnostics, plan=plan)

    def run(plan: Plan, start: "Chains | None" = None) -> "tuple[Any, Any, Chains | None]":
        return sample(data, model, priors, family, layout, plan, backend=backend, start=start, show=show)

    sampled, statistics, chains = run(plan)
    diagnostics = gate.diagnose(sampled, statistics, family.dims, layout)
    for _ in range(RETRIES):
        if not diagnostics["divergences"]:
            break
        plan = dataclasses.replace(plan, tune=2 * plan.tune, target_accept=(3 + plan.target_accept) / 4)
        sampled, statistics, chains = run(plan)
        diagnostics = gate.diagnose(sampled, statistics, family.dims, layout)
    asked = plan.draws
    while extend and gate.needs_only_draws(diagnostics) and plan.draws < LONGEST * asked:
        more = min(_missing(diagnostics, plan.draws, asked), LONGEST * asked - plan.draws)
        plan = dataclasses.replace(plan, draws=plan.draws + more, extended=plan.extended + more)
        if chains is None:  # a sampler that cannot go on begins again
            sampled, statistics, chains = run(plan)
        else:
            further, noted, chains = run(dataclasses.replace(plan, draws=more), chains)
            sampled, statistics = _joined(sampled, further), _joined(statistics, noted)
        diagnostics = gate.diagnose(sampled, statistics, family.dims, layout)
    return Drawn(sampled=sampled, statistics=statistics, diagnostics=diagnostics, plan=plan)


def _missing(diagnostics: gate.Diagnostics, draws: int, asked: int) -> int:
    """Return how many further draws of each chain should do."""
    least = min(diagnostics["min_ess_bulk"], diagnostics["min_ess_tail"])
    short = max(MARGIN * gate.MIN_ESS / max(least, 1.0) - 1, 0.0)
    return max(int(np.ceil(short * draws)), -(-asked // 4))


def _joined(first: Mapping[str, np.ndarray], second: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    return {name: np.concatenate([values, second[name]], axis=1) for name, values in first.items()}
