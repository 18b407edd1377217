"""The convergence gate: no forecast from draws that cannot be trusted.

R-hat at most 1.01, bulk and tail effective sample sizes of at least 400 (Vehtari et al. 2021) for every
sampled scalar, no divergence, and trajectories not cut short.
"""

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np

from meantime.errors import ConvergenceError, ConvergenceWarning
from meantime.inference.diagnostics import summarise
from meantime.models import Layout

MAX_RHAT = 1.01
MIN_ESS = 400
NEARLY = 1.02
"""R-hat up to which chains are taken to have found the same place, so that more draws are what is missing."""

MAX_CUT_SHARE = 0.01
"""Share of trajectories that may reach the greatest tree depth."""

SHOWN = 5
"""How many of the worst parameters a message names."""

_MIDNIGHT = "T00:00:00.000000000"
_SIMPLER = {
    "component_size": "component",
    "component": "constant",
    "component_gamma": "constant",
    "repair_tail": "repair",
}

AT_ONCE = 1_000
"""Scalars diagnosed at once, to bound the memory."""

type Diagnostics = dict[str, Any]


def diagnose(
    draws: Mapping[str, np.ndarray],
    statistics: Mapping[str, np.ndarray],
    dims: Mapping[str, tuple[str, ...]],
    layout: Layout,
) -> Diagnostics:
    """Compute the diagnostics of a fit and hold them against the limits.

    Parameters
    ----------
    draws
        Sampled variables, (chain, draw, ...).
    statistics
        Sampler statistics, (chain, draw).
    dims
        Dimensions of the variables after (chain, draw).
    layout
        The labels of those dimensions.

    Returns
    -------
    dict
        ``max_rhat``, ``min_ess_bulk``, ``min_ess_tail``, ``divergences``, ``cut_share``, ``mean_steps``,
        ``converged``, ``parameters`` (those that fail, worst first) and ``problems`` (sentences).
    """
    names = [name for variable in draws for name in scalar_names(variable, dims[variable], layout)]
    columns = [values.reshape(*values.shape[:2], -1) for values in draws.values()]
    values = np.concatenate(columns, axis=2).transpose(2, 0, 1)
    parts = [values[start : start + AT_ONCE] for start in range(0, len(values), AT_ONCE)]
    found = [summarise(part) for part in parts]
    spread, bulk, tail = (np.concatenate([figures[which] for figures in found]) for which in range(3))
    divergences = int(statistics["diverging"].sum())
    cut = float(statistics["reached_max_treedepth"].mean())
    problems, failing = [], np.zeros(len(names))
    for what, figure, bad, limit in (
        ("R-hat", spread, ~(spread <= MAX_RHAT), f"at most {MAX_RHAT}"),
        ("bulk ESS", bulk, ~(bulk >= MIN_ESS), f"at least {MIN_ESS}"),
        ("tail ESS", tail, ~(tail >= MIN_ESS), f"at least {MIN_ESS}"),
    ):
        if bad.any():
            badness = np.nan_to_num(figure / MAX_RHAT if what == "R-hat" else MIN_ESS / figure, nan=np.inf)
            badness = np.where(bad, badness, 0.0)
            worst = [int(i) for i in np.argsort(-badness, kind="stable")[: min(SHOWN, int(bad.sum()))]]
            more = int(bad.sum()) - len(worst)
            listed = ", ".join(f"{names[i]} {figure[i]:.4g}" for i in worst) + (f" and {more} more" if more else "")
            problems.append(f"{what} should be {limit}: {listed}")
            failing = np.maximum(failing, badness)
    if divergences:
        problems.append(f"{divergences} of {statistics['diverging'].size} trajectories diverged")
    if cut > MAX_CUT_SHARE:
        problems.append(f"{cut:.0%} of trajectories were cut at the greatest tree depth")
    order = np.argsort(-failing, kind="stable")
    return {
        "max_rhat": float(spread.max()),
        "min_ess_bulk": float(bulk.min()),
        "min_ess_tail": float(tail.min()),
        "divergences": divergences,
        "cut_share": cut,
        "mean_steps": float(statistics["n_steps"].mean()),
        "converged": not problems,
        "parameters": [names[i] for i in order if failing[i] > 0],
        "problems": problems,
    }


def needs_only_draws(diagnostics: Diagnostics) -> bool:
    """Tell whether a fit fell short for want of draws alone: no divergence, none cut short, R-hat fine or nearly."""
    return (
        not diagnostics["converged"]
        and not diagnostics["divergences"]
        and diagnostics["cut_share"] <= MAX_CUT_SHARE
        and diagnostics["max_rhat"] <= NEARLY
    )


def enforce(diagnostics: Diagnostics, *, model: str, allow_unconverged: bool) -> None:
    """Raise if a fit has not converged, or warn if that is allowed.

    Raises
    ------
    ConvergenceError
        Naming the worst parameters and what to try.
    """
    if diagnostics["converged"]:
        return
    message = f"The fit has not converged. {'; '.join(diagnostics['problems'])}. {_advice(diagnostics, model)}"
    if not allow_unconverged:
        kept = "With allow_unconverged=True (--allow-unconverged) the fit is kept, marked as unconverged."
        raise ConvergenceError(f"{message} {kept}")
    warnings.warn(message, ConvergenceWarning, stacklevel=3)


def _advice(diagnostics: Diagnostics, model: str) -> str:
    if "pareto_k" in diagnostics:
        return "Try method 'nuts' (--method nuts)."
    ideas = []
    if diagnostics["divergences"]:
        ideas.append("a higher target_accept (0.99)")
    if diagnostics["max_rhat"] <= 1.05 and diagnostics["parameters"]:
        ideas.append("more draws (4000)")
    else:
        ideas.append("a longer warm-up (tune=2000) and more draws")
    simpler = _SIMPLER.get(model)
    ideas.append("narrower priors" + (f", or a simpler model ({simpler!r})" if simpler else ""))
    return f"Try {'; '.join(ideas)}."


def scalar_names(variable: str, dims: tuple[str, ...], layout: Layout) -> list[str]:
    """Return the names of a variable's scalars: ``level[gpu]``, ``walk_step[one, 2024-05-13]``."""
    labels: list[tuple[str, ...]] = [()]
    for dim in dims:
        labels = [(*label, str(entry).removesuffix(_MIDNIGHT)) for label in labels for entry in layout.coords[dim]]
    return [f"{variable}[{', '.join(label)}]" if label else variable for label in labels]
