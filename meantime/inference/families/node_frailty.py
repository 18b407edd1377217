"""`node_frailty` in inference: classes and frailties integrated out while sampling, drawn exactly afterwards."""

from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy.special import expit, logit

from meantime.datasets.nodes import check_nodes
from meantime.datasets.simulate import simulate_nodes
from meantime.errors import InputError
from meantime.inference.families.family import Draws, Family, Variables, repeat_sizes
from meantime.inference.geometry import Geometry, length, unpack
from meantime.inference.likelihood import negative_binomial_log_probability
from meantime.inference.scales import to_log_scales
from meantime.models import MIN_CELL_VARIANCE, NodeFrailtyPriors, Nodes, nodes_of
from meantime.models.node_frailty import node_frailty_by_kind

if TYPE_CHECKING:
    import pymc as pm

CHUNK = 2_000_000
"""Node draws held at a time."""


def node_draws(draws: Draws, nodes: Nodes, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
    """Draw the rates of all nodes exactly, given the draws of the sampled variables.

    Yields
    ------
    tuple
        For consecutive draws of the chains laid end to end: probability of being a lemon, and rate per node-day,
        both of shape (draws, stratum).
    """
    flat = {name: values.reshape(-1, *values.shape[2:]) for name, values in draws.items()}
    total = len(flat["normal_rate"])
    step = max(1, CHUNK // len(nodes.failures))
    for first in range(0, total, step):
        part = {name: values[first : first + step] for name, values in flat.items()}
        normal, lemon, weight = _class_log_probabilities(part, nodes)
        shape, rate = _shape(part, nodes), part["normal_rate"][:, nodes.cluster_of]
        if lemon is None:
            probability = np.zeros(normal.shape)
            multiplier = np.ones(1)
        else:
            probability = expit(lemon - normal + weight)
            multiplier = 1 + part["lemon_excess"]
        raised = np.where(rng.random(normal.shape) < probability, multiplier[:, None], 1.0) * rate
        yield probability, rng.standard_gamma(shape + nodes.failures) / (shape / raised + nodes.exposure)


def _shape(draws: Draws, nodes: Nodes) -> np.ndarray:
    return 1 / (draws["spread"][..., nodes.cluster_of] ** 2 + MIN_CELL_VARIANCE)


def _class_log_probabilities(draws: Draws, nodes: Nodes) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Return log P(count | normal), log P(count | lemon) if there are lemons, and log prior odds, (..., stratum)."""
    mean, shape = nodes.exposure * draws["normal_rate"][..., nodes.cluster_of], _shape(draws, nodes)
    normal = negative_binomial_log_probability(nodes.failures, mean, shape)
    if "lemon_share" not in draws:
        return normal, None, np.zeros(())
    multiplier = 1 + draws["lemon_excess"][..., None]
    odds = logit(draws["lemon_share"])[..., nodes.cluster_of] + nodes.lemon_odds
    if "signal_effect" in draws:
        odds = odds + draws["signal_effect"] @ nodes.signals.T
    return normal, negative_binomial_log_probability(nodes.failures, mean * multiplier, shape), odds


def _geometry(nodes: Nodes, priors: NodeFrailtyPriors) -> Geometry:
    clusters = len(nodes.clusters)
    shapes: dict[str, tuple[int, ...]] = {"normal_rate": (clusters,), "spread": (clusters,)}
    lemons = priors.share_mean is not None
    if lemons:
        shapes |= {"lemon_share": (clusters,), "lemon_excess": ()}
        if nodes.signal_names:
            shapes["signal_effect"] = (len(nodes.signal_names),)
    weight = 1.0 if priors.share_mean is None else 1 / priors.share_mean - 1

    def to_values(z: Any, data: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        import jax.numpy as jnp
        from jax.scipy.stats import norm

        parts = unpack(z, shapes)
        spread, jacobian = to_log_scales(parts["spread"], data["spread"])
        jacobian = jacobian + jnp.log(data["rate_error"]).sum()
        rate = data["rate"] + data["rate_error"] * parts["normal_rate"]  # of all nodes: the counts know it best
        values = {"spread_log__": spread}
        if lemons:
            # where nothing is known of a share, z is a standard normal: 1 - share = U^(1 / weight)
            rest = norm.logcdf(-parts["lemon_share"]) / weight
            share = jnp.log(-jnp.expm1(rest))
            slope = norm.logpdf(parts["lemon_share"]) - norm.logcdf(-parts["lemon_share"]) - share - np.log(weight)
            excess = np.log(priors.excess) + priors.excess_sd * parts["lemon_excess"]
            rate = rate - jnp.log1p(jnp.exp(share + excess))
            values |= {"lemon_share_logodds__": share - rest, "lemon_excess_log__": excess}
            jacobian = jacobian + slope.sum() + np.log(priors.excess_sd)
        if "signal_effect" in shapes:
            values["signal_effect"] = priors.signal_sd * parts["signal_effect"]
            jacobian = jacobian + len(nodes.signal_names) * np.log(priors.signal_sd)
        return {"normal_rate_log__": rate, **values}, jacobian

    return Geometry(size=length(shapes), data=_rough(nodes, priors), to_values=to_values)


def _rough(nodes: Nodes, priors: NodeFrailtyPriors) -> dict[str, np.ndarray]:
    """Return log rates, their errors and log spreads of the clusters, by moments."""
    found = []
    for cluster in range(len(nodes.clusters)):
        mine = nodes.cluster_of == cluster
        counts, days = nodes.failures[mine], nodes.exposure[mine]
        if not len(days):
            found.append((np.log(priors.total_rate), priors.level_sd, np.log(0.5 * priors.spread_sd)))
            continue
        rate = (counts.sum() + 0.5) / days.sum()
        expected = rate * days
        excess = ((counts - expected) ** 2 - expected).sum() / (expected**2).sum()
        spread = np.sqrt(np.clip(excess, 0.02, 2.0))
        found.append((np.log(rate), np.sqrt(spread**2 / len(days) + 1 / (counts.sum() + 1)), np.log(spread)))
    return dict(zip(("rate", "rate_error", "spread"), map(np.array, zip(*found, strict=True)), strict=True))


def _condensed(nodes: Nodes, priors: NodeFrailtyPriors) -> "tuple[Callable[[], pm.Model], dict[str, np.ndarray]]":
    return lambda: node_frailty_by_kind(nodes, priors), nodes.kinds()


def _design() -> xr.Dataset:
    return simulate_nodes(seed=1, nodes=200, exposure=np.where(np.arange(200) % 2, 200.0, 800.0))[0]


def _complete(draws: Draws, nodes: Nodes, rng: np.random.Generator) -> Variables:
    """Return each cluster's mean rate over its nodes, and the mean share of lemons among them."""
    seeded = np.random.default_rng(int(rng.integers(2**63)))
    members = np.equal.outer(nodes.cluster_of, np.arange(len(nodes.clusters))).astype(float)
    share = members / np.maximum(members.sum(axis=0), 1)
    chains, count = draws["normal_rate"].shape[:2]
    rates, lemons = [], []
    for probability, rate in node_draws(draws, nodes, seeded):
        rates.append(rate @ share)
        lemons.append(probability @ share)
    variables: Variables = {"rate": (("cluster",), np.concatenate(rates).reshape(chains, count, -1))}
    if "lemon_share" in draws:
        variables["lemon_fraction"] = (("cluster",), np.concatenate(lemons).reshape(chains, count, -1))
    return variables


def _log_likelihood(draws: Draws, nodes: Nodes) -> np.ndarray:
    normal, lemon, odds = _class_log_probabilities(draws, nodes)
    if lemon is None:
        return normal[..., None]
    return np.logaddexp(normal - np.logaddexp(0, odds), lemon - np.logaddexp(0, -odds))[..., None]


def _replicate(draws: Draws, nodes: Nodes, rng: np.random.Generator) -> np.ndarray:
    mean, shape = nodes.exposure * draws["normal_rate"][..., nodes.cluster_of], _shape(draws, nodes)
    if "lemon_share" in draws:
        odds = _class_log_probabilities(draws, nodes)[2]
        lemon = rng.random(mean.shape) < expit(odds)
        mean = mean * np.where(lemon, 1 + draws["lemon_excess"][..., None], 1.0)
    return rng.poisson(mean * rng.standard_gamma(shape) / shape)[..., None]


def _predict(
    posterior: xr.Dataset, nodes: Nodes, gpus: np.ndarray, cluster: int | None, rng: np.random.Generator
) -> np.ndarray:
    if cluster is None:
        raise InputError("the model 'node_frailty' knows no population of clusters; fit 'component' to predict one")
    return repeat_sizes(posterior["rate"].values[:, :, cluster, None], gpus)


NODE_FRAILTY = Family(
    check=check_nodes,
    layout=nodes_of,
    dims={
        "normal_rate": ("cluster",),
        "spread": ("cluster",),
        "lemon_share": ("cluster",),
        "lemon_excess": (),
        "signal_effect": ("signal",),
    },
    geometry=_geometry,
    complete=_complete,
    log_likelihood=_log_likelihood,
    replicate=_replicate,
    predict=_predict,
    condensed=_condensed,
    design=_design,
)
