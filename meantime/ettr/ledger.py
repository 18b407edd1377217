"""Where the GPU-hours of a cluster go in a day: a ledger that adds up."""

from typing import NamedTuple

import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.breakdown import breakdown
from meantime.ettr.goodput import failure_losses
from meantime.units import HOURS_PER_DAY


class ClusterLedger(NamedTuple):
    """GPU-hours a day, by size of job: all entries and all sizes add up to 24 times the GPUs of the cluster.

    Attributes
    ----------
    productive
        Computing that counts, shape (..., sizes).
    write, lost, restart, detection
        As in `Breakdown`, shape (..., sizes).
    preempted
        Computing that counted until a restarted job of higher priority took the GPUs, shape (..., sizes).
    unused
        GPUs that no job holds: idle, drained or in repair, shape (...).
    """

    productive: Array
    write: Array
    lost: Array
    restart: Array
    detection: Array
    preempted: Array
    unused: Array


_BY_SIZE = ("gpus", "running", "rate_per_node_day", "interval", "write", "restart", "detection", "priority", "taken")


@array_function(core=_BY_SIZE, smallest_pad=1)
def cluster_ledger(
    cluster_gpus: ArrayLike,
    gpus: ArrayLike,
    running: ArrayLike,
    rate_per_node_day: ArrayLike,
    interval: ArrayLike,
    write: ArrayLike = 0.0,
    restart: ArrayLike = 0.0,
    *,
    detection: ArrayLike = 0.0,
    priority: ArrayLike = 0.0,
    taken: ArrayLike = 0.0,
    idle: ArrayLike = 0.0,
    gpus_per_node: ArrayLike = 8.0,
) -> ClusterLedger:
    """GPU-hours of a cluster and a day, by what became of them.

    The GPU-hours that jobs of a size hold are shared out by the exact `breakdown` of their time (the queue apart,
    in which they hold none). Second-order preemption (`failure_losses`, with half the interval of the preempted jobs
    as the work lost at most) takes from what the preempted jobs had computed. The goodput is the sum of
    `productive` over 24 times `cluster_gpus`.

    Parameters
    ----------
    cluster_gpus
        GPUs of the cluster, at least those running, shape (...).
    gpus, running, rate_per_node_day, priority, taken, idle, gpus_per_node
        As in `failure_losses`; the rate is that of all components together.
    interval, write, restart, detection
        Checkpoint plan in hours by size, as in `breakdown`, shape (..., sizes).

    Returns
    -------
    ClusterLedger
        GPU-hours a day.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number (NumPy input only).
    """
    hazard = gpus / gpus_per_node[..., None] * rate_per_node_day / HOURS_PER_DAY
    shares = breakdown(hazard, interval, write, restart, detection=detection)
    order = {"priority": priority, "taken": taken, "idle": idle, "gpus_per_node": gpus_per_node}
    losses = failure_losses(gpus, running, rate_per_node_day, at_most=interval / 2, **order)
    productive, written, lost, restarting, detecting = (HOURS_PER_DAY * running * share for share in shares[:5])
    preempted = jnp.minimum(losses.second.sum(axis=-2), productive)
    unused = HOURS_PER_DAY * (cluster_gpus - running.sum(axis=-1))
    return ClusterLedger(productive - preempted, written, lost, restarting, detecting, preempted, unused)
