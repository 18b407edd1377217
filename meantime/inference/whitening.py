r"""Closed-form whitening of the pooled models: draws from a Gaussian approximation, one level at a time.

Near the posterior's bulk the likelihood of the log rates is close to a Gaussian of weights W (Poisson:
the expected counts; with cells integrated out: ``1 / (1 / counts + sigma_cell^2)``) around working
responses y. Given the scales, the pooled models are then linear and Gaussian, and can be solved from
the bottom up: the cluster deviations are eliminated, then the components, then the means. Going back
down, each level is its conditional mean plus a standard normal over the root of its conditional
precision.

As a map from standard normals z to parameters it is triangular, so its log Jacobian is minus half the
sum of the log precisions. Where data are rich it is the centred parametrisation, where they are poor
the non-centred one, and in between the right mixture, for every cell and at every value of the scales.
The map is exact as a change of variables whatever the quality of the approximation.

All functions take the array module (`numpy` or `jax.numpy`) first.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from meantime.inference.roots import inverse, inverse_root

type Arrays = Mapping[str, Any]


def whiten_levels(xp: Any, z: Arrays, scales: Arrays, work: Arrays, prior: Arrays) -> tuple[dict[str, Any], Any]:
    """Map standard normals to the parameters of `component`, given its scales.

    Parameters
    ----------
    xp
        `numpy` or `jax.numpy`.
    z
        ``mu`` (), ``level`` (component,) and, with several clusters, ``cluster_deviation`` (cluster, component).
    scales
        ``sigma_component`` and, with several clusters, ``sigma_cluster``.
    work
        ``counts``: expected counts at the expansion point, and ``response``: working log rates there, both
        (cluster, size, component).
    prior
        ``mu_mean`` and ``mu_sd``.

    Returns
    -------
    tuple
        Parameters by name, and the log Jacobian of the map.
    """
    precision, information, weight, pull, spare = _level_information(xp, scales, work)
    variance = scales["sigma_component"] ** 2
    total = 1 + precision * variance
    mean_precision = (precision / total).sum() + prior["mu_sd"] ** -2
    mean_information = (information / total).sum() + prior["mu_mean"] * prior["mu_sd"] ** -2
    mu, jacobian = _solve(xp, mean_precision, mean_information, z["mu"])
    level, step = _solve(xp, precision + 1 / variance, information + mu / variance, z["level"])
    values, jacobian = {"mu": mu, "level": level}, jacobian + step.sum()
    if "cluster_deviation" in z:
        values["cluster_deviation"] = (pull - weight * level) * spare + z["cluster_deviation"] * xp.sqrt(spare)
        jacobian = jacobian + 0.5 * xp.log(spare).sum()
    return values, jacobian


def whiten_lines(xp: Any, z: Arrays, scales: Arrays, work: Arrays, prior: Arrays) -> tuple[dict[str, Any], Any]:
    """Map standard normals to the parameters of `component_size`, given its scales.

    As `whiten_levels`, with a level and a slope for each component and two means.

    Parameters
    ----------
    xp
        `numpy` or `jax.numpy`.
    z
        As in `whiten_levels`, with ``slope_mean`` () and ``slope`` (component,).
    scales
        As in `whiten_levels`, with ``slope_sd`` and ``sigma_cell``.
    work
        As in `whiten_levels`, with ``basis``, from `line_basis`, for ``response``.
    prior
        As in `whiten_levels`, with ``slope_mean_sd`` (about 0).

    Returns
    -------
    tuple
        Parameters by name, and the log Jacobian of the map.
    """
    found, sums, _ = _line_information(xp, scales, work)
    p, r, q, f, g = _rows(xp, found)
    u, v = scales["sigma_component"] ** 2, scales["slope_sd"] ** 2
    across, along = inverse(xp, u), inverse(xp, v)
    up, down = prior["mu_sd"] ** -2, prior["slope_mean_sd"] ** -2
    determinant = p * q - r * r
    parts = xp.stack(
        [p + determinant * v, r, q + determinant * u, (1 + q * v) * f - r * v * g, (1 + p * u) * g - r * u * f]
    )
    total = _rows(xp, (parts * inverse(xp, 1 + p * u + q * v + determinant * u * v)).sum(1))
    mu, slope_mean, jacobian = _solve_pair(
        xp,
        total[0] + up,
        total[1],
        total[2] + down,
        total[3] + prior["mu_mean"] * up,
        total[4],
        (z["mu"], z["slope_mean"]),
    )
    level, slope, step = _solve_pair(
        xp, p + across, r, q + along, f + mu * across, g + slope_mean * along, (z["level"], z["slope"])
    )
    values, jacobian = {"mu": mu, "slope_mean": slope_mean, "level": level, "slope": slope}, jacobian + step.sum()
    if "cluster_deviation" in z:
        pull = sums[3] - sums[0] * level - sums[1] * slope
        root, log = inverse_root(xp, sums[0] + inverse(xp, scales["sigma_cluster"] ** 2))
        values["cluster_deviation"] = (pull * root + z["cluster_deviation"]) * root
        jacobian = jacobian - 0.5 * log.sum()
    return values, jacobian


class LineInformation(NamedTuple):
    """What the counts say of each component's level and slope, cluster deviations eliminated.

    ``level``, ``across`` and ``slope`` (component,) are their precision matrix, ``level_pull`` and
    ``slope_pull`` precision times estimate. ``weight``, ``moment``, ``pull`` and ``spare``
    (cluster, component) are for the deviations: precision from the counts, its first moment over
    doublings, precision times working response, and conditional variance.
    """

    level: Any
    across: Any
    slope: Any
    level_pull: Any
    slope_pull: Any
    weight: Any
    moment: Any
    pull: Any
    spare: Any


def line_basis(doublings: Any, response: Any) -> Any:
    """Return what weights are summed with over the sizes.

    That is powers 0, 1 and 2 of doublings, then working responses times powers 0 and 1.

    Parameters
    ----------
    doublings
        Shape (size,).
    response
        Working responses, shape (cluster, size, component). The result has five of them, stacked.
    """
    x = np.broadcast_to(np.asarray(doublings)[:, None], response.shape)
    return np.stack([np.ones_like(x), x, x * x, response, x * response])


def line_information(scales: Arrays, work: Arrays) -> LineInformation:
    """Sum working responses to the information on levels, slopes and deviations (see `whiten_lines`)."""
    found, sums, spare = _line_information(np, scales, work)
    level, across, slope, level_pull, slope_pull = found
    return LineInformation(level, across, slope, level_pull, slope_pull, sums[0], sums[1], sums[3], spare)


def _line_information(xp: Any, scales: Arrays, work: Arrays) -> tuple[Any, Any, Any]:
    """Return what is known of lines (5, component), the sums over sizes (5, cluster, component), and spare.

    Stacked, for a compiler takes its time for each array by itself.
    """
    weight = work["counts"] * inverse(xp, 1 + work["counts"] * scales["sigma_cell"] ** 2)
    total = (weight * work["basis"]).sum(2)
    sums = _rows(xp, total)
    s0, s1, _, t0, _ = sums
    spare, _ = _eliminate(xp, s0, scales)
    return (total - spare * xp.stack([s0, s0, s1, s0, s1]) * xp.stack([s0, s1, s1, t0, t0])).sum(1), sums, spare


def level_information(scales: Arrays, work: Arrays) -> tuple[Any, Any, Any, Any, Any]:
    """Return precision and pull of each component's level, and weight, pull and spare of the deviations."""
    return _level_information(np, scales, work)


def _level_information(xp: Any, scales: Arrays, work: Arrays) -> tuple[Any, Any, Any, Any, Any]:
    weight = work["counts"]
    weight, pull = weight.sum(1), (weight * work["response"]).sum(1)
    spare, keep = _eliminate(xp, weight, scales)
    return (weight * keep).sum(0), (pull * keep).sum(0), weight, pull, spare


def _eliminate(xp: Any, weight: Any, scales: Arrays) -> tuple[Any, Any]:
    """Return each deviation's conditional variance, and the share of its weight that reaches the level."""
    if "sigma_cluster" not in scales:
        return 0 * weight, 1 + 0 * weight
    precision = inverse(xp, scales["sigma_cluster"] ** 2)
    spare = inverse(xp, weight + precision)
    return spare, precision * spare


def _rows(xp: Any, array: Any) -> list[Any]:
    """Cut an array along its first axis; the gradient stacks, where that of indices would pad and add."""
    return [part.reshape(array.shape[1:]) for part in xp.split(array, len(array))]


def _solve(xp: Any, precision: Any, information: Any, z: Any) -> tuple[Any, Any]:
    root, log = inverse_root(xp, precision)
    return (information * root + z) * root, -0.5 * log


def _solve_pair(xp: Any, p: Any, r: Any, q: Any, f: Any, g: Any, z: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Solve for a pair of precision [[p, r], [r, q]] and information (f, g) by its Cholesky factor."""
    a, log_p = inverse_root(xp, p)
    b = r * a
    c, log_q = inverse_root(xp, q - b * b)
    first = f * a
    second = ((g - b * first) * c + z[1]) * c
    return (first + z[0] - b * second) * a, second, -0.5 * (log_p + log_q)
