"""One model, one grid, one plan: sampled by NUTS in the model's own geometry."""

from collections import OrderedDict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from meantime.inference.families import Family
from meantime.inference.geometry import Geometry
from meantime.inference.progress import progress_bar
from meantime.models import Layout, model_entry

if TYPE_CHECKING:
    import pymc as pm

    from meantime.inference.nuts import Sampler, Settings

ACCELERATOR_CELLS = 200_000
"""Cells from which an accelerator is used where there is one: below, a CPU is taken to be faster."""

KEPT_SAMPLERS = 8
"""Compiled samplers kept for further fits of the same model and shapes."""

_SAMPLERS: OrderedDict[Any, "Sampler"] = OrderedDict()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """Seed and lengths of a fit: chains, draws kept and warm-up iterations of each, target acceptance."""

    seed: int
    chains: int
    draws: int
    tune: int
    target_accept: float


def sample(
    table: xr.Dataset,
    model: str,
    priors: Any,
    family: Family,
    layout: Layout,
    plan: Plan,
    *,
    show: bool,
) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray]]:
    """Sample a model with NUTS.

    Parameters
    ----------
    table
        The checked data.
    model
        Name of the model.
    priors
        Its priors.
    family
        Its functions.
    layout
        The data as the model sees them.
    plan
        Seed and lengths.
    show
        Whether to show a progress bar.

    Returns
    -------
    tuple
        Sampled variables and sampler statistics, (chain, draw, ...).
    """
    import jax

    from meantime.inference.nuts import Settings, run

    settings = Settings(tune=plan.tune, target_accept=plan.target_accept)
    geometry = family.geometry(layout, priors)
    start = np.random.default_rng([plan.seed, 0]).standard_normal((plan.chains, geometry.size))
    total, tune = plan.chains * (plan.tune + plan.draws), plan.chains * plan.tune
    build: Callable[[], pm.Model]
    if family.condensed is None:
        build, observed = partial(model_entry(model).build, table, priors), layout.observed()
    else:
        build, observed = family.condensed(layout, priors)
    with progress_bar(total, tune=tune, show=show) as advance, jax.enable_x64(True):
        sampler = _sampler((model, priors), build, observed, geometry, settings)
        device = _device(max(array.size for array in observed.values()))
        data = jax.device_put({"model": observed, "geometry": geometry.data}, device)
        return run(sampler, start, data, settings, seed=plan.seed, draws=plan.draws, device=device, advance=advance)


def _sampler(
    model: tuple[str, Any],
    build: "Callable[[], pm.Model]",
    observed: Mapping[str, np.ndarray],
    geometry: Geometry,
    settings: "Settings",
) -> "Sampler":
    """Return a sampler for a model and data of these shapes: a compiled one, if there was such a fit before."""
    from meantime.inference.density import density_of
    from meantime.inference.nuts import build_sampler

    key = (model, settings, _shapes(observed), _shapes(geometry.data))
    if key in _SAMPLERS:
        _SAMPLERS.move_to_end(key)
        return _SAMPLERS[key]
    density = density_of(build())
    to_values = geometry.to_values

    def potential(z: Any, data: Any) -> Any:
        values, jacobian = to_values(z, data["geometry"])
        return -(density.log_density(values, data["model"]) + jacobian)

    def collect(z: Any, data: Any) -> Any:
        values, _ = to_values(z, data["geometry"])
        return density.constrain(values, data["model"])

    _SAMPLERS[key] = build_sampler(potential, collect, settings)
    while len(_SAMPLERS) > KEPT_SAMPLERS:
        _SAMPLERS.popitem(last=False)
    return _SAMPLERS[key]


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
