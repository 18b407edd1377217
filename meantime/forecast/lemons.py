"""What removing the worst nodes of a fleet is worth, from the posterior of every node's rate."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.intervals import FIGURES, summarise


def lemon_removal(
    rates: xr.DataArray | xr.Dataset,
    nodes: Sequence[int] | np.ndarray,
    *,
    failures_later: int | None = None,
    seed: int = 0,
) -> xr.Dataset:
    """Price the removal of the worst nodes.

    Nodes are ordered by the posterior mean of their rate. A job on nodes taken at random from the fleet has a
    hazard in proportion to the mean rate of the nodes that are left.

    Parameters
    ----------
    rates
        Draws of the nodes' rates, dims (sample, node). A dataset holds them as `rate`; if it also has
        `failures` and `exposure`, dims (node,), what the counts alone suggest is given beside it.
    nodes
        Numbers of nodes to remove.
    failures_later
        How many failures of the whole fleet the gain is to be told by afterwards. What so many show is the
        factor with their own luck, `factor_seen`.
    seed
        Seed of that luck, the same for every number of nodes.

    Returns
    -------
    xarray.Dataset
        `factor` (nodes, figure): the fleet's rate after the removal over that before. `factor_of_counts`
        (nodes,), where counts are there: the same from the counts, which is too good, because the worst
        counts are in part bad luck (the winner's curse). `factor_seen` (nodes, figure), with `failures_later`: what
        the failures that follow will show, nodes keeping their rates; wider than `factor`. `share_removed`
        (nodes,): share of the fleet.
        `order` (rank,): nodes from the worst to the best.

    Raises
    ------
    InputError
        If the draws cannot be used or no node would be left.
    """
    draws = checked_nodes(rates)
    fleet = draws.sizes["node"]
    counts = np.asarray(nodes)
    if (
        counts.ndim != 1
        or counts.size == 0
        or counts.dtype.kind not in "iu"
        or not ((counts > 0) & (counts < fleet)).all()
    ):
        raise InputError(f"nodes is {nodes!r}; expected whole numbers from 1 to {fleet - 1}")
    order = _order(draws)
    data = {
        "factor": (("nodes", "figure"), summarise(kept_share(draws, counts.tolist()))),
        "share_removed": ("nodes", counts / fleet),
        "order": ("rank", draws["node"].values[order]),
    }
    if failures_later is not None:
        kept = kept_share(draws, counts.tolist())
        data["factor_seen"] = (("nodes", "figure"), _seen(kept, counts, fleet, failures_later, seed))
    if isinstance(rates, xr.Dataset) and {"failures", "exposure"} <= set(rates.data_vars):
        data["factor_of_counts"] = ("nodes", _factor_of_counts(rates, counts))
    return xr.Dataset(data, coords={"nodes": counts, "figure": list(FIGURES)})


def kept_share(rates: xr.DataArray, nodes: Sequence[int]) -> np.ndarray:
    """Mean rate of the nodes that stay over that of all, draw by draw.

    Parameters
    ----------
    rates
        Draws, dims (sample, node).
    nodes
        Numbers of nodes to remove, worst first.

    Returns
    -------
    numpy.ndarray
        Shape (numbers, samples).
    """
    draws = rates.transpose("sample", "node").values[:, _order(rates)]
    total = draws.sum(axis=1)
    fleet = draws.shape[1]
    left = total - np.cumsum(draws, axis=1).T[np.asarray(nodes) - 1]
    with np.errstate(invalid="ignore"):
        share = np.maximum(left, 0) / (fleet - np.asarray(nodes))[:, None] / (total / fleet)
    return np.where(total > 0, share, 1.0)


def checked_nodes(rates: xr.DataArray | xr.Dataset) -> xr.DataArray:
    """Return draws of nodes' rates, dims (sample, node).

    Raises
    ------
    InputError
        If they have other dims, fewer than two nodes, or values that are negative or not finite.
    """
    draws = rates.get("rate") if isinstance(rates, xr.Dataset) else rates
    if not isinstance(draws, xr.DataArray):
        raise InputError("rates of nodes are no xarray object with a variable 'rate'; expected dims (sample, node)")
    if {"chain", "draw"} <= set(draws.dims):
        draws = draws.stack(sample=("chain", "draw"), create_index=False)
    if set(draws.dims) != {"sample", "node"} or "node" not in draws.coords:
        raise InputError(f"rates of nodes have dims {draws.dims}; expected (sample, node) with coordinate node")
    values = draws.values
    if draws.sizes["node"] < 2 or draws.sizes["sample"] < 1 or not (np.isfinite(values) & (values >= 0)).all():
        raise InputError("rates of nodes cannot be used; expected two nodes or more, and finite rates of 0 or more")
    return draws


def _order(rates: xr.DataArray) -> np.ndarray:
    """Nodes from the worst to the best by posterior mean; equal ones in their given order."""
    return np.argsort(-rates.mean("sample").values, kind="stable")


def _seen(kept: np.ndarray, counts: np.ndarray, fleet: int, later: int, seed: int) -> np.ndarray:
    """Figures of the factor as failures that follow show it: those of nodes that stay are binomial among all."""
    if isinstance(later, bool) or not isinstance(later, int | np.integer) or later < 1:
        raise InputError(f"failures_later is {later!r}; expected a whole number of failures from 1")
    stay = (fleet - counts[:, None]) / fleet
    rows = [np.random.default_rng([seed, 5]).binomial(later, np.minimum(share, 1)) for share in kept * stay]
    return summarise(np.stack(rows) / later / stay)


def _factor_of_counts(nodes: xr.Dataset, numbers: np.ndarray) -> np.ndarray:
    exposure = nodes["exposure"].values.astype(float)
    raw = np.where(exposure > 0, nodes["failures"].values / np.where(exposure > 0, exposure, 1.0), 0.0)
    worst_first = np.sort(raw)[::-1]
    left = worst_first.sum() - np.cumsum(worst_first)
    return np.asarray(left[numbers - 1] / (raw.size - numbers) / raw.mean())
