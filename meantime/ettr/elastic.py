"""Elastic width: a run that shrinks when no spare is left, and continues, in place of waiting."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from meantime.ettr.arrays import Array, ArrayLike, array_function
from meantime.ettr.birth_death import by_forward_mode, stationary_means
from meantime.units import HOURS_PER_DAY


class ElasticRun(NamedTuple):
    """An elastic run in the long run.

    Attributes
    ----------
    width
        Mean share of the full width at which it runs.
    shrinks
        Shrinks per hour; as often it grows again.
    """

    width: Array
    shrinks: Array


@array_function()
def elastic_run(
    nodes: ArrayLike, spares: ArrayLike, rate_per_node_day: ArrayLike, repair: ArrayLike, *, group: ArrayLike = 1.0
) -> ElasticRun:
    r"""Mean width of a run that gives up a group of nodes when a failure finds no spare.

    N nodes in groups of g (the nodes of one data-parallel replica) and s cold spares: with D nodes in
    repair, ceil((D - s)^+ / g) groups are missing. What is left of a broken group stands by as spares and
    does not fail, so failures come at r (N - g ceil((D - s)^+ / g)); repairs are independent, of mean m.
    By insensitivity D has a product form with these rates whatever the distribution of repairs, and the
    width is the mean of 1 - g ceil((D - s)^+ / g) / N over it. A failure shrinks the run if D - s was
    zero or a positive multiple of g.

    Parameters
    ----------
    nodes
        Nodes at full width, N, a multiple of `group`.
    spares
        Cold spare nodes besides them, s, a whole number.
    rate_per_node_day
        Failures per node-day that send a node to repair, r.
    repair
        Mean hours from a failure until the node is back, m.
    group
        Nodes that leave together, g, at least 1.

    Returns
    -------
    ElasticRun
        Arrays of the broadcast shape. The speed is taken to be proportional to the width; hours lost to
        reshaping are `shrinks` times the hours of a shrink and a growth.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number (NumPy input only).
    """
    rate = rate_per_node_day / HOURS_PER_DAY
    return ElasticRun(*_run(*jnp.broadcast_arrays(nodes, spares, rate, repair, group)))


@array_function()
def break_even_wait(missing: ArrayLike, reshape: ArrayLike) -> Array:
    """Wait for a spare beyond which it is better to shrink and continue.

    Waiting W hours loses W at full speed. Shrinking loses the missing share of the width for those hours, and
    the hours of reshaping, down and up again. Both lose the same at W = reshape / (1 - missing).

    Parameters
    ----------
    missing
        Share of the width that is given up, from 0 to 1.
    reshape
        Hours lost to shrinking and growing again, together.

    Returns
    -------
    Array
        Hours, broadcast shape; infinite where the whole width would be given up.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number, or a share is above 1 (NumPy input only).
    """
    left = 1 - missing
    return jnp.where(left > 0, reshape / jnp.where(left > 0, left, 1), jnp.inf)


@by_forward_mode
def _run(
    nodes: jax.Array, spares: jax.Array, rate: jax.Array, repair: jax.Array, group: jax.Array
) -> tuple[jax.Array, ...]:
    def active(j: jax.Array) -> jax.Array:
        return jnp.maximum(nodes - group * jnp.ceil(jnp.maximum(j - spares, 0) / group), 0)

    def statistics(j: jax.Array) -> jax.Array:
        beyond = j - spares
        shrinking = (beyond >= 0) & (jnp.mod(beyond, group) == 0)
        return jnp.stack([active(j) / nodes, jnp.where(shrinking, active(j) * rate, 0)])

    means, *_ = stationary_means(lambda j: active(j) * rate * repair, statistics, spares + nodes, spares + 1)
    return means[0], means[1]
