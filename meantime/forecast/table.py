"""Averages over the draws of many sizes at once, from one table over the hazard."""

import numpy as np

STEP = 0.05
"""Distance of the table's points on the logarithm of the hazard."""
_NEIGHBOURS = 6


def table_of(points: np.ndarray, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Write weighted averages over hazards as averages over the points of a table.

    What a plan is worth depends on the size of a job through its hazard alone, so a function needs to be
    worked out at a few hundred hazards, whatever the number of sizes and draws. Between the table's points it is
    taken as the polynomial of degree 5 through six of them; for an ETTR that misses by less than 1e-7.

    Parameters
    ----------
    points
        Failures per hour, shape (sizes, points).
    weights
        Weights that add up to 1, the same shape.

    Returns
    -------
    tuple[numpy.ndarray, numpy.ndarray]
        Hazards, shape (table,), the first of them 0, and what each counts in the average of each size,
        shape (sizes, table).
    """
    fails = points > 0
    logs = np.log(np.where(fails, points, 1.0))
    low = np.where(fails, logs, np.inf).min(initial=np.inf)
    high = np.where(fails, logs, -np.inf).max(initial=-np.inf)
    if not np.isfinite(low):
        return np.zeros(1), weights.sum(axis=1, keepdims=True)
    steps = int(np.ceil((high - low) / STEP))
    places = low + STEP * np.arange(-2, max(steps, 1) + 4)
    at = np.where(fails, (logs - places[0]) / STEP, 2.0)
    first = np.clip(at.astype(int) - 2, 0, len(places) - _NEIGHBOURS)
    shares = _lagrange(at - first) * np.where(fails, weights, 0.0)
    columns = first + np.arange(_NEIGHBOURS)[:, None, None] + 1
    width = len(places) + 1
    cells = np.arange(len(points))[:, None] * width + columns
    table = np.bincount(cells.ravel(), shares.ravel(), minlength=len(points) * width).reshape(len(points), width)
    table[:, 0] = np.where(fails, 0.0, weights).sum(axis=1)
    return np.concatenate([[0.0], np.exp(places)]), table


def _lagrange(x: np.ndarray) -> np.ndarray:
    """Lagrange's polynomials through 0, 1, ..., 5 at `x`, along a new first axis."""
    factors = [x - node for node in range(_NEIGHBOURS)]
    result = np.empty((_NEIGHBOURS, *x.shape))
    for node in range(_NEIGHBOURS):
        product = np.ones_like(x)
        for other in range(_NEIGHBOURS):
            if other != node:
                product = product * factors[other] / (node - other)
        result[node] = product
    return result
