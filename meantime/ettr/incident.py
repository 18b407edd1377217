"""Common-cause incidents: one rack, switch or power failure hits several nodes at once."""

import jax
import jax.numpy as jnp
import numpy as np

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.units import HOURS_PER_DAY

_TERM_BY_TERM = 64
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(64)


@array_function()
def hit_probability(nodes: ArrayLike, job_nodes: ArrayLike, hit: ArrayLike) -> Array:
    r"""Probability that an incident on m of N nodes hits a job on k of them, placed at random.

    ``1 - C(N - m, k) / C(N, k)``, symmetric in m and k. The logarithm of the ratio is the sum of log(1 -
    k / (N - i)) over i < m, with m the smaller of the two: all terms have one sign, so no digits are lost, as
    they would be between log-gamma functions of a million nodes. Up to 64 terms are added one by one,
    more by Gauss-Legendre quadrature with the Euler-Maclaurin correction.

    Parameters
    ----------
    nodes
        Nodes of the cluster, N.
    job_nodes
        Nodes of the job, k, at most N.
    hit
        Nodes that the incident hits, m, at most N.

    Returns
    -------
    Array
        Broadcast shape; 1 where k + m > N.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number (NumPy input only).
    """
    few, many = jnp.minimum(job_nodes, hit), jnp.maximum(job_nodes, hit)
    sure = few + many > nodes
    return jnp.where(sure, jnp.where(few > 0, 1, 0), -jnp.expm1(_log_missed(nodes, many, few, sure)))


@array_function(core=("hit", "incidents_per_day"), smallest_pad=1)
def incident_hazard(nodes: ArrayLike, job_nodes: ArrayLike, hit: ArrayLike, incidents_per_day: ArrayLike) -> Array:
    """Hazard of a job under common-cause incidents.

    Incidents that hit m nodes come at a rate of their own for each m, and stop the job if they hit it::

        lam = sum over m of rate_m {1 - C(N - m, k) / C(N, k)} / 24

    Independent failures of single nodes are m = 1: rate_1 k / N. Counting each of the m nodes as a failure of its own
    overstates the hazard of jobs on many nodes.

    Parameters
    ----------
    nodes
        Nodes of the cluster, N, shape (...).
    job_nodes
        Nodes of the job, k, placed at random, shape (...).
    hit
        Numbers of nodes that incidents hit, m, shape (..., kinds).
    incidents_per_day
        Incidents per day on the cluster of each kind, shape (..., kinds).

    Returns
    -------
    Array
        Failures per hour, shape (...).

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number (NumPy input only).
    """
    probability = hit_probability(nodes[..., None], job_nodes[..., None], hit)
    return jnp.sum(incidents_per_day * probability, axis=-1) / HOURS_PER_DAY


def _log_missed(nodes: jax.Array, many: jax.Array, few: jax.Array, sure: jax.Array) -> jax.Array:
    """Sum of log(1 - many / (nodes - i)) over i = 0 ... few - 1."""
    nodes, many, few = (jnp.where(sure, safe, value) for safe, value in ((4, nodes), (1, many), (1, few)))
    long = few > _TERM_BY_TERM
    count = jnp.where(long, 0, few)[..., None]
    i = jnp.arange(_TERM_BY_TERM, dtype=nodes.dtype)
    terms = jnp.where(
        i < count, jnp.log1p(-many[..., None] / jnp.maximum(nodes[..., None] - i, many[..., None] + 1)), 0
    )
    short = terms.sum(axis=-1)

    half = jnp.where(long, few, 2) / 2
    places = (half[..., None] * (1 + jnp.asarray(_NODES, nodes.dtype))) - 0.5
    inner = jnp.log1p(-many[..., None] / (nodes[..., None] - places))
    integral = half * (inner * jnp.asarray(_WEIGHTS, nodes.dtype)).sum(axis=-1)

    def slope(t: jax.Array) -> jax.Array:
        return -many / ((nodes - t) * (nodes - t - many))

    return jnp.where(long, integral - (slope(2 * half - 0.5) - slope(jnp.full_like(half, -0.5))) / 24, short)
