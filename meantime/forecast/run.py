"""What becomes of a run of one size: figures of ETTR, time and loss from draws of its hazard."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from meantime import ettr
from meantime.forecast.grid import Grid
from meantime.forecast.hazards import condense, figures_at_nodes, nodes_of
from meantime.forecast.interval import SEARCHED, best_interval
from meantime.forecast.luck import TERMS, figures_of_runs, single_runs
from meantime.intervals import summarise
from meantime.units import HOURS_PER_DAY

_BLOCK = 2_000_000
"""Largest number of plans x draws worked on at a time, which bounds memory to some hundred megabytes."""


def figures_of_size(hazard: np.ndarray, grid: Grid, *, gpus: int, seed: int) -> dict[str, np.ndarray]:
    """Work out the figures of every plan of a grid for jobs of one size.

    Where nothing but the hazard is uncertain, every expected figure rises or falls with the hazard, so
    that its quantiles are its values at the quantiles of the hazard; means are taken over the draws.

    Parameters
    ----------
    hazard
        Draws of the job's hazard in failures per hour, shape (draws,).
    grid
        The plans.
    gpus
        Size of the job.
    seed
        Seed of the luck of the runs.

    Returns
    -------
    dict[str, numpy.ndarray]
        Shape (plans, 4), the figures of `meantime.intervals.FIGURES`: `ettr`, `ettr_run`, `ettr_kokolis`
        (all without unit), `checkpoint_interval` (hours), `failures_per_day`, `gpu_hours_lost_per_day`,
        `days_to_finish`; and `chosen_interval` (hours), shape (plans,).
    """
    per_block = block_of(hazard.size)
    places, blocks = [], []
    for rows, part in grid.parts():
        for at in range(0, part.size, per_block):
            places.append(rows[at : at + per_block])
            blocks.append(_figures(hazard, part.block(at, at + per_block), gpus, seed))
    order = np.argsort(np.concatenate(places))
    return {name: np.concatenate([block[name] for block in blocks])[order] for name in blocks[0]}


def block_of(n_draws: int) -> int:
    """Return the number of plans worked on at a time; parts that begin at its multiples give what the whole gives."""
    return max(1, _BLOCK // n_draws)


def _figures(hazard: np.ndarray, grid: Grid, gpus: int, seed: int) -> dict[str, np.ndarray]:
    n_draws = hazard.size
    points, weights = (hazard, np.full(n_draws, 1 / n_draws)) if grid.uncertain else condense(hazard, SEARCHED, alone=8)
    at, shares = (hazard, weights) if grid.uncertain else nodes_of(hazard)
    hours = grid.hours
    terms = {name: hours[name] for name in TERMS}
    with jax.enable_x64(True):
        arrays = _expected(
            jnp.asarray(at),
            jnp.asarray(points),
            jnp.asarray(weights),
            {name: jnp.asarray(value) for name, value in terms.items()},
            jnp.asarray(hours["checkpoint_interval"]),
            jnp.asarray(grid.optimal),
            search=bool(grid.optimal.any()),
        )
    values = {name: np.asarray(value) for name, value in arrays.items()}
    used, chosen = values.pop("used"), values.pop("chosen")
    result = {
        name: summarise(value) if grid.uncertain else figures_at_nodes(value, shares) for name, value in values.items()
    }
    expected_days = result.pop("expected_days")[:, 0]
    wallclock, productive = single_runs(hazard, used, terms, seed=seed)
    result["ettr_run"] = _not_inside(figures_of_runs(productive / wallclock), result["ettr"])
    if terms["productive"].shape[1] == 1:
        with np.errstate(over="ignore"):  # a run without hope never ends
            days = terms["productive"] / HOURS_PER_DAY / result["ettr_run"][:, [0, 1, 3, 2]]
    else:
        days = figures_of_runs(wallclock / HOURS_PER_DAY)
    result["days_to_finish"] = np.column_stack([expected_days, days[:, 1:]])
    result["gpu_hours_lost_per_day"] = gpus * HOURS_PER_DAY * (1 - result["ettr"][:, [0, 1, 3, 2]])
    result["chosen_interval"] = np.median(chosen, axis=1)
    return result


@partial(jax.jit, static_argnames="search")
def _expected(
    hazard: jax.Array,
    points: jax.Array,
    weights: jax.Array,
    terms: dict[str, jax.Array],
    interval: jax.Array,
    optimal: jax.Array,
    *,
    search: bool,
) -> dict[str, jax.Array]:
    """Values at every hazard, shape (plans, hazards); `used` and `chosen` (plans, 1 or hazards)."""
    write, restart, detection, queue, productive = (terms[name] for name in TERMS)
    used = chosen = own = interval
    if search:
        plan = {"detection": detection, "queue": queue, "productive": productive}
        chosen = jnp.where(optimal, best_interval(points, weights, write, restart, **plan), interval)
        own = jnp.where(optimal, jnp.minimum(ettr.optimal_interval(hazard, write), productive), interval)
        used = chosen
    used = jnp.minimum(used, productive)
    expected = ettr.renewal(hazard, used, write, restart, detection=detection, queue=queue, productive=productive)
    paper = ettr.kokolis(hazard, used, write, restart, queue=queue, productive=productive)
    shape = expected.shape
    return {
        "ettr": expected,
        "ettr_kokolis": jnp.broadcast_to(paper, shape),
        "checkpoint_interval": jnp.broadcast_to(own, shape),
        "failures_per_day": jnp.broadcast_to(HOURS_PER_DAY * hazard / (1 + hazard * (detection + queue)), shape),
        "expected_days": productive / HOURS_PER_DAY / expected,
        "used": used,
        "chosen": chosen,
    }


def _not_inside(runs: np.ndarray, expected: np.ndarray) -> np.ndarray:
    """Widen bounds of single runs to those of the expectation.

    Luck only adds to the spread. Where it is small beside the uncertainty of the rates, a finite number
    of draws leaves the bounds inside by up to 0.2 % of the interval, which would look like a contradiction.
    """
    bounds = [np.minimum(runs[:, 2], expected[:, 2]), np.maximum(runs[:, 3], expected[:, 3])]
    return np.column_stack([runs[:, :2], *bounds])
