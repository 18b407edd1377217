"""A run as a row of tasks, each of which starts again at every failure until it succeeds."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from meantime.ettr.segments import cut
from meantime.ettr.special import truncated_exponential
from meantime.ettr.waits import Waits, mean_wait, queue_variance, wait_variance


class Run(NamedTuple):
    """A queue, a restart, `full` segments and an ending.

    Attributes
    ----------
    hazard
        Failures per hour.
    restart
        Hours of a restart, a task at the beginning and after each failure.
    full
        Number of segments before the last one.
    segment
        Hours of such a segment, with its write.
    ending
        Hours of the last segment.
    waits
        What a failure costs before the next restart, and the queue at submission.
    """

    hazard: jax.Array
    restart: jax.Array
    full: jax.Array
    segment: jax.Array
    ending: jax.Array
    waits: Waits


def as_run(
    hazard: jax.Array,
    interval: jax.Array,
    write: jax.Array,
    restart: jax.Array,
    productive: jax.Array,
    last_write: bool,
    waits: Waits,
) -> Run:
    """Cut a finite run into its tasks."""
    full, length, last = cut(interval, productive)
    return Run(hazard, restart, full, length + write, last + (write if last_write else 0), waits)


def run_moments(run: Run) -> tuple[jax.Array, jax.Array]:
    """Mean and variance of the wall-clock hours of a run (see `wallclock_moments`)."""
    wait, spread = mean_wait(run.waits), wait_variance(run.waits)
    restarting = _task(run.hazard, run.restart, wait, spread)
    recovery = (wait + restarting[0], spread + restarting[1])
    segment = _task(run.hazard, run.segment, *recovery)
    ending = _task(run.hazard, run.ending, *recovery)
    several = run.full > 0
    mean = run.waits.queue + restarting[0] + jnp.where(several, run.full * segment[0], 0) + ending[0]
    variance = queue_variance(run.waits) + restarting[1] + jnp.where(several, run.full * segment[1], 0) + ending[1]
    return mean, variance


def _task(
    hazard: jax.Array, length: jax.Array, recovery_mean: jax.Array, recovery_variance: jax.Array
) -> tuple[jax.Array, jax.Array]:
    failures = jnp.expm1(hazard * length)
    mean, variance, _ = truncated_exponential(hazard * length)
    cost = length * mean + recovery_mean
    spread = length * length * variance + recovery_variance
    return length + failures * cost, failures * spread + failures * (1 + failures) * cost * cost
