"""`over_time` in inference: walks whitened in their own bases, continued into the future."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr

from meantime.inference.families.component import DIMS as COMPONENT_DIMS
from meantime.inference.families.family import Draws, Family, Variables, repeat_sizes
from meantime.inference.families.pooled import new_deviation
from meantime.inference.geometry import Geometry, Shapes, length, unpack
from meantime.inference.jumps import change_probability, draw_jumps, slot_count, split_density
from meantime.inference.likelihood import negative_binomial_log_probability
from meantime.inference.relabel import propose_slots
from meantime.inference.scales import to_log_scales
from meantime.inference.walk_expansion import expand_walks
from meantime.inference.walks import add_up, jump_evidence, whiten_walks
from meantime.models import CHANGE_SPREAD, DAYS_PER_YEAR, MIN_CELL_VARIANCE, OverTimePriors, TimeGrid, time_grid_of


def _geometry(grid: TimeGrid, priors: OverTimePriors) -> Geometry:
    n_clusters, n_components, n_steps = len(grid.clusters), len(grid.components), len(grid.periods) - 1
    prior = {"mu_mean": float(np.log(priors.total_rate / n_components)), "mu_sd": priors.level_sd}
    scales = {"sigma_component": priors.component_sd, "sigma_walk": priors.walk_sd, "sigma_cell": priors.cell_sd}
    shapes: dict[str, tuple[int, ...]] = {"mu": (), "level": (n_components,), "walk_step": (n_clusters, n_steps)}
    if n_clusters > 1:
        scales["sigma_cluster"] = priors.cluster_sd
        shapes["cluster_deviation"] = (n_clusters, n_components)
    everything: dict[str, tuple[int, ...]] = {}
    if several := n_components > 1:
        scales["sigma_own"] = priors.own_sd
        shapes["own_step"] = (n_clusters, n_components, n_steps)
        everything["own"] = (n_components,)
    if priors.drift_sd is not None:
        scales["sigma_drift"] = priors.drift_sd
        shapes["drift"] = (n_clusters, 1)
    changes = {} if priors.change_rate is None else {"change_rate": priors.change_rate, "change_sd": priors.change_sd}
    if changes:
        shapes["jump"] = (n_clusters, slot_count(priors.change_rate or 0.0, grid.step_years))
        everything["changes"] = (len(changes),)
    names, spread = tuple(scales), priors.own_spread
    everything_: Shapes = {"scales": (len(names),), **everything, **shapes}
    work, found = expand_walks(grid, shapes, scales, spread, prior, changes)

    def to_scales(parts: Mapping[str, Any], data: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        """Return the logarithms of all scales, and the log Jacobian."""
        import jax.numpy as jnp

        logs, jacobian = to_log_scales(parts["scales"], data["log_scales"])
        log_of = dict(zip(names, logs, strict=True))
        if several:
            precision = data["own_information"] + spread**-2
            centre = data["own_information"] * data["log_own"] + spread**-2 * log_of["sigma_own"]
            log_of["sigma_own_component"] = centre / precision + parts["own"] / jnp.sqrt(precision)
            jacobian = jacobian - 0.5 * jnp.log(precision).sum()
        for place, (name, median) in enumerate(changes.items()):
            log_of[name] = np.log(median) + CHANGE_SPREAD * parts["changes"][place]
            jacobian = jacobian + np.log(CHANGE_SPREAD)
        return log_of, jacobian

    def to_values(z: Any, data: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        import jax.numpy as jnp

        parts = unpack(z, everything_)
        log_of, jacobian = to_scales(parts, data)
        now = {name: jnp.exp(log) for name, log in log_of.items()}
        if changes:
            data = {**data, "slots": data.get("label", data["slots"])}
        values, more = whiten_walks(jnp, {name: parts[name] for name in shapes}, now, data, prior)
        jacobian = jacobian + more
        if changes:
            jacobian = jacobian + split_density(
                jnp, values, now, data["width"] ** 2, data["slots"], drawn="label" in data
            )
        values = {name: value for name, value in values.items() if name not in ("jump", "ordinary_step")}
        return values | {f"{name}_log__": log for name, log in log_of.items()}, jacobian

    def relabel(key: Any, z: Any, slots: Any, data: Mapping[str, Any]) -> tuple[Any, Any]:
        import jax
        import jax.numpy as jnp

        log_of, _ = to_scales(unpack(z, everything_), data)
        now = {name: jnp.exp(log) for name, log in log_of.items()}
        first, second = jax.random.split(key)
        cluster = jax.random.randint(first, (), 0, n_clusters)
        log_odds = jnp.log(jnp.expm1(now["change_rate"] * data["width"] ** 2))
        evidence = jump_evidence(jnp, now, data, cluster)
        proposed, ratio = propose_slots(second, slots[cluster], evidence, log_odds, now["change_sd"])
        return slots.at[cluster].set(proposed), ratio

    data = {**work, "log_scales": np.log([found[name] for name in names])}
    if several:
        data |= {"own_information": found["own_information"], "log_own": np.log(found["sigma_own_component"])}
    labels: dict[str, Any] = {"label": "slots", "relabel": relabel} if changes else {}
    return Geometry(size=length(everything_), data=data, to_values=to_values, **labels)


def _log_rate(draws: Draws) -> np.ndarray:
    """Return the log rates, (chain, draw, cluster, component, period)."""
    log_rate = draws["level"][..., None, :, None] + add_up(np, draws["walk_step"])[..., None, :]
    if "cluster_deviation" in draws:
        log_rate = log_rate + draws["cluster_deviation"][..., None]
    return log_rate + add_up(np, draws["own_step"]) if "own_step" in draws else log_rate


def _cell_weight(draws: Draws) -> np.ndarray:
    return 1 / (draws["sigma_cell"] ** 2 + MIN_CELL_VARIANCE)[..., None, None]


def _mean(draws: Draws, grid: TimeGrid) -> np.ndarray:
    rate = np.exp(_log_rate(draws)).swapaxes(-1, -2)[..., grid.cluster_of, grid.period_of, :]
    return grid.exposure[grid.cluster_of, grid.period_of][:, None] * rate


def _complete(draws: Draws, grid: TimeGrid, rng: np.random.Generator) -> Variables:
    variables: Variables = {"rate": (("cluster", "component", "period"), np.exp(_log_rate(draws)))}
    if "change_rate" in draws:
        chance = change_probability(draws, grid.step_years)
        variables["change"] = (("cluster", "step"), (rng.random(chance.shape) < chance).astype(np.int8))
    return variables


def _log_likelihood(draws: Draws, grid: TimeGrid) -> np.ndarray:
    counts = grid.observed()["observed_failures"]
    return negative_binomial_log_probability(counts, _mean(draws, grid), _cell_weight(draws))


def _replicate(draws: Draws, grid: TimeGrid, rng: np.random.Generator) -> np.ndarray:
    mean, weight = _mean(draws, grid), _cell_weight(draws)
    return rng.poisson(mean * rng.standard_gamma(weight, mean.shape) / weight)


def _predict(
    posterior: xr.Dataset, grid: TimeGrid, gpus: np.ndarray, cluster: int | None, rng: np.random.Generator
) -> np.ndarray:
    """Return the rates in the last period: those in which the future begins."""
    return repeat_sizes(np.exp(_last(posterior, cluster, rng)), gpus)


def _last(posterior: xr.Dataset, cluster: int | None, rng: np.random.Generator) -> np.ndarray:
    """Return the log rates in the last period, (chain, draw, component)."""
    level = posterior["level"].values
    if cluster is None:
        return level + new_deviation(posterior, rng)
    return level + posterior["cluster_deviation"].values[:, :, cluster] if "cluster_deviation" in posterior else level


def _ahead(
    posterior: xr.Dataset, grid: TimeGrid, cluster: int | None, n_periods: int, bursts: bool, rng: np.random.Generator
) -> np.ndarray:
    """Walk on from the last period, each period with or without a deviation of its own."""
    last = _last(posterior, cluster, rng)
    width = np.sqrt(grid.period_days / DAYS_PER_YEAR)
    common = posterior["sigma_walk"].values[..., None, None] * rng.standard_normal((*last.shape[:2], 1, n_periods))
    steps = np.broadcast_to(common, (*last.shape, n_periods))
    if "sigma_own_component" in posterior:
        own = posterior["sigma_own_component"].values[..., None]
        steps = steps + own * rng.standard_normal((*last.shape, n_periods))
    steps = width * steps + _drift(posterior, cluster, rng)[..., None, None] * width**2
    if "change_rate" in posterior:
        rate, sd = posterior["change_rate"].values, posterior["change_sd"].values
        steps = steps + draw_jumps(rate, sd, n_periods, width**2, rng)[..., None, :]
    rate = np.exp(last[..., None] + np.cumsum(steps, axis=-1))
    if not bursts:
        return rate
    weight = _cell_weight({"sigma_cell": posterior["sigma_cell"].values})
    return rate * rng.standard_gamma(weight, rate.shape) / weight


def _drift(posterior: xr.Dataset, cluster: int | None, rng: np.random.Generator) -> np.ndarray:
    """Return the drift of a cluster's common walk a year, (chain, draw)."""
    if "drift" not in posterior:
        return np.zeros((posterior.sizes["chain"], posterior.sizes["draw"]))
    if cluster is None:
        sd = posterior["sigma_drift"].values
        return sd * rng.standard_normal(sd.shape)
    return posterior["drift"].values[:, :, cluster]


OVER_TIME = Family(
    layout=time_grid_of,
    dims={
        **COMPONENT_DIMS,
        "sigma_walk": (),
        "walk_step": ("cluster", "step"),
        "sigma_own": (),
        "sigma_own_component": ("component",),
        "own_step": ("cluster", "component", "step"),
        "sigma_cell": (),
        "change_rate": (),
        "change_sd": (),
        "sigma_drift": (),
        "drift": ("cluster",),
    },
    geometry=_geometry,
    complete=_complete,
    log_likelihood=_log_likelihood,
    replicate=_replicate,
    predict=_predict,
    ahead=_ahead,
)
