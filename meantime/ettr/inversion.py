"""From the transform of a run's wall-clock time to its distribution, by a tapered Fourier series."""

import math
from typing import NamedTuple

import jax
import jax.numpy as jnp

from meantime.ettr.tasks import Run
from meantime.ettr.transform import HOPELESS, log_failures, log_first_queue, log_no_failure, shortest, within_reach
from meantime.ettr.waits import longest_scale, mean_wait, queue_variance

_OUTSIDE = 23.0
"""-log of the probability left outside the window of the inversion: 1e-10."""
_BLUR = 5.0
"""Standard deviations at which the Gaussian taper meets the highest frequency: what is cut there is below 4e-6."""


class Law(NamedTuple):
    """The distribution of W - m: an atom at 0, and beside it a function at start, start + step, ..."""

    shortest: jax.Array
    atom: jax.Array
    start: jax.Array
    step: jax.Array
    smooth: jax.Array


def law_of(run: Run, resolution: int) -> Law:
    """Invert the transform of one run (see `wallclock_cdf`)."""
    quickest, run = shortest(run), within_reach(run)
    low, high = _window(run)
    margin = 6 * _BLUR / math.pi / resolution
    width = jnp.where(high > low, high - low, 1) / (1 - 2 * margin)
    start = low - margin * width
    numbers = jnp.arange(1, resolution // 2 + 1, dtype=width.dtype)
    omega = 2 * math.pi / width * numbers
    fixed = queue_variance(run.waits) == 0
    log_atom = log_no_failure(run)
    failures, _ = log_failures(1j * omega, run)
    likely = fixed & (log_atom > -_OUTSIDE)  # elsewhere taking the atom out changes nothing
    beside_atom = jnp.exp(log_atom) * jnp.expm1(jnp.where(likely, failures, 0))
    whole = jnp.exp(log_atom + failures + log_first_queue(1j * omega, run))
    transform = jnp.where(likely, beside_atom, whole)
    taper = jnp.exp(-0.5 * (_BLUR * 2 * numbers / resolution) ** 2)
    terms = transform * jnp.exp(1j * omega * start) * taper / (1j * omega * width)
    waves = jnp.fft.irfft(jnp.concatenate([jnp.zeros(1, terms.dtype), terms]), resolution) * resolution
    mass = jnp.where(fixed, -jnp.expm1(log_atom), 1)
    steps = jnp.arange(resolution, dtype=width.dtype) / resolution
    smooth = jnp.clip(mass * steps + waves - waves[0], 0, mass)
    atom = jnp.where(fixed, jnp.exp(log_atom), 0)
    return Law(quickest, atom, start, width / resolution, smooth)


def probability_at(hours: jax.Array, law: Law) -> jax.Array:
    """Probability of a run of no more than so many hours, any shape."""
    excess = hours - law.shortest
    at = (excess - law.start) / law.step
    smooth = jnp.interp(at, jnp.arange(law.smooth.size, dtype=at.dtype), law.smooth)
    done = excess >= -8 * jnp.finfo(excess.dtype).eps * law.shortest  # the last second is in, whatever rounding says
    return jnp.where(done, jnp.minimum(smooth + law.atom, 1), 0)


def hours_at(probabilities: jax.Array, law: Law) -> jax.Array:
    """Hours within which a run ends with these probabilities, any shape."""
    numbers = jnp.arange(law.smooth.size, dtype=law.smooth.dtype)
    at = jnp.interp(probabilities - law.atom, law.smooth, numbers)
    excess = jnp.maximum(law.start + law.step * at, 0)
    return law.shortest + jnp.where(probabilities <= law.atom, 0, excess)


def _window(run: Run) -> tuple[jax.Array, jax.Array]:
    """Hours over m between which W lies but for 1e-10 on either side, by Chernoff's bound.

    For any s > 0, P(W - m > y) <= E[e^(s (W - m))] e^(-s y) and P(W - m < y) <= E[e^(-s (W - m))] e^(s y);
    the best s is looked for in steps of a factor of 2, and then in small ones about it.
    """
    run = jax.lax.stop_gradient(run)
    cost = mean_wait(run.waits) + run.restart + run.segment
    lowest = -math.ceil(3 * HOPELESS[cost.dtype.itemsize]) - 25
    powers = jnp.arange(lowest, 7, dtype=cost.dtype)
    fine = jnp.linspace(-1, 1, powers.size, dtype=cost.dtype)

    def look(stage: jax.Array, best: tuple[jax.Array, ...]) -> tuple[jax.Array, ...]:
        _, at_high, _, at_low = best
        steps = jnp.where(stage == 0, powers, fine)
        up, down = at_high * 2.0**steps, at_low * 2.0**steps
        bounded = up * longest_scale(run.waits) < 1
        s = jnp.concatenate([jnp.where(bounded, -up, up), down]) + 0j
        failures, exists = log_failures(s, run)
        upper, lower = jnp.split((failures + log_first_queue(s, run)).real + log_no_failure(run) + _OUTSIDE, 2)
        highs = jnp.where(bounded & exists[: powers.size], upper / up, jnp.inf)
        lows = -lower / down
        return jnp.min(highs), up[jnp.argmin(highs)], jnp.max(lows), down[jnp.argmax(lows)]

    first = 1 / cost
    high, _, low, _ = jax.lax.fori_loop(0, 2, look, (first, first, first, first))
    return jnp.maximum(low, 0), jnp.where(jnp.isfinite(high), high, 1)
