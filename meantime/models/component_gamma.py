"""`component_gamma`: rates by component from one Gamma pool, integrated out."""

from dataclasses import dataclass
from typing import TYPE_CHECKING

import xarray as xr

from meantime.models.grid import grid_of
from meantime.models.priors import TOTAL_RATE

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, slots=True, kw_only=True)
class ComponentGammaPriors:
    """Priors of `component_gamma`.

    Parameters
    ----------
    shape_rate
        Rate of the exponential prior of the pool's shape. 1 allows pools from very mixed (shape 0.05)
        to fairly even (shape 3).
    rate_shape
        Shape of the Gamma prior of the pool's rate.
    rate_rate
        Rate of that prior, 1 / node-days. None: chosen so that the rates of K components, each of mean
        shape / rate, together come to 4 failures per 1,000 node-days at the centre of the prior (see
        `meantime.models.priors`): ``rate_shape * shape_rate * 4e-3 / K``.
    """

    shape_rate: float = 1.0
    rate_shape: float = 1.0
    rate_rate: float | None = None

    def rate_rate_for(self, n_components: int) -> float:
        """Return the rate of the prior of the pool's rate, with its default filled in."""
        if self.rate_rate is not None:
            return self.rate_rate
        return self.rate_shape * self.shape_rate * TOTAL_RATE / n_components


def component_gamma(table: xr.Dataset, priors: ComponentGammaPriors | None = None) -> "pm.Model":
    r"""Build the model of rates by component and cluster from one exchangeable Gamma pool.

    .. math::

        n_{ck} \sim \mathrm{Poisson}(e_c\, r_{ck}), \quad r_{ck} \sim \mathrm{Gamma}(a, b), \quad
        a \sim \mathrm{Exp}(\mathrm{shape\_rate}), \quad
        b \sim \mathrm{Gamma}(\mathrm{rate\_shape}, \mathrm{rate\_rate})

    The rates are integrated out, :math:`n_{ck} \sim \mathrm{NegBinomial}` with mean :math:`e_c a / b` and
    shape :math:`a`, and drawn exactly after sampling: :math:`r_{ck} | n \sim \mathrm{Gamma}(a + n_{ck}, b + e_c)`.
    With ``shape_rate=1, rate_shape=0.1, rate_rate=1`` it is the pumps model of George, Makov and Smith
    (Scandinavian Journal of Statistics 20, 1993), known from BUGS.

    Parameters
    ----------
    table
        A failure table.
    priors
        Default: `ComponentGammaPriors`.

    Returns
    -------
    pm.Model
        Variables ``pool_shape``, ``pool_rate`` (node-days), and the observed ``failures``
        (stratum, component), where a stratum is a cluster with exposure.
    """
    import pymc as pm

    from meantime.models.parts import data_containers

    priors = priors or ComponentGammaPriors()
    grid = grid_of(table)
    with pm.Model(coords=grid.coords) as model:
        data = data_containers(grid)
        shape = pm.Exponential("pool_shape", priors.shape_rate)
        rate = pm.Gamma("pool_rate", alpha=priors.rate_shape, beta=priors.rate_rate_for(len(grid.components)))
        mean = data["exposure_days"][:, None] * (shape / rate)
        pm.NegativeBinomial(
            "failures", mu=mean, alpha=shape, observed=data["observed_failures"], dims=("stratum", "component")
        )
    return model
