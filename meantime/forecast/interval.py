"""The one checkpoint interval to choose when the failure rate is not known exactly."""

import jax

from meantime import ettr

SEARCHED = 24
"""Shares into which draws are condensed for the search of an interval (see `meantime.forecast.hazards.condense`)."""


def best_interval(
    hazard: jax.Array,
    weights: jax.Array,
    write: jax.Array,
    restart: jax.Array,
    *,
    detection: jax.Array,
    queue: jax.Array,
    productive: jax.Array,
) -> jax.Array:
    """Find the interval that maximises the posterior mean of the ETTR (`meantime.ettr.robust_interval`).

    Parameters
    ----------
    hazard
        Failures per hour, shape (draws,).
    weights
        Weights of the draws, shape (draws,).
    write, restart, detection, queue, productive
        The plan in hours, shape (plans, 1) or (plans, draws).

    Returns
    -------
    jax.Array
        Hours, shape (plans, 1), at most `productive`.
    """
    best: jax.Array = ettr.robust_interval(
        hazard, write, restart, detection=detection, queue=queue, productive=productive, weights=weights
    )
    return best[..., None]
