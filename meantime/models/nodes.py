"""From a failure table by node to the arrays of a model of nodes."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError

MIN_NODES = 10
"""Nodes with exposure that a cluster needs for lemons among them: what is a lemon of three nodes, what normal?"""

IMPOSSIBLE = -1000.0
"""Log odds of what cannot be."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Nodes:
    """Counts and exposure of every node with exposure, over all components.

    A stratum is a node of a cluster.

    Parameters
    ----------
    failures, exposure
        Counts and node-days, shape (stratum,).
    cluster_of
        Index of each node's cluster, shape (stratum,).
    nodes
        Names of the nodes, shape (stratum,).
    clusters
        Labels.
    lemon_odds
        Added to the log odds of being a lemon, shape (stratum,): `IMPOSSIBLE` in clusters of fewer than `MIN_NODES`.
    signals
        Standardised signals, shape (stratum, signal): log(1 + signal) less its mean, over its standard deviation.
    signal_names
        Labels.
    """

    failures: np.ndarray
    exposure: np.ndarray
    cluster_of: np.ndarray
    nodes: tuple[str, ...]
    clusters: tuple[str, ...]
    lemon_odds: np.ndarray
    signals: np.ndarray
    signal_names: tuple[str, ...] = ()

    @property
    def components(self) -> tuple[str, ...]:
        """The one component."""
        return ("all",)

    @property
    def coords(self) -> dict[str, Sequence[Any]]:
        """Labels of the dimensions."""
        names = zip(self.cluster_of, self.nodes, strict=True)
        return {
            "cluster": list(self.clusters),
            "component": list(self.components),
            "signal": list(self.signal_names),
            "stratum": [f"{self.clusters[c]}/{node}" for c, node in names],
        }

    @property
    def outcome_coords(self) -> dict[str, tuple[str, Sequence[Any]]]:
        """Cluster and name of each node."""
        return {
            "cluster": ("stratum", [self.clusters[c] for c in self.cluster_of]),
            "node": ("stratum", list(self.nodes)),
        }

    def observed(self) -> dict[str, np.ndarray]:
        """Return the data of the likelihood, a row a node."""
        data = {
            "exposure_days": self.exposure,
            "observed_failures": self.failures[:, None],
            "cluster_of": self.cluster_of,
            "lemon_odds": self.lemon_odds,
        }
        return data | ({"signals": self.signals} if self.signal_names else {})

    def taken(self, strata: np.ndarray) -> "Nodes":
        """Return some of the nodes, by index."""
        return replace(
            self,
            failures=self.failures[strata],
            exposure=self.exposure[strata],
            cluster_of=self.cluster_of[strata],
            nodes=tuple(self.nodes[i] for i in strata),
            lemon_odds=self.lemon_odds[strata],
            signals=self.signals[strata],
        )

    def kinds(self) -> dict[str, np.ndarray]:
        """Return the same data with equal nodes counted together: a row a kind, and ``kind_nodes``, how many it has.

        Nodes of a cluster with the same exposure, failures and signals have the same likelihood, so nothing is
        lost. (5,006 nodes of Los Alamos are of 288 kinds.) Kinds of no node fill the arrays up to a power of two,
        64 at least, so that data of about the same size reuse compiled code.
        """
        rows = np.column_stack([self.cluster_of, self.failures, self.exposure, self.signals])
        _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
        spare = max(64, 1 << (len(first) - 1).bit_length()) - len(first)
        chosen = np.concatenate([first, np.zeros(spare, dtype=first.dtype)])
        data = {name: values[chosen] for name, values in self.observed().items()}
        return data | {"kind_nodes": np.concatenate([counts, np.zeros(spare)])}


def nodes_of(table: xr.Dataset) -> Nodes:
    """Lay a failure table by node out for `meantime.models.node_frailty`.

    Parameters
    ----------
    table
        A table that passed `meantime.datasets.check_nodes`. Components and periods are summed away.

    Returns
    -------
    Nodes
        Arrays of the model.

    Raises
    ------
    InputError
        If a signal is the same for all nodes.
    """
    keep = ("cluster", "node")
    exposure = table["exposure"].sum([dim for dim in table["exposure"].dims if dim not in keep]).transpose(*keep).values
    failures = table["failures"].sum([dim for dim in table["failures"].dims if dim not in keep]).transpose(*keep).values
    cluster_of, place = np.nonzero(exposure > 0)
    names: tuple[str, ...] = ()
    signals = np.zeros((len(place), 0))
    if "signals" in table:
        names = tuple(str(name) for name in table["signals"]["signal"].values)
        logs = np.log1p(table["signals"].transpose(*keep, "signal").values[cluster_of, place])
        spread = logs.std(axis=0)
        if (flat := np.ptp(logs, axis=0) == 0).any():
            raise InputError(f"signal {names[int(np.argmax(flat))]!r} is the same for all nodes; leave it out")
        signals = (logs - logs.mean(axis=0)) / spread
    return Nodes(
        failures=failures[cluster_of, place].astype(np.int64),
        exposure=exposure[cluster_of, place].astype(float),
        cluster_of=cluster_of,
        nodes=tuple(str(name) for name in table["node"].values[place]),
        clusters=tuple(str(name) for name in table["cluster"].values),
        lemon_odds=np.where(np.bincount(cluster_of) < MIN_NODES, IMPOSSIBLE, 0.0)[cluster_of],
        signals=signals,
        signal_names=names,
    )
