"""One model, its data, one plan: sampled by NUTS in the model's own geometry."""

from collections import OrderedDict
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from meantime.inference.families import Family
from meantime.inference.progress import progress_bar
from meantime.inference.target import Target, target_of
from meantime.models import Layout

if TYPE_CHECKING:
    from meantime.inference.nuts import Chains, Sampler, Settings

BACKENDS = ("numpyro", "nutpie")

KEPT_SAMPLERS = 8
"""Compiled samplers kept for further fits of the same model and shapes."""

_SAMPLERS: OrderedDict[Any, "Sampler"] = OrderedDict()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Seed and lengths of a fit: chains, draws kept and warm-up iterations of each, target acceptance.

    `extended` is how many of the draws were taken beyond those asked for, since too few of these were effective.
    """

    seed: int
    chains: int
    draws: int
    tune: int
    target_accept: float
    extended: int = 0


def sample(
    data: xr.Dataset,
    model: str,
    priors: Any,
    family: Family,
    layout: Layout,
    plan: Plan,
    *,
    backend: str = "numpyro",
    start: "Chains | None" = None,
    show: bool,
) -> "tuple[dict[str, np.ndarray], dict[str, np.ndarray], Chains | None]":
    """Sample a model with NUTS.

    Parameters
    ----------
    data
        The checked data.
    model
        Name of the model.
    priors
        Its priors.
    family
        Its functions.
    layout
        The data as the model sees them.
    plan
        Seed and lengths.
    backend
        One of `BACKENDS`.
    start
        Where an earlier run ended; then there is no warm-up.
    show
        Whether to show a progress bar.

    Returns
    -------
    tuple
        Sampled variables and sampler statistics, (chain, draw, ...), and where the chains stand, if the sampler can
        go on from there. The statistics have the same names whatever the backend: acceptance_rate, n_steps, diverging,
        energy, lp, step_size, tree_depth, reached_max_treedepth.
    """
    import jax

    tune = plan.chains * plan.tune if start is None else 0
    total = tune + plan.chains * plan.draws
    with progress_bar(total, tune=tune, show=show) as advance, jax.enable_x64(True):
        target = target_of(data, model, priors, family, layout)
        points = np.random.default_rng([plan.seed, 0]).standard_normal((plan.chains, target.size))
        if backend == "nutpie":
            from meantime.inference.nutpie import run_nutpie

            return *run_nutpie(target, points, plan, advance), None
        from meantime.inference.nuts import Settings, run

        settings = Settings(tune=plan.tune, target_accept=plan.target_accept)
        sampler = _sampler(target, settings)
        return run(
            sampler,
            points if start is None else start,
            target.data,
            settings,
            seed=plan.seed,
            draws=plan.draws,
            device=target.device,
            advance=advance,
        )


def _sampler(target: Target, settings: "Settings") -> "Sampler":
    """Return a sampler for a model and data of these shapes: a compiled one, if there was such a fit before."""
    from meantime.inference.nuts import build_sampler

    key = (*target.key, settings.target_accept)
    if key not in _SAMPLERS:
        functions = target.functions
        _SAMPLERS[key] = build_sampler(functions.potential, functions.collect, settings, functions.labels)
    _SAMPLERS.move_to_end(key)
    while len(_SAMPLERS) > KEPT_SAMPLERS:
        _SAMPLERS.popitem(last=False)
    return _SAMPLERS[key]
