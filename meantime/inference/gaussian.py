"""`laplace`: a first look at a posterior, its mode and curvature in z, corrected by importance sampling."""

from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from meantime.inference.families import Family
from meantime.inference.target import Target, target_of
from meantime.models import Layout

if TYPE_CHECKING:
    from meantime.inference.sampling import Plan

BATCH = 256
"""Points whose density is computed at once: one compiled function serves mode, curvature and weights."""

STEP = 1e-4
"""Step of z for the differences of gradients that make the curvature."""

POOL = 8
"""Draws of the approximation for each draw that is kept."""

FREEDOM = 10
"""Degrees of freedom of the t distribution that stands in for the Gaussian, so that the weights have no long tail."""

GOOD_K = 0.7
"""Pareto k up to which importance weights can be trusted (Vehtari et al., JMLR 25, 2024)."""


def laplace_draws(
    data: xr.Dataset, model: str, priors: Any, family: Family, layout: Layout, plan: "Plan"
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """Draw from Laplace's approximation, resampled by Pareto-smoothed importance weights.

    Mode and curvature are those of z, the geometry in which NUTS samples too, where the posterior is near a
    standard normal; a pool is drawn from a t distribution about them and resampled by the smoothed weights.
    Where Pareto k is above 0.7 the approximation is too far off for weights to mend it.

    Parameters
    ----------
    data, model, priors, family, layout
        As in `sampling.sample`.
    plan
        Seed, and how many draws; chains are only a shape here.

    Returns
    -------
    tuple
        Sampled variables, (chain, draw, ...), and diagnostics as the gate takes them, with ``pareto_k`` and
        ``approximate``.
    """
    import jax
    from arviz_stats.base import array_stats

    rng = np.random.default_rng([plan.seed, 11])
    wanted = plan.chains * plan.draws
    with jax.enable_x64(True):
        target = target_of(data, model, priors, family, layout)
        density = _Batched(target)
        mode = _mode(density)
        root = _root(density, mode)  # covariance = root root'
        normal = rng.standard_normal((POOL * wanted, target.size))
        heavy = normal * np.sqrt(FREEDOM / rng.chisquare(FREEDOM, (len(normal), 1)))
        pool = mode + heavy @ root.T
        log_ratio = density.values(pool) + 0.5 * (FREEDOM + target.size) * np.log1p((heavy**2).sum(1) / FREEDOM)
        log_ratio = np.where(np.isfinite(log_ratio), log_ratio, -np.inf)
        log_ratio -= log_ratio.max()
        log_weight, k = array_stats.psislw(-np.maximum(log_ratio, -1e3))
        weight = np.exp(log_weight - log_weight.max())
        places = (np.arange(wanted) + rng.random()) / wanted  # systematic: least noise of the resampling
        chosen = rng.permutation(np.searchsorted(np.cumsum(weight) / weight.sum(), places))
        collect = jax.jit(jax.vmap(target.functions.collect, (0, None)))
        flat = jax.device_get(collect(pool[chosen], target.data))
    draws = {name: np.asarray(v).reshape(plan.chains, plan.draws, *v.shape[1:]) for name, v in flat.items()}
    return draws, _diagnostics(float(k), weight)


class _Batched:
    """The log density and its gradient at many points, in batches of one size."""

    def __init__(self, target: Target) -> None:
        import jax

        self.size = target.size
        self._data = target.data
        self._function = jax.jit(jax.vmap(jax.value_and_grad(target.functions.potential), (0, None)))

    def __call__(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return minus the log density (point,) and its gradient (point, size)."""
        padded = np.zeros((-(-len(points) // BATCH) * BATCH, self.size))
        padded[: len(points)] = points
        parts = [self._function(padded[i : i + BATCH], self._data) for i in range(0, len(padded), BATCH)]
        values, gradients = (np.concatenate([np.asarray(part[which]) for part in parts]) for which in (0, 1))
        return values[: len(points)], gradients[: len(points)]

    def values(self, points: np.ndarray) -> np.ndarray:
        """Return the log density, (point,)."""
        return -self(points)[0]


def _mode(density: _Batched) -> np.ndarray:
    from scipy.optimize import minimize

    def objective(z: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = density(z[None])
        return float(value[0]), gradient[0]

    return np.asarray(minimize(objective, np.zeros(density.size), jac=True, method="L-BFGS-B").x)


def _root(density: _Batched, mode: np.ndarray) -> np.ndarray:
    """Return a root of the covariance: the inverse curvature, with directions of no curvature kept to unit width."""
    steps = STEP * np.eye(density.size)
    up, down = density(mode + steps)[1], density(mode - steps)[1]
    curvature = (up - down) / (2 * STEP)
    values, vectors = np.linalg.eigh(0.5 * (curvature + curvature.T))
    return vectors / np.sqrt(np.where(values > 0.05, values, 1.0))


def _diagnostics(k: float, weight: np.ndarray) -> dict[str, Any]:
    effective = float(weight.sum() ** 2 / (weight**2).sum())
    problems = [] if k <= GOOD_K else [f"Pareto k of the approximation is {k:.2f}; at most {GOOD_K} is good"]
    return {
        "approximate": True,
        "pareto_k": k,
        "effective_draws_of_pool": effective,
        "converged": not problems,
        "parameters": [],
        "problems": problems,
    }
