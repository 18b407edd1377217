"""`component`: rates by component, partially pooled on the log scale."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from meantime.models.grid import grid_of
from meantime.models.priors import CLUSTER_SD, COMPONENT_SD, LEVEL_SD, TOTAL_RATE

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentPriors:
    """Priors of `component`, weakly informative, from published fleets (see `meantime.models.priors`).

    Parameters
    ----------
    total_rate
        Failures per node-day of all components together, at the centre of the prior.
    level_sd
        Standard deviation of the mean log rate about that centre.
    component_sd
        Scale of the half-normal prior of the spread between components, log scale.
    cluster_sd
        Scale of the half-normal prior of the spread between clusters, log scale.
    """

    total_rate: float = TOTAL_RATE
    level_sd: float = LEVEL_SD
    component_sd: float = COMPONENT_SD
    cluster_sd: float = CLUSTER_SD


def component(table: xr.Dataset, priors: ComponentPriors | None = None) -> "pm.Model":
    r"""Build the model of rates by component and cluster, log-normal pooling.

    .. math::

        n_{ck} &\sim \mathrm{Poisson}(e_c\, r_{ck}), \qquad \log r_{ck} = a_k + b_{ck} \\
        a_k &\sim N(\mu, \sigma_{\mathrm{component}}), \qquad b_{ck} \sim N(0, \sigma_{\mathrm{cluster}}) \\
        \mu &\sim N(\log(\mathrm{total}/K), \mathrm{level\_sd})

    for K components: components borrow strength from one another, clusters from one another within a
    component. With one cluster there is no :math:`b`. Job sizes, periods and nodes are summed away.

    Parameters
    ----------
    table
        A failure table.
    priors
        Default: `ComponentPriors`.

    Returns
    -------
    pm.Model
        Variables ``mu``, ``sigma_component``, ``level`` (component,), ``sigma_cluster`` and
        ``cluster_deviation`` (cluster, component), ``rate`` (cluster, component), per node-day, and the
        observed ``failures`` (stratum, component), where a stratum is a cluster with exposure.
    """
    import pymc as pm

    from meantime.models.parts import cluster_deviations, component_levels, data_containers

    priors = priors or ComponentPriors()
    grid = grid_of(table)
    with pm.Model(coords=grid.coords) as model:
        data = data_containers(grid)
        level = component_levels(priors.total_rate, priors.level_sd, priors.component_sd, len(grid.components))
        log_rate = level[None, :]
        here = log_rate
        if len(grid.clusters) > 1:
            log_rate = log_rate + cluster_deviations(priors.cluster_sd)
            here = log_rate[data["cluster_of"]]
        pm.Deterministic("rate", pm.math.exp(log_rate), dims=("cluster", "component"))
        mean = data["exposure_days"][:, None] * pm.math.exp(here)
        pm.Poisson("failures", mean, observed=data["observed_failures"], dims=("stratum", "component"))
    return model
