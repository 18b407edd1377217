"""`constant`: one rate per cluster, exact by conjugacy."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from meantime.models.grid import grid_of
from meantime.models.priors import TOTAL_RATE

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, slots=True, kw_only=True)
class ConstantPriors:
    """Gamma prior of a cluster's rate.

    The defaults weigh as much as half a failure in 125 node-days: mean 4 failures per 1,000 node-days
    (see `meantime.models.priors`), 90 % of the prior between 0.016 and 15.

    Parameters
    ----------
    shape
        Shape of the Gamma distribution: the failures that the prior is worth.
    rate
        Its rate: the exposure that the prior is worth, node-days.
    """

    shape: float = 0.5
    rate: float = 0.5 / TOTAL_RATE


def constant(table: xr.Dataset, priors: ConstantPriors | None = None) -> "pm.Model":
    r"""Build the model of one constant rate per cluster.

    .. math::

        n_c \sim \mathrm{Poisson}(e_c\, r_c), \qquad r_c \sim \mathrm{Gamma}(\mathrm{shape}, \mathrm{rate})

    with :math:`n_c` the failures and :math:`e_c` the node-days of cluster :math:`c`, over all components
    and sizes. The posterior is Gamma(shape + n, rate + e), exactly. It is the model behind r_f in Kokolis
    et al. (arXiv 2410.21680).

    Parameters
    ----------
    table
        A failure table.
    priors
        Prior of the rates. Default: `ConstantPriors`.

    Returns
    -------
    pm.Model
        Variables ``rate`` (cluster,), per node-day, and the observed ``failures`` (stratum, component).
    """
    import pymc as pm

    from meantime.models.parts import data_containers

    priors = priors or ConstantPriors()
    grid = grid_of(table, components=False)
    with pm.Model(coords=grid.coords) as model:
        data = data_containers(grid)
        rate = pm.Gamma("rate", alpha=priors.shape, beta=priors.rate, dims="cluster")
        mean = data["exposure_days"] * rate[data["cluster_of"]]
        pm.Poisson("failures", mean[:, None], observed=data["observed_failures"], dims=("stratum", "component"))
    return model
