"""Small things about whole numbers and truth values, in 32 bits whatever the precision."""

import jax
import jax.numpy as jnp


def total(counts: jax.Array) -> jax.Array:
    """Sum of whole numbers."""
    return jnp.sum(counts, dtype=jnp.int32)


def first(wanted: jax.Array) -> jax.Array:
    """Place of the first wanted one, the last place if there is none."""
    places = jnp.arange(wanted.size, dtype=jnp.int32)
    return jnp.min(jnp.where(wanted, places, wanted.size - 1))


def last(wanted: jax.Array) -> jax.Array:
    """Place of the last wanted one, the first place if there is none."""
    places = jnp.arange(wanted.size, dtype=jnp.int32)
    return jnp.max(jnp.where(wanted, places, 0))
