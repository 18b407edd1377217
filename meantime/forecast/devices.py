"""Draws spread over several devices, where there are several."""

import jax
import jax.numpy as jnp
import numpy as np


def over_devices(values: np.ndarray) -> jax.Array:
    """Put an array on JAX's devices, the last axis (draws) cut evenly over them.

    With one device, or a last axis that cannot be cut evenly, it is an ordinary array; functions of the draws one
    by one then run on every device on its own share, and JAX gathers what they sum up.
    """
    devices = jax.local_devices()
    if len(devices) == 1 or values.shape[-1] % len(devices):
        return jnp.asarray(values)
    mesh = jax.make_mesh((len(devices),), ("draws",), devices=devices)
    spec = jax.sharding.PartitionSpec(*([None] * (values.ndim - 1)), "draws")
    return jax.device_put(values, jax.sharding.NamedSharding(mesh, spec))
