"""`node_frailty`: nodes differ, and some are lemons."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import xarray as xr

from meantime.errors import InputError
from meantime.models.grid import MIN_CELL_VARIANCE
from meantime.models.nodes import Nodes, nodes_of
from meantime.models.priors import LEVEL_SD, TOTAL_RATE

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeFrailtyPriors:
    """Priors of `node_frailty`.

    Lemons are rare and bad: 1.2 % and 1.7 % of the nodes of RSC-1 and RSC-2, without which failures of jobs of
    512 GPUs and more fell from 14 % to 4 % (Kokolis et al., arXiv 2410.21680), a multiplier of some hundred; but
    10 % of nodes fail validation in another fleet, where the time to a node's next incident falls by a factor of
    five from its first to its twentieth (SuperBench, USENIX ATC 2024).

    Parameters
    ----------
    total_rate
        Centre of the prior of a cluster's rate of normal nodes, per node-day.
    level_sd
        Its spread, on the log scale.
    spread_sd
        Scale of the half-normal prior of the spread of nodes about their class: standard deviation over mean.
    share_mean
        Mean of the Beta(1, 1 / mean - 1) prior of the share of lemons. None: there are no lemons.
    excess
        Centre of the prior of a lemon's excess: it fails 1 + excess times as often as a normal node.
    excess_sd
        Spread of that prior, on the log scale.
    signal_sd
        Standard deviation of the prior of a signal's effect on the log odds of being a lemon, for one standard
        deviation of log(1 + signal).
    """

    total_rate: float = TOTAL_RATE
    level_sd: float = LEVEL_SD
    spread_sd: float = 1.0
    share_mean: float | None = 0.03
    excess: float = 9.0
    excess_sd: float = 1.0
    signal_sd: float = 1.0

    def __post_init__(self) -> None:
        if isinstance(self.share_mean, int | float) and self.share_mean >= 1:
            raise InputError(f"prior share_mean is {self.share_mean!r}; expected a share below 1, or None")


def node_frailty(table: xr.Dataset, priors: NodeFrailtyPriors | None = None) -> "pm.Model":
    r"""Build the model of nodes whose rates differ, in two classes.

    With failures :math:`n_i` and node-days :math:`e_i` of node i of cluster c,

    .. math::

        n_i &\sim \mathrm{Poisson}(e_i\, r_c\, m^{z_i} g_i), \\
        g_i &\sim \mathrm{Gamma}(\mathrm{shape}\ k_c, \mathrm{mean}\ 1), \qquad k_c = 1 / s_c^2, \\
        z_i &\sim \mathrm{Bernoulli}(q_i), \qquad
        \mathrm{logit}\, q_i = \mathrm{logit}\, p_c + \textstyle\sum_j x_{ij} \beta_j ,

    where :math:`r_c` is the rate of normal nodes, :math:`m > 1` the lemons' multiplier, :math:`p_c` the share of
    lemons, :math:`s_c` the spread within a class and :math:`x_{ij}` the signals, if there are any. Frailties and
    classes are integrated out,

    .. math::

        P(n_i) = (1 - q_i)\, \mathrm{NegBinomial}(n_i; e_i r_c, k_c)
               + q_i\, \mathrm{NegBinomial}(n_i; e_i r_c m, k_c),

    (mean, shape), and are drawn exactly after sampling: the class of a node from its posterior odds, then its rate
    from :math:`\mathrm{Gamma}(k_c + n_i, k_c / (r_c m^{z_i}) + e_i)`. Without lemons (``share_mean=None``) this is
    the Gamma frailty of Greenwood and Yule (Journal of the Royal Statistical Society 83, 1920).

    Clusters of fewer than 10 nodes have no lemons: there, nothing tells them from a wide spread.

    That lemons fail more often (m > 1) tells the classes apart. Whether a heavy tail is lemons or a wide spread
    the data decide, and the priors, where they cannot: few lemons, far worse than the rest.

    Parameters
    ----------
    table
        A failure table by node (see `meantime.datasets.check_nodes`).
    priors
        Default: `NodeFrailtyPriors`.

    Returns
    -------
    pm.Model
        Variables ``normal_rate`` and ``spread`` (cluster,), and with lemons ``lemon_share`` (cluster,),
        ``lemon_excess``, that is m - 1, and with signals ``signal_effect`` (signal,); and the observed
        ``failures`` (stratum, component), where a stratum is a node.
    """
    import pymc as pm

    priors = priors or NodeFrailtyPriors()
    nodes = nodes_of(table)
    with pm.Model(coords=nodes.coords) as model:
        data = {name: pm.Data(name, values, dims=_DIMS[name]) for name, values in nodes.observed().items()}
        parts = _parts(priors, nodes, data)
        mean, shape = parts["mean"][:, None], parts["shape"][:, None]
        observed = {"observed": data["observed_failures"], "dims": ("stratum", "component")}
        if "odds" not in parts:
            pm.NegativeBinomial("failures", mu=mean, alpha=shape, **observed)
            return model
        lemon = pm.math.sigmoid(parts["odds"])[:, None]
        classes = [
            pm.NegativeBinomial.dist(mu=mean, alpha=shape),
            pm.NegativeBinomial.dist(mu=mean * parts["multiplier"], alpha=shape),
        ]
        pm.Mixture("failures", w=pm.math.stack([1 - lemon, lemon], axis=-1), comp_dists=classes, **observed)
    return model


def node_frailty_by_kind(nodes: Nodes, priors: NodeFrailtyPriors) -> "pm.Model":
    """Build the same density, up to a constant, from the kinds of nodes: for sampling.

    Parameters
    ----------
    nodes
        The nodes; the model's data are `Nodes.kinds`.
    priors
        Priors.
    """
    import pymc as pm
    from pytensor import tensor as pt

    with pm.Model(coords={key: nodes.coords[key] for key in ("cluster", "signal")}) as model:
        data = {name: pm.Data(name, values) for name, values in nodes.kinds().items()}
        parts = _parts(priors, nodes, data)
        count = data["observed_failures"][:, 0]
        shape, mean = parts["shape"], parts["mean"]

        def log_density(mean: Any) -> Any:  # of a negative binomial, without what all classes share
            return count * pt.log(mean) - (count + shape) * pt.log1p(mean / shape)

        shared = pt.gammaln(count + shape) - pt.gammaln(shape) - count * pt.log(shape)
        density = log_density(mean)
        if "odds" in parts:
            odds = parts["odds"]
            lemons = log_density(mean * parts["multiplier"])
            density = _log_sum(density - _log_sum(0.0, odds), lemons - _log_sum(0.0, -odds))
        pm.Potential("failures", (data["kind_nodes"] * (shared + density)).sum())
    return model


def _log_sum(a: Any, b: Any) -> Any:
    """Return log(exp(a) + exp(b)), with a gradient that is finite however far apart they are.

    PyTensor makes softplus of log1p(exp(x)), whose gradient in JAX is not a number from x = -710 on.
    """
    from pytensor import tensor as pt

    return pt.maximum(a, b) + pt.log1p(pt.exp(pt.maximum(-pt.abs(a - b), -600.0)))


_DIMS = {
    "exposure_days": ("stratum",),
    "observed_failures": ("stratum", "component"),
    "cluster_of": ("stratum",),
    "lemon_odds": ("stratum",),
    "signals": ("stratum", "signal"),
}


def _parts(priors: NodeFrailtyPriors, nodes: Nodes, data: dict[str, Any]) -> dict[str, Any]:
    """Add the variables; return expected counts of normal nodes, their shape, and odds and multiplier of lemons."""
    import numpy as np
    import pymc as pm

    cluster = data["cluster_of"]
    rate = pm.LogNormal("normal_rate", np.log(priors.total_rate), priors.level_sd, dims="cluster")
    spread = pm.HalfNormal("spread", priors.spread_sd, dims="cluster")
    shape = 1 / (spread**2 + MIN_CELL_VARIANCE)
    parts = {"mean": data["exposure_days"] * rate[cluster], "shape": shape[cluster]}
    if priors.share_mean is None:
        return parts
    share = pm.Beta("lemon_share", 1.0, 1 / priors.share_mean - 1, dims="cluster")
    excess = pm.LogNormal("lemon_excess", np.log(priors.excess), priors.excess_sd)
    odds = pm.math.logit(share)[cluster] + data["lemon_odds"]
    if nodes.signal_names:
        effect = pm.Normal("signal_effect", 0, priors.signal_sd, dims="signal")
        odds = odds + data["signals"] @ effect
    return {**parts, "odds": odds, "multiplier": 1 + excess}
