r"""Closed-form whitening of random walks that are seen through counts.

Near the posterior's bulk the likelihood of log rates is close to a Gaussian of weights D (expected counts,
less where a period's own deviation blurs them) around working responses y. A walk is :math:`\sigma G \eta`, with
:math:`\eta` standard normal steps and G what adds them up. Given the scale its posterior precision is
:math:`1 + \sigma^2 G^T D G`, and in the basis of the eigenvectors of :math:`G^T D G` that is diagonal at every
:math:`\sigma`: one decomposition before sampling serves all of it, and a draw costs two products with a
matrix of periods x periods for each walk.

Where a period's own deviation blurs the counts, D shrinks as that deviation grows. Of each cluster and component it
is taken to shrink in all periods alike, which keeps the basis.

The map goes down the hierarchy. The walk of a cluster comes first, with its components' levels and own
walks eliminated; then the levels, with the own walks eliminated; then the own walks. Only the first
is approximate: the components' information is not diagonal in one basis, and what stands off the diagonal
is left out. As a change of variables the map is exact all the same; its Jacobian is closed.

The steps of a walk may hold more than its ordinary moves: a drift, which is a known column of steps times an unknown
number, and jumps, each of which is a column with one entry. Such numbers are eliminated first: given the scales, their
posterior, with the ordinary moves integrated out, is Gaussian in a few dimensions.

All functions take the array module (`numpy` or `jax.numpy`) first.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from meantime.inference.whitening import whiten_levels

type Arrays = Mapping[str, Any]


def prepare_walks(
    mean: np.ndarray, response: np.ndarray, step_years: np.ndarray, sigma_cell: float
) -> dict[str, np.ndarray]:
    """Decompose the information of counts on walks.

    Parameters
    ----------
    mean
        Expected counts, shape (cluster, component, period); 0 without exposure.
    response
        Working log rates, the same shape.
    step_years
        Years of each step, shape (step,).
    sigma_cell
        Deviation of a period about its walk, at which responses are weighed.

    Returns
    -------
    dict
        ``mean``, ``response`` and ``weight`` of the responses; ``own_*``: eigenvalues, eigenvectors and projections of
        each own walk; ``walk_*``: those of the clusters' walks, levels eliminated.
    """
    width, weight = np.sqrt(step_years), mean / (1 + mean * sigma_cell**2)
    adds = np.vstack([-np.triu(np.ones((len(width), len(width)))), np.zeros(len(width))]) * width
    inner = np.einsum("ts,ckt,tr->cksr", adds, weight, adds, optimize=True)
    own_value, own_vector = np.linalg.eigh(inner)
    project = np.einsum("ckse,ckt,ts->cket", own_vector, weight, adds, optimize=True)
    total = weight.sum(-1)
    safe = np.where(total > 0, total, 1.0)
    centre = (weight * response).sum(-1) / safe
    first = np.einsum("ckt,ts->cks", weight, adds)
    left = inner - first[..., :, None] * first[..., None, :] / safe[..., None, None]
    walk_vector = np.linalg.eigh(left.sum(1))[1]
    turned = np.einsum("cse,cksr->cker", walk_vector, left, optimize=True)
    rest = weight * (response - centre[..., None])
    return {
        "width": width,
        "mean": mean,
        "response": response,
        "weight": weight,
        "own_value": np.clip(own_value, 0.0, None),
        "own_vector": own_vector,
        "own_project": project,
        "walk_vector": walk_vector,
        "walk_value": np.clip(np.einsum("cker,cre->cke", turned, walk_vector), 0.0, None),
        "walk_pull": np.einsum("ckt,ts,cse->cke", rest, adds, walk_vector, optimize=True),
    }


def whiten_walks(xp: Any, z: Arrays, scales: Arrays, work: Arrays, prior: Arrays) -> tuple[dict[str, Any], Any]:
    """Map standard normals to the parameters of `over_time`, given its scales.

    Parameters
    ----------
    xp
        `numpy` or `jax.numpy`.
    z
        ``mu`` (), ``level`` (component,), with several clusters ``cluster_deviation`` (cluster, component),
        ``walk_step`` (cluster, step) and, with several components, ``own_step`` (cluster, component, step); with a
        drift ``drift`` (cluster, 1), with change points ``jump`` (cluster, slot).
    scales
        ``sigma_component``, with several clusters ``sigma_cluster``, ``sigma_walk``, ``sigma_cell`` and, with
        several components, ``sigma_own_component`` (component,); with a drift ``sigma_drift``, with change points
        ``change_sd``.
    work
        From `prepare_walks`; with change points also ``slots`` (cluster, slot): the steps that hold one, an empty slot
        having the number of steps.
    prior
        ``mu_mean`` and ``mu_sd``.

    Returns
    -------
    tuple
        Parameters by name, and the log Jacobian of the map. Beside the model's own: ``jump`` (cluster, slot), and
        ``ordinary_step``, what is left of the steps without drift and jumps.
    """
    several = "own_step" in z
    precision, pull = walk_information(xp, scales, work)
    turned, jacobian = 0.0, 0.0
    extra: dict[str, Any] = {}
    if parts := [name for name in ("drift", "jump") if name in z]:
        columns, variances = zip(*(_columns(xp, name, scales, work) for name in parts), strict=True)
        found, jacobian = _regress(
            xp, xp.concatenate([z[name] for name in parts], axis=-1), xp.concatenate(columns, axis=-2),
            xp.concatenate(variances, axis=-1), scales["sigma_walk"], precision, pull,
        )  # fmt: skip
        turned = xp.einsum("cre,cr->ce", xp.concatenate(columns, axis=-2), found)
        drifts = z["drift"].shape[-1] if "drift" in z else 0
        extra = {"drift": found[..., 0]} if drifts else {}
        extra |= {"jump": found[..., drifts:]} if "jump" in z else {}
    ordinary, more = _steps(
        xp, z["walk_step"], scales["sigma_walk"], precision, pull - precision * turned, work["walk_vector"],
        work["width"],
    )  # fmt: skip
    steps, jacobian = ordinary, jacobian + more
    if parts:
        steps = ordinary + xp.einsum("cse,ce->cs", work["walk_vector"], turned) * work["width"]
        extra["ordinary_step"] = ordinary
    walk = add_up(xp, steps)
    share, weight = _share(xp, scales, work), work["weight"]
    rest = work["response"] - walk[:, None]
    known, response = share * weight.sum(-1), share * (weight * rest).sum(-1)
    if several:
        own_one, own_pull = work["own_project"].sum(-1), xp.einsum("cket,ckt->cke", work["own_project"], rest)
        variance, each = scales["sigma_own_component"][:, None] ** 2, share[..., None]
        hidden = variance * each**2 / (1 + variance * each * work["own_value"])
        known = xp.where(known > 0, xp.maximum(known - (hidden * own_one**2).sum(-1), 1e-12), 0.0)
        response = response - (hidden * own_one * own_pull).sum(-1)
    response = response / xp.where(known > 0, known, 1.0)
    levels = {"counts": known[:, None], "response": response[:, None]}
    values, more = whiten_levels(xp, z, scales, levels, prior)
    values, jacobian = {**values, **extra, "walk_step": steps}, jacobian + more
    if several:
        here = values["level"] + values.get("cluster_deviation", 0.0) + 0 * known
        values["own_step"], more = _steps(
            xp, z["own_step"], scales["sigma_own_component"][:, None], each * work["own_value"],
            each * (own_pull - here[..., None] * own_one), work["own_vector"], work["width"],
        )  # fmt: skip
        jacobian = jacobian + more
    return values, jacobian


def walk_information(xp: Any, scales: Arrays, work: Arrays) -> tuple[Any, Any]:
    """Return what the counts know of each common walk in its basis, with levels and own walks integrated out.

    Parameters
    ----------
    xp, scales, work
        As `whiten_walks` takes them.

    Returns
    -------
    tuple
        Precisions, and what they multiply the means to, both (cluster, entry).
    """
    seen = _share(xp, scales, work)[..., None]
    if "sigma_own_component" in scales:
        seen = seen / (1 + scales["sigma_own_component"][:, None] ** 2 * seen * work["walk_value"])
    return (work["walk_value"] * seen).sum(1), (work["walk_pull"] * seen).sum(1)


def jump_evidence(xp: Any, scales: Arrays, work: Arrays, cluster: Any) -> tuple[Any, Any]:
    """Return what the counts of a cluster know of jumps at each of its steps, with all else integrated out.

    Parameters
    ----------
    xp, scales, work
        As `whiten_walks` takes them.
    cluster
        Its index.

    Returns
    -------
    tuple
        Precision (step, step), and what it multiplies the mean to (step,).
    """
    precision, pull = (part[cluster] for part in walk_information(xp, scales, work))
    left = 1 / (1 + scales["sigma_walk"] ** 2 * precision)
    unit = work["walk_vector"][cluster] / work["width"][:, None]
    matrix, vector = (unit * (precision * left)) @ unit.T, unit @ (pull * left)
    if "sigma_drift" in scales:
        drift = work["walk_vector"][cluster].T @ work["width"]
        across = unit @ (precision * left * drift)
        known = (precision * left * drift**2).sum() + scales["sigma_drift"] ** -2
        matrix = matrix - xp.outer(across, across) / known
        vector = vector - across * (pull * left * drift).sum() / known
    return matrix, vector


def add_up(xp: Any, steps: Any) -> Any:
    """Return walks that end at 0, from their steps along the last axis: one entry more."""
    back = -xp.cumsum(steps[..., ::-1], axis=-1)[..., ::-1]
    return xp.concatenate([back, xp.zeros_like(back[..., :1])], axis=-1)


def _share(xp: Any, scales: Arrays, work: Arrays) -> Any:
    """Return the share of the weights when prepared that is left at another deviation of periods."""
    total = work["weight"].sum(-1)
    now = work["mean"] / (1 + work["mean"] * scales["sigma_cell"] ** 2)
    return now.sum(-1) / xp.where(total > 0, total, 1.0)


def _columns(xp: Any, name: str, scales: Arrays, work: Arrays) -> tuple[Any, Any]:
    """Return a drift or jumps as columns in the walks' bases, (cluster, column, entry), and their prior variances."""
    vector, width = work["walk_vector"], work["width"]
    if name == "drift":
        column = xp.einsum("cse,s->ce", vector, width)[:, None]
        return column, scales["sigma_drift"] ** 2 + 0 * column[..., 0]
    steps = len(width)
    place = xp.minimum(work["slots"], steps - 1)
    column = xp.take_along_axis(vector, place[..., None], axis=1) / xp.take(width, place)[..., None]
    column = xp.where((work["slots"] < steps)[..., None], column, 0.0)
    return column, scales["change_sd"] ** 2 + 0 * column[..., 0]


def _regress(xp: Any, z: Any, columns: Any, variance: Any, scale: Any, precision: Any, pull: Any) -> tuple[Any, Any]:
    """Map standard normals to the numbers that multiply columns, the ordinary moves integrated out."""
    left = 1 / (1 + scale**2 * precision)
    known = xp.einsum("cre,ce,cqe->crq", columns, precision * left, columns)
    known = known + xp.eye(z.shape[-1]) / variance[..., None]
    root = xp.linalg.cholesky(known)
    half = xp.linalg.solve(root, xp.einsum("cre,ce->cr", columns, pull * left)[..., None])
    found = xp.linalg.solve(xp.swapaxes(root, -1, -2), half + z[..., None])[..., 0]
    return found, -xp.log(xp.diagonal(root, axis1=-2, axis2=-1)).sum()


def _steps(xp: Any, z: Any, scale: Any, precision: Any, pull: Any, vector: Any, width: Any) -> tuple[Any, Any]:
    """Return the steps of walks from standard normals in their basis, and the log Jacobian."""
    total = 1 + scale**2 * precision
    standard = z / xp.sqrt(total) + scale * pull / total
    steps = xp.einsum("...se,...e->...s", vector, standard) * scale * width
    return steps, xp.log(scale * width + 0 * z).sum() - 0.5 * xp.log(total).sum()
