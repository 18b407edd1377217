"""`calibrate`: simulation-based calibration. Are the posteriors of a model what they claim to be?"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.families import FAMILIES, Family
from meantime.inference.gate import scalar_names
from meantime.inference.methods import choose_method, draw
from meantime.inference.sampling import Plan
from meantime.inference.uniformity import uniform_p_value
from meantime.models import Layout, model_entry, priors_for

FALSE_ALARM = 0.01
"""Probability that a correct model fails, over all its parameters together."""

MOST_COUNT = 1e9
"""Replicated data with a larger number than this are drawn again."""

RANKED = 99
"""Posterior draws that a truth is ranked among."""


def calibrate(
    model: str,
    data: xr.Dataset | None = None,
    *,
    replicates: int = 100,
    priors: Any = None,
    method: str = "auto",
    seed: int = 0,
    chains: int = 2,
    draws: int = 500,
    tune: int = 300,
    false_alarm: float = FALSE_ALARM,
    advance: Callable[[], object] = lambda: None,
) -> xr.Dataset:
    """Fit data drawn from the prior and rank the truth among the posterior draws.

    Each replicate draws parameters from the prior and data from them, by the model's own prior predictive
    distribution in PyMC, fits these data, and ranks each parameter's true value among thinned draws of its
    posterior. If model, geometry, sampler and the steps done exactly are right, the ranks are uniform
    (Talts et al., arXiv 1804.06788; Modrák et al., Bayesian Analysis 20, 2025, who add the log likelihood as
    a quantity that sees what marginal ranks do not).

    Parameters
    ----------
    model
        Name of the model.
    data
        Data of the form the model takes, whose outcomes are replaced. Default: a small design of the model's own.
    replicates
        How many.
    priors
        As in `fit`.
    method, seed, chains, draws, tune
        As in `fit`. Shapes do not change, so that one compiled sampler serves all.
    false_alarm
        Probability that a correct model fails, over all its parameters together.
    advance
        Called after each replicate.

    Returns
    -------
    xr.Dataset
        By ``quantity`` (every scalar, and ``log_likelihood``): ``rank`` (quantity, replicate), between 0 and 1, ties
        and places between ranks at random; ``p_value``, of the ranks being uniform (see
        `meantime.inference.uniformity`), and ``passed`` (after Holm, at the attribute ``false_alarm``).
        Attributes: ``passed``, ``unconverged`` (replicates that a fit's gate would refuse; they are ranked all
        the same), ``redrawn`` (replicates drawn again for numbers above a billion: a choice by the data alone,
        which leaves ranks uniform), ``model``, ``replicates``, ``seed``.

    Raises
    ------
    InputError
        For an unknown model, or numbers that cannot be used.
    """
    priors = priors_for(model, priors)
    if replicates < 10:
        raise InputError(f"replicates is {replicates!r}; expected 10 or more, or nothing can be said of ranks")
    if not 0 < false_alarm < 1:
        raise InputError(f"false_alarm is {false_alarm!r}; expected a probability")
    family = FAMILIES[model]
    data = family.small_data() if data is None else family.check(data)
    layout: Any = family.layout(data)
    method = choose_method(method, model)
    truths, outcomes, redrawn = prior_replicates(model, data, priors, replicates, seed)
    names = quantity_names(family, layout, list(truths))
    ranks = np.empty((len(names), replicates))
    unconverged = 0
    for index in range(replicates):
        truth = {name: values[index] for name, values in truths.items()}
        replica = family.check(family.replace(data, layout, outcomes[index]))
        plan = Plan(seed=seed * 100_003 + index, chains=chains, draws=draws, tune=tune, target_accept=0.8)
        drawn = draw(replica, model, priors, family, family.layout(replica), plan, method, show=False)
        unconverged += not _mixed(drawn.diagnostics)
        rng = np.random.default_rng([seed, index, 8])
        ranks[:, index] = _ranks(truth, drawn.sampled, family, family.layout(replica), rng)
        advance()
    p_value = uniform_p_value(ranks)
    passed = holm(p_value, false_alarm)
    return xr.Dataset(
        {
            "rank": (("quantity", "replicate"), ranks),
            "p_value": ("quantity", p_value),
            "passed": ("quantity", passed),
        },
        coords={"quantity": names},
        attrs={
            "model": model,
            "method": method,
            "replicates": replicates,
            "seed": seed,
            "false_alarm": false_alarm,
            "passed": int(passed.all()),
            "unconverged": unconverged,
            "redrawn": redrawn,
        },
    )


def prior_replicates(
    model: str, data: xr.Dataset, priors: Any, replicates: int, seed: int
) -> tuple[dict[str, np.ndarray], np.ndarray, int]:
    """Draw parameters and outcomes from a model's prior predictive distribution.

    Returns
    -------
    tuple
        Parameters by name and outcomes, each (replicate, ...), and how many were drawn again.
    """
    import pymc as pm
    from pymc.pytensorf import find_rng_nodes, reseed_rngs

    family = FAMILIES[model]
    built = model_entry(model).build(data, priors)
    names = [name for name in family.dims if name in built.named_vars]
    outputs = [*(built[name] for name in names), built[family.outcome[0]]]
    simulate = pm.compile([], outputs, mode="FAST_COMPILE")
    generators = find_rng_nodes(outputs)
    drawn: list[list[np.ndarray]] = []
    attempts = 0
    while len(drawn) < replicates:
        if attempts > 20 * replicates:
            raise InputError(f"{model}: nearly all prior draws give numbers above {MOST_COUNT:g}; narrow the priors")
        reseed_rngs(generators, [seed, attempts, 9])
        attempts += 1
        try:
            found = simulate()
        except ValueError:  # NumPy draws no Poisson counts above 9e18
            continue
        if np.all(np.abs(found[-1]) <= MOST_COUNT):
            drawn.append(found)
    truths = {name: np.stack([one[index] for one in drawn]) for index, name in enumerate(names)}
    return truths, np.stack([one[-1] for one in drawn]), attempts - replicates


def quantity_names(family: Family, layout: Layout, sampled: Sequence[str]) -> list[str]:
    """Return the names of the quantities that are ranked: every scalar of what is sampled, and the log likelihood."""
    scalars = [scalar for name in sampled for scalar in scalar_names(name, family.dims[name], layout)]
    return [*scalars, "log_likelihood"]


def holm(p_values: np.ndarray, level: float) -> np.ndarray:
    """Return which hypotheses stand, at a stated probability that any true one falls (Holm 1979)."""
    order = np.argsort(p_values)
    limits = level / np.arange(len(p_values), 0, -1)
    stands = np.logical_or.accumulate(p_values[order] > limits)
    result = np.empty(len(p_values), dtype=bool)
    result[order] = stands
    return result


def _ranks(
    truth: Mapping[str, np.ndarray],
    sampled: Mapping[str, np.ndarray],
    family: Family,
    layout: Layout,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the rank of each quantity's truth, between 0 and 1."""
    total = int(np.prod(next(iter(sampled.values())).shape[:2]))
    kept = np.linspace(0, total - 1, RANKED).astype(int)
    thinned = {name: values.reshape(total, *values.shape[2:])[kept][None] for name, values in sampled.items()}
    true = {name: truth[name][None, None] for name in thinned}
    columns: list[tuple[np.ndarray, np.ndarray]] = []
    for name, values in thinned.items():
        columns.append((true[name].reshape(1, -1), values.reshape(RANKED, -1)))
    true_total, totals = (_total(family.log_likelihood(draws, layout))[:, None] for draws in (true, thinned))
    columns.append((true_total, totals))
    below = np.concatenate([(values < at).sum(0) for at, values in columns])
    ties = np.concatenate([(values == at).sum(0) for at, values in columns])
    return (below + rng.random(len(below)) * (ties + 1)) / (RANKED + 1)


def _total(log_likelihood: np.ndarray) -> np.ndarray:
    return log_likelihood.reshape(log_likelihood.shape[1], -1).sum(1)


def _mixed(diagnostics: Mapping[str, Any]) -> bool:
    """Tell whether draws are good enough to rank a truth among a hundred of them."""
    return (
        diagnostics["divergences"] == 0
        and diagnostics["max_rhat"] <= 1.05
        and diagnostics["min_ess_bulk"] >= RANKED
        and diagnostics["min_ess_tail"] >= RANKED
    )
