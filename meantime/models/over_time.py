"""`over_time`: rates by component that move from period to period."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from meantime.models.grid import MIN_CELL_VARIANCE
from meantime.models.priors import CLUSTER_SD, COMPONENT_SD, LEVEL_SD, TOTAL_RATE
from meantime.models.time_grid import time_grid_of

if TYPE_CHECKING:
    import pymc as pm

CHANGE_SPREAD = 0.5
"""Standard deviation of the log prior of how often rates jump, and of how far."""


@dataclass(frozen=True, slots=True, kw_only=True)
class OverTimePriors:
    """Priors of `over_time`, weakly informative.

    Levels and spreads between components and clusters are those of published fleets (see
    `meantime.models.priors`). Walks are wide enough for what fleets have shown: failures of system 20 of Los
    Alamos fell from 1,271 to 190 a year within three years (LA-UR-05-7318), and rates of single components of
    RSC-1 moved by a factor of ten within months (arXiv 2410.21680, figure 5).

    Parameters
    ----------
    total_rate
        Failures per node-day of all components together in the last period, at the centre of the prior.
    level_sd
        Standard deviation of the mean log rate about that centre.
    component_sd
        Scale of the half-normal prior of the spread between components, log scale.
    cluster_sd
        Scale of the half-normal prior of the spread between clusters, log scale.
    walk_sd
        Scale of the half-normal prior of the standard deviation by which the walk common to all components
        of a cluster moves within a year, log scale.
    own_sd
        The same of the walks of single components about the common one.
    own_spread
        Standard deviation, on the log scale, of the components' own spreads about their median.
    cell_sd
        Scale of the half-normal prior of the relative standard deviation of a period about its walk.
    change_rate
        Change points a year expected of each cluster, at the median, such as 0.5. Default: there are none.
    change_sd
        Standard deviation of the jump at a change point, log scale, at the median; with ``change_rate`` alone.
    drift_sd
        Scale of the half-normal prior of the spread of drifts: steady moves of a cluster's common walk, log scale a
        year. Default: walks have no drift.
    """

    total_rate: float = TOTAL_RATE
    level_sd: float = LEVEL_SD
    component_sd: float = COMPONENT_SD
    cluster_sd: float = CLUSTER_SD
    walk_sd: float = 1.0
    own_sd: float = 1.0
    own_spread: float = 0.5
    cell_sd: float = 0.4
    change_rate: float | None = None
    change_sd: float = 1.0
    drift_sd: float | None = None


def over_time(table: xr.Dataset, priors: OverTimePriors | None = None) -> "pm.Model":
    r"""Build the model of rates by component that move from period to period.

    .. math::

        n_{ckt} &\sim \mathrm{Poisson}(e_{ct}\, r_{ckt}\, g_{ckt}), \qquad
        g_{ckt} \sim \mathrm{Gamma}(1/\sigma_{\mathrm{cell}}^2, 1/\sigma_{\mathrm{cell}}^2) \\
        \log r_{ckt} &= a_k + b_{ck} + w_{ct} + v_{ckt} \\
        w_{c,t+1} - w_{ct} &\sim N(0, \sigma_{\mathrm{walk}} \sqrt{\Delta_t}), \qquad
        v_{ck,t+1} - v_{ckt} \sim N(0, \sigma_k \sqrt{\Delta_t}) \\
        \log \sigma_k &\sim N(\log \sigma_{\mathrm{own}}, \mathrm{own\_spread}), \qquad
        a_k \sim N(\mu, \sigma_{\mathrm{component}}), \qquad b_{ck} \sim N(0, \sigma_{\mathrm{cluster}})

    with :math:`\Delta_t` the years between the starts of two periods. All walks are 0 in the last period, so
    that :math:`a_k + b_{ck}` is the log rate there: the past is reached by walking back, the future by walking
    on. Each cluster walks by itself; its components share :math:`w` and differ by :math:`v`, and how far they
    wander is pooled over components. The deviation :math:`g` of a period, of mean 1, carries bursts that are no
    lasting change. It is integrated out, as in `component_size`: the counts are negative binomial. With one
    component there is no :math:`v`, with one cluster no :math:`b`. A period without exposure is a gap that the
    walks pass through. Job sizes and nodes are summed away.

    With ``change_rate`` in the priors, rates of all components of a cluster may also jump at once:

    .. math::

        w_{c,t+1} - w_{ct} &\sim (1 - p_t)\, N(0, \sigma_{\mathrm{walk}} \sqrt{\Delta_t})
            + p_t\, N(0, (\sigma_{\mathrm{walk}}^2 \Delta_t + \sigma_{\mathrm{change}}^2)^{1/2}), \qquad
        p_t = 1 - e^{-\lambda \Delta_t} \\
        \log \lambda &\sim N(\log \mathrm{change\_rate}, 0.5), \qquad
        \log \sigma_{\mathrm{change}} \sim N(\log \mathrm{change\_sd}, 0.5)

    so that changes come at :math:`\lambda` a year, and a change adds a jump to the step's ordinary move. Whether a step
    holds a change is summed out, and drawn exactly afterwards.

    With ``drift_sd`` in the priors the common steps have the mean :math:`d_c \Delta_t` instead of 0,

    .. math::

        d_c \sim N(0, \sigma_{\mathrm{drift}}), \qquad \sigma_{\mathrm{drift}} \sim N^+(0, \mathrm{drift\_sd})

    which forecasts carry on.

    Parameters
    ----------
    table
        A failure table with at least two periods that have exposure.
    priors
        Default: `OverTimePriors`.

    Returns
    -------
    pm.Model
        Variables ``mu``, ``sigma_component``, ``level`` (component,), ``sigma_cluster`` and
        ``cluster_deviation`` (cluster, component), ``sigma_walk`` and ``walk_step`` (cluster, step),
        ``sigma_own``, ``sigma_own_component`` (component,) and ``own_step`` (cluster, component, step),
        ``sigma_cell``, with change points ``change_rate`` and ``change_sd``, with drifts ``sigma_drift`` and ``drift``
        (cluster,), and the observed ``failures``
        (stratum, component), where a stratum is a (cluster, period) pair with exposure.

    Raises
    ------
    InputError
        If the table has no periods, or fewer than two have exposure.
    """
    import pymc as pm

    from meantime.models.parts import cluster_deviations, component_levels, data_containers

    priors = priors or OverTimePriors()
    grid = time_grid_of(table)
    n_steps = len(grid.periods) - 1
    with pm.Model(coords=grid.coords) as model:
        data = data_containers(grid)
        level = component_levels(priors.total_rate, priors.level_sd, priors.component_sd, len(grid.components))
        log_rate = level[None, :, None]
        if len(grid.clusters) > 1:
            log_rate = log_rate + cluster_deviations(priors.cluster_sd)[:, :, None]
        width = pm.math.sqrt(data["step_years"])
        sigma_walk = pm.HalfNormal("sigma_walk", priors.walk_sd)
        trend = 0.0 if priors.drift_sd is None else _trend(priors.drift_sd, data["step_years"])
        if priors.change_rate is None:
            step = pm.Normal("walk_step", trend, sigma_walk * width, dims=("cluster", "step"))
        else:
            step = _steps_with_changes(priors.change_rate, priors.change_sd, sigma_walk, trend, data["step_years"])
        log_rate = log_rate + _walk(step, n_steps)[:, None, :]
        if len(grid.components) > 1:
            sigma_own = pm.HalfNormal("sigma_own", priors.own_sd)
            spread = pm.LogNormal("sigma_own_component", pm.math.log(sigma_own), priors.own_spread, dims="component")
            own = pm.Normal("own_step", 0, spread[:, None] * width, dims=("cluster", "component", "step"))
            log_rate = log_rate + _walk(own, n_steps)
        sigma_cell = pm.HalfNormal("sigma_cell", priors.cell_sd)
        here = log_rate[data["cluster_of"], :, data["period_of"]]
        pm.NegativeBinomial(
            "failures",
            mu=data["exposure_days"][:, None] * pm.math.exp(here),
            alpha=1 / (sigma_cell**2 + MIN_CELL_VARIANCE),
            observed=data["observed_failures"],
            dims=("stratum", "component"),
        )
    return model


def _trend(sd: float, years: Any) -> Any:
    """Return what drifts add to each step, (cluster, step)."""
    import pymc as pm

    spread = pm.HalfNormal("sigma_drift", sd)
    return pm.Normal("drift", 0, spread, dims="cluster")[:, None] * years


def _steps_with_changes(rate: float, sd: float, sigma_walk: Any, trend: Any, years: Any) -> Any:
    """Return the steps of the common walks, of which a few are jumps."""
    import pymc as pm

    change_rate = pm.LogNormal("change_rate", np.log(rate), CHANGE_SPREAD)
    change_sd = pm.LogNormal("change_sd", np.log(sd), CHANGE_SPREAD)
    stays = pm.math.exp(-change_rate * years)
    variance = sigma_walk**2 * years
    return pm.NormalMixture(
        "walk_step",
        w=pm.math.stack([stays, 1 - stays], axis=-1),
        mu=0.0 if isinstance(trend, float) else trend[..., None],
        sigma=pm.math.sqrt(pm.math.stack([variance, variance + change_sd**2], axis=-1)),
        dims=("cluster", "step"),
    )


def _walk(steps: Any, n_steps: int) -> Any:
    """Add steps up, backwards from 0 in the last period, along the last axis."""
    from pytensor import tensor as pt

    return pt.dot(steps, -np.tri(n_steps, n_steps + 1))
