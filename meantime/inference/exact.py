"""Posteriors that need no sampler: drawn independently, from closed forms or by quadrature."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

EXACT_METHODS = ("conjugate", "quadrature")
"""Names of methods whose draws are independent and need no gate."""

type ExactDraws = tuple[Mapping[str, np.ndarray], xr.Dataset]


@dataclass(frozen=True, slots=True)
class Exact:
    """How a model's posterior is known without sampling.

    Parameters
    ----------
    method
        One of `EXACT_METHODS`.
    draw
        ``(layout, priors, (chains, draws), generator) -> (draws, group)``: sampled variables by name, of shape
        (chain, draw, ...), and what is known exactly, kept as the group ``exact`` of the fit.
    """

    method: str
    draw: Callable[[Any, Any, tuple[int, int], np.random.Generator], ExactDraws]


def exact_diagnostics(draws: int) -> dict[str, Any]:
    """Return diagnostics in the form of a sampled fit's: independent draws need no gate."""
    return {
        "max_rhat": 1.0,
        "min_ess_bulk": float(draws),
        "min_ess_tail": float(draws),
        "divergences": 0,
        "converged": True,
        "parameters": [],
        "problems": [],
    }
