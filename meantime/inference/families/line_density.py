"""The density of `component_size` in JAX, by hand: what is compiled is a third of what the PyMC model becomes."""

from collections.abc import Mapping
from functools import cache
from typing import Any

import numpy as np

from meantime.inference.density import Density
from meantime.models import MIN_CELL_VARIANCE, ComponentSizePriors, Grid

SHIFT = 8
"""Stirling's series is taken this far above its argument, where five terms leave an error of 2e-13."""

LEAST_VALUES = 32
"""Different counts are padded to a power of two of them, at least this, so that other data fit compiled code."""

NO_DAYS = -700.0
"""Stands for the log of no exposure."""


def line_data(grid: Grid) -> dict[str, np.ndarray]:
    """Return what the density takes.

    ``log_days`` and ``counts``, by (cluster, size, component) and broadcastable to it; ``doublings`` (size,); sums of
    failures ``by_cluster`` (cluster, component), ``by_component`` and, times doublings, ``by_doubling`` (component,);
    and ``values``, the different counts, with ``cells``, how many cells have each.
    """
    values, cells = np.unique(grid.failures[grid.failures > 0], return_counts=True)
    length = max(LEAST_VALUES, 2 ** int(np.ceil(np.log2(max(len(values), 1)))))
    padding = (0, length - len(values))
    by_size = grid.failures.sum(0)
    days = grid.exposure[:, :, None]
    return {
        "log_days": np.log(days, out=np.full(days.shape, NO_DAYS), where=days > 0),
        "counts": grid.failures.astype(float),
        "doublings": grid.doublings,
        "by_cluster": grid.failures.sum(1).astype(float),
        "by_component": by_size.sum(0).astype(float),
        "by_doubling": grid.doublings @ by_size,
        "values": np.pad(values, padding).astype(float),
        "cells": np.pad(cells, padding).astype(float),
    }


def line_density(grid: Grid, priors: ComponentSizePriors) -> Density:
    r"""Return the density of `component_size`, up to a constant, from `line_data`.

    With :math:`a` the shape of the cells and :math:`m` their means, the likelihood is
    :math:`\sum_v c_v [\log\Gamma(a + v) - \log\Gamma(a) - v \log a] + \sum n \log m - \sum (n + a) \log(1 + m / a)`:
    the gamma functions once for every different count, the middle sum linear in the parameters, and one logarithm for
    each cell. Levels, slopes and deviations are one array in the prior.
    """
    clusters, components = len(grid.clusters), len(grid.components)
    scales = {"sigma_component": priors.component_sd, "slope_sd": priors.slope_sd, "sigma_cell": priors.cell_sd}
    members = {"sigma_component": components, "slope_sd": components, "sigma_cell": 0}
    shapes: dict[str, tuple[int, ...]] = {"level": (components,), "slope": (components,)}
    if clusters > 1:
        scales["sigma_cluster"], members["sigma_cluster"] = priors.cluster_sd, clusters * components
        shapes["cluster_deviation"] = (clusters, components)
    shapes |= {"mu": (), "slope_mean": (), **{f"{name}_log__": () for name in scales}}
    centre = np.log(priors.total_rate / components)

    def log_density(values: Mapping[str, Any], data: Mapping[str, Any]) -> Any:
        import jax.numpy as jnp

        logs = jnp.stack([values[f"{name}_log__"] for name in scales])
        spread = {name: values[f"{name}_log__"] for name in scales}
        level, slope = values["level"], values["slope"]
        gaps = [level - values["mu"], slope - values["slope_mean"]]
        widths = [jnp.broadcast_to(spread[name], (components,)) for name in ("sigma_component", "slope_sd")]
        linear = data["by_component"] * level + data["by_doubling"] * slope
        log_rate = level[None, :]
        if clusters > 1:
            deviation = values["cluster_deviation"]
            gaps.append(deviation.ravel())
            widths.append(jnp.broadcast_to(spread["sigma_cluster"], (clusters * components,)))
            linear = linear + (data["by_cluster"] * deviation).sum(0)
            log_rate = log_rate + deviation
        shape = 1 / (jnp.exp(2 * spread["sigma_cell"]) + MIN_CELL_VARIANCE)
        line = log_rate[:, None, :] + data["doublings"][:, None] * slope
        excess = jnp.exp(data["log_days"] + line - jnp.log(shape))
        cells = ((data["counts"] + shape) * jnp.log1p(excess)).sum()
        means = jnp.stack([(values["mu"] - centre) / priors.level_sd, values["slope_mean"] / priors.slope_mean_sd])
        normals = (jnp.concatenate(gaps) * jnp.exp(-jnp.concatenate(widths))) ** 2
        halves = (jnp.exp(logs) / np.array(list(scales.values()))) ** 2
        prior = (
            -0.5 * (normals.sum() + (means**2).sum())
            + (logs * (1 - np.array(list(members.values()))) - 0.5 * halves).sum()
        )
        return prior + linear.sum() + gamma_terms(shape, data["values"], data["cells"]) - cells

    def constrain(values: Mapping[str, Any], data: Mapping[str, Any]) -> dict[str, Any]:
        import jax.numpy as jnp

        own = {name: values[name] for name in shapes if not name.endswith("_log__")}
        return own | {name: jnp.exp(values[f"{name}_log__"]) for name in scales}

    return Density(shapes=shapes, log_density=log_density, constrain=constrain, data=tuple(line_data(grid)))


def gamma_terms(shape: Any, values: Any, cells: Any) -> Any:
    r"""Return :math:`\sum_v c_v [\log\Gamma(a + v) - \log\Gamma(a) - v \log a]`, without the cancellation of its terms.

    Stirling's series above a + 8, and the recurrence down from there. Differentiable by the shape a.
    """
    return _gamma_terms()(shape, values, cells)


@cache
def _gamma_terms() -> Any:
    import jax
    import jax.numpy as jnp

    @jax.custom_jvp
    def terms(shape: Any, values: Any, cells: Any) -> Any:
        base = shape + SHIFT
        above, below = shape + values, shape
        for i in range(1, SHIFT):
            above, below = above * (shape + values + i), below * (shape + i)
        leading = (base + values - 0.5) * jnp.log1p(values / base) + values * (jnp.log1p(SHIFT / shape) - 1)
        return (cells * (leading + _series(base + values) - _series(base) - jnp.log(above / below))).sum()

    @terms.defjvp
    def _(points: Any, steps: Any) -> Any:
        shape, values, cells = points
        base = shape + SHIFT
        slope = jnp.log1p(values / base) + _slope(base + values) - _slope(base) - values * SHIFT / (shape * base)
        for i in range(SHIFT):
            slope = slope + values / ((shape + i) * (shape + values + i))
        slope = slope - values / base
        return terms(*points), (cells * slope).sum() * steps[0]

    return terms


def _series(x: Any) -> Any:
    """Return what Stirling's formula lacks of a log gamma function."""
    inverse = 1 / x
    square = inverse * inverse
    return inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square * (1 / 1680 - square / 1188))))


def _slope(x: Any) -> Any:
    """Return the digamma function less the logarithm."""
    inverse = 1 / x
    square = inverse * inverse
    series = 1 / 12 - square * (1 / 120 - square * (1 / 252 - square * (1 / 240 - square / 132)))
    return -0.5 * inverse - square * series
