"""Failure tables by node, some of them lemons, with the truth."""

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from meantime.datasets.nodes import check_nodes
from meantime.datasets.table import build_table
from meantime.errors import InputError


def simulate_nodes(
    *,
    seed: int,
    nodes: int = 1000,
    clusters: int = 1,
    rate: float = 4e-3,
    spread: float = 0.6,
    lemon_share: float = 0.02,
    lemon_multiplier: float = 10.0,
    exposure: ArrayLike | None = None,
    signal_effects: ArrayLike = (),
) -> tuple[xr.Dataset, xr.Dataset]:
    """Draw a failure table by node from the model ``node_frailty``.

    Parameters
    ----------
    seed
        Everything is drawn from it.
    nodes, clusters
        Nodes of each cluster, and clusters.
    rate
        Mean rate of normal nodes, per node-day.
    spread
        Standard deviation over mean of the rates within a class.
    lemon_share, lemon_multiplier
        Probability of being a lemon, and how many times as often lemons fail.
    exposure
        Node-days, to be broadcast to (cluster, node). Default: uniform from 100 to 365.
    signal_effects
        Effects on the log odds of being a lemon of as many signals, for one standard deviation of log(1 + signal).

    Returns
    -------
    tuple of xr.Dataset
        The table, with ``signals`` if there are effects; and the truth: ``rate`` and ``lemon`` (cluster, node), and
        the parameters.

    Raises
    ------
    InputError
        If a share is no probability or another parameter is out of range.
    """
    if not 0 <= lemon_share < 1:
        raise InputError(f"lemon_share is {lemon_share!r}; expected a probability below 1")
    if not (lemon_multiplier >= 1 and spread >= 0 and rate > 0):
        raise InputError("expected a multiplier of 1 or more, a spread of 0 or more and a positive rate")
    rng = np.random.default_rng(seed)
    shape = (clusters, nodes)
    days = rng.uniform(100, 365, shape) if exposure is None else np.broadcast_to(np.asarray(exposure, float), shape)
    effects = np.asarray(signal_effects, dtype=float)
    logs = rng.normal(2.0, 0.5, (*shape, len(effects)))
    signals = np.expm1(np.abs(logs))
    standard = (np.abs(logs) - np.abs(logs).mean((0, 1))) / np.abs(logs).std((0, 1))
    with np.errstate(divide="ignore"):
        odds = np.log(lemon_share) - np.log1p(-lemon_share) + standard @ effects
    lemon = rng.random(shape) < 1 / (1 + np.exp(-odds))
    frailty = rng.gamma(spread**-2, spread**2, shape) if spread > 0 else np.ones(shape)
    rates = rate * np.where(lemon, lemon_multiplier, 1.0) * frailty
    names = [f"cluster_{c + 1}" for c in range(clusters)]
    labels = [f"node{i:05d}" for i in range(nodes)]
    table = build_table(
        rng.poisson(rates * days)[:, None],
        days,
        cluster=names,
        component=["all"],
        node=labels,
        source=f"simulated from node_frailty, seed {seed}",
        provenance={"seed": seed, "model": "node_frailty"},
    )
    if len(effects):
        coords = {"cluster": names, "node": labels, "signal": [f"signal_{j + 1}" for j in range(len(effects))]}
        table = table.assign(signals=xr.DataArray(signals, dims=("cluster", "node", "signal"), coords=coords))
    truth = xr.Dataset(
        {
            "rate": (("cluster", "node"), rates),
            "lemon": (("cluster", "node"), lemon),
            "signal_effect": ("signal", effects),
            "normal_rate": rate,
            "spread": spread,
            "lemon_share": lemon_share,
            "lemon_multiplier": lemon_multiplier,
        },
        coords={"cluster": names, "node": labels},
        attrs={"seed": seed, "model": "node_frailty"},
    )
    return check_nodes(table), truth
