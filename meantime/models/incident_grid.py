"""From an incident table to the arrays of the model `incident`."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import xarray as xr

_STEP = 1.5
"""Ratio of the sizes that stand for those never seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class IncidentGrid:
    """Counts of incidents by cluster and nodes hit, on a grid of sizes up to the largest cluster.

    Every size that was seen is on the grid, and so are 1 to 4; between and beyond them stand sizes 1.5 times apart,
    each for its neighbourhood.

    Parameters
    ----------
    incidents
        Counts, shape (cluster, hit), int64.
    days
        Days watched, shape (cluster,).
    nodes
        Nodes of each cluster, shape (cluster,).
    clusters
        Labels.
    hits
        Nodes hit, rising, shape (hit,).
    lower, upper
        Halves between which the sizes lie that each entry stands for, cut at the nodes of the cluster, shape
        (cluster, hit); of the size 1, and of sizes beyond the cluster, empty.
    gpus_per_node
        GPUs of a node.
    """

    incidents: np.ndarray
    days: np.ndarray
    nodes: np.ndarray
    clusters: tuple[str, ...]
    hits: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    gpus_per_node: int

    @property
    def components(self) -> tuple[str, ...]:
        """The one component."""
        return ("incident",)

    @property
    def coords(self) -> dict[str, Sequence[Any]]:
        """Labels of the dimensions."""
        return {"cluster": list(self.clusters), "hit": self.hits.tolist()}

    @property
    def outcome_coords(self) -> dict[str, tuple[str, Sequence[Any]]]:
        """None beyond the dimensions."""
        return {}

    def observed(self) -> dict[str, np.ndarray]:
        """Return ``observed_incidents``, edges (cluster, hit), ``days``, ``nodes`` (cluster,), ``single`` (hit,)."""
        return {
            "observed_incidents": self.incidents,
            "lower": self.lower,
            "upper": self.upper,
            "days": self.days,
            "nodes": self.nodes.astype(float),
            "single": (self.hits == 1).astype(float),
        }


def incident_grid_of(table: xr.Dataset) -> IncidentGrid:
    """Lay an incident table out.

    Parameters
    ----------
    table
        An incident table (see `meantime.datasets.check_incidents`).
    """
    counts = table["incidents"].transpose("cluster", "hit").values
    nodes = table["nodes"].values
    seen = table["hit"].values[counts.sum(0) > 0]
    largest = int(nodes.max())
    spaced = np.unique(np.round(_STEP ** np.arange(1, 1 + np.log(largest) / np.log(_STEP))).astype(int))
    hits = np.unique(np.concatenate([seen, np.arange(1, min(4, largest) + 1), spaced[spaced <= largest], [largest]]))
    placed = np.zeros((len(nodes), len(hits)), dtype=np.int64)
    placed[:, np.searchsorted(hits, seen)] = counts[:, counts.sum(0) > 0]
    between = np.floor(np.sqrt(hits[:-1] * hits[1:].astype(float))) + 0.5
    edges = np.concatenate([[1.5], between, [largest + 0.5]])
    cut = np.minimum(edges, nodes[:, None] + 0.5)
    lower, upper = cut[:, :-1].copy(), cut[:, 1:].copy()
    lower[:, 0] = upper[:, 0] = 1.5
    if len(hits) > 1:
        lower[:, 1] = 1.5
    return IncidentGrid(
        incidents=placed,
        days=table["days"].values.astype(float),
        nodes=nodes,
        clusters=tuple(str(name) for name in table["cluster"].values),
        hits=hits,
        lower=lower,
        upper=np.maximum(upper, lower),
        gpus_per_node=int(table.attrs["gpus_per_node"]),
    )
