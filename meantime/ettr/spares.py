"""Spare nodes and repair: how often a failure finds no spare, and how long the run then waits."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from meantime.errors import InputError
from meantime.ettr.arrays import Array, ArrayLike, array_function, as_numpy
from meantime.ettr.birth_death import by_forward_mode, stationary_means
from meantime.units import HOURS_PER_DAY

_MOST_SPARES = 1 << 20


class SparePool(NamedTuple):
    """What a pool of spares does, in the long run.

    Attributes
    ----------
    down
        Mean number of nodes in repair.
    none_left
        Probability that a failure of a node in use finds no spare.
    short
        Share of the time in which nodes in use are fewer than wanted.
    wait
        Mean hours that a failure waits for a spare, those that find one included.
    """

    down: Array
    none_left: Array
    short: Array
    wait: Array


@array_function("stops")
def spare_pool(
    nodes: ArrayLike,
    spares: ArrayLike,
    rate_per_node_day: ArrayLike,
    repair: ArrayLike,
    *,
    standby: ArrayLike = 0.0,
    stops: bool = True,
) -> SparePool:
    r"""Nodes in repair, and failures that find no spare, exactly for the model stated here.

    N nodes in use fail independently at rate r each; a failed node goes to repair for a random time of mean m
    and comes back as a spare; a spare takes its place if there is one. Repairs do not queue for a crew. By
    insensitivity only the mean of the repair time matters, for a mean of any distribution.

    * `stops` (one run on all N nodes): without a spare the run stands still, and nothing in use fails. At most s +
      1 nodes are down, D has Erlang's distribution with the load a = N r m, and with B(c, a) =
      (a^c / c!) / sum of a^j / j! over j <= c (Erlang's loss formula)::

          P(a failure finds no spare) = B(s, a)        P(standing still) = B(s + 1, a)

      The run then waits for the first of s + 1 repairs, m / (s + 1) hours on average.
    * Otherwise (a fleet of many jobs) all other nodes run on and failures wait in a line: D is Poisson
      with mean a, P(D >= s) of the failures find no spare, and by Little's law they wait E[(D - s)^+] /
      (N r) hours on average.

    Cold spares do not fail. Warm ones do, at the rate `standby` times that of a node in use, and then go to
    repair as well: failures come at N r + standby r (s - D)^+, and the same formulas hold with a product of these
    in place of a^j. In exchange their start is shorter, which belongs into `restart` or `queue` of the plan.

    Parameters
    ----------
    nodes
        Nodes in use, N.
    spares
        Spare nodes besides them, s, a whole number.
    rate_per_node_day
        Failures per node-day that send a node to repair, r.
    repair
        Mean hours from a failure until the node is a spare again, m.
    standby
        Failure rate of a waiting spare over that of a node in use: 0 cold, 1 as hot as those in use.
    stops
        Whether nothing in use fails while a node is missing.

    Returns
    -------
    SparePool
        Arrays of the broadcast shape; `wait` is an addition to the `queue` of a plan. The nodes are taken to be at risk
        all the time that none is missing, restarts and waits included, which errs on the side of more failures.

    Raises
    ------
    InputError
        If a value is negative, infinite or not a number (NumPy input only).
    """
    rate = rate_per_node_day / HOURS_PER_DAY
    spares, in_use, waiting, repair = jnp.broadcast_arrays(spares, nodes * rate, standby * rate, repair)
    down, none_left, short, wait = (_one_run if stops else _fleet)(in_use, waiting, repair, spares)
    return SparePool(down, none_left, short, wait)


def spares_needed(
    nodes: ArrayLike,
    rate_per_node_day: ArrayLike,
    repair: ArrayLike,
    probability: ArrayLike,
    *,
    standby: ArrayLike = 0.0,
    stops: bool = True,
    measure: str = "none_left",
) -> np.ndarray:
    """Smallest pool of spares for a service level.

    Parameters
    ----------
    nodes, rate_per_node_day, repair, standby, stops
        As in `spare_pool`.
    probability
        Largest acceptable value of `measure`, above 0: 0.001 for 99.9 %.
    measure
        "none_left" (failures that find no spare) or "short" (time with a node missing).

    Returns
    -------
    numpy.ndarray
        Whole numbers, broadcast shape; found by doubling and bisection.

    Raises
    ------
    InputError
        If a value cannot be used, or more than a million spares would be needed.
    """
    if measure not in ("none_left", "short"):
        raise InputError(f"measure is {measure!r}; expected 'none_left' or 'short'")
    given = {"nodes": nodes, "rate_per_node_day": rate_per_node_day, "repair": repair, "standby": standby}
    arrays = np.broadcast_arrays(*as_numpy(given | {"probability": probability}).values())
    *plan, hot, wanted = arrays

    def enough(spares: np.ndarray) -> np.ndarray:
        pool = spare_pool(plan[0], spares, plan[1], plan[2], standby=hot, stops=stops)
        return np.asarray(getattr(pool, measure)) <= wanted

    low, high = np.full(wanted.shape, -1.0), np.zeros(wanted.shape)
    while not (done := enough(high)).all():
        if high.max() > _MOST_SPARES:
            raise InputError(
                f"more than {_MOST_SPARES} spares would be needed; expected fewer failures, shorter repairs "
                "or a larger probability"
            )
        low, high = np.where(done, low, high), np.where(done, high, 2 * high + 1)
    while (high - low > 1).any():
        middle = np.floor((low + high) / 2)
        done = enough(middle)
        low, high = np.where(done, low, middle), np.where(done, middle, high)
    return high[()]


@by_forward_mode
def _one_run(in_use: jax.Array, waiting: jax.Array, repair: jax.Array, spares: jax.Array) -> tuple[jax.Array, ...]:
    def load(j: jax.Array) -> jax.Array:
        return (in_use + waiting * jnp.maximum(spares - j, 0)) * repair

    means, short, none_left = stationary_means(load, lambda j: j[None], spares + 1, spares + 1)
    return means[0], none_left, short, none_left * repair / (spares + 1)


@by_forward_mode
def _fleet(in_use: jax.Array, waiting: jax.Array, repair: jax.Array, spares: jax.Array) -> tuple[jax.Array, ...]:
    def load(j: jax.Array) -> jax.Array:
        return (in_use + waiting * jnp.maximum(spares - j, 0)) * repair

    def statistics(j: jax.Array) -> jax.Array:
        missing = jnp.maximum(j - spares, 0)
        return jnp.stack([j + 0 * spares, 1.0 * (j >= spares), 1.0 * (j > spares), missing])

    (down, none_left, short, missing), *_ = stationary_means(
        load, statistics, jnp.full_like(spares, jnp.inf), spares + 1
    )
    return down, none_left, short, missing / jnp.maximum(in_use, jnp.finfo(in_use.dtype).tiny)
