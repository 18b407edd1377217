"""`fit`: from a failure table to a posterior that has passed the gate."""

import time
from collections import OrderedDict
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from meantime.datasets.table import check_table
from meantime.errors import InputError
from meantime.inference import gate
from meantime.inference.families import FAMILIES, Family
from meantime.inference.families.constant import exact_posterior
from meantime.inference.geometry import Geometry
from meantime.inference.progress import progress_bar
from meantime.inference.provenance import ATTRIBUTE, record
from meantime.inference.tree import build_tree
from meantime.models import Grid, grid_of, model_entry, priors_for

if TYPE_CHECKING:
    from meantime.inference.nuts import Sampler, Settings

METHODS = ("auto", "conjugate", "nuts")

ACCELERATOR_CELLS = 200_000
"""Cells from which an accelerator is used where there is one: below, a CPU is faster."""

_SAMPLERS: OrderedDict[Any, "Sampler"] = OrderedDict()
_KEPT_SAMPLERS = 8


def fit(
    table: xr.Dataset,
    model: str = "component_size",
    *,
    priors: Any = None,
    method: str = "auto",
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
        A failure table: ``failures`` (cluster, component[, job_size]...) and ``exposure``, node-days.
    model
        ``"constant"``, ``"component"``, ``"component_gamma"`` or ``"component_size"``.
    priors
        An instance of the model's priors, a mapping of its fields, or None for the defaults.
    method
        ``"conjugate"`` (exact; `constant` only), ``"nuts"``, or ``"auto"``: exact where possible.
    seed
        Seed of everything random; the same seed gives the same draws on the same machine.
    chains, draws, tune
        Chains, draws kept of each, and warm-up iterations of each.
    target_accept
        Acceptance probability that NUTS tunes its step size to.
    allow_unconverged
        Keep a fit that fails the convergence gate, with a warning and a mark in its provenance.
    progress
        Show a progress bar on standard error.

    Returns
    -------
    xr.DataTree
        Groups ``posterior``, ``sample_stats`` (NUTS), ``log_likelihood``, ``observed_data``, ``fit_data``
        (the table) and, for an exact fit, ``exact`` (parameters of the Gamma posterior); provenance in the
        root attribute ``meantime`` (see `provenance`).

    Raises
    ------
    InputError
        For a table, model, priors or option that cannot be used.
    ConvergenceError
        If the draws fail the gate: R-hat above 1.01, a bulk or tail effective sample size below 400, a
        divergence, or trajectories cut short.
    """
    started = time.perf_counter()
    table = check_table(table)
    model_entry(model)
    priors = priors_for(model, priors)
    family = FAMILIES[model]
    method = _method(method, model)
    _check_numbers(seed=seed, chains=chains, draws=draws, tune=tune, target_accept=target_accept)
    grid = grid_of(table, sizes=family.sizes, components=family.components)
    rng = np.random.default_rng([seed, 1])
    statistics: dict[str, np.ndarray] = {}
    if method == "conjugate":
        shape, rate = exact_posterior(grid, priors)
        sampled = {"rate": rng.standard_gamma(shape, (chains, draws, len(shape))) / rate}
        diagnostics: gate.Diagnostics = {"converged": True, "divergences": 0, "parameters": [], "problems": []}
    else:
        sampled, statistics = _sample(
            table, model, priors, family, grid, (seed, chains, draws, tune, target_accept), progress
        )
        diagnostics = gate.diagnose(sampled, statistics, family.dims, grid)
        gate.enforce(diagnostics, allow_unconverged=allow_unconverged)
    tree = build_tree(table, family, grid, sampled, statistics, rng)
    if method == "conjugate":
        exact = {"shape": (("cluster",), shape.astype(float)), "rate": (("cluster",), rate)}
        tree["exact"] = xr.DataTree(xr.Dataset(exact, coords={"cluster": list(grid.clusters)}))
    tree.attrs[ATTRIBUTE] = record(
        table=table,
        model=model,
        priors=priors,
        method=method,
        backend="numpyro" if method == "nuts" else "numpy",
        seed=seed,
        sampling={
            "chains": chains,
            "draws": draws,
            "tune": tune,
            "target_accept": target_accept,
            "seconds": round(time.perf_counter() - started, 3),
        },  # fmt: skip
        diagnostics=diagnostics,
    )
    return tree


def _method(method: str, model: str) -> str:
    if method not in METHODS:
        raise InputError(f"method is {method!r}; expected one of {', '.join(METHODS)}")
    if method == "conjugate" and model != "constant":
        raise InputError(f"the model {model!r} has no conjugate posterior; use method 'nuts' or 'auto'")
    if method == "auto":
        return "conjugate" if model == "constant" else "nuts"
    return method


def _check_numbers(*, target_accept: float, **counts: int) -> None:
    for name, value in counts.items():
        least = 0 if name == "seed" else 1
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise InputError(f"{name} is {value!r}; expected a whole number, {least} or more")
    if not 0.5 <= target_accept < 1:
        raise InputError(f"target_accept is {target_accept!r}; expected a number from 0.5 to below 1")


def _sample(
    table: xr.Dataset,
    model: str,
    priors: Any,
    family: Family,
    grid: Grid,
    numbers: tuple[int, int, int, int, float],
    progress: bool,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Sample with NUTS; return sampled variables and statistics, (chain, draw, ...)."""
    import jax

    from meantime.inference.nuts import Settings, run

    seed, chains, draws, tune, target_accept = numbers
    settings = Settings(tune=tune, target_accept=target_accept)
    geometry = family.geometry(grid, priors)
    start = np.random.default_rng([seed, 0]).standard_normal((chains, geometry.size))
    everywhere = chains * (tune + draws)
    with progress_bar(everywhere, tune=chains * tune, show=progress) as advance, jax.enable_x64(True):
        sampler = _sampler(table, model, priors, grid, geometry, settings)
        device = _device(grid.failures.size)
        data = jax.device_put({"model": grid.observed(), "geometry": geometry.data}, device)
        return run(sampler, start, data, settings, seed=seed, draws=draws, device=device, advance=advance)


def _sampler(
    table: xr.Dataset, model: str, priors: Any, grid: Grid, geometry: Geometry, settings: "Settings"
) -> "Sampler":
    """Return a sampler for a model and data of these shapes: a compiled one, if there was such a fit before."""
    from meantime.inference.density import density_of
    from meantime.inference.nuts import build_sampler

    key = (model, priors, settings, _shapes(grid.observed()), _shapes(geometry.data))
    if key in _SAMPLERS:
        _SAMPLERS.move_to_end(key)
        return _SAMPLERS[key]
    density = density_of(model_entry(model).build(table, priors))
    to_values = geometry.to_values

    def potential(z: Any, data: Any) -> Any:
        values, jacobian = to_values(z, data["geometry"])
        return -(density.log_density(values, data["model"]) + jacobian)

    def collect(z: Any, data: Any) -> Any:
        values, _ = to_values(z, data["geometry"])
        return density.constrain(values, data["model"])

    _SAMPLERS[key] = build_sampler(potential, collect, settings)
    while len(_SAMPLERS) > _KEPT_SAMPLERS:
        _SAMPLERS.popitem(last=False)
    return _SAMPLERS[key]


def _shapes(arrays: Mapping[str, np.ndarray]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((name, array.shape) for name, array in sorted(arrays.items()))


def _device(cells: int) -> Any:
    import jax

    return jax.devices()[0] if cells >= ACCELERATOR_CELLS else jax.devices("cpu")[0]
