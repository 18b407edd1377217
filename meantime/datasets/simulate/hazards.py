"""True failure rates by component and job size, and the outcome of an attempt that is exposed to them."""

import dataclasses
from collections.abc import Mapping

import numpy as np
from numpy.typing import ArrayLike

SIZES = 2 ** np.arange(21)
"""Job sizes (GPUs) for which a true rate is kept: 1 to 1,048,576."""
REFERENCE_GPUS = 64
"""Size about which slopes turn."""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Hazards:
    """log rate of component k on size s = level_k + slope_k log2(s / 64), times cell_ks; per node-day.

    Attributes
    ----------
    components
        Names, K of them.
    level, slope
        Shape (K,): log rate at 64 GPUs, and its change per doubling.
    cell
        Shape (K, S): multipliers, mean 1.
    """

    components: tuple[str, ...]
    level: np.ndarray
    slope: np.ndarray
    cell: np.ndarray

    @property
    def rate(self) -> np.ndarray:
        """Failures per node-day, shape (K, S)."""
        doublings = np.log2(SIZES / REFERENCE_GPUS)
        return np.exp(self.level[:, None] + self.slope[:, None] * doublings) * self.cell


def draw_hazards(
    rng: np.random.Generator, rates: Mapping[str, float], slopes: float | Mapping[str, float], cell_sd: float
) -> Hazards:
    """Draw the multipliers of the cells; levels and slopes are as given. A rate of 0 stays 0."""
    components = tuple(rates)
    given = slopes if isinstance(slopes, Mapping) else dict.fromkeys(components, slopes)
    with np.errstate(divide="ignore"):
        level = np.log(np.array([rates[name] for name in components], dtype=float))
    return Hazards(
        components=components,
        level=level,
        slope=np.array([given.get(name, 0.0) for name in components], dtype=float),
        cell=draw_cells(rng, (len(components), len(SIZES)), cell_sd),
    )


def draw_cells(rng: np.random.Generator, shape: tuple[int, ...], sd: float) -> np.ndarray:
    """Draw multipliers from the Gamma distribution of mean 1 and standard deviation `sd`."""
    return rng.gamma(sd**-2, sd**2, shape) if sd > 0 else np.ones(shape)


def bucket_index(gpus: ArrayLike) -> np.ndarray:
    """Find the power-of-two bucket, labelled by its upper edge: 5 to 8 GPUs -> 3, the index of 8."""
    return np.ceil(np.log2(np.asarray(gpus, dtype=float))).astype(np.int64)


def draw_causes(rng: np.random.Generator, rate: np.ndarray, bucket: np.ndarray) -> np.ndarray:
    """Draw which of the competing components failed, given that one did; index into the components."""
    cumulative = np.cumsum(rate, axis=0)
    threshold = rng.random(len(bucket)) * cumulative[-1, bucket]
    return (threshold >= cumulative[:, bucket]).sum(axis=0)
