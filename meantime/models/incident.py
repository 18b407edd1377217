"""`incident`: common causes that hit several nodes at once."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import xarray as xr

from meantime.models.incident_grid import incident_grid_of
from meantime.models.priors import LEVEL_SD, TOTAL_RATE

if TYPE_CHECKING:
    import pymc as pm

SMALLEST = 1e-9
"""Least share of incidents of any size: a size that a cluster is too small for has this."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentPriors:
    """Priors of `incident`, weakly informative.

    In the outages of Los Alamos (LA-UR-05-7318) about one incident in a hundred hits more than one node, and
    a few hit dozens; racks and switches of GPU clusters tie 2 to 72 nodes together.

    Parameters
    ----------
    total_rate
        Incidents per node-day, at the centre of the prior.
    level_sd
        Standard deviation of the log rate of each cluster about that centre.
    several_one, several_many
        Shapes of the beta prior of the share of incidents that hit more than one node: how many of one and of
        several the prior is worth.
    tail
        Median of the prior of the exponent by which large incidents grow rare.
    tail_sd
        Its standard deviation on the log scale.
    weight
        Median of the prior of how many incidents the smooth law of sizes is worth against those seen.
    weight_sd
        Its standard deviation on the log scale.
    """

    total_rate: float = TOTAL_RATE
    level_sd: float = LEVEL_SD
    several_one: float = 4.0
    several_many: float = 0.5
    tail: float = 1.5
    tail_sd: float = 0.5
    weight: float = 10.0
    weight_sd: float = 1.5


def incident(table: xr.Dataset, priors: IncidentPriors | None = None) -> "pm.Model":
    r"""Build the model of incidents that hit several nodes at once.

    .. math::

        n_{cm} &\sim \mathrm{Poisson}(d_c\, \lambda_{cm}), \qquad
        \lambda_{cm} \sim \mathrm{Gamma}(\omega\, p_{cm},\ \omega / \Lambda_c) \\
        p_{c1} &= 1 - q, \qquad p_{cm} \propto q \left[(m - \tfrac12)^{-\tau} - (m + \tfrac12)^{-\tau}\right],
        \quad 2 \le m \le N_c

    with :math:`n_{cm}` the incidents that hit m of the :math:`N_c` nodes of cluster c within :math:`d_c`
    days. So incidents come at a Gamma distributed rate of mean :math:`\Lambda_c` a day, and their sizes are
    Dirichlet distributed about a smooth law: a share q hits several nodes, with a Pareto tail of exponent
    :math:`\tau`. The weight :math:`\omega` says how many incidents that law is worth: where sizes follow it, it is
    large; where one rack size stands out, it is small. Sizes never seen keep a chance. The rates are
    integrated out (negative binomial) and drawn exactly after sampling,
    :math:`\lambda_{cm} | n \sim \mathrm{Gamma}(\omega p_{cm} + n_{cm}, \omega / \Lambda_c + d_c)`.

    A job on k nodes placed at random is hit by an incident on m of N nodes with probability
    :math:`1 - \binom{N-m}{k} / \binom{N}{k}`; its hazard is the sum over sizes.

    Parameters
    ----------
    table
        An incident table (see `meantime.datasets.incident_table`).
    priors
        Default: `IncidentPriors`.

    Returns
    -------
    pm.Model
        Variables ``daily_mean`` (cluster,), ``several``, ``tail``, ``weight``, and the observed ``incidents``
        (cluster, hit).
    """
    import pymc as pm

    priors = priors or IncidentPriors()
    grid = incident_grid_of(table)
    pairs = dict.fromkeys(("observed_incidents", "lower", "upper"), ("cluster", "hit"))
    dims = {**pairs, "single": "hit", "days": "cluster", "nodes": "cluster"}
    with pm.Model(coords=grid.coords) as model:
        data = {name: pm.Data(name, value, dims=dims[name]) for name, value in grid.observed().items()}
        centre = pm.math.log(priors.total_rate * data["nodes"])
        daily = pm.LogNormal("daily_mean", centre, priors.level_sd, dims="cluster")
        several = pm.Beta("several", priors.several_many, priors.several_one)
        tail = pm.LogNormal("tail", pm.math.log(priors.tail), priors.tail_sd)
        weight = pm.LogNormal("weight", pm.math.log(priors.weight), priors.weight_sd)
        share = size_shares(pm.math, data, several, tail)
        pm.NegativeBinomial(
            "incidents",
            mu=data["days"][:, None] * daily[:, None] * share,
            alpha=weight * share,
            observed=data["observed_incidents"],
            dims=("cluster", "hit"),
        )
    return model


def size_shares(xp: Any, data: Mapping[str, Any], several: Any, tail: Any) -> Any:
    """Return the shares of incidents by size under the smooth law, (..., cluster, hit).

    Parameters
    ----------
    xp
        `numpy` or `pymc.math`.
    data
        Of `IncidentGrid.observed`.
    several, tail
        Share of incidents on more than one node, and the exponent of their sizes.
    """

    def survive(edge: Any) -> Any:
        return xp.exp(-tail * xp.log(edge / 1.5))

    many = (survive(data["lower"]) - survive(data["upper"])) / (1 + SMALLEST - survive(data["nodes"][:, None] + 0.5))
    return (1 - several) * data["single"] + several * many + SMALLEST
