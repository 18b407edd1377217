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

A step that holds a change point is no part of its walk: it is taken out of the basis, has a centre and a spread of its
own that do not move with :math:`\sigma`, and the walk is whitened given it.

All functions take the array module (`numpy` or `jax.numpy`) first.
"""

from collections.abc import Mapping
from typing import Any

import numpy as np

from meantime.inference.whitening import whiten_levels

type Arrays = Mapping[str, Any]

STRETCH, STRETCH_FROM, STRETCH_OVER = 6.0, 2.2, 0.25
"""Slope of the map of steps where there are change points, beyond how many standard deviations, and its softness."""


def prepare_walks(
    mean: np.ndarray,
    response: np.ndarray,
    step_years: np.ndarray,
    sigma_cell: float,
    jumps: Arrays | None = None,
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
    jumps
        With change points: ``jump`` (True where a step holds one), ``jump_centre`` and ``jump_spread``, shapes
        (cluster, step), as `find_jumps` returns them.

    Returns
    -------
    dict
        ``mean`` and ``weight`` of the responses, ``sum_*`` of them for the levels; ``own_*``: eigenvalues, eigenvectors
        and projections of each own walk; ``walk_*``: those of the clusters' walks, levels eliminated.
    """
    width, weight = np.sqrt(step_years), mean / (1 + mean * sigma_cell**2)
    adds = np.vstack([-np.triu(np.ones((len(width), len(width)))), np.zeros(len(width))]) * width
    pulled = weight * response
    own_value, own_vector = np.linalg.eigh(_inner(adds, weight))
    own_value = np.clip(own_value, 0.0, None)
    project = np.einsum("ckse,ckt,ts->cket", own_vector, weight, adds, optimize=True)
    total = weight.sum(-1)
    safe = np.where(total > 0, total, 1.0)
    centre = pulled.sum(-1) / safe
    first = np.einsum("ckt,ts->cks", weight, adds)
    left = _inner(adds, weight) - first[..., :, None] * first[..., None, :] / safe[..., None, None]
    keep = np.ones((len(mean), len(width))) if jumps is None else 1.0 - jumps["jump"]
    inside = left * keep[:, None, :, None] * keep[:, None, None, :]
    apart = np.eye(len(width)) * (1 - keep)[:, None]  # eigenvectors of their own for the steps that are left out
    walk_vector = np.linalg.eigh(inside.sum(1) - apart)[1]
    turned = np.einsum("cse,cksr->cker", walk_vector, inside, optimize=True)
    rest = np.einsum("ckt,ts->cks", pulled - weight * centre[..., None], adds) * keep[:, None]
    rest = np.einsum("cks,cse->cke", rest, walk_vector)
    more = {}
    if jumps is not None:
        seen = np.einsum("cse,cs,cksr->cker", walk_vector, keep, left / width, optimize=True)
        more = {**jumps, "walk_jump": seen * (1 - keep)[:, None, None]}
    return more | {
        "width": width,
        "mean": mean,
        "weight": weight,
        "sum_weight": total,
        "sum_pull": pulled.sum(-1),
        "own_value": own_value,
        "own_vector": own_vector,
        "own_project": project,
        "own_one": project.sum(-1),
        "own_pull": np.einsum("cket,ckt->cke", project, response),
        "walk_vector": walk_vector,
        "walk_value": np.clip(np.einsum("cker,cre->cke", turned, walk_vector), 0.0, None),
        "walk_pull": rest,
    }


def whiten_walks(xp: Any, z: Arrays, scales: Arrays, work: Arrays, prior: Arrays) -> tuple[dict[str, Any], Any]:
    """Map standard normals to the parameters of `over_time`, given its scales.

    Parameters
    ----------
    xp
        `numpy` or `jax.numpy`.
    z
        ``mu`` (), ``level`` (component,), with several clusters ``cluster_deviation`` (cluster, component),
        ``walk_step`` (cluster, step) and, with several components, ``own_step`` (cluster, component, step).
    scales
        ``sigma_component``, with several clusters ``sigma_cluster``, ``sigma_walk``, ``sigma_cell`` and, with
        several components, ``sigma_own_component`` (component,).
    work
        From `prepare_walks`.
    prior
        ``mu_mean`` and ``mu_sd``.

    Returns
    -------
    tuple
        Parameters by name, and the log Jacobian of the map.
    """
    several = "own_step" in z
    variance = scales["sigma_own_component"][:, None] ** 2 if several else 0.0
    spread = work["mean"] / (1 + work["mean"] * scales["sigma_cell"] ** 2)
    share = spread.sum(-1) / xp.where(work["sum_weight"] > 0, work["sum_weight"], 1.0)  # of the weights when prepared
    each = share[..., None]
    seen = each / (1 + variance * each * work["walk_value"])
    walk_pull = work["walk_pull"]
    if jumping := "jump" in work:
        jump = work["jump_centre"] + work["jump_spread"] * xp.einsum("cse,ce->cs", work["walk_vector"], z["walk_step"])
        walk_pull = walk_pull - xp.einsum("cker,cr->cke", work["walk_jump"], jump)
    steps, jacobian = _steps(
        xp, z["walk_step"], scales["sigma_walk"], (work["walk_value"] * seen).sum(1), (walk_pull * seen).sum(1),
        work["walk_vector"], work["width"], stretched=1 - work["jump"] if jumping else None,
    )  # fmt: skip
    if jumping:
        steps = xp.where(work["jump"], jump, steps)
        spread_ratio = work["jump_spread"] / (scales["sigma_walk"] * work["width"])
        jacobian = jacobian + xp.where(work["jump"], xp.log(spread_ratio), 0.0).sum()
    walk = add_up(xp, steps)
    hidden = variance / (1 + variance * each * work["own_value"]) * each
    left = work["own_pull"] - xp.einsum("cket,ct->cke", work["own_project"], walk) if several else work["own_pull"]
    weight = share * (work["sum_weight"] - (hidden * work["own_one"] ** 2).sum(-1))
    pull = work["sum_pull"] - (work["weight"] * walk[:, None]).sum(-1) - (hidden * work["own_one"] * left).sum(-1)
    weight = xp.where(work["sum_weight"] > 0, xp.maximum(weight, 1e-12), 0.0)
    response = share * pull / xp.where(weight > 0, weight, 1.0)
    levels = {"counts": weight[:, None], "response": response[:, None]}
    values, more = whiten_levels(xp, z, scales, levels, prior)
    values, jacobian = {**values, "walk_step": steps}, jacobian + more
    if several:
        here = values["level"] + values.get("cluster_deviation", 0.0) + 0 * weight
        left = each * (left - here[..., None] * work["own_one"])
        values["own_step"], more = _steps(
            xp, z["own_step"], scales["sigma_own_component"][:, None], each * work["own_value"], left,
            work["own_vector"], work["width"],
        )  # fmt: skip
        jacobian = jacobian + more
    return values, jacobian


def add_up(xp: Any, steps: Any) -> Any:
    """Return walks that end at 0, from their steps along the last axis: one entry more."""
    back = -xp.cumsum(steps[..., ::-1], axis=-1)[..., ::-1]
    return xp.concatenate([back, xp.zeros_like(back[..., :1])], axis=-1)


def _inner(adds: np.ndarray, weight: np.ndarray) -> np.ndarray:
    return np.einsum("ts,...t,tr->...sr", adds, weight, adds, optimize=True)


def _steps(
    xp: Any, z: Any, scale: Any, precision: Any, pull: Any, vector: Any, width: Any, *, stretched: Any = None
) -> tuple[Any, Any]:
    """Return the steps of walks from standard normals in their basis, and the log Jacobian."""
    total = 1 + scale**2 * precision
    standard = z / xp.sqrt(total) + scale * pull / total
    steps = xp.einsum("...se,...e->...s", vector, standard)
    jacobian = xp.log(scale * width + 0 * z).sum() - 0.5 * xp.log(total).sum()
    if stretched is not None:
        steps, log_slope = _stretch(xp, steps)
        jacobian = jacobian + (stretched * log_slope).sum()
    return steps * scale * width, jacobian


def _stretch(xp: Any, steps: Any) -> tuple[Any, Any]:
    """Stretch standard steps beyond `STRETCH_FROM`, so that the way from an ordinary step to a jump is short."""
    above, below = (steps - STRETCH_FROM) / STRETCH_OVER, (-steps - STRETCH_FROM) / STRETCH_OVER
    more = STRETCH_OVER * (xp.logaddexp(above, 0.0) - xp.logaddexp(below, 0.0))
    slope = 1 / (1 + xp.exp(-above)) + 1 / (1 + xp.exp(-below))
    return steps + (STRETCH - 1) * more, xp.log1p((STRETCH - 1) * slope)
