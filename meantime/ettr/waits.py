"""What a failure costs before the run starts again, as a random time: detection, hangs and the queue.

The expected ETTR needs the mean of it alone (by Wald's identity the number of failures and their costs
multiply); the spread of one run's wall-clock time needs the variance, its distribution the transform.
"""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike

from meantime.ettr.special import ratio


class Waits(NamedTuple):
    """Random hours after a failure, during which nothing can fail; each part independent.

    A failure is either seen after `detection` hours or, with probability `hang_share`, shows as a run
    that stands still until a time-out of `hang_timeout` hours. Then the run queues for `queue` hours.
    Detection and queue have Gamma distributions with these means and standard deviations: fixed where the deviation
    is zero, exponential where it equals the mean, longer-tailed where it is above.
    """

    detection: jax.Array
    queue: jax.Array
    detection_sd: jax.Array
    queue_sd: jax.Array
    hang_share: jax.Array
    hang_timeout: jax.Array


def mean_wait(waits: Waits) -> jax.Array:
    """Mean hours from a failure to the start of the next restart."""
    return (1 - waits.hang_share) * waits.detection + waits.hang_share * waits.hang_timeout + waits.queue


def wait_variance(waits: Waits) -> jax.Array:
    """Variance of the hours from a failure to the start of the next restart."""
    apart = waits.hang_timeout - waits.detection
    seen = 1 - waits.hang_share
    return seen * waits.detection_sd**2 + seen * waits.hang_share * apart**2 + waits.queue_sd**2


def wait_deficit(s: jax.Array, waits: Waits) -> jax.Array:
    """Compute 1 - E[e^(-s wait)], without loss of digits for small s (complex)."""
    seen = jnp.expm1(_log_gamma_transform(s, waits.detection, waits.detection_sd))
    hanging = jnp.expm1(-s * waits.hang_timeout)
    noticed = (1 - waits.hang_share) * seen + waits.hang_share * hanging
    queued = jnp.expm1(log_queue_transform(s, waits))
    return -(noticed + queued + noticed * queued)


def log_queue_transform(s: jax.Array, waits: Waits) -> jax.Array:
    """Compute log E[e^(-s queue)] of one stay in the queue."""
    return _log_gamma_transform(s, waits.queue, waits.queue_sd)


def draw_wait(key: jax.Array, waits: Waits, size: int) -> jax.Array:
    """Draw `size` waits after a failure."""
    hang, detect, queue = jax.random.split(key, 3)
    hangs = jax.random.uniform(hang, (size,), dtype=waits.queue.dtype) < waits.hang_share
    seen = _draw_gamma(detect, waits.detection, waits.detection_sd, size)
    return jnp.where(hangs, waits.hang_timeout, seen) + draw_queue(queue, waits, size)


def draw_queue(key: jax.Array, waits: Waits, size: int) -> jax.Array:
    """Draw `size` stays in the queue."""
    return _draw_gamma(key, waits.queue, waits.queue_sd, size)


def longest_scale(waits: Waits) -> jax.Array:
    """Scale of the longest exponential tail of the waits in hours; zero where none of them is random."""
    return jnp.maximum(ratio(waits.detection_sd**2, waits.detection), ratio(waits.queue_sd**2, waits.queue))


def _log_gamma_transform(s: jax.Array, mean: jax.Array, sd: jax.Array) -> jax.Array:
    """log (1 + s theta)^(-mean / theta), with the scale theta = sd^2 / mean; -s mean as theta -> 0."""
    v = s * ratio(sd * sd, mean)
    small = jnp.abs(v) < 1e-4
    near = jnp.where(small, v, 0)
    far = jnp.where(small, 1, v)
    shrink = jnp.where(small, 1 + near * (-1 / 2 + near * (1 / 3 - near / 4)), jnp.log1p(far) / far)
    return -s * mean * shrink


def _draw_gamma(key: jax.Array, mean: ArrayLike, sd: ArrayLike, size: int) -> jax.Array:
    mean, sd = jnp.asarray(mean), jnp.asarray(sd)
    fixed = (sd == 0) | (mean == 0)
    shape = jnp.where(fixed, 1, (jnp.where(fixed, 1, mean) / jnp.where(fixed, 1, sd)) ** 2)
    drawn = jax.random.gamma(key, shape, (size,), dtype=mean.dtype) * mean / shape
    return jnp.where(fixed, mean, drawn)
