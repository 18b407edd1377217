"""What a failure costs before the run starts again, as a random time: detection, hangs and the queue.

The expected ETTR needs the mean of it alone (by Wald's identity the number of failures and their costs
multiply); the spread of one run's wall-clock time needs the variance, its distribution the transform.
"""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp


class Waits(NamedTuple):
    """Random hours after a failure, during which nothing can fail; each part independent.

    A failure is either seen after `detection` hours or, with probability `hang_share`, shows as a run
    that stands still until a time-out of `hang_timeout` hours. Then the run queues for `queue` hours.
    Detection and queue have Gamma distributions with these means and standard deviations: fixed where the
    deviation is zero, exponential where it equals the mean, longer-tailed where it is above. Where the mean is
    zero so is the time, whatever the deviation.
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
    spread = jnp.where(waits.detection > 0, waits.detection_sd**2, 0)
    return seen * spread + seen * waits.hang_share * apart**2 + queue_variance(waits)


def queue_variance(waits: Waits) -> jax.Array:
    """Variance of one stay in the queue."""
    return jnp.where(waits.queue > 0, waits.queue_sd**2, 0)


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


def draw_waits(key: jax.Array, waits: Waits, size: int) -> tuple[jax.Array, jax.Array]:
    """Draw `size` waits after a failure, and the stays in the queue that are part of them."""
    first, other = jax.random.split(key)
    hang, *boosts = jax.random.uniform(first, (3, size), dtype=waits.queue.dtype)
    means = jnp.stack([waits.detection, waits.queue])[:, None]
    spreads = jnp.stack([waits.detection_sd, waits.queue_sd])[:, None]
    seen, queue = _draw_gamma(other, means, spreads, jnp.stack(boosts))
    return jnp.where(hang < waits.hang_share, waits.hang_timeout, seen) + queue, queue


def longest_scale(waits: Waits) -> jax.Array:
    """Scale of the longest exponential tail of the waits in hours; zero where none of them is random."""
    return jnp.maximum(_scale(waits.detection, waits.detection_sd), _scale(waits.queue, waits.queue_sd))


def _log_gamma_transform(s: jax.Array, mean: jax.Array, sd: jax.Array) -> jax.Array:
    """log (1 + s theta)^(-mean / theta), with the scale theta = sd^2 / mean; -s mean as theta -> 0."""
    v = s * _scale(mean, sd)
    small = jnp.abs(v) < 1e-4
    near = jnp.where(small, v, 0)
    far = jnp.where(small, 1, v)
    shrink = jnp.where(small, 1 + near * (-1 / 2 + near * (1 / 3 - near / 4)), jnp.log1p(far) / far)
    return -s * mean * shrink


def _scale(mean: jax.Array, sd: jax.Array) -> jax.Array:
    return jnp.where(mean > 0, sd * sd / jnp.where(mean > 0, mean, 1), 0)


def _draw_gamma(key: jax.Array, mean: jax.Array, sd: jax.Array, boost: jax.Array) -> jax.Array:
    fixed = (sd == 0) | (mean == 0)
    shape = jnp.where(fixed, 1, (jnp.where(fixed, 1, mean) / jnp.where(fixed, 1, sd)) ** 2)
    drawn = _standard_gamma(key, shape, boost) * mean / shape
    return jnp.where(fixed, mean, drawn)


def _standard_gamma(key: jax.Array, shape: jax.Array, boost: jax.Array) -> jax.Array:
    """Gamma variates by the method of Marsaglia and Tsang (2000), all rejected ones drawn again together.

    `boost` are uniform variates for shapes below 1. It compiles in a small part of the time of `jax.random.gamma`.
    """
    low = shape < 1
    d = shape + jnp.where(low, 1, 0) - 1 / 3

    def rejected(state: tuple[jax.Array, jax.Array, jax.Array]) -> jax.Array:
        return jnp.any(~state[1])

    def again(state: tuple[jax.Array, jax.Array, jax.Array]) -> tuple[jax.Array, jax.Array, jax.Array]:
        value, done, key = state
        key, draw = jax.random.split(key)
        first, second = jax.random.uniform(draw, (2, *value.shape), dtype=value.dtype)
        x = math.sqrt(2) * jax.lax.erf_inv(2 * first - 1)
        v = (1 + x / jnp.sqrt(9 * d)) ** 3
        kept = (v > 0) & (jnp.log(second) < 0.5 * x * x + d * (1 - v + jnp.log(jnp.where(v > 0, v, 1))))
        return jnp.where(done, value, d * v), done | kept, key

    start = (jnp.zeros_like(boost), jnp.zeros(boost.shape, bool), key)
    value, _, _ = jax.lax.while_loop(rejected, again, start)
    return value * jnp.where(low, boost ** (1 / jnp.where(low, shape, 1)), 1)
