"""What a sampler samples: a model's density in its own geometry, on a device, with its data."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from meantime.inference.cache import use_cache
from meantime.inference.density import Density, density_of
from meantime.inference.families import Family
from meantime.inference.geometry import Geometry
from meantime.inference.limits import check_cells
from meantime.models import Layout, model_entry

if TYPE_CHECKING:
    import pymc as pm

ACCELERATOR_CELLS = 200_000
"""Cells from which an accelerator is used where there is one: below, a CPU is taken to be faster."""

KEPT = 8
"""Translated densities kept for further fits of the same model and shapes."""

_FUNCTIONS: OrderedDict[Any, "Functions"] = OrderedDict()


@dataclass(frozen=True, slots=True, eq=False)
class Functions:
    """The density of z as JAX functions of ``(z, data)``, the same for all data of the same shapes.

    Parameters
    ----------
    potential
        Minus the log density, a scalar.
    collect
        The model's own variables, by name.
    labels
        How a sampler draws which of several maps z has, if there are several.
    """

    potential: Callable[[Any, Any], Any]
    collect: Callable[[Any, Any], dict[str, Any]]
    labels: "Labels | None" = None


@dataclass(frozen=True, slots=True, eq=False)
class Labels:
    """Which of several maps z has: ``first(data)``, ``into(label, data)`` and ``propose(key, z, label, data)``."""

    first: Callable[[Any], Any]
    into: Callable[[Any, Any], Any]
    propose: Callable[[Any, Any, Any, Any], tuple[Any, Any]]


@dataclass(frozen=True, slots=True)
class Target:
    """A density, its data on a device, and the length of z."""

    functions: Functions
    data: Any
    size: int
    device: Any
    key: Any


def target_of(data: xr.Dataset, model: str, priors: Any, family: Family, layout: Layout) -> Target:
    """Prepare a model for sampling. To be called, and its functions, where 64-bit numbers are on.

    Parameters
    ----------
    data
        Checked data.
    model, priors, family, layout
        The model's name, priors, functions, and the data as it sees them.

    Raises
    ------
    InputError
        If the data are too many to sample.
    """
    import jax

    use_cache()
    build: Callable[[], pm.Model | Density]
    if family.condensed is None:
        build, observed = partial(model_entry(model).build, data, priors), layout.observed()
    else:
        build, observed = family.condensed(layout, priors)
    device = _device(max(array.size for array in observed.values()))
    check_cells(model, observed, layout, device.platform)
    geometry = family.geometry(layout, priors)
    key = (model, priors, _shapes(observed), _shapes(geometry.data))
    if key not in _FUNCTIONS:
        _FUNCTIONS[key] = _functions(build, geometry)
    _FUNCTIONS.move_to_end(key)
    while len(_FUNCTIONS) > KEPT:
        _FUNCTIONS.popitem(last=False)
    placed = jax.device_put({"model": observed, "geometry": geometry.data}, device)
    return Target(_FUNCTIONS[key], placed, geometry.size, device, key)


def _functions(build: "Callable[[], pm.Model | Density]", geometry: Geometry) -> Functions:
    to_values = geometry.to_values
    built = build()
    density = built if isinstance(built, Density) else density_of(built)

    def potential(z: Any, data: Any) -> Any:
        values, jacobian = to_values(z, data["geometry"])
        return -(density.log_density(values, data["model"]) + jacobian)

    def collect(z: Any, data: Any) -> Any:
        values, _ = to_values(z, data["geometry"])
        return density.constrain(values, data["model"])

    return Functions(potential, collect, _labels(geometry))


def _labels(geometry: Geometry) -> Labels | None:
    name, relabel = geometry.label, geometry.relabel
    if name is None or relabel is None:
        return None
    return Labels(
        first=lambda data: data["geometry"][name],
        into=lambda label, data: {**data, "geometry": {**data["geometry"], "label": label}},
        propose=lambda key, z, label, data: relabel(key, z, label, data["geometry"]),
    )


def _shapes(arrays: Mapping[str, np.ndarray]) -> tuple[tuple[str, tuple[int, ...]], ...]:
    return tuple((name, array.shape) for name, array in sorted(arrays.items()))


def _device(cells: int) -> Any:
    import jax

    if cells < ACCELERATOR_CELLS:
        try:
            return jax.devices("cpu")[0]
        except RuntimeError:  # JAX was told to know no CPU
            pass
    return jax.devices()[0]
