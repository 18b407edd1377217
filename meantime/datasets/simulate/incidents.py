"""Incident tables drawn straight from the model `incident`, with their parameters."""

from collections.abc import Sequence

import numpy as np
import xarray as xr

from meantime.datasets.incident_table import check_incidents
from meantime.errors import InputError


def simulate_incidents(
    *,
    seed: int,
    nodes: Sequence[int] = (1024, 512),
    days: float = 365.0,
    rate: float = 4e-3,
    several: float = 0.05,
    tail: float = 1.0,
    gpus_per_node: int = 8,
) -> tuple[xr.Dataset, xr.Dataset]:
    """Draw incidents on clusters: how many there are, and how many nodes each hits.

    Incidents of a cluster of N nodes come as a Poisson process of `rate` x N a day. A share `several` hits
    more than one node: m of them with probability in proportion to (m - 1/2)^-tail - (m + 1/2)^-tail.

    Parameters
    ----------
    seed
        Everything is drawn from it.
    nodes
        Nodes of each cluster, at least 2.
    days
        Days watched.
    rate
        Incidents per node-day.
    several, tail
        Share of incidents on several nodes, and the exponent of their sizes.
    gpus_per_node
        GPUs of a node.

    Returns
    -------
    tuple of xr.Dataset
        The incident table, and the truth: ``per_day`` (cluster, size), incidents a day by nodes hit, sizes 1 to the
        largest cluster.

    Raises
    ------
    InputError
        If a number is out of range.
    """
    if min(nodes, default=0) < 2 or not 0 <= several <= 1 or not (days > 0 and rate > 0 and tail > 0):
        raise InputError(
            f"nodes {list(nodes)}, days {days}, rate {rate}, several {several}, tail {tail}; expected clusters of 2 "
            "nodes or more, a share, and positive numbers"
        )
    rng = np.random.default_rng(seed)
    largest = max(nodes)
    sizes = np.arange(1, largest + 1)
    per_day = np.zeros((len(nodes), largest))
    for row, count in enumerate(nodes):
        law = np.where(sizes <= count, (sizes - 0.5) ** -tail - (sizes + 0.5) ** -tail, 0.0)
        law[0] = 0.0
        per_day[row] = rate * count * several * law / law.sum()
        per_day[row, 0] = rate * count * (1 - several)
    counts = rng.poisson(per_day * days)
    names = [f"cluster_{i + 1}" for i in range(len(nodes))]
    seen = np.flatnonzero(counts.sum(0) > 0)
    if not len(seen):
        seen = np.array([0])
    table = xr.Dataset(
        {
            "incidents": (("cluster", "hit"), counts[:, seen]),
            "days": ("cluster", np.full(len(nodes), float(days))),
            "nodes": ("cluster", np.asarray(nodes)),
        },
        coords={"cluster": names, "hit": sizes[seen]},
        attrs={"source": f"simulated incidents, seed {seed}", "gpus_per_node": gpus_per_node},
    )
    truth = xr.Dataset(
        {"per_day": (("cluster", "size"), per_day)}, coords={"cluster": names, "size": sizes}, attrs={"seed": seed}
    )
    return check_incidents(table), truth
