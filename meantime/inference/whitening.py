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
    precision, information, weight, pull, spare = level_information(scales, work)
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
        As in `whiten_levels`, with ``doublings`` (size,).
    prior
        As in `whiten_levels`, with ``slope_mean_sd`` (about 0).

    Returns
    -------
    tuple
        Parameters by name, and the log Jacobian of the map.
    """
    found = line_information(scales, work)
    p, r, q, f, g = found.level, found.across, found.slope, found.level_pull, found.slope_pull
    u, v = scales["sigma_component"] ** 2, scales["slope_sd"] ** 2
    determinant = p * q - r * r
    total = 1 + p * u + q * v + determinant * u * v
    up, across, down = prior["mu_sd"] ** -2, 0.0, prior["slope_mean_sd"] ** -2
    means = _solve_pair(
        xp,
        ((p + determinant * v) / total).sum() + up,
        (r / total).sum() + across,
        ((q + determinant * u) / total).sum() + down,
        (((1 + q * v) * f - r * v * g) / total).sum() + prior["mu_mean"] * up,
        (((1 + p * u) * g - r * u * f) / total).sum(),
        (z["mu"], z["slope_mean"]),
    )
    mu, slope_mean, jacobian = means
    level, slope, step = _solve_pair(
        xp, p + 1 / u, r, q + 1 / v, f + mu / u, g + slope_mean / v, (z["level"], z["slope"])
    )
    values, jacobian = {"mu": mu, "slope_mean": slope_mean, "level": level, "slope": slope}, jacobian + step.sum()
    if "cluster_deviation" in z:
        centre = (found.pull - found.weight * level - found.moment * slope) * found.spare
        values["cluster_deviation"] = centre + z["cluster_deviation"] * xp.sqrt(found.spare)
        jacobian = jacobian + 0.5 * xp.log(found.spare).sum()
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


def line_information(scales: Arrays, work: Arrays) -> LineInformation:
    """Sum working responses to the information on levels, slopes and deviations (see `whiten_lines`)."""
    x = work["doublings"][:, None]
    weight = work["counts"] / (1 + work["counts"] * scales["sigma_cell"] ** 2)
    s0, s1, s2 = weight.sum(1), (weight * x).sum(1), (weight * x * x).sum(1)
    pull = weight * work["response"]
    t0, t1 = pull.sum(1), (pull * x).sum(1)
    spare, keep = _eliminate(s0, scales)
    return LineInformation(
        (s0 * keep).sum(0), (s1 * keep).sum(0), (s2 - s1 * s1 * spare).sum(0),
        (t0 * keep).sum(0), (t1 - s1 * t0 * spare).sum(0),
        s0, s1, t0, spare,
    )  # fmt: skip


def level_information(scales: Arrays, work: Arrays) -> tuple[Any, Any, Any, Any, Any]:
    """Return precision and pull of each component's level, and weight, pull and spare of the deviations."""
    weight = work["counts"]
    weight, pull = weight.sum(1), (weight * work["response"]).sum(1)
    spare, keep = _eliminate(weight, scales)
    return (weight * keep).sum(0), (pull * keep).sum(0), weight, pull, spare


def _eliminate(weight: Any, scales: Arrays) -> tuple[Any, Any]:
    """Return each deviation's conditional variance, and the share of its weight that reaches the level."""
    if "sigma_cluster" not in scales:
        return 0 * weight, 1 + 0 * weight
    precision = scales["sigma_cluster"] ** -2
    spare = 1 / (weight + precision)
    return spare, precision * spare


def _solve(xp: Any, precision: Any, information: Any, z: Any) -> tuple[Any, Any]:
    return information / precision + z / xp.sqrt(precision), -0.5 * xp.log(precision)


def _solve_pair(xp: Any, p: Any, r: Any, q: Any, f: Any, g: Any, z: tuple[Any, Any]) -> tuple[Any, Any, Any]:
    """Solve for a pair of precision [[p, r], [r, q]] and information (f, g) by its Cholesky factor."""
    a = xp.sqrt(p)
    b = r / a
    c = xp.sqrt(q - b * b)
    first = f / a
    second = ((g - b * first) / c + z[1]) / c
    return (first + z[0] - b * second) / a, second, -xp.log(a) - xp.log(c)
