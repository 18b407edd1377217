"""`lifetime` and `lifetime_steps` in inference: whitened at the posterior mode."""

from dataclasses import replace

import numpy as np
import xarray as xr
from scipy.special import gammaln, xlogy

from meantime.datasets.survival import check_survival, compress_lives
from meantime.inference.families.family import Draws, Family, Variables
from meantime.inference.geometry import Geometry
from meantime.inference.likelihood import poisson_log_probability
from meantime.inference.mode import mode_geometry
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
        prior = prior + (values["shape_log__"] / priors.shape_sd) ** 2
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
    shapes: dict[str, tuple[int, ...]] = {"step_sd_log__": (), "first": (), "step": (len(lives.intervals) - 1,)}
    if lives.covariates:
        shapes["coefficient"] = (len(lives.covariates),)
    failures, days = lives.failures.sum(axis=0), lives.exposure.sum(axis=0)
    overall = (failures.sum() + 0.5) / days.sum()
    level = np.log((failures + 2.0) / (days + 2.0 / overall))
    start = np.concatenate([[np.log(0.5 * priors.step_sd)], level[:1], np.diff(level), np.zeros(len(lives.covariates))])
    per_effect = np.full(len(lives.covariates), 1 / np.sqrt(failures.sum() + 1))
    width = np.concatenate([[0.5], 1 / np.sqrt(failures + 4.0), per_effect])

    def log_density(values: dict[str, np.ndarray]) -> float:
        sd, step = np.exp(values["step_sd_log__"]), values["step"]
        prior = -0.5 * (sd / priors.step_sd) ** 2 + values["step_sd_log__"]
        prior -= 0.5 * ((values["first"] - np.log(priors.rate)) / priors.rate_sd) ** 2
        prior -= 0.5 * (step**2).sum() / sd**2 + len(step) * values["step_sd_log__"]
        # no narrower than that: the density of the walk has a peak at a scale of 0
        prior -= 0.5 * ((values["step_sd_log__"] - start[0]) / 0.7) ** 2
        prior -= 0.5 * (values.get("coefficient", np.zeros(1)) ** 2).sum() / priors.coefficient_sd**2
        mean = _steps_mean(values, lives)
        return float((xlogy(lives.failures, mean) - mean - gammaln(lives.failures + 1)).sum() + prior)

    return mode_geometry(shapes, log_density, start, width)


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
