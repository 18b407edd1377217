"""Quantiles of the ETTR over draws of the hazard, without computing it for every draw."""

from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from meantime.errors import InputError
from meantime.ettr.arrays import Array, ArrayLike, as_numpy
from meantime.ettr.optimum import optimal_interval
from meantime.ettr.renewal import renewal


def quantiles(
    hazard_draws: ArrayLike,
    probabilities: float | Sequence[float] | np.ndarray,
    interval: ArrayLike | None = None,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    productive: ArrayLike = np.inf,
    last_write: bool = True,
    axis: int = 0,
) -> Array:
    r"""Quantiles of the expected ETTR (`renewal`) over draws of the hazard.

    For any plan the ETTR falls as the hazard grows, so its order statistics are the ETTR at the
    order statistics of the hazard. A quantile interpolates linearly between two of them, exactly as
    `numpy.quantile` of all the ETTR draws would, at two evaluations in place of thousands.

    Parameters
    ----------
    hazard_draws
        Draws of the hazard (failures per hour) along `axis`.
    probabilities
        Probabilities of the quantiles of the ETTR, a number or one dimension.
    interval
        Productive hours between checkpoints; None for each draw's own `optimal_interval`, of which
        the ETTR is monotone too.
    write, restart, detection, queue, productive, last_write
        The plan, as in `renewal`. Broadcast against the draws **without** `axis`: the plan is the
        same for all draws.
    axis
        Axis of the draws. Give the draws axes of length 1 where the plan has more dimensions.

    Returns
    -------
    Array
        The shape of `probabilities`, then the broadcast shape of the draws without `axis` and the plan.

    Raises
    ------
    InputError
        If a probability lies outside [0, 1], there is no draw, or a value cannot be used (see `renewal`).
    """
    chosen = np.asarray(probabilities, dtype=np.float64)
    if chosen.ndim > 1 or not ((chosen >= 0) & (chosen <= 1)).all():
        raise InputError(f"probabilities is {probabilities!r}; expected numbers from 0 to 1, in at most one dimension")
    plan: dict[str, Any] = {
        "write": write,
        "restart": restart,
        "detection": detection,
        "queue": queue,
        "productive": productive,
    }
    if not isinstance(hazard_draws, jax.Array):
        hazard_draws = as_numpy({"hazard": hazard_draws})["hazard"]
    if hazard_draws.ndim == 0 or hazard_draws.shape[axis] == 0:
        raise InputError(f"hazard_draws has shape {hazard_draws.shape}; expected at least one draw along axis {axis}")

    place = np.atleast_1d(chosen) * (hazard_draws.shape[axis] - 1)
    lower = np.floor(place).astype(int)
    upper = np.ceil(place).astype(int)
    hazards = _largest_first(hazard_draws, np.concatenate([lower, upper]), axis)
    extra = max(np.ndim(value) for value in (*plan.values(), 0.0 if interval is None else interval))
    hazards = hazards.reshape(hazards.shape[:1] + (1,) * (extra - hazards.ndim + 1) + hazards.shape[1:])
    every = optimal_interval(hazards, write) if interval is None else interval
    ettr = renewal(hazards, every, **plan, last_write=last_write)
    weight = (place - lower).reshape((-1,) + (1,) * (ettr.ndim - 1)).astype(ettr.dtype)
    low, high = ettr[: len(place)], ettr[len(place) :]
    return (low + weight * (high - low)).reshape(chosen.shape + ettr.shape[1:])[()]


def _largest_first(draws: Any, ranks: np.ndarray, axis: int) -> Any:
    """Order statistics counted from the largest draw, along a new first axis."""
    size = draws.shape[axis]
    ascending = size - 1 - ranks
    if isinstance(draws, jax.Array):
        return jnp.sort(jnp.moveaxis(draws, axis, 0), axis=0)[ascending]
    return np.partition(np.moveaxis(draws, axis, 0), np.unique(ascending), axis=0)[ascending]
