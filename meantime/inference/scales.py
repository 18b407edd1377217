"""Changes of variables for the scales of a hierarchy, whose posteriors often reach down to 0."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri

WIDTH = 0.5
"""Size of a step of z in the variable behind a scale; the sampler's mass matrix corrects it."""

PAIR = ("sigma_component", "sigma_cluster")
"""Two scales that share one spread: what the components do not explain, the clusters must."""


def centre_of(scales: Mapping[str, float]) -> np.ndarray:
    """Return where z = 0 lies for `to_log_scales`, from rough values of the scales, in their order."""
    centre = np.log(list(scales.values()))
    if tuple(scales)[:2] == PAIR:
        angle = np.arctan2(scales[PAIR[1]], scales[PAIR[0]])
        centre[0] = np.log(np.hypot(scales[PAIR[0]], scales[PAIR[1]]))
        centre[1] = np.clip(ndtri(2 * angle / np.pi), -2.0, 2.0)
    return centre


def to_log_scales(z: Any, centre: Any, names: tuple[str, ...]) -> tuple[dict[str, Any], Any]:
    r"""Map z to log scales.

    A single scale is :math:`(1 + s(u)) \exp(-s(-u)^2 / 2)` up to a factor, with s = softplus and u
    proportional to z: linear above and falling as :math:`\exp(-u^2 / 2)` below, so that a scale whose
    posterior reaches down to 0 has a z with Gaussian tails. (On a plain log scale the left tail is
    exponential and explored slowly: a third of the tail ESS.)

    Where the first two are the spread between components and that between clusters, the first z is
    proportional to the log of their root sum of squares, which the data know best, and the second is
    mapped to the angle between them, :math:`\theta = \pi / 2\; \Phi(u)`: either may be 0, but hardly both.

    Parameters
    ----------
    z
        Standard normals, shape (scale,).
    centre
        From `centre_of`.
    names
        Names of the scales.

    Returns
    -------
    tuple
        Log scales by name, and the log Jacobian.
    """
    import jax.numpy as jnp
    from jax.nn import sigmoid, softplus
    from jax.scipy.stats import norm

    u = WIDTH * z
    above, below = softplus(u), softplus(-u)
    slope = sigmoid(u) / (1 + above) + below * sigmoid(-u)
    middle = np.log1p(np.log(2)) - np.log(2) ** 2 / 2
    logs = centre - middle + jnp.log1p(above) - 0.5 * below**2
    jacobian = jnp.log(slope) + np.log(WIDTH)
    if names[:2] != PAIR:
        return {name: logs[i] for i, name in enumerate(names)}, jacobian.sum()
    both, u = centre[0] + WIDTH * z[0], centre[1] + z[1]
    sine, cosine = (jnp.sin(np.pi / 2 * norm.cdf(side)) for side in (u, -u))
    values = {PAIR[0]: both + jnp.log(cosine), PAIR[1]: both + jnp.log(sine)}
    turn = np.log(np.pi / 2) + norm.logpdf(u) - jnp.log(sine) - jnp.log(cosine)
    rest = {name: logs[i] for i, name in enumerate(names) if name not in PAIR}
    return values | rest, np.log(WIDTH) + turn + jacobian[2:].sum()
