"""Whitening at the posterior mode: for models of few variables that are nearly Gaussian there."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from scipy import optimize

from meantime.inference.geometry import Geometry, Shapes, length, unpack

STEP = 1e-4
"""Step of the differences behind the curvature, in units of rough standard deviations."""


def mode_geometry(
    shapes: Shapes, log_density: Callable[[dict[str, np.ndarray]], float], start: np.ndarray, width: np.ndarray
) -> Geometry:
    """Return the linear change of variables that makes the curvature at the mode that of a standard normal.

    Only the speed of sampling depends on it, never the result.

    Parameters
    ----------
    shapes
        Shapes of the value variables, by name.
    log_density
        Of the value variables by name, up to a constant; NumPy.
    start
        Where to begin, shape (size,), in the order of `shapes`.
    width
        Rough standard deviations, shape (size,).
    """
    size = length(shapes)

    def loss(x: np.ndarray) -> float:
        with np.errstate(over="ignore", invalid="ignore"):
            value = -float(log_density(unpack(start + width * x, shapes)))
        return value if np.isfinite(value) else 1e300

    found = optimize.minimize(loss, np.zeros(size), method="BFGS", options={"maxiter": 200})
    best = found.x if np.isfinite(found.fun) and found.fun <= loss(np.zeros(size)) else np.zeros(size)
    curvature = _curvature(loss, best)
    values, vectors = np.linalg.eigh(curvature)
    spread = width[:, None] * vectors / np.sqrt(np.clip(values, 1e-2, None))
    data = {"centre": start + width * best, "spread": spread}

    def to_values(z: Any, data: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        import jax.numpy as jnp

        return unpack(data["centre"] + data["spread"] @ z, shapes), jnp.linalg.slogdet(data["spread"])[1]

    return Geometry(size=size, data=data, to_values=to_values)


def _curvature(loss: Callable[[np.ndarray], float], at: np.ndarray) -> np.ndarray:
    """Return the matrix of second differences."""
    size, here = len(at), loss(at)
    step = np.full(size, STEP)
    for i in range(size):  # a step over which the loss changes by about a hundredth
        rise = loss(at + STEP * np.eye(size)[i]) + loss(at - STEP * np.eye(size)[i]) - 2 * here
        step[i] = np.clip(STEP * np.sqrt(0.02 / max(rise, 1e-12)), STEP, 0.5)
    unit = np.diag(step)
    result = np.empty((size, size))
    for i in range(size):
        for j in range(i + 1):
            corner = [loss(at + a * unit[i] + b * unit[j]) for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            result[i, j] = result[j, i] = (corner[0] - corner[1] - corner[2] + corner[3]) / (4 * step[i] * step[j])
    return result
