"""How the functions of this package take and give arrays.

NumPy arrays and numbers are computed in float64, whatever JAX's global precision is, and come back
as NumPy. JAX arrays and tracers are computed in their own precision and come back as JAX, so that
`jax.jit`, `jax.vmap` and `jax.grad` go through.
"""

import functools
import inspect
import math
from collections.abc import Callable, Collection, Mapping
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
    "lifetime": "hours, 'inf' for no limit",
    "preemption": "preemptions per hour",
    "corruption": "silent corruptions per hour of the whole job",
    "latency": "a number of checkpoints",
    "weights": "weights",
    "gpus": "a number of GPUs",
    "cluster_gpus": "a number of GPUs",
    "running": "a number of GPUs",
    "idle": "a number of GPUs",
    "gpus_per_node": "a number of GPUs",
    "priority": "a priority",
    "job_nodes": "a number of nodes",
    "hit": "a number of nodes",
    "incidents_per_day": "incidents per day",
    "starts": "hours since submission",
    "spares": "a number of nodes",
    "standby": "a share of the failure rate in use",
    "group": "a number of nodes",
    "every": "a number of checkpoints",
}
_MAY_BE_INFINITE = frozenset({"interval", "lifetime", "productive", "runtime"})
_POSITIVE = frozenset({"productive", "lifetime"})
_AT_LEAST_ONE = frozenset({"every", "group"})
_SHARES = frozenset({"hang_share", "missing", "taken", "probabilities", "probability", "slowdown"})
_SMALLEST_PAD, _LARGEST_PAD = 1 << 4, 1 << 16
_EAGERLY = 1 << 4
"""So many elements at most are worked out by NumPy, where a function can be."""


def array_function[**P](
    *static: str, core: Collection[str] = (), smallest_pad: int = _SMALLEST_PAD, eager: bool = False
) -> Callable[[Callable[P, Array]], Callable[P, Array]]:
    """Give a function written in `jax.numpy` the input and output rules of this package.

    Parameters
    ----------
    static
        Names of arguments that are not arrays.
    core
        Names of arguments whose last axis is not broadcast against the other arguments: levels of
        checkpoints, points in time. What the function returns may have such axes too, at the end.
    smallest_pad
        Smallest number of elements that a NumPy input is padded to.
    eager
        The function is written for NumPy as well as for JAX (`meantime.ettr.special.namespace`): a few numbers are
        worked out by NumPy, without compiling anything.

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
                given = as_jax(arrays)
                return compiled(**given | {name: jnp.atleast_1d(given[name]) for name in core}, **fixed)
            checked = as_numpy(arrays, core=core)
            if eager and math.prod(shape := _outer_shape(checked, core)) <= _EAGERLY:
                return _by_numpy(function, checked, shape, fixed)
            with jax.enable_x64(True):
                return _through_numpy(functools.partial(compiled, **fixed), checked, core, smallest_pad)

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


def as_numpy(values: Mapping[str, ArrayLike], *, core: Collection[str] = ()) -> dict[str, np.ndarray]:
    """Bring arguments to float64 and check them.

    Parameters
    ----------
    values
        Arguments by name.
    core
        Names of those whose last axis stands for itself; they get one of length 1 where they have none.

    Raises
    ------
    InputError
        If a value is not a number, is negative, or is infinite where that has no meaning.
    """
    arrays = {}
    for name, value in values.items():
        array = _checked(name, value)
        arrays[name] = np.atleast_1d(array) if name in core else array
    try:
        _outer_shape(arrays, core)
    except ValueError as error:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items() if array.ndim)
        apart = f" (the last axis of {', '.join(core)} apart)" if core else ""
        raise InputError(f"arguments do not broadcast against each other{apart}: {shapes}") from error
    return arrays


def _checked(name: str, value: ArrayLike) -> np.ndarray:
    share = name in _SHARES
    expected = f"expected {UNITS.get(name, 'hours')}, {'1 or more' if name in _AT_LEAST_ONE else 'zero or positive'}"
    expected = "expected a number from 0 to 1" if share else expected
    try:
        array = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is {value!r}, which is not numbers; {expected}") from error
    bad = ~(array >= 0)
    if name not in _MAY_BE_INFINITE:
        bad |= np.isinf(array)
    if name in _POSITIVE:
        bad |= array == 0
    if share:
        bad |= array > 1
    if name in _AT_LEAST_ONE:
        bad |= array < 1
    if bad.any():
        place = tuple(int(i) for i in np.argwhere(bad)[0])
        where = f" at index {place}" if place else ""
        raise InputError(f"{name} is {array[place]}{where}; {expected}")
    return array


def _outer_shape(arrays: Mapping[str, np.ndarray], core: Collection[str]) -> tuple[int, ...]:
    shapes = (array.shape[:-1] if name in core else array.shape for name, array in arrays.items())
    return np.broadcast_shapes(*shapes)


def _plain(value: ArrayLike) -> Any:
    return value if isinstance(value, jax.Array | int | float) else np.asarray(value)


def _through_numpy(
    function: Callable[..., Any], arrays: dict[str, np.ndarray], core: Collection[str], smallest_pad: int
) -> Any:
    shape = _outer_shape(arrays, core)
    size = math.prod(shape)
    if size > _LARGEST_PAD and not core:
        return jax.tree.map(lambda out: np.array(np.broadcast_to(out, shape)), function(**arrays))
    padded = max(smallest_pad, 1 << (size - 1).bit_length()) if size <= _LARGEST_PAD else size
    flat = {}
    for name, array in arrays.items():
        own = array.shape[-1:] if name in core else ()
        flat[name] = _pad(np.broadcast_to(array, shape + own).reshape(size, *own), padded)
    return jax.tree.map(lambda out: np.asarray(out)[:size].reshape(shape + out.shape[1:])[()], function(**flat))


def _by_numpy(
    function: Callable[..., Any], arrays: dict[str, np.ndarray], shape: tuple[int, ...], fixed: dict[str, Any]
) -> Any:
    whole = {name: np.broadcast_to(array, shape) for name, array in arrays.items()}
    with np.errstate(all="ignore"):
        return np.asarray(function(**whole, **fixed))[()]


def _pad(array: np.ndarray, size: int) -> np.ndarray:
    out = np.ones((size, *array.shape[1:]))
    out[: len(array)] = array
    out[len(array) :] = array[:1] if len(array) else 1.0
    return out
