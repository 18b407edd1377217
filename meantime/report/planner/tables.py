"""The posterior of a fit in the compact form that a planner page computes from.

A page needs the quantiles of a job's failure rate at any size, with the rate of any component scaled. It
gets some hundred thinned draws of every component, as 16-bit logarithms, and for every quantile the factor by which
that of the thinned draws misses that of all draws. So without measures the page has the quantiles of all draws.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from meantime.forecast.rates import with_components
from meantime.intervals import LOWER, UPPER

MOST_DRAWS = 400
"""Draws of each component that a page holds at most."""
_MOST_BYTES = 420_000
"""Bytes of draws before they are written as text, so that a page of many components stays below 1 MB."""
_CODES = 2**16 - 1
_FAINT = 23.0
"""Rates below e^-23 (1e-10) times the largest of their component are as good as zero."""

_ARCS = np.arange(65) * np.pi / 128
LEVELS = np.unique(np.concatenate([np.sin(_ARCS) ** 2, [LOWER, 0.5, UPPER]]).round(15))
"""Probabilities of the quantiles that a page has, closer together in the tails, where they are far apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Tables:
    """Rates as a page holds them.

    Attributes
    ----------
    sizes
        Sizes of jobs in GPUs, ascending; between two of them the logarithm of a draw is a line over log2(GPUs).
    components
        Names of the components.
    lows, steps
        Log rate of code 0 and of one step further, shape (components,).
    codes
        Thinned draws, shape (sizes, components, draws), 16 bits each.
    corrections
        Quantile of all draws over that of the thinned ones, shape (sizes, levels).
    kept
        Places of the thinned draws among all.
    """

    sizes: np.ndarray
    components: list[str]
    lows: np.ndarray
    steps: np.ndarray
    codes: np.ndarray
    corrections: np.ndarray
    kept: np.ndarray

    def to_dict(self) -> dict[str, Any]:
        """Return the tables as JSON can hold them, arrays as base64 of little-endian bytes."""
        return {
            "sizes": self.sizes.tolist(),
            "levels": LEVELS.tolist(),
            "lower": LOWER,
            "upper": UPPER,
            "draws": self.codes.shape[-1],
            "lows": self.lows.tolist(),
            "steps": self.steps.tolist(),
            "logs": text_of(self.codes.astype("<u2")),
            "corrections": text_of(self.corrections.astype("<f4")),
        }


def knots(smallest: int, largest: int) -> list[int]:
    """Return the sizes whose rates a page holds: both ends of every power-of-two bucket of job sizes.

    Within a bucket a fit's draw of a rate is a power of the size, so that between the ends nothing is lost.
    """
    sizes = {smallest, largest}
    edge = 1
    while edge <= largest:
        sizes |= {size for size in (edge, edge + 1) if smallest <= size <= largest}
        edge *= 2
    return sorted(sizes)


def tables_of(rate: xr.DataArray) -> Tables:
    """Condense draws of rates.

    Parameters
    ----------
    rate
        Failures per node-day, dims (sample, component, gpus), at the sizes of `knots`.

    Returns
    -------
    Tables
        With one size alone where the rates are the same at all.

    Raises
    ------
    InputError
        If the rates cannot be used.
    """
    rates = with_components(rate)
    values = rates.transpose("gpus", "component", "sample").values
    sizes = rates["gpus"].values
    if (values == values[:1]).all():
        values, sizes = values[:1], sizes[:1]
    total = values.sum(axis=1)
    kept = _spread(total[len(sizes) // 2], values.shape[0] * values.shape[1])
    lows, steps, codes = _coded(values[..., kept])
    thinned = np.exp(lows[:, None] + steps[:, None] * codes).sum(axis=1)
    corrections = np.quantile(total, LEVELS, axis=1).T / np.quantile(thinned, LEVELS, axis=1).T
    return Tables(
        sizes=sizes,
        components=[str(name) for name in rates["component"].values],
        lows=lows,
        steps=steps,
        codes=codes,
        corrections=corrections,
        kept=kept,
    )


def _spread(total: np.ndarray, cells: int) -> np.ndarray:
    """Choose draws spread evenly over their order, as many as the page has room for."""
    count = max(64, min(MOST_DRAWS, _MOST_BYTES // (2 * cells)))
    if total.size <= count:
        return np.arange(total.size)
    places = ((np.arange(count) + 0.5) / count * total.size).astype(int)
    return np.argsort(total, kind="stable")[places]


def _coded(values: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Write log rates of each component as 16-bit steps between its smallest and largest."""
    tiny = np.finfo(float).tiny
    logs = np.log(np.maximum(values, tiny))
    high = logs.max(axis=(0, 2))
    lows = np.maximum(logs.min(axis=(0, 2)), high - _FAINT)
    steps = (high - lows) / _CODES
    scale = np.where(steps > 0, steps, 1.0)
    codes = np.clip(np.rint((logs - lows[:, None]) / scale[:, None]), 0, _CODES)
    return lows, steps, codes


def text_of(values: np.ndarray) -> str:
    """Write the bytes of an array as base64."""
    return base64.b64encode(np.ascontiguousarray(values).tobytes()).decode("ascii")


def shares_of(rate: xr.DataArray, gpus: int) -> Sequence[float]:
    """Return each component's share of the failures of a job, posterior mean."""
    means = with_components(rate).sel(gpus=gpus).mean("sample").values
    return (means / means.sum()).tolist() if means.sum() > 0 else [0.0] * means.size
