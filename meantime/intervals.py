"""The one interval convention: equal-tailed, probability 0.90, printed with every result."""

import numpy as np
from numpy.typing import ArrayLike

KIND = "eti"
PROBABILITY = 0.90
LOWER = (1 - PROBABILITY) / 2
UPPER = 1 - LOWER
FIGURES = ("mean", "median", "lower", "upper")
"""The four figures that stand for a distribution in tables and JSON."""


def summarise(draws: ArrayLike, axis: int | tuple[int, ...] = -1) -> np.ndarray:
    """Reduce draws to mean, median and the bounds of the equal-tailed 90 % interval.

    Parameters
    ----------
    draws
        Draws of any shape.
    axis
        The axis or axes of the draws.

    Returns
    -------
    numpy.ndarray
        The input's shape without those axes and a last axis of length 4, in the order `FIGURES`.
    """
    values = np.asarray(draws, dtype=float)
    lower, median, upper = np.quantile(values, [LOWER, 0.5, UPPER], axis=axis)
    return np.stack([values.mean(axis=axis), median, lower, upper], axis=-1)


def describe() -> dict[str, str | float]:
    """Return the interval convention as the JSON outputs state it."""
    return {"kind": KIND, "probability": PROBABILITY}
