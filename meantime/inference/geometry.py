"""Changes of variables: from a vector that NUTS likes to a model's own variables."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np

type Arrays = Mapping[str, Any]
type Shapes = Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Geometry:
    """A change of variables, chosen so that the posterior of z is near a standard normal.

    Parameters
    ----------
    size
        Length of z.
    data
        Arrays that the map needs, found from the counts. They are arguments of the compiled sampler.
    to_values
        ``(z, data) -> (values, log Jacobian)``: the model's value variables (unconstrained) by name.
        It depends on shapes and priors only.
    label
        Name of an array of whole numbers in `data` that chooses among maps. A sampler that draws it hands its own on as
        ``data["label"]``, and the density of the label given the values is then part of the log Jacobian.
    relabel
        ``(key, z, label, data) -> (label, log ratio)``: a proposal of another, and how much more probable the
        proposal's own approximation takes it to be.
    """

    size: int
    data: dict[str, np.ndarray]
    to_values: Callable[[Any, Arrays], tuple[dict[str, Any], Any]]
    label: str | None = None
    relabel: Callable[[Any, Any, Any, Arrays], tuple[Any, Any]] | None = None


def unpack(z: Any, shapes: Shapes) -> dict[str, Any]:
    """Cut a vector into named arrays, in the order of `shapes`."""
    # one split, not a slice for each: the gradient puts the parts together, where slices would pad and add them
    import jax.numpy as jnp

    xp: Any = np if isinstance(z, np.ndarray) else jnp
    parts = xp.split(z, np.cumsum([prod(shape) for shape in shapes.values()])[:-1])
    return {name: part.reshape(shape) for (name, shape), part in zip(shapes.items(), parts, strict=True)}


def length(shapes: Shapes) -> int:
    """Return the length of the vector that `unpack` cuts."""
    return sum(prod(shape) for shape in shapes.values())


def shifted(shapes: Shapes, start: Arrays, scale: Arrays | None = None) -> Geometry:
    """Return the fallback: each value variable is ``start + scale * z``.

    Parameters
    ----------
    shapes
        Shapes of the value variables.
    start
        Where z = 0 is, by name.
    scale
        Size of a step, by name. Default: 1.
    """
    import jax.numpy as jnp

    data = {f"start_{name}": np.broadcast_to(np.asarray(start[name], dtype=float), shape)
            for name, shape in shapes.items()}  # fmt: skip
    data |= {f"scale_{name}": np.broadcast_to(np.asarray((scale or {}).get(name, 1.0), dtype=float), shape)
             for name, shape in shapes.items()}  # fmt: skip

    def to_values(z: Any, data: Arrays) -> tuple[dict[str, Any], Any]:
        values: dict[str, Any] = {}
        jacobian: Any = 0.0
        for name, part in unpack(z, shapes).items():
            values[name] = data[f"start_{name}"] + data[f"scale_{name}"] * part
            jacobian = jacobian + jnp.log(data[f"scale_{name}"]).sum()
        return values, jacobian

    return Geometry(size=length(shapes), data=data, to_values=to_values)
