"""What a data set must look like to a model, whatever it holds."""

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np


class Layout(Protocol):
    """A data set as a model sees it: the arrays of its likelihood, and the labels of its dimensions."""

    @property
    def coords(self) -> Mapping[str, Sequence[Any]]:
        """Labels of every dimension of the model's variables and of what is observed."""
        ...

    @property
    def outcome_coords(self) -> Mapping[str, tuple[str, Sequence[Any]]]:
        """Further labels along the dimensions of what is observed: name -> (dimension, labels)."""
        ...

    def observed(self) -> dict[str, np.ndarray]:
        """Return the data of the likelihood by the names that the model gives them (``pm.Data``)."""
        ...
