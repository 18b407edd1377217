"""From rows with labels to a dense array."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import polars as pl


def to_dense(long: pl.DataFrame, value: str, labels: Mapping[str, Sequence[Any]]) -> np.ndarray:
    """Add up a column into the cells of an array.

    Parameters
    ----------
    long
        One row a value, with a column for every dimension.
    value
        Column to add up.
    labels
        Labels of every dimension, in order; each label of `long` is among them.

    Returns
    -------
    numpy.ndarray
        float64, one axis a dimension; zero where no row is.
    """
    array = np.zeros([len(values) for values in labels.values()])
    places = tuple(
        long[name].replace_strict(values, range(len(values)), return_dtype=pl.Int64).to_numpy()
        for name, values in labels.items()
    )
    np.add.at(array, places, long[value].to_numpy())
    return array
