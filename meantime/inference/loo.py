"""Leave-one-out cross-validation by Pareto-smoothed importance sampling, with arviz-stats."""

import warnings
from typing import Any

import numpy as np
import xarray as xr

from meantime.inference.diagnostics import ess_mean


def psis_loo(log_likelihood: xr.DataArray, *, independent: bool = False) -> Any:
    """Estimate the expected log predictive density of each observation, had it been left out.

    After Vehtari, Gelman and Gabry (Statistics and Computing 27, 2017) and Vehtari et al., "Pareto smoothed
    importance sampling" (Journal of Machine Learning Research 25, 2024).

    Parameters
    ----------
    log_likelihood
        Pointwise log likelihood, dimensions (chain, draw, ...).
    independent
        Whether the draws are independent, as those of an exact fit. Otherwise their relative efficiency is
        that of the likelihoods.

    Returns
    -------
    arviz_stats.ELPDDataLOO
        With pointwise ``elpd_i`` and ``pareto_k``, and ``log_weights``.
    """
    import arviz_stats

    efficiency = 1.0 if independent else relative_efficiency(log_likelihood)
    named = xr.Dataset({"outcome": log_likelihood.drop_vars("outcome", errors="ignore")})
    tree = xr.DataTree.from_dict({"posterior": named[["chain", "draw"]], "log_likelihood": named})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # large k are reported by those who call
        return arviz_stats.loo(tree, pointwise=True, var_name="outcome", reff=efficiency)


def relative_efficiency(log_likelihood: xr.DataArray) -> float:
    """Return effective draws per draw of the likelihoods, on average; at most 1."""
    values = log_likelihood.transpose("chain", "draw", ...).values
    chains, draws = values.shape[:2]
    flat = values.reshape(chains, draws, -1).transpose(2, 0, 1)
    likelihood = np.exp(flat - flat.max(axis=(1, 2), keepdims=True))
    return float(min(1.0, np.mean(ess_mean(likelihood)) / (chains * draws)))
