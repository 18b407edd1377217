"""`lifetime` and `lifetime_steps` in inference: whitened at the posterior mode."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr
from scipy.special import xlogy

from meantime.datasets.survival import check_survival, compress_lives
from meantime.inference.families.family import Draws, Family, Variables
from meantime.inference.geometry import Geometry
from meantime.inference.likelihood import poisson_log_probability
from meantime.inference.mode import mode_geometry
from meantime.inference.scales import to_log_scales
from meantime.models.lifetime import LifetimePriors, LifetimeStepsPriors, draw_events
from meantime.models.lives import YEAR, Lives, LivesBySteps, lives_by_steps, lives_of


def _effects(draws: Draws, lives: Lives) -> np.ndarray:
    """Return the log hazard ratio of each stratum, (..., stratum)."""
    if "coefficient" not in draws:
        return np.zeros(len(lives.strata))
    return draws["coefficient"] @ lives.design.T


def _mean(draws: Draws, lives: Lives) -> np.ndarray:
    """Return the integrated hazard of each stratum, (..., stratum)."""
    shape = draws["shape"][..., None]
    integral = (lives.ages / YEAR) ** shape @ lives.weight.T
    return np.maximum(draws["rate"][..., None] * YEAR / shape * np.exp(_effects(draws, lives)) * integral, 1e-300)


def _log_likelihood(draws: Draws, lives: Lives) -> np.ndarray:
    """Return that of the counts, and of the ages given the counts, (..., stratum, 2)."""
    mean, (count, sum_log) = _mean(draws, lives), lives.events.T
    level = np.log(draws["rate"])[..., None] + _effects(draws, lives)
    ages = count * level + (draws["shape"][..., None] - 1) * (sum_log - count * np.log(YEAR)) - xlogy(count, mean)
    return np.stack([poisson_log_probability(count, mean), ages], axis=-1)


def _geometry(lives: Lives, priors: LifetimePriors) -> Geometry:
    shapes: dict[str, tuple[int, ...]] = {"rate_log__": (), "shape_log__": ()}
    if lives.covariates:
        shapes["coefficient"] = (len(lives.covariates),)
    total = lives.events[:, 0].sum()
    start = np.zeros(2 + len(lives.covariates))
    start[0] = np.log((total + 0.5) / lives.exposure.sum())
    width = np.full(len(start), 1 / np.sqrt(total + 1))

    def log_density(values: dict[str, np.ndarray]) -> float:
        draws = {"rate": np.exp(values["rate_log__"]), "shape": np.exp(values["shape_log__"])}
        draws |= {"coefficient": values["coefficient"]} if "coefficient" in values else {}
        prior = ((values["rate_log__"] - np.log(priors.rate)) / priors.rate_sd) ** 2
        prior = prior + ((values["shape_log__"] - np.log(priors.shape)) / priors.shape_sd) ** 2
        prior = prior + (draws.get("coefficient", np.zeros(1)) ** 2).sum() / priors.coefficient_sd**2
        return float(_log_likelihood(draws, lives).sum() - 0.5 * prior)

    return mode_geometry(shapes, log_density, start, width)


def _complete(draws: Draws, lives: Lives, rng: np.random.Generator) -> Variables:
    rate, shape = draws["rate"], draws["shape"]
    return {"scale": ((), YEAR * (rate * YEAR / shape) ** (-1 / shape))}


def _replicate(draws: Draws, lives: Lives, rng: np.random.Generator) -> np.ndarray:
    mean = _mean(draws, lives).reshape(-1, len(lives.strata))
    shape = draws["shape"].reshape(-1)
    drawn = [draw_events(one, float(s), lives, rng) for one, s in zip(mean, shape, strict=True)]
    return np.stack(drawn).reshape(*draws["shape"].shape, len(lives.strata), 2)


def _design() -> xr.Dataset:
    """Return windows of 300 parts in two batches, whose bounds are those of the intervals."""
    rng = np.random.default_rng(1)
    cuts = np.linspace(0, 2000, 11)
    entry = cuts[rng.integers(0, 5, 300)]
    exit = entry + 200.0 * rng.integers(1, 6, 300)
    batch = np.array(["old", "new"])[rng.integers(0, 2, 300)]
    return compress_lives(entry, exit, np.arange(300) < 2, {"batch": batch}, cuts=cuts.tolist())


def _replace_events(table: xr.Dataset, lives: Lives, values: np.ndarray) -> xr.Dataset:
    return table.assign(events=(table["events"].dims, values))


LIFETIME = Family(
    check=check_survival,
    layout=lives_of,
    outcome=("events", ("stratum", "statistic")),
    dims={"rate": (), "shape": (), "coefficient": ("covariate",)},
    geometry=_geometry,
    complete=_complete,
    log_likelihood=_log_likelihood,
    replicate=_replicate,
    design=_design,
    replace=_replace_events,
)


def _log_hazard(draws: Draws) -> np.ndarray:
    """Return the log hazard of the intervals, (..., interval)."""
    walk = np.concatenate([np.zeros((*np.shape(draws["first"]), 1)), np.cumsum(draws["step"], axis=-1)], axis=-1)
    return np.asarray(draws["first"])[..., None] + walk


def _steps_mean(draws: Draws, lives: LivesBySteps) -> np.ndarray:
    log_hazard = _log_hazard(draws)[..., None, :] + _effects(draws, lives)[..., :, None]
    return lives.exposure * np.exp(log_hazard)


def _steps_log_likelihood(draws: Draws, lives: LivesBySteps) -> np.ndarray:
    return poisson_log_probability(lives.failures, _steps_mean(draws, lives))


def _steps_geometry(lives: LivesBySteps, priors: LifetimeStepsPriors) -> Geometry:
    """Whiten hazards and effects given the scale of the steps, by the information of the counts near their mode."""
    intervals, effects = len(lives.intervals), len(lives.covariates)
    size = intervals + effects
    information, response = _working_counts(lives, priors)
    differences = np.zeros((size, size))
    walk = np.diff(np.eye(intervals), axis=0)
    differences[:intervals, :intervals] = walk.T @ walk
    fixed = np.diag([priors.rate_sd**-2, *[0.0] * (intervals - 1), *[priors.coefficient_sd**-2] * effects])
    target = response + fixed[:, 0] * np.log(priors.rate)
    data = {"precision": information + fixed, "differences": differences, "target": target}
    scales = priors.step_sd * np.linspace(0.02, 3, 60)
    evidence = [_evidence(data, intervals, sd) - 0.5 * (sd / priors.step_sd) ** 2 for sd in scales]
    data["scale"] = np.log(scales[int(np.argmax(evidence))])

    def to_values(z: Any, data: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        import jax.numpy as jnp
        from jax.scipy.linalg import cho_solve, solve_triangular

        logs, jacobian = to_log_scales(z[:1], data["scale"])
        root = jnp.linalg.cholesky(data["precision"] + data["differences"] * jnp.exp(-2 * logs[0]))
        x = cho_solve((root, True), data["target"]) + solve_triangular(root, z[1:], lower=True, trans=1)
        values = {"step_sd_log__": logs[0], "first": x[0], "step": jnp.diff(x[:intervals])}
        values |= {"coefficient": x[intervals:]} if effects else {}
        return values, jacobian - jnp.log(jnp.diag(root)).sum()

    return Geometry(size=1 + size, data=data, to_values=to_values)


def _working_counts(lives: LivesBySteps, priors: LifetimeStepsPriors) -> tuple[np.ndarray, np.ndarray]:
    """Return the information of the counts on log hazards and effects, and that times where they would have them."""
    intervals, effects = len(lives.intervals), len(lives.covariates)
    columns = np.concatenate(
        [np.tile(np.eye(intervals), (len(lives.strata), 1)), np.repeat(lives.design, intervals, axis=0)], axis=1
    )
    counts, days = lives.failures.ravel(), lives.exposure.ravel()
    prior = np.diag([0.25] * intervals + [priors.coefficient_sd**-2] * effects)
    centre = np.array([np.log((counts.sum() + 0.5) / days.sum())] * intervals + [0.0] * effects)
    x = centre.copy()
    for _ in range(12):
        mean = days * np.exp(np.clip(columns @ x, -50, 50))
        step = np.linalg.solve(
            columns.T @ (mean[:, None] * columns) + prior, columns.T @ (counts - mean) - prior @ (x - centre)
        )
        x = x + np.clip(step, -2, 2)
    mean = days * np.exp(columns @ x)
    information = columns.T @ (mean[:, None] * columns)
    return information, information @ x + columns.T @ (counts - mean)


def _evidence(data: Mapping[str, np.ndarray], intervals: int, sd: float) -> float:
    """Return the log marginal likelihood of a scale of steps, in the Gaussian approximation, up to a constant."""
    precision = data["precision"] + data["differences"] / sd**2
    fit = data["target"] @ np.linalg.solve(precision, data["target"])
    return float(0.5 * fit - 0.5 * np.linalg.slogdet(precision)[1] - (intervals - 1) * np.log(sd))


def _steps_complete(draws: Draws, lives: LivesBySteps, rng: np.random.Generator) -> Variables:
    return {"hazard": (("interval",), np.exp(_log_hazard(draws)))}


def _steps_replicate(draws: Draws, lives: LivesBySteps, rng: np.random.Generator) -> np.ndarray:
    return rng.poisson(_steps_mean(draws, lives))


def _replace_counts(table: xr.Dataset, lives: LivesBySteps, values: np.ndarray) -> xr.Dataset:
    return table.assign(failures=(table["failures"].dims, values.astype(np.int64)))


LIFETIME_STEPS = replace(
    LIFETIME,
    layout=lives_by_steps,
    outcome=("failures", ("stratum", "interval")),
    dims={"step_sd": (), "first": (), "step": ("later",), "coefficient": ("covariate",)},
    geometry=_steps_geometry,
    complete=_steps_complete,
    log_likelihood=_steps_log_likelihood,
    replicate=_steps_replicate,
    replace=_replace_counts,
)
