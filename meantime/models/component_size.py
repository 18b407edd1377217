"""`component_size`, the default: rates by component and job size."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from meantime.models.grid import MIN_CELL_VARIANCE, grid_of
from meantime.models.priors import CLUSTER_SD, COMPONENT_SD, LEVEL_SD, TOTAL_RATE

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentSizePriors:
    """Priors of `component_size`, weakly informative.

    Levels and spreads are those of published fleets (see `meantime.models.priors`). The slope is
    centred on the law MTTF = 1 / (N r), slope 0. Its spread covers what is published against the law:
    Kokolis et al. (arXiv 2410.21680) measure 21 to 24 failures per 1,000 node-days on jobs of 8 and
    1,024 GPUs and about 4.7 at 4,096, a slope of -0.8 over those two doublings and of -0.17 over all
    nine. The cell deviation allows a size to be off its line by about 40 %.

    Parameters
    ----------
    total_rate
        Failures per node-day of all components together at 64 GPUs, at the centre of the prior.
    level_sd
        Standard deviation of the mean log rate about that centre.
    component_sd
        Scale of the half-normal prior of the spread between components, log scale.
    cluster_sd
        Scale of the half-normal prior of the spread between clusters, log scale.
    slope_mean_sd
        Standard deviation of the mean slope about 0, log rate per doubling of the job size.
    slope_sd
        Scale of the half-normal prior of the spread of slopes between components.
    cell_sd
        Scale of the half-normal prior of the relative standard deviation of a cell.
    """

    total_rate: float = TOTAL_RATE
    level_sd: float = LEVEL_SD
    component_sd: float = COMPONENT_SD
    cluster_sd: float = CLUSTER_SD
    slope_mean_sd: float = 0.25
    slope_sd: float = 0.15
    cell_sd: float = 0.4


def component_size(table: xr.Dataset, priors: ComponentSizePriors | None = None) -> "pm.Model":
    r"""Build the model of rates by component, cluster and job size.

    .. math::

        n_{cks} &\sim \mathrm{Poisson}(e_{cs}\, r_{cks}\, g_{cks}), \qquad
        g_{cks} \sim \mathrm{Gamma}(1/\sigma_{\mathrm{cell}}^2, 1/\sigma_{\mathrm{cell}}^2) \\
        \log r_{cks} &= a_k + b_{ck} + \beta_k \log_2(s / 64) \\
        a_k &\sim N(\mu, \sigma_{\mathrm{component}}), \quad b_{ck} \sim N(0, \sigma_{\mathrm{cluster}}), \quad
        \beta_k \sim N(\bar\beta, \sigma_{\mathrm{slope}})

    A slope :math:`\beta` of 0 is the law MTTF = 1 / (N r): a node fails as often in a large job as in a
    small one. The cell multiplier :math:`g`, of mean 1 and standard deviation :math:`\sigma_{\mathrm{cell}}`,
    carries what the line misses and widens predictions at sizes never seen. It is integrated out,

    .. math::

        n_{cks} \sim \mathrm{NegBinomial}(\mathrm{mean}\ e_{cs} r_{cks},\ \mathrm{shape}\ 1/\sigma_{\mathrm{cell}}^2),

    and drawn exactly after sampling, :math:`g | n \sim \mathrm{Gamma}(1/\sigma^2 + n, 1/\sigma^2 + e r)`.
    With one cluster there is no :math:`b`. Periods and nodes are summed away. (The variance of a cell is
    :math:`\sigma_{\mathrm{cell}}^2 + 10^{-8}`, so that its inverse stays finite.)

    Parameters
    ----------
    table
        A failure table with at least two job sizes that have exposure.
    priors
        Default: `ComponentSizePriors`.

    Returns
    -------
    pm.Model
        Variables ``mu``, ``sigma_component``, ``level`` (component,), the log rate at 64 GPUs,
        ``sigma_cluster`` and ``cluster_deviation`` (cluster, component), ``slope_mean``, ``slope_sd`` and
        ``slope`` (component,), per doubling, ``sigma_cell``, and the observed ``failures``
        (stratum, component), where a stratum is a (cluster, job size) pair with exposure.

    Raises
    ------
    InputError
        If fewer than two job sizes have exposure.
    """
    import pymc as pm

    from meantime.models.parts import cluster_deviations, component_levels, data_containers

    priors = priors or ComponentSizePriors()
    grid = grid_of(table, sizes=True)
    with pm.Model(coords=grid.coords) as model:
        data = data_containers(grid)
        level = component_levels(priors.total_rate, priors.level_sd, priors.component_sd, len(grid.components))
        slope_mean = pm.Normal("slope_mean", 0, priors.slope_mean_sd)
        slope_sd = pm.HalfNormal("slope_sd", priors.slope_sd)
        slope = pm.Normal("slope", slope_mean, slope_sd, dims="component")
        sigma_cell = pm.HalfNormal("sigma_cell", priors.cell_sd)
        log_rate = level[None, :] + slope[None, :] * data["doublings"][:, None]
        if len(grid.clusters) > 1:
            log_rate = log_rate + cluster_deviations(priors.cluster_sd)[data["cluster_of"]]
        pm.NegativeBinomial(
            "failures",
            mu=data["exposure_days"][:, None] * pm.math.exp(log_rate),
            alpha=1 / (sigma_cell**2 + MIN_CELL_VARIANCE),
            observed=data["observed_failures"],
            dims=("stratum", "component"),
        )
    return model
