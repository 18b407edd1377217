"""The nodes of a `node_frailty` fit: their rates, and which are lemons."""

from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.families.node_frailty import node_draws
from meantime.inference.rebuild import family_of


def node_posterior(tree: xr.DataTree, *, cluster: str | None = None, seed: int = 0) -> xr.Dataset:
    """Draw the rates of the nodes of a cluster, and say how likely each is a lemon.

    Given the sampled variables the rates are independent and are drawn exactly: a draw of each for every draw of
    the fit. What `lemon_removal` and `RemoveLemons` of `meantime.forecast` take.

    Parameters
    ----------
    tree
        A fit of `node_frailty`.
    cluster
        Which cluster. May be left out where the fit holds one.
    seed
        Seed of the draws.

    Returns
    -------
    xr.Dataset
        ``rate`` (sample, node), failures per node-day; ``lemon_probability`` (node,), the posterior probability of
        being a lemon (0 where the model has none); ``failures`` and ``exposure`` (node,), node-days.

    Raises
    ------
    InputError
        If the tree is no such fit, or there is no such cluster.
    """
    name, _, nodes = family_of(tree)
    if name != "node_frailty":
        raise InputError(f"the fit is of the model {name!r}; expected one of 'node_frailty'")
    if cluster is None and len(nodes.clusters) == 1:
        cluster = nodes.clusters[0]
    if cluster not in nodes.clusters:
        given = "no cluster was named" if cluster is None else f"there is no cluster {cluster!r}"
        raise InputError(f"{given}; choose one of {', '.join(nodes.clusters)}")
    mine = np.flatnonzero(nodes.cluster_of == nodes.clusters.index(cluster))
    if not len(mine):
        raise InputError(f"no node of cluster {cluster!r} has exposure")
    draws = {str(key): values.values for key, values in tree["posterior"].to_dataset().items()}
    few: Any = nodes.taken(mine)
    parts = list(node_draws(draws, few, np.random.default_rng([seed, 5])))
    return xr.Dataset(
        {
            "rate": (("sample", "node"), np.concatenate([rate for _, rate in parts])),
            "lemon_probability": ("node", sum(p.sum(axis=0) for p, _ in parts) / sum(len(p) for p, _ in parts)),
            "failures": ("node", few.failures),
            "exposure": ("node", few.exposure),
        },
        coords={"node": list(few.nodes)},
        attrs={"cluster": cluster},
    )
