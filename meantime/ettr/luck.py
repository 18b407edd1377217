"""The luck of a run: one random wall-clock time per plan, without a loop over its failures."""

from typing import NamedTuple

import numpy as np

from meantime.ettr.arrays import Array, ArrayLike, array_function, as_numpy
from meantime.ettr.segments import check_one_run, cut
from meantime.ettr.special import truncated_exponential

_CHUNK = 1 << 16
_EXACT_UP_TO = 32
"""Sums of so many lost times are drawn term by term, longer ones from a distribution with their three cumulants."""
_POISSON_UP_TO = 1e15
_COUNT_UP_TO = 1e300
_NORMAL_ABOVE = 1e8


def sample_wallclock(
    seed: int | np.random.Generator,
    hazard: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    productive: ArrayLike,
    detection: ArrayLike = 0.0,
    queue: ArrayLike = 0.0,
    last_write: bool = True,
) -> np.ndarray:
    r"""Draw the wall-clock hours of one run for each element of the arguments.

    The expectation of `renewal` is not what one run gets. Before its n - 1 full segments are done a
    run fails K1 ~ NegBin(n - 1, e^(-lam (tau + w))) times in them, and K2 ~ NegBin(1, e^(-lam (s + w)))
    times in the last one; each of its K + 1 = K1 + K2 + 1 restarts may fail too, together
    J ~ NegBin(K + 1, e^(-lam u0)) times. (NegBin(r, p): failures before the r-th success.) Given these
    numbers, each failure has lost an independent exponential time truncated to the task it struck::

        wall = q + R + writes + (K + 1) u0 + (K + J) d
               + sum of K1 times on (0, tau + w) + sum of K2 on (0, s + w) + sum of J on (0, u0)

    Up to 32 times are summed one by one. A longer sum is drawn from the shifted Gamma
    distribution with its mean, variance and third cumulant, which is exact where segments are long (exponential
    times) and otherwise misses a kurtosis of at most 1.2 / 32: a distribution function off by less than 0.001.

    Parameters
    ----------
    seed
        Seed or generator.
    hazard
        Failures per hour of the whole job, lam.
    interval
        Productive hours between checkpoints, tau, positive; more than `productive`: a single segment.
    write
        Hours during which a checkpoint blocks the run, w.
    restart
        Hours to initialise and load the last checkpoint, u0.
    productive
        Productive hours of the run, R, finite.
    detection
        Hours from a failure to its being noticed; d = detection + queue.
    queue
        Hours in the queue, at submission and after each failure, q.
    last_write
        Whether the run ends with a checkpoint write.

    Returns
    -------
    np.ndarray
        Hours, broadcast shape of the arguments; `productive` over them is the realised ETTR. JAX
        arrays are taken as well, but what comes back is NumPy. Where a run has no hope the number
        of failures stops at 1e300, so that nothing becomes infinite or NaN.

    Raises
    ------
    InputError
        If a value is negative or not a number, or infinite where that has no meaning.
    """
    arrays = as_numpy(
        {
            "hazard": hazard,
            "interval": interval,
            "write": write,
            "restart": restart,
            "productive": productive,
            "detection": detection,
            "queue": queue,
        }
    )
    check_one_run(arrays["interval"], arrays["productive"])
    rng = np.random.default_rng(seed)
    names, values = list(arrays), np.broadcast_arrays(*arrays.values())
    out = np.empty(values[0].shape)
    for start in range(0, out.size, _CHUNK):
        part = {name: value.flat[start : start + _CHUNK] for name, value in zip(names, values, strict=True)}
        out.flat[start : start + _CHUNK] = _draw(rng, last_write=last_write, **part)
    return out[()]


class _Task(NamedTuple):
    """Hours of a task that starts again at a failure, and cumulants of the time a failure loses."""

    hours: np.ndarray
    y: np.ndarray
    mean: np.ndarray
    variance: np.ndarray
    third: np.ndarray


def _draw(
    rng: np.random.Generator,
    *,
    hazard: np.ndarray,
    interval: np.ndarray,
    write: np.ndarray,
    restart: np.ndarray,
    detection: np.ndarray,
    queue: np.ndarray,
    productive: np.ndarray,
    last_write: bool,
) -> np.ndarray:
    full, length, last = _cut(interval, productive)
    segment = _task(hazard, length + write)
    ending = _task(hazard, last + (write if last_write else 0))
    restarting = _task(hazard, restart)
    in_segments = _failures(rng, full, segment.y)
    in_ending = _failures(rng, np.ones_like(full), ending.y)
    restarts = np.minimum(in_segments + in_ending, _COUNT_UP_TO) + 1
    in_restarts = _failures(rng, restarts, restarting.y)
    useful = queue + full * segment.hours + ending.hours + restarts * restart
    lost = _lost(rng, in_segments, segment) + _lost(rng, in_ending, ending) + _lost(rng, in_restarts, restarting)
    return useful + lost + (restarts - 1 + in_restarts) * (detection + queue)


@array_function()
def _cut(interval: ArrayLike, productive: ArrayLike) -> Array:
    return cut(interval, productive)


@array_function()
def _cumulants(y: ArrayLike) -> Array:
    return truncated_exponential(y)


def _task(hazard: np.ndarray, hours: np.ndarray) -> _Task:
    y = hazard * hours
    return _Task(hours, y, *_cumulants(y))


def _failures(rng: np.random.Generator, successes: np.ndarray, y: np.ndarray) -> np.ndarray:
    """NegBin(successes, e^-y) as a Poisson mixture; its own mean where a spread of 1e-8 of it is nothing."""
    with np.errstate(over="ignore"):
        mean = np.minimum(rng.standard_gamma(successes) * np.minimum(np.expm1(y), _COUNT_UP_TO), _COUNT_UP_TO)
    few = mean < _POISSON_UP_TO
    return np.where(few, rng.poisson(np.where(few, mean, 0)), mean)


def _lost(rng: np.random.Generator, count: np.ndarray, task: _Task) -> np.ndarray:
    """Sum of `count` exponential times truncated to the task, in hours."""
    total = np.zeros_like(count)
    many = count > _EXACT_UP_TO
    total[many] = _approximate_sum(rng, count[many], *(c[many] for c in task[2:]))
    left = np.flatnonzero((count > 0) & ~many)
    for drawn in range(1, _EXACT_UP_TO + 1):
        total[left] += _truncated(rng, task.y[left])
        left = left[count[left] > drawn]
        if left.size == 0:
            break
    return total * task.hours


def _truncated(rng: np.random.Generator, y: np.ndarray) -> np.ndarray:
    """Exponential times of rate y truncated to (0, 1), by inversion."""
    uniform = rng.random(y.shape)
    flat = y < 1e-12
    safe = np.where(flat, 1, y)
    return np.where(flat, uniform, -np.log1p(uniform * np.expm1(-safe)) / safe)


def _approximate_sum(
    rng: np.random.Generator, count: np.ndarray, mean: np.ndarray, variance: np.ndarray, third: np.ndarray
) -> np.ndarray:
    spread = np.sqrt(variance)
    skewness = third / (variance * spread) / np.sqrt(count)
    shape = 4 / np.maximum(skewness, 2 / np.sqrt(_NORMAL_ABOVE)) ** 2
    gamma = (rng.standard_gamma(shape) - shape) / np.sqrt(shape)
    normal = np.where(shape < _NORMAL_ABOVE, gamma, rng.standard_normal(count.shape))
    return np.maximum(count * mean + np.sqrt(count) * spread * normal, 0)
