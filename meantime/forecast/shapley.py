"""Shares of a joint gain by Shapley: what each part adds, averaged over the orders in which they can come."""

import math
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

EXACT_UP_TO = 10
"""Largest number of parts for which all sets are worked out."""
ORDERS = 256
"""Orders drawn for more parts than that, each together with its reverse."""

type Subset = frozenset[int]


class Shares(NamedTuple):
    """What each part adds.

    Attributes
    ----------
    shapley
        Shapley values, shape (parts, draws); they add up to the joint gain, draw by draw.
    error
        Standard error of their means over draws, shape (parts,), from drawing orders; 0 if all sets were taken.
    """

    shapley: np.ndarray
    error: np.ndarray


def shapley_shares(
    n_parts: int, value: Callable[[Sequence[Subset]], np.ndarray], *, rng: np.random.Generator
) -> Shares:
    """Share out the gain of all parts together.

    The Shapley value of a part is the mean, over all orders in which the parts can come, of what it adds
    to those before it (Shapley 1953). For n parts that is a weighted sum over the 2^n sets without it,
    with weights |S|! (n - |S| - 1)! / n!. For more than `EXACT_UP_TO` parts `ORDERS` orders are drawn,
    each with its reverse, which halves the variance or better (antithetic, Mitchell et al. 2022).

    Parameters
    ----------
    n_parts
        Number of parts, numbered from 0.
    value
        From sets of parts to their values, shape (sets, draws).
    rng
        Source of the orders.

    Returns
    -------
    Shares
        Shares that add up to value(all) - value(none).
    """
    return _exact(n_parts, value) if n_parts <= EXACT_UP_TO else _drawn(n_parts, value, rng)


def _exact(n_parts: int, value: Callable[[Sequence[Subset]], np.ndarray]) -> Shares:
    masks = range(1 << n_parts)
    values = value([_members(mask) for mask in masks])
    shares = np.zeros((n_parts, values.shape[1]))
    factorial = math.factorial
    for mask in masks:
        size = mask.bit_count()
        for part in range(n_parts):
            if not mask >> part & 1:
                weight = factorial(size) * factorial(n_parts - size - 1) / factorial(n_parts)
                shares[part] += weight * (values[mask | 1 << part] - values[mask])
    return Shares(shares, np.zeros(n_parts))


def _drawn(n_parts: int, value: Callable[[Sequence[Subset]], np.ndarray], rng: np.random.Generator) -> Shares:
    total = squares = None
    pairs = ORDERS // 2
    for _ in range(pairs):
        order = rng.permutation(n_parts)
        added = np.mean([_added(order, value), _added(order[::-1], value)], axis=0)
        means = added.mean(axis=1)
        total = added if total is None else total + added
        squares = means**2 if squares is None else squares + means**2
    assert total is not None
    assert squares is not None
    shares = total / pairs
    variance = np.maximum(squares / pairs - shares.mean(axis=1) ** 2, 0) / (pairs - 1)
    return Shares(shares, np.sqrt(variance))


def _added(order: np.ndarray, value: Callable[[Sequence[Subset]], np.ndarray]) -> np.ndarray:
    """What each part adds to those before it, shape (parts, draws)."""
    values = value([frozenset(order[:size].tolist()) for size in range(order.size + 1)])
    result = np.empty((order.size, values.shape[1]))
    result[order] = np.diff(values, axis=0)
    return result


def _members(mask: int) -> Subset:
    return frozenset(part for part in range(mask.bit_length()) if mask >> part & 1)
