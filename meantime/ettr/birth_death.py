"""Numbers of nodes in repair: the stationary distribution of failures against independent repairs."""

from collections.abc import Callable

import jax
import jax.numpy as jnp

type _State = tuple[jax.Array, jax.Array, jax.Array, jax.Array, jax.Array]


def stationary_means(
    load: Callable[[jax.Array], jax.Array],
    statistics: Callable[[jax.Array], jax.Array],
    last: jax.Array,
    least: jax.Array,
) -> tuple[jax.Array, jax.Array, jax.Array]:
    r"""Means over the number D of nodes in repair, when failures come at a rate that depends on D.

    With repairs that take independent times of mean m whatever their distribution, and failures at rate
    lam_j while j nodes are in repair, P(D = j) is proportional to the product of lam_i m / (i + 1) over i < j:
    the loss system of Erlang, insensitive to the distribution of repairs. With C_j = P(D <= j) / P(D = j)::

        C_0 = 1,   C_(j+1) = 1 + C_j (j + 1) / (lam_j m)

    so 1 / C_j is the share of the last state in the distribution cut at j; means are updated with it, and
    nothing overflows. The loop ends at `last`, or beyond `least` where the states add nothing any more.

    Parameters
    ----------
    load
        From j to lam_j m, an array of the shape of the plans.
    statistics
        From j to the values whose means are wanted, an array of shape ``(n, *plans)``.
    last
        Largest number of nodes in repair, shape ``(*plans,)``; it may be infinite.
    least
        Number of nodes in repair up to which all are counted, however rare, shape ``(*plans,)``.

    Returns
    -------
    tuple
        Means, shape ``(n, *plans)``; the share of the last state, and the share of the state before it in
        the distribution cut there, both of shape ``(*plans,)``.
    """

    def unfinished(state: _State) -> jax.Array:
        j, _, _, _, running = state
        return (j < 1e7) & jnp.any(running)

    def step(state: _State) -> _State:
        j, inverse, before, means, running = state
        growth = 1 + inverse * (j + 1) / jnp.maximum(load(j), tiny)
        share = 1 / growth
        updated = means * (1 - share) + statistics(j + 1) * share
        further = running & (j + 1 < last) & ~((share < eps) & (load(j + 1) < j + 2) & (j + 1 > least))
        return (
            j + 1,
            jnp.where(running, growth, inverse),
            jnp.where(running, 1 / inverse, before),
            jnp.where(running, updated, means),
            further,
        )

    one = jnp.ones_like(last)
    tiny, eps = jnp.finfo(last.dtype).tiny, jnp.finfo(last.dtype).eps / 16
    first = statistics(jnp.zeros((), last.dtype))
    start = (jnp.zeros((), last.dtype), one, one, jnp.broadcast_to(first, (len(first), *last.shape)), last > 0)
    _, inverse, before, means, _ = jax.lax.while_loop(unfinished, step, start)
    return means, 1 / inverse, before


def by_forward_mode(function: Callable[..., tuple[jax.Array, ...]]) -> Callable[..., tuple[jax.Array, ...]]:
    """Let an element-by-element function with a loop of unknown length be differentiated backwards too.

    Its partial derivatives are computed forwards, which such a loop allows, and the derivative is
    their sum with the tangents, which is linear and therefore goes both ways.
    """
    wrapped = jax.custom_jvp(function)

    def rule(
        primals: tuple[jax.Array, ...], tangents: tuple[jax.Array, ...]
    ) -> tuple[tuple[jax.Array, ...], tuple[jax.Array, ...]]:
        value = function(*primals)
        total = [jnp.zeros_like(part) for part in value]
        for place, tangent in enumerate(tangents):
            one = tuple(jnp.ones_like(p) if i == place else jnp.zeros_like(p) for i, p in enumerate(primals))
            partials = jax.jvp(function, primals, one)[1]
            total = [sum_ + partial * tangent for sum_, partial in zip(total, partials, strict=True)]
        return value, tuple(total)

    wrapped.defjvp(rule)
    return wrapped
