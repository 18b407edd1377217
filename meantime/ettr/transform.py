"""The Laplace transform of the wall-clock time of one run, in a form that keeps its digits."""

import jax
import jax.numpy as jnp

from meantime.ettr.tasks import Run
from meantime.ettr.waits import log_queue_transform, queue_variance, wait_deficit

HOPELESS = {4: 25.0, 8: 150.0}
"""Expected failures within one task from which on it is taken for no worse, by the bytes of the type."""


def within_reach(run: Run) -> Run:
    """Shorten tasks that no run could finish, so that nothing overflows."""
    most = HOPELESS[run.hazard.dtype.itemsize] / jnp.maximum(run.hazard, jnp.finfo(run.hazard.dtype).tiny)
    return run._replace(
        restart=jnp.minimum(run.restart, most),
        segment=jnp.minimum(run.segment, most),
        ending=jnp.minimum(run.ending, most),
    )


def shortest(run: Run) -> jax.Array:
    """Hours of a run without a failure; without the queue, if that is random."""
    fixed = jnp.where(queue_variance(run.waits) == 0, run.waits.queue, 0)
    return fixed + run.restart + run.full * run.segment + run.ending


def log_no_failure(run: Run) -> jax.Array:
    """Logarithm of the probability that nothing fails."""
    return -run.hazard * (run.restart + run.full * run.segment + run.ending)


def log_failures(s: jax.Array, run: Run) -> tuple[jax.Array, jax.Array]:
    r"""Transform of what failures add to a run.

    A task of length x that fails at rate lam, each time at the cost of an independent time with the
    transform c(s), takes X hours with::

        E[e^(-s (X - x))] = e^(-lam x) / (1 - f(s) c(s)),   f(s) = lam (1 - e^(-(lam + s) x)) / (lam + s)

    where f is the transform of the time of a failure within the task (and of there being one). For
    the restart c = D, the transform of the wait; for a segment c = D rho with rho that of a whole
    restart. The tasks are independent, so the transform of the run is their product. Where f c is near 1, as
    it is for long tasks, 1 - f c is computed as [s + lam (1 - c) + lam c e^(-(lam + s) x)] / (lam + s).

    Parameters
    ----------
    s
        Complex points, any shape, none of them zero where the hazard is zero.
    run
        The run, scalars.

    Returns
    -------
    tuple
        -log prod (1 - f c), complex, so that E[e^(-s (wall - shortest))] is the exponential of this plus
        `log_no_failure` times the transform of a random first queue; and whether every factor is
        positive, which says (for real s < 0) that the expectation exists.
    """
    lam = run.hazard
    waiting = wait_deficit(s, run.waits)
    restart, restart_exists = _log_end(s, lam, run.restart, waiting)
    again = (s + lam * waiting) * _growth(lam + s, run.restart)
    restarted = again / (1 + again)
    recovery = waiting + restarted - waiting * restarted
    lengths = jnp.stack([run.segment, run.ending]).reshape(2, *[1] * s.ndim)
    (segment, ending), (segment_exists, ending_exists) = _log_end(s, lam, lengths, recovery)
    several = run.full > 0
    total = restart + jnp.where(several, run.full * segment, 0) + ending
    return -total, restart_exists & (segment_exists | ~several) & ending_exists


def log_first_queue(s: jax.Array, run: Run) -> jax.Array:
    """Logarithm of the transform of the queue at submission, zero if that is a fixed time."""
    return jnp.where(queue_variance(run.waits) == 0, 0, log_queue_transform(s, run.waits))


def _log_end(s: jax.Array, lam: jax.Array, x: jax.Array, deficit: jax.Array) -> tuple[jax.Array, jax.Array]:
    """log(1 - f c) of a task of x hours with c = 1 - deficit, and whether 1 - f c has a positive real part."""
    total = jnp.where(lam + s == 0, 1, lam + s)
    missed = lam * _growth(-total, x)
    product = missed * (1 - deficit)
    whole = (s + lam * deficit + lam * jnp.exp(-total * x) * (1 - deficit)) / total
    near = jnp.abs(product) < 0.5
    product = jnp.where(near, product, 0)
    whole = jnp.where(near, 1 - product, whole)
    square = whole.real * whole.real + whole.imag * whole.imag
    log_square = jnp.where(near, _log_square(product), jnp.log(square))
    return _logarithm(whole, log_square), whole.real > 0


def _log_square(z: jax.Array) -> jax.Array:
    """log |1 - z|^2, without loss of digits for small z."""
    return jnp.log1p(z.real * z.real + z.imag * z.imag - 2 * z.real)


def _logarithm(z: jax.Array, log_square: jax.Array) -> jax.Array:
    """Principal logarithm of z from log |z|^2; several times as fast as the complex logarithm."""
    return jax.lax.complex(0.5 * log_square, jnp.arctan2(z.imag, z.real))


def _growth(rate: jax.Array, x: jax.Array) -> jax.Array:
    """(e^(rate x) - 1) / rate."""
    safe = jnp.where(rate == 0, 1, rate)
    return jnp.where(rate == 0, x, jnp.expm1(safe * x) / safe)
