"""The whole distribution of the wall-clock time of one run, by inversion of its transform."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from meantime.errors import InputError
from meantime.ettr.arrays import Array, ArrayLike, array_function, as_numpy
from meantime.ettr.inversion import hours_at, law_of, probability_at
from meantime.ettr.segments import check_one_run
from meantime.ettr.tasks import as_run
from meantime.ettr.waits import Waits

_TOGETHER = 8
"""So many plans are inverted side by side."""
_FEWEST = 16
"""Numbers of points are padded to a power of two and at least this one, so that they share a compilation."""


def wallclock_cdf(
    hours: ArrayLike,
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    productive: ArrayLike,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    detection_sd: ArrayLike = 0.0,
    queue_sd: ArrayLike = 0.0,
    hang_share: ArrayLike = 0.0,
    hang_timeout: ArrayLike = 0.0,
    last_write: bool = True,
    resolution: int = 1 << 14,
) -> Array:
    r"""Probability that a run is finished within a number of wall-clock hours of its submission.

    The wall-clock time is a sum of independent tasks, so its Laplace transform is a product with a
    closed form (`meantime.ettr.transform`). With m the hours of a run without a failure and p0 the
    probability of one, W - m has an atom p0 at zero and a density f with the transform phi - p0. That
    is inverted as a Fourier series of `resolution` points on a window outside which, by Chernoff's
    bound on the transform itself, at most 2e-10 of the probability lies::

        F(y) = p0 [y >= 0] + sum_k phi_k e^(i w_k y) / (i w_k T),   w_k = 2 pi k / T

    each term tapered by e^(-(w_k e)^2 / 2) with e = 5 T / (pi resolution). So the result is the exact
    distribution of W plus a Gaussian error of standard deviation e hours, which is 1/10,000 of the
    window: less than 1/300 of the standard deviation of W, or of the cost of one failure where failures are
    rare. It shows only where the distribution has a step. The atom is not blurred.

    Parameters
    ----------
    hours
        Wall-clock hours from submission, a number or one dimension.
    hazard
        Failures per hour of the whole job, lam.
    interval
        Productive hours between checkpoints, positive; more than `productive`: a single segment.
    write
        Hours during which a checkpoint blocks the run.
    restart
        Hours to initialise and load the last checkpoint.
    productive
        Productive hours of the run, finite.
    detection
        Mean hours from a failure to its being noticed.
    queue
        Mean hours in the queue, at submission and after each failure.
    detection_sd, queue_sd
        Standard deviations of the two in hours; both have Gamma distributions.
    hang_share
        Share of the failures that show as a standing run, noticed by a time-out in place of `detection`.
    hang_timeout
        Hours of that time-out.
    last_write
        Whether the run ends with a checkpoint write.
    resolution
        Number of points, even.

    Returns
    -------
    Array
        Probabilities, shape that of `hours`, then the broadcast shape of the plan. Where a task would
        fail more than e^150 times on average (e^25 in float32) it is taken to fail so often.

    Raises
    ------
    InputError
        If a value cannot be used (see `wallclock_moments`), or `hours` has more than one dimension.
    """
    waits = (detection, queue, detection_sd, queue_sd, hang_share, hang_timeout)
    plan = (hazard, interval, write, restart, productive, *waits)
    return _points_first("hours", hours, plan, last_write=last_write, resolution=resolution)


def wallclock_quantile(
    probabilities: ArrayLike,
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    productive: ArrayLike,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    detection_sd: ArrayLike = 0.0,
    queue_sd: ArrayLike = 0.0,
    hang_share: ArrayLike = 0.0,
    hang_timeout: ArrayLike = 0.0,
    last_write: bool = True,
    resolution: int = 1 << 14,
) -> Array:
    """Wall-clock hours within which a run is finished with a given probability.

    The inverse of `wallclock_cdf`, by linear interpolation between its points.

    Parameters
    ----------
    probabilities
        Probabilities, a number or one dimension; beyond 1 - 1e-9 the end of the window is given.
    hazard, interval, write, restart, productive, detection, queue
        The plan, as in `wallclock_cdf`.
    detection_sd, queue_sd, hang_share, hang_timeout, last_write, resolution
        As in `wallclock_cdf`.

    Returns
    -------
    Array
        Hours from submission, shape that of `probabilities`, then the broadcast shape of the plan. Never less
        than the hours of a run without a failure. `productive` over it is a quantile of the ETTR of one run.

    Raises
    ------
    InputError
        If a value cannot be used (see `wallclock_moments`), or a probability lies outside [0, 1].
    """
    waits = (detection, queue, detection_sd, queue_sd, hang_share, hang_timeout)
    plan = (hazard, interval, write, restart, productive, *waits)
    return _points_first("probabilities", probabilities, plan, last_write=last_write, resolution=resolution)


def _points_first(
    name: str, points: ArrayLike, plan: tuple[ArrayLike, ...], *, last_write: bool, resolution: int
) -> Array:
    if np.ndim(points) > 1:
        raise InputError(f"{name} has shape {np.shape(points)}; expected a number or one dimension")
    if resolution < 2 or resolution % 2:
        raise InputError(f"resolution is {resolution}; expected an even number of points")
    settings: dict[str, Any] = {"last_write": last_write, "resolution": resolution, "inverse": name == "probabilities"}
    if isinstance(points, jax.Array):
        values = _invert(jnp.atleast_1d(points), *plan, **settings)
        return jnp.moveaxis(values, -1, 0).reshape(points.shape + values.shape[:-1])
    if not any(isinstance(value, jax.Array) for value in plan):
        check_one_run(np.asarray(plan[1]), np.asarray(plan[4]))
    checked = np.atleast_1d(as_numpy({name: points})[name])
    padded = np.pad(checked, (0, max(_FEWEST, 1 << (checked.size - 1).bit_length()) - checked.size))
    values = _invert(padded, *plan, **settings)
    first = jnp.moveaxis(values, -1, 0) if isinstance(values, jax.Array) else np.moveaxis(values, -1, 0)
    return first[: checked.size] if np.ndim(points) else first[0]


@array_function("last_write", "resolution", "inverse", core=("points",), smallest_pad=1)
def _invert(
    points: ArrayLike,
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike,
    restart: ArrayLike,
    productive: ArrayLike,
    detection: ArrayLike,
    queue: ArrayLike,
    detection_sd: ArrayLike,
    queue_sd: ArrayLike,
    hang_share: ArrayLike,
    hang_timeout: ArrayLike,
    *,
    last_write: bool,
    resolution: int,
    inverse: bool,
) -> Array:
    waits = (detection, queue, detection_sd, queue_sd, hang_share, hang_timeout)
    arrays = [jnp.asarray(value) for value in (hazard, interval, write, restart, productive, *waits)]
    shape = jnp.broadcast_shapes(points.shape[:-1], *(array.shape for array in arrays))
    points = jnp.broadcast_to(points, shape + points.shape[-1:])

    def one(item: tuple[jax.Array, list[jax.Array]]) -> jax.Array:
        at, (lam, tau, w, u0, length, *waits) = item
        law = law_of(as_run(lam, tau, w, u0, length, last_write, Waits(*waits)), resolution)
        return hours_at(at, law) if inverse else probability_at(at, law)

    flat = [jnp.broadcast_to(array, shape).ravel() for array in arrays]
    values = jax.lax.map(one, (points.reshape(-1, points.shape[-1]), flat), batch_size=_TOGETHER)
    return values.reshape(points.shape)
