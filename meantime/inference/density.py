"""From a PyMC model to JAX functions: its log density and its variables."""

import importlib
import sys
import warnings
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import jax
    import pymc as pm

type Arrays = Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Density:
    """A model's log density on the unconstrained space, as JAX functions of named arrays.

    Parameters
    ----------
    shapes
        Shape of each value variable, by name, in the model's order.
    log_density
        ``(values, data) -> scalar``: log prior + log likelihood + log Jacobian of PyMC's own transforms.
    constrain
        ``(values, data) -> variables``: each free random variable on its own scale, by name.
    data
        Names of the data that the functions take.
    """

    shapes: dict[str, tuple[int, ...]]
    log_density: Callable[[Arrays, Arrays], "jax.Array"]
    constrain: Callable[[Arrays, Arrays], dict[str, "jax.Array"]]
    data: tuple[str, ...]


def density_of(model: "pm.Model") -> Density:
    """Translate a PyMC model through PyTensor's JAX dispatch, without compiling anything.

    The model's ``pm.Data`` become arguments, so that data of the same shapes reuse compiled code.
    Lengths of dimensions become constants. Call it, and the functions it returns, where 64-bit numbers
    are on (``with jax.enable_x64(True)``).
    """
    free = model.free_RVs
    values = [model.rvs_to_values[rv] for rv in free]
    transforms = [model.rvs_to_transforms[rv] for rv in free]
    constrained = [
        value if transform is None else transform.backward(value, *rv.owner.inputs)
        for rv, value, transform in zip(free, values, transforms, strict=True)
    ]
    function, data = _to_jax(model, values, [model.logp(), *constrained])
    names = [str(value.name) for value in values]
    variables = [str(rv.name) for rv in free]

    def evaluate(points: Arrays, observed: Arrays) -> "tuple[jax.Array, ...]":
        return function(*(points[name] for name in names), *(observed[name] for name in data))

    def log_density(points: Arrays, observed: Arrays) -> "jax.Array":
        return evaluate(points, observed)[0]

    def constrain(points: Arrays, observed: Arrays) -> dict[str, "jax.Array"]:
        return dict(zip(variables, evaluate(points, observed)[1:], strict=True))

    shapes = {name: _shape(model, str(rv.name)) for name, rv in zip(names, free, strict=True)}
    return Density(shapes=shapes, log_density=log_density, constrain=constrain, data=tuple(data))


def _to_jax(model: "pm.Model", values: list[Any], outputs: list[Any]) -> tuple[Callable[..., Any], list[str]]:
    """Return the outputs as one JAX function of the values and of the data, and the names of the data."""
    from pytensor import tensor as pt
    from pytensor.compile import mode
    from pytensor.compile.sharedvalue import SharedVariable
    from pytensor.graph.fg import FunctionGraph
    from pytensor.graph.replace import graph_replace
    from pytensor.graph.traversal import ancestors

    jax_funcify = _import_dispatch()
    lengths = list(model.dim_lengths.values())
    shared = [node for node in ancestors(outputs) if isinstance(node, SharedVariable)]
    containers = [node for node in shared if not any(node is length for length in lengths)]
    inputs = [node.type(str(node.name)) for node in containers]
    replacements: dict[Any, Any] = dict(zip(containers, inputs, strict=True))
    replacements |= {node: pt.constant(node.get_value()) for node in shared if node not in replacements}
    graph = FunctionGraph(values + inputs, graph_replace(outputs, replacements, strict=False), clone=True)
    mode.JAX.optimizer.rewrite(graph)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="Skipping", category=UserWarning)  # parameter checks, as in tracing
        return jax_funcify(graph), [str(node.name) for node in containers]


def _import_dispatch() -> Callable[..., Any]:
    """Import PyTensor's JAX dispatch and undo what it does to JAX's global precision."""
    import jax

    if "pytensor.link.jax.dispatch" not in sys.modules:
        with ThreadPoolExecutor(1) as other:  # another thread sees the global setting, this one an overriding context
            before = other.submit(lambda: bool(jax.config.jax_enable_x64)).result()
        importlib.import_module("pytensor.link.jax.dispatch")
        jax.config.update("jax_enable_x64", before)
    from pytensor.link.jax.dispatch import jax_funcify

    return jax_funcify


def _shape(model: "pm.Model", name: str) -> tuple[int, ...]:
    """Return the shape of a variable of the model from its named dimensions; without any it is a scalar."""
    return tuple(len(model.coords[dim]) for dim in model.named_vars_to_dims.get(name, ()))
