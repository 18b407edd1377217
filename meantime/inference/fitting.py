"""`fit`: from a failure table to a posterior that has passed the gate."""

import time
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference import gate
from meantime.inference.families import FAMILIES
from meantime.inference.methods import choose_method, draw, thinned
from meantime.inference.provenance import ATTRIBUTE, record
from meantime.inference.sampling import BACKENDS, Plan
from meantime.inference.tree import build_tree
from meantime.models import priors_for

MIN_DRAWS = 4
"""Fewest draws of a chain: its halves are compared, and a variance takes two draws."""


def fit(
    table: xr.Dataset,
    model: str = "component_size",
    *,
    priors: Any = None,
    method: str = "auto",
    backend: str = "numpyro",
    seed: int = 0,
    chains: int = 4,
    draws: int = 1000,
    tune: int = 500,
    target_accept: float = 0.8,
    allow_unconverged: bool = False,
    progress: bool = True,
) -> xr.DataTree:
    """Fit a failure model to counts and exposure.

    Parameters
    ----------
    table
        A failure table: ``failures`` (cluster, component[, job_size]...) and ``exposure``, node-days; or what else the
        model takes, such as a survival table or a repair table.
    model
        One of `meantime.models.MODELS`: of failure tables ``"constant"``, ``"component"``, ``"component_gamma"``,
        ``"component_size"``, ``"over_time"`` and, by node, ``"node_frailty"``; of incidents ``"incident"``, of
        lives ``"lifetime"`` and ``"lifetime_steps"``, of down times ``"repair"`` and ``"repair_tail"``.
    priors
        An instance of the model's priors, a mapping of its fields, or None for the defaults.
    method
        ``"conjugate"`` (exact; `constant`), ``"quadrature"`` (exact up to a fine grid over two numbers;
        `component_gamma`), ``"nuts"``, or ``"auto"``: exact where possible, NUTS elsewhere. ``"laplace"`` is a
        first look, marked as approximate: a Gaussian about the mode, corrected by importance sampling.
    backend
        Sampler of NUTS: ``"numpyro"``, or ``"nutpie"`` (an extra, ``pip install 'meantime[nutpie]'``).
    seed
        Seed of everything random; the same seed gives the same draws on the same machine.
    chains, draws, tune
        Chains, draws kept of each (at least 4), and warm-up iterations of each.
    target_accept
        Acceptance probability that NUTS tunes its step size to. If a trajectory diverges, the fit is
        run again, twice at most, with smaller steps (three quarters of the way to 1) and twice the warm-up.
    allow_unconverged
        Keep a fit that fails the convergence gate, with a warning and a mark in its provenance.
    progress
        Show a progress bar on standard error.

    Returns
    -------
    xr.DataTree
        Groups ``posterior``, ``sample_stats`` (NUTS), ``log_likelihood``, ``observed_data``, ``fit_data``
        (the table) and, for an exact fit, ``exact`` (parameters of the Gamma posterior, or the grid); provenance in the
        root attribute ``meantime`` (see `provenance`).

    Raises
    ------
    InputError
        For a table, model, priors or option that cannot be used; also for a table of more cells than NUTS takes in a
        sensible time and memory (300,000 on processors), with the coarser grid that would do.
    ConvergenceError
        If the draws fail the gate: R-hat above 1.01, a bulk or tail effective sample size below 400, a
        divergence, or trajectories cut short; or, of ``"laplace"``, if Pareto k is above 0.7.

    Notes
    -----
    A fit whose only fault is that too few of its draws are effective goes on sampling until it passes the gate, up to
    four times the draws asked for; the provenance states the draws as ``sampling``: ``draws``, and how many of them are
    beyond those asked for as ``extended``. With `allow_unconverged` there are exactly as many as asked for.

    Of very large tables (60 million numbers and more, cells times draws) only every so many draws are kept after the
    gate has seen all of them; the provenance states the step as ``sampling``: ``thinned``.
    """
    started = time.perf_counter()
    priors = priors_for(model, priors)
    family = FAMILIES[model]
    table = family.check(table)
    method = choose_method(method, model)
    _check_backend(backend)
    _check_numbers(seed=seed, chains=chains, draws=draws, tune=tune, target_accept=target_accept)
    plan = Plan(seed=int(seed), chains=int(chains), draws=int(draws), tune=int(tune), target_accept=target_accept)
    layout: Any = family.layout(table)
    extend = not allow_unconverged
    drawn = draw(table, model, priors, family, layout, plan, method, backend=backend, extend=extend, show=progress)
    gate.enforce(drawn.diagnostics, model=model, allow_unconverged=allow_unconverged)
    drawn, step = thinned(drawn, max(array.size for array in layout.observed().values()))
    tree = build_tree(table, family, layout, drawn.sampled, drawn.statistics, np.random.default_rng([plan.seed, 7]))
    if drawn.exact is not None:
        tree["exact"] = xr.DataTree(drawn.exact)
    tree.attrs[ATTRIBUTE] = record(
        table=table,
        model=model,
        priors=priors,
        method=method,
        backend={"nuts": backend, "laplace": "jax"}.get(method, "numpy"),
        plan=drawn.plan,
        thinned=step,
        seconds=time.perf_counter() - started,
        diagnostics=drawn.diagnostics,
    )
    return tree


def _check_backend(backend: str) -> None:
    if backend not in BACKENDS:
        raise InputError(f"backend is {backend!r}; expected one of {', '.join(BACKENDS)}")
    if backend == "nutpie":
        from meantime.inference.nutpie import require_nutpie

        require_nutpie()


def _check_numbers(*, target_accept: float, **counts: int) -> None:
    for name, value in counts.items():
        least = {"seed": 0, "draws": MIN_DRAWS}.get(name, 1)
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"{name} is {value!r}; expected a whole number, {least} or more")
    if isinstance(target_accept, bool) or not isinstance(target_accept, int | float | np.number):
        raise InputError(f"target_accept is {target_accept!r}; expected a number from 0.5 to below 1")
    if not 0.5 <= target_accept < 1:
        raise InputError(f"target_accept is {target_accept!r}; expected a number from 0.5 to below 1")
