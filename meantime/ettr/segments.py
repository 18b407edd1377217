"""How a run of finite length is cut by its checkpoints."""

from typing import NamedTuple

import jax
import numpy as np

from meantime.errors import InputError
from meantime.ettr.special import fixed, namespace


class Segments(NamedTuple):
    """A run of `full` segments of length `interval` followed by one of length `last`.

    Attributes
    ----------
    full
        Number of segments before the last one, a whole number in floating point.
    interval
        Productive hours of a full segment.
    last
        Productive hours of the last segment, at most `interval`.
    """

    full: jax.Array
    interval: jax.Array
    last: jax.Array


def cut(interval: jax.Array, productive: jax.Array) -> Segments:
    """Cut a run of `productive` hours into segments of `interval` hours.

    The last segment is what is left; an interval longer than the run makes one segment of the whole
    run. A quotient within rounding of a whole number is that whole number, so that ``30 d / 5 min``
    does not end in an empty segment. `productive` must be finite and `interval` positive.
    """
    xp = namespace(productive)
    interval = xp.minimum(interval, productive)
    quotient = productive / interval
    slack = 4 * xp.finfo(quotient.dtype).eps
    full = fixed(xp.maximum(xp.ceil(quotient * (1 - slack)) - 1, 0))
    last = productive - full * interval
    return Segments(full, interval, xp.where(last > interval, interval, last))


def check_one_run(interval: np.ndarray, productive: np.ndarray) -> None:
    """Refuse what `cut` cannot cut.

    Raises
    ------
    InputError
        If a run is infinite or an interval is zero.
    """
    if np.isinf(productive).any():
        raise InputError("productive is inf; expected a finite number of hours, the length of one run")
    if (interval == 0).any():
        raise InputError("interval is 0.0; expected positive hours")
