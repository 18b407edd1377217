"""The worst nodes in the form that a planner page computes from: what taking some of them out leaves of the rate."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

from meantime.forecast.lemons import kept_share
from meantime.forecast.rates import with_components
from meantime.inference import node_posterior, provenance
from meantime.report.planner.tables import LEVELS, Tables, text_of

MOST_NODES = 128
"""Nodes that a page can take out at most."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Lemons:
    """The share of the rate that is left when the worst nodes are out, for 1, 2, ... of them.

    Attributes
    ----------
    fleet
        Nodes of the cluster.
    shares
        Of the page's thinned draws, shape (nodes, draws).
    corrections
        Quantile of all draws over that of the thinned ones with so many nodes out, shape (nodes, sizes, levels).
    """

    fleet: int
    shares: np.ndarray
    corrections: np.ndarray

    @property
    def most(self) -> int:
        """Nodes that can be taken out."""
        return len(self.shares)

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON can hold it, arrays as base64 of little-endian 32-bit numbers."""
        return {
            "fleet": self.fleet,
            "most": self.most,
            "shares": text_of(self.shares.astype("<f4")),
            "corrections": text_of(self.corrections.astype("<f4")),
        }


def lemons_of(tree: xr.DataTree, rate: xr.DataArray, tables: Tables, *, cluster: str, seed: int) -> Lemons | None:
    """Return what a page needs to take nodes out; None where the fit knows no nodes, or two.

    Parameters
    ----------
    tree
        A fit.
    rate
        Failures per node-day, dims (sample, component, gpus), as `tables` was made from.
    tables
        The page's rates.
    cluster
        The cluster that the page is about.
    seed
        Of the nodes' rates.
    """
    if provenance(tree)["model"] != "node_frailty":
        return None
    nodes = node_posterior(tree, cluster=cluster, seed=seed)["rate"]
    fleet = nodes.sizes["node"]
    most = min(MOST_NODES, fleet - 1)
    if most < 2:
        return None
    values = with_components(rate).transpose("gpus", "component", "sample").values[: len(tables.sizes)]
    kept = kept_share(nodes, range(1, most + 1))
    samples = values.shape[-1]
    kept = kept[:, np.arange(samples) * kept.shape[1] // samples]
    shares = kept[:, tables.kept].astype("f4")
    thinned = np.exp(tables.lows[:, None] + tables.steps[:, None] * tables.codes).sum(axis=1)
    corrections = np.stack([
        np.quantile(values.sum(axis=1) * kept[place], LEVELS, axis=1).T
        / np.quantile(thinned * shares[place], LEVELS, axis=1).T
        for place in range(most)
    ])  # fmt: skip
    return Lemons(fleet=fleet, shares=shares, corrections=corrections)
