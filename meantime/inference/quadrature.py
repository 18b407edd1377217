"""The posterior of `component_gamma` by quadrature over the two numbers of its pool."""

from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.special import gammaln

from meantime.models import ComponentGammaPriors, Grid

POINTS = 161
"""Points of the final grid along each axis."""

DEPTH = 25.0
"""Log density below its greatest value at which the posterior is taken to end."""

_START = ((-34.0, 12.0), (-90.0, 15.0))
"""Where the search for the posterior starts: log shape, log mean rate."""

_ZOOMS = 30


@dataclass(frozen=True, slots=True)
class Quadrature:
    """Probabilities of a grid of log shapes (rows) and log mean rates (columns) of the pool; they sum to 1."""

    log_shape: np.ndarray
    log_mean: np.ndarray
    weight: np.ndarray

    def draw(self, shape: tuple[int, ...], rng: np.random.Generator) -> dict[str, np.ndarray]:
        """Draw ``pool_shape`` and ``pool_rate``, independently: a point by its weight, and a place about it."""
        index = rng.choice(self.weight.size, size=shape, p=self.weight.ravel())
        row, column = np.unravel_index(index, self.weight.shape)
        log_shape, log_mean = (
            points[at] + (points[1] - points[0]) * (rng.random(shape) - 0.5)
            for points, at in ((self.log_shape, row), (self.log_mean, column))
        )
        return {"pool_shape": np.exp(log_shape), "pool_rate": np.exp(log_shape - log_mean)}

    def group(self) -> xr.Dataset:
        """Return the grid with labels: ``weight`` (log_shape, log_mean), the mean in failures per node-day."""
        coords = {"log_shape": self.log_shape, "log_mean": self.log_mean}
        return xr.Dataset({"weight": (("log_shape", "log_mean"), self.weight)}, coords=coords)


def pool_quadrature(grid: Grid, priors: ComponentGammaPriors) -> Quadrature:
    r"""Evaluate the posterior of a Gamma pool's shape a and rate b, the rates integrated out.

    .. math::

        p(a, b | n) \propto p(a)\, p(b) \prod_{ck} \frac{\Gamma(a + n_{ck})}{\Gamma(a)}
        \frac{b^a}{(b + e_c)^{a + n_{ck}}}

    in log a and log(a / b), which the counts tell apart. The grid is zoomed in until it fills what lies within
    `DEPTH` of the mode. The gamma functions depend on a alone, the powers on the clusters alone, so that the
    cost grows with neither more than necessary.

    Parameters
    ----------
    grid
        Counts and exposure, without sizes.
    priors
        Priors of the pool.

    Returns
    -------
    Quadrature
        The grid and its weights.
    """
    shape_ends, mean_ends = _START
    for _ in range(_ZOOMS):
        log_shape, log_mean = np.linspace(*shape_ends, POINTS), np.linspace(*mean_ends, POINTS)
        density = _log_density(log_shape, log_mean, grid, priors)
        inside = density > density.max() - DEPTH
        closer = _around(log_shape, inside.any(1)), _around(log_mean, inside.any(0))
        if all(0.8 < _width(new) / _width(old) <= 1 for new, old in zip(closer, (shape_ends, mean_ends), strict=True)):
            break
        shape_ends, mean_ends = closer
    weight = np.exp(density - density.max())
    return Quadrature(log_shape, log_mean, weight / weight.sum())


def _around(points: np.ndarray, inside: np.ndarray) -> tuple[float, float]:
    """Return ends one point beyond what is inside, or a quarter of the width further where that is at an end."""
    found, more = np.flatnonzero(inside), 0.25 * (points[-1] - points[0])
    low = points[found[0] - 1] if found[0] > 0 else points[0] - more
    high = points[found[-1] + 1] if found[-1] < len(points) - 1 else points[-1] + more
    return float(low), float(high)


def _width(ends: tuple[float, float]) -> float:
    return ends[1] - ends[0]


def _log_density(log_shape: np.ndarray, log_mean: np.ndarray, grid: Grid, priors: ComponentGammaPriors) -> np.ndarray:
    """Return the log density of (log shape, log mean), up to a constant: shape (log_shape, log_mean)."""
    observed = grid.observed()
    counts, days = observed["observed_failures"], observed["exposure_days"]
    shape = np.exp(log_shape)
    values, repeats = np.unique(counts, return_counts=True)
    gammas = (repeats * (gammaln(shape[:, None] + values) - gammaln(shape)[:, None])).sum(1)
    rate = np.exp(log_shape[:, None] - log_mean)
    log_rate = log_shape[:, None] - log_mean
    exposed, position = np.unique(days, return_inverse=True)
    members = np.bincount(position) * counts.shape[1]
    totals = np.bincount(position, counts.sum(1))
    density = gammas[:, None] - priors.shape_rate * shape[:, None] + log_shape[:, None]
    density = density + priors.rate_shape * log_rate - priors.rate_rate_for(len(grid.components)) * rate
    for day, cells, total in zip(exposed, members, totals, strict=True):
        density -= cells * shape[:, None] * np.log1p(day / rate) + total * np.log(rate + day)
    return density
