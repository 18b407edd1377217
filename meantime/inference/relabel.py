r"""Which steps of a walk hold a change, drawn between trajectories of NUTS.

Given the scales, `whiten_walks` has a Gaussian approximation of everything else, in which each set of changes has
an evidence in closed form. A short Markov chain over sets, reversible with respect to that evidence, proposes a set,
and the true density decides (surrogate transitions: Liu, Monte Carlo Strategies in Scientific Computing, 2001, section
9.4.3). z stays as it is: a new set is a new map from z. Where the approximation is exact, every proposal is accepted.

The inner chain adds a change, takes one away, or moves one to any other step, and sweeps a matrix of steps x steps
each time.
"""

from typing import Any

ROUNDS = 8
"""Steps of the inner chain."""


def propose_slots(key: Any, slots: Any, evidence: Any, log_odds: Any, sd: Any) -> tuple[Any, Any]:
    r"""Run the inner chain on the changes of one walk.

    Parameters
    ----------
    key
        JAX key.
    slots
        Steps that hold a change, shape (slot,); an empty slot has the number of steps.
    evidence
        ``(M, b)``: precision of jumps at all steps as the counts know them, shape (step, step), and what it multiplies
        their mean to, (step,).
    log_odds
        Prior log odds of a change, shape (step,).
    sd
        Standard deviation of a jump.

    Returns
    -------
    tuple
        New slots, and the log of the ratio of their evidence times prior to that of the old ones.
    """
    import jax
    import jax.numpy as jnp
    from jax import random

    matrix, pull = evidence
    steps, count = len(pull), len(slots)
    swept = jnp.zeros((steps + 1, steps + 1)).at[:-1, :-1].set(matrix + jnp.eye(steps) / sd**2)
    swept = swept.at[-1, :-1].set(pull).at[:-1, -1].set(pull)

    def log_ratio(swept: Any, slots: Any) -> Any:
        """Return by how much the evidence grows with a change at each step that holds none."""
        own, mean = jnp.diagonal(swept)[:-1], swept[:-1, -1]
        own = jnp.where(own > 0, own, 1.0)
        free = jnp.ones(steps + 1, bool).at[slots].set(False)[:-1]
        return jnp.where(free, log_odds - 0.5 * jnp.log(sd**2 * own) + 0.5 * mean**2 / own, -jnp.inf)

    def one(_: int, state: Any) -> Any:
        key, slots, swept, total = state
        key, *keys = random.split(key, 6)
        active = slots < steps
        number = active.sum()
        coin = random.uniform(keys[0])
        adds, moves = coin < 0.25, coin >= 0.5
        removes = ~adds & (number > 0)
        slot = random.categorical(keys[1], jnp.where(active == removes, 0.0, -jnp.inf))
        before = slots[slot]
        fewer = jnp.where(removes, slots.at[slot].set(steps), slots)
        smaller = jnp.where(removes, _sweep(swept, before, -1.0), swept)
        ratio = log_ratio(smaller, fewer)
        norm = jax.scipy.special.logsumexp(ratio)
        after = random.categorical(keys[2], ratio)
        level = jnp.log(random.uniform(keys[3]))
        born = adds & (number < count) & (level < norm - jnp.log(number + 1.0))
        died = removes & ~moves & (level < jnp.log(jnp.maximum(number, 1.0)) - norm)
        goes_in = born | (removes & ~died)
        place = jnp.where(born | moves, after, before)
        slots = jnp.where(goes_in, fewer.at[slot].set(place), fewer)
        swept = jnp.where(goes_in, _sweep(smaller, place, 1.0), smaller)
        total = total + jnp.where(goes_in, ratio[place], 0.0) - jnp.where(removes, ratio[before], 0.0)
        return key, slots, swept, total

    for place in range(count):
        swept = jnp.where(slots[place] < steps, _sweep(swept, slots[place], 1.0), swept)
    _, slots, _, total = jax.lax.fori_loop(0, ROUNDS, one, (key, slots, swept, 0.0 * sd))
    return slots, total


def _sweep(matrix: Any, at: Any, sign: float) -> Any:
    """Sweep a symmetric matrix on a pivot (sign 1), or undo that (sign -1)."""
    import jax.numpy as jnp

    at = jnp.minimum(at, len(matrix) - 2)
    row, pivot = matrix[at], matrix[at, at]
    swept = matrix - jnp.outer(row, row) / pivot
    edge = (sign * row / pivot).at[at].set(-1 / pivot)
    return swept.at[at, :].set(edge).at[:, at].set(edge)
