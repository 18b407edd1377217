"""How the functions of this package take and give arrays.

NumPy arrays and numbers are computed in float64, whatever JAX's global precision is, and come back
as NumPy. JAX arrays and tracers are computed in their own precision and come back as JAX, so that
`jax.jit`, `jax.vmap` and `jax.grad` go through.
"""

import functools
import inspect
import math
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from meantime.errors import InputError

type ArrayLike = Any
"""Numbers, NumPy arrays or JAX arrays; all arguments of a function broadcast against each other."""

type Array = Any
"""float64 NumPy where NumPy or numbers came in, `jax.Array` where a JAX array or tracer came in."""

UNITS = {
    "hazard": "failures per hour of the whole job",
    "nodes": "a number of nodes",
    "rate_per_node_day": "failures per node-day",
    "interval": "hours, 'inf' for never",
    "productive": "hours, 'inf' for a run without end",
}
_MAY_BE_INFINITE = frozenset({"interval", "productive"})
_SMALLEST_PAD, _LARGEST_PAD = 1 << 4, 1 << 16


def array_function[**P](*static: str) -> Callable[[Callable[P, Array]], Callable[P, Array]]:
    """Give a function written in `jax.numpy` the input and output rules of this package.

    Parameters
    ----------
    static
        Names of arguments that are not arrays.

    Returns
    -------
    Callable
        A decorator. The decorated function is compiled once per precision and per shape; small
        NumPy inputs are padded to a power of two, so that many different shapes share a compilation.
    """

    def decorate(function: Callable[P, Array]) -> Callable[P, Array]:
        signature = inspect.signature(function)
        compiled = jax.jit(function, static_argnames=static)

        @functools.wraps(function)
        def wrapper(*args: P.args, **kwargs: P.kwargs) -> Array:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            arrays = {name: value for name, value in bound.arguments.items() if name not in static}
            fixed = {name: value for name, value in bound.arguments.items() if name in static}
            if any(isinstance(value, jax.Array) for value in arrays.values()):
                return compiled(**as_jax(arrays), **fixed)
            with jax.enable_x64(True):
                return _through_numpy(functools.partial(compiled, **fixed), as_numpy(arrays))

        return wrapper

    return decorate


def as_jax(values: Mapping[str, ArrayLike]) -> dict[str, jax.Array]:
    """Bring arguments to one floating type, the widest among the arrays and at least float32.

    Whole numbers count as JAX's default float, Python numbers as nothing.
    """
    arrays = {name: _plain(value) for name, value in values.items()}
    types = [array.dtype for array in arrays.values() if not isinstance(array, int | float)]
    default = jnp.result_type(float)
    dtype = jnp.result_type(jnp.float32, *(t if jnp.issubdtype(t, jnp.inexact) else default for t in types))
    return {name: jnp.asarray(array, dtype) for name, array in arrays.items()}


def as_numpy(values: Mapping[str, ArrayLike]) -> dict[str, np.ndarray]:
    """Bring arguments to float64 and check them.

    Raises
    ------
    InputError
        If a value is not a number, is negative, or is infinite where that has no meaning.
    """
    arrays = {}
    for name, value in values.items():
        expected = f"expected {UNITS.get(name, 'hours')}, zero or positive"
        try:
            array = np.asarray(value, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"{name} is {value!r}, which is not numbers; {expected}") from error
        bad = ~(array >= 0)
        if name not in _MAY_BE_INFINITE:
            bad |= np.isinf(array)
        if name == "productive":
            bad |= array == 0
        if bad.any():
            place = tuple(int(i) for i in np.argwhere(bad)[0])
            where = f" at index {place}" if place else ""
            raise InputError(f"{name} is {array[place]}{where}; {expected}")
        arrays[name] = array
    try:
        np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items() if array.ndim)
        raise InputError(f"arguments do not broadcast against each other: {shapes}") from error
    return arrays


def _plain(value: ArrayLike) -> Any:
    return value if isinstance(value, jax.Array | int | float) else np.asarray(value)


def _through_numpy(function: Callable[..., Any], arrays: dict[str, np.ndarray]) -> Any:
    shape = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    size = math.prod(shape)
    if size > _LARGEST_PAD:
        return jax.tree.map(lambda out: np.array(np.broadcast_to(out, shape)), function(**arrays))
    padded = max(_SMALLEST_PAD, 1 << (size - 1).bit_length())
    flat = {name: _pad(np.broadcast_to(array, shape).ravel(), padded) for name, array in arrays.items()}
    return jax.tree.map(lambda out: np.asarray(out)[:size].reshape(shape)[()], function(**flat))


def _pad(array: np.ndarray, size: int) -> np.ndarray:
    out = np.ones(size)
    out[: array.size] = array
    out[array.size :] = array[:1] if array.size else 1.0
    return out
