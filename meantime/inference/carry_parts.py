"""Posteriors as priors: models of nodes, incidents, lives, down times and rates that move."""

from typing import Any

import numpy as np
import xarray as xr

from meantime.inference.rebuild import family_of, model_of
from meantime.models import (
    DAYS_PER_YEAR,
    IncidentPriors,
    LifetimePriors,
    LifetimeStepsPriors,
    NodeFrailtyPriors,
    RepairPriors,
    RepairTailPriors,
)


def incident_priors(tree: xr.DataTree, widen: float) -> IncidentPriors:
    """Match rate, exponent and weight on the log scale, and the share of incidents on several nodes by a beta."""
    posterior = tree["posterior"].to_dataset()
    nodes = tree["fit_data"]["nodes"].values
    rate, level_sd = log_moments(posterior["daily_mean"].values / nodes, widen)
    tail, tail_sd = log_moments(posterior["tail"].values, widen)
    weight, weight_sd = log_moments(posterior["weight"].values, widen)
    several = posterior["several"].values
    mean, variance = float(several.mean()), float(several.var()) * widen**2
    worth = max(mean * (1 - mean) / variance - 1, 1e-3)
    return IncidentPriors(
        total_rate=rate,
        level_sd=level_sd,
        several_one=(1 - mean) * worth,
        several_many=mean * worth,
        tail=tail,
        tail_sd=tail_sd,
        weight=weight,
        weight_sd=weight_sd,
    )


def node_frailty_priors(tree: xr.DataTree, widen: float) -> NodeFrailtyPriors:
    """Match rates and excess on the log scale, the share of lemons by its mean, the others by second moments."""
    posterior = tree["posterior"].to_dataset()
    _, priors = model_of(tree)
    rate, level_sd = log_moments(posterior["normal_rate"].values, widen)
    found: dict[str, Any] = {"total_rate": rate, "level_sd": level_sd, "share_mean": None}
    found["spread_sd"] = widen * root_mean_square(posterior["spread"].values)
    found |= {"excess": priors.excess, "excess_sd": priors.excess_sd, "signal_sd": priors.signal_sd}
    if "lemon_share" in posterior:
        found["share_mean"] = float(posterior["lemon_share"].mean())
        found["excess"], found["excess_sd"] = log_moments(posterior["lemon_excess"].values, widen)
    if "signal_effect" in posterior:
        found["signal_sd"] = widen * root_mean_square(posterior["signal_effect"].values)
    return NodeFrailtyPriors(**found)


def lifetime_priors(tree: xr.DataTree, widen: float) -> LifetimePriors:
    """Match rate and shape on the log scale, the effects of covariates by their second moment."""
    posterior = tree["posterior"].to_dataset()
    rate, rate_sd = log_moments(posterior["rate"].values, widen)
    shape, shape_sd = log_moments(posterior["shape"].values, widen)
    return LifetimePriors(
        rate=rate, rate_sd=rate_sd, shape=shape, shape_sd=shape_sd, coefficient_sd=_effects(tree, widen)
    )


def lifetime_steps_priors(tree: xr.DataTree, widen: float) -> LifetimeStepsPriors:
    """Match the first hazard on the log scale, steps and effects by their second moments."""
    posterior = tree["posterior"].to_dataset()
    rate, rate_sd = log_moments(np.exp(posterior["first"].values), widen)
    step_sd = widen * root_mean_square(posterior["step_sd"].values)
    return LifetimeStepsPriors(rate=rate, rate_sd=rate_sd, step_sd=step_sd, coefficient_sd=_effects(tree, widen))


def repair_priors(tree: xr.DataTree, widen: float) -> RepairPriors:
    """Match median and spread on the log scale: those of the one class, or of the population of classes."""
    return RepairPriors(**_classes(tree, widen))


def repair_tail_priors(tree: xr.DataTree, widen: float) -> RepairTailPriors:
    """The same, and of the long repairs delay and stretch on the log scale and the share by its mean."""
    posterior = tree["posterior"].to_dataset()
    delay, delay_sd = log_moments(posterior["long_delay"].values, widen)
    stretch, stretch_sd = log_moments(posterior["long_stretch"].values, widen)
    return RepairTailPriors(
        **_classes(tree, widen),
        share_mean=float(posterior["long_share"].mean()),
        delay=delay,
        delay_sd=delay_sd,
        stretch=stretch,
        stretch_sd=stretch_sd,
    )


def moved(tree: xr.DataTree) -> dict[str, float]:
    """Return what `over_time` adds: scales by second moments, and the variance of a walk as long as the table."""
    posterior = tree["posterior"].to_dataset()
    _, priors = model_of(tree)
    _, _, grid = family_of(tree)
    years = (len(grid.periods) * grid.period_days) / DAYS_PER_YEAR
    walk = root_mean_square(posterior["sigma_walk"].values)
    found = {"walk_sd": walk, "cell_sd": root_mean_square(posterior["sigma_cell"].values), "own_sd": priors.own_sd}
    if "sigma_own" in posterior:
        found["own_sd"] = root_mean_square(posterior["sigma_own"].values)
    if "sigma_drift" in posterior:
        found["drift_sd"] = root_mean_square(posterior["sigma_drift"].values)
    if "change_rate" in posterior:
        found |= {name: log_moments(posterior[name].values, 1.0)[0] for name in ("change_rate", "change_sd")}
    return found | {"walked": walk**2 * years}


def log_moments(values: np.ndarray, widen: float) -> tuple[float, float]:
    """Return the median and the log standard deviation of a log-normal with the moments of the logarithms."""
    logs = np.log(values)
    return float(np.exp(logs.mean())), float(widen * logs.std())


def root_mean_square(values: np.ndarray) -> float:
    """Return the scale of a half-normal, or of a normal about 0, with the second moment of the values."""
    return float(np.sqrt((values**2).mean()))


def _effects(tree: xr.DataTree, widen: float) -> float:
    posterior = tree["posterior"].to_dataset()
    if "coefficient" not in posterior:
        return float(model_of(tree)[1].coefficient_sd)
    return widen * root_mean_square(posterior["coefficient"].values)


def _classes(tree: xr.DataTree, widen: float) -> dict[str, float]:
    posterior = tree["posterior"].to_dataset()
    _, priors = model_of(tree)
    several = "mu" in posterior
    centre, spread = ("mu", "log_sigma") if several else ("log_median", "log_sd")
    median, median_sd = log_moments(np.exp(posterior[centre].values), widen)
    sd, spread_sd = log_moments(np.exp(posterior[spread].values), widen)
    found = {"median_hours": median, "median_sd": median_sd, "spread": sd, "spread_sd": spread_sd}
    for name in ("class_sd", "spread_class_sd"):
        found[name] = widen * root_mean_square(posterior[name].values) if several else float(getattr(priors, name))
    return found
