"""Few hazards in place of thousands of draws: where to work out a figure, and how to put it together."""

import numpy as np

from meantime.intervals import LOWER, UPPER

_QUANTILES = (0.5, LOWER, UPPER)


def condense(draws: np.ndarray, shares: int = 128, *, alone: int = 32) -> tuple[np.ndarray, np.ndarray]:
    """Replace thousands of draws by few points that keep averages of smooth functions.

    The draws are sorted. The smallest and largest stay as they are, because the mean of a steep function
    lives on them; the others are cut into equal shares, each of which is replaced by the two points of its
    Gauss quadrature, which have its first three moments. With 128 shares an average misses that over all
    draws by about 1e-7 of itself, far less than the error of having drawn a few thousand.

    Parameters
    ----------
    draws
        Shape (..., draws).
    shares
        Number of shares.
    alone
        Number of draws at either end that stay, and what cannot be shared equally.

    Returns
    -------
    tuple[numpy.ndarray, numpy.ndarray]
        Points, shape (..., points), and their weights, which add up to 1; all the draws if they are few.
    """
    return _condensed(np.sort(draws, axis=-1), shares, alone)


def nodes_of(hazard: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the hazards at which to work out functions of the hazard, for `figures_at_nodes`.

    Parameters
    ----------
    hazard
        Draws of the hazard, shape (..., draws).

    Returns
    -------
    tuple[numpy.ndarray, numpy.ndarray]
        The points of `condense`, followed by the median and the bounds of the 90 % interval of the draws;
        and the weights of the points (so three fewer).
    """
    ordered = np.sort(hazard, axis=-1)
    points, weights = _condensed(ordered, 128, 32)
    return np.concatenate([points, _quantiles(ordered)], axis=-1), weights


def figures_at_nodes(values: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Take the figures of monotone functions of the hazard from their values at `nodes_of` it.

    Parameters
    ----------
    values
        Shape (functions, nodes).
    weights
        Weights of the nodes but the last three.

    Returns
    -------
    numpy.ndarray
        Mean, median, lower and upper, shape (functions, 4).
    """
    mean = values[:, : weights.size] @ weights
    median, one, other = values[:, weights.size :].T
    return np.stack([mean, median, np.minimum(one, other), np.maximum(one, other)], axis=-1)


def _condensed(ordered: np.ndarray, shares: int, alone: int) -> tuple[np.ndarray, np.ndarray]:
    outer, size = ordered.shape[:-1], ordered.shape[-1]
    if size <= 2 * (shares + alone):
        return ordered, np.full(ordered.shape, 1 / size)
    each, over = divmod(size - 2 * alone, shares)
    low = alone + over // 2
    high = low + shares * each
    inner = ordered[..., low:high].reshape(*outer, shares, each)
    mean = inner.mean(axis=-1)
    apart = inner - mean[..., None]
    square = apart * apart
    spread = np.sqrt(square.mean(axis=-1))
    third = np.einsum("...i,...i->...", square, apart) / each
    skewness = third / np.where(spread > 0, spread, 1.0) ** 3
    root = np.sqrt(1 + skewness**2 / 4)
    inside = [mean + spread * (skewness / 2 - root), mean + spread * (skewness / 2 + root)]
    points = np.concatenate([ordered[..., :low], *inside, ordered[..., high:]], axis=-1)
    left = (1 + skewness / 2 / root) * (each / 2 / size)
    ends = np.full((*outer, size - shares * each), 1 / size)
    weights = np.concatenate([ends[..., :low], left, each / size - left, ends[..., low:]], axis=-1)
    return np.clip(points, ordered[..., :1], ordered[..., -1:]), weights


def _quantiles(ordered: np.ndarray) -> np.ndarray:
    """Return `_QUANTILES` as `numpy.quantile` gives them, of draws in order."""
    place = np.array(_QUANTILES) * (ordered.shape[-1] - 1)
    below = np.floor(place).astype(int)
    low, high = ordered[..., below], ordered[..., np.ceil(place).astype(int)]
    return low + (place - below) * (high - low)
