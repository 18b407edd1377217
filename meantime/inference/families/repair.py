"""`repair` in inference: classes whitened by their conditional posteriors."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from scipy import stats

from meantime.datasets.repairs import check_repairs, repairs_from_arrays
from meantime.inference.families.family import Draws, Family, Variables
from meantime.inference.geometry import Geometry, length, unpack
from meantime.inference.scales import to_log_scales
from meantime.models.repair import RepairPriors, Repairs, draw_statistics, repairs_of


def _geometry(repairs: Repairs, priors: RepairPriors) -> Geometry:
    """Give each class the normal conditional posterior of its median and, roughly, of its log standard deviation."""
    classes = len(repairs.classes)
    several = classes > 1
    shapes: dict[str, tuple[int, ...]] = {"log_median": (classes,), "log_sd": (classes,)}
    if several:
        shapes |= {"mu": (), "log_sigma": (), "scales": (2,)}
    count = repairs.count.astype(float)
    freedom = np.maximum(count - 1, 0)
    rough = np.where(freedom > 0, np.maximum(repairs.log_variance, 1e-4), priors.spread**2)
    deviation, known = np.log(rough) / 2, 2 * freedom  # var(log s) is 1 / (2 (n - 1))
    data = {"count": count, "mean": repairs.log_mean, "rough": rough, "deviation": deviation, "known": known}
    pairs = (
        (repairs.log_mean[count > 0], rough[count > 0] / count[count > 0], priors.class_sd),
        (deviation[known > 0], 1 / known[known > 0], priors.spread_class_sd),
    )
    data["scales"] = np.log([_rough_scale(*pair) for pair in pairs])
    centres = (np.log(priors.median_hours), priors.median_sd), (np.log(priors.spread), priors.spread_sd)

    def to_values(z: Any, data: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        import jax.numpy as jnp

        parts = unpack(z, shapes)
        values: dict[str, Any] = {}
        jacobian: Any = 0.0
        mu: Any
        log_sigma: Any
        tau2: Any
        omega2: Any
        if several:
            logs, jacobian = to_log_scales(parts["scales"], data["scales"])
            values = {"class_sd_log__": logs[0], "spread_class_sd_log__": logs[1]}
            variances = jnp.exp(2 * logs)
            estimates = (
                ("mu", data["mean"], data["count"] / data["rough"]),
                ("log_sigma", data["deviation"], data["known"]),
            )
            for (name, found, information), (centre, sd), variance in zip(estimates, centres, variances, strict=True):
                weight = information / (1 + information * variance)
                precision = weight.sum() + sd**-2
                values[name] = ((weight * found).sum() + centre / sd**2) / precision + parts[name] / jnp.sqrt(precision)
                jacobian = jacobian - 0.5 * jnp.log(precision)
            (mu, tau2), (log_sigma, omega2) = (values["mu"], variances[0]), (values["log_sigma"], variances[1])
        else:
            (mu, tau2), (log_sigma, omega2) = ((centre, sd**2) for centre, sd in centres)
        precision = data["known"] + 1 / omega2
        log_sd = (
            data["known"] * data["deviation"] + log_sigma / omega2 + jnp.sqrt(precision) * parts["log_sd"]
        ) / precision
        jacobian = jacobian - 0.5 * jnp.log(precision).sum()
        information = data["count"] * jnp.exp(-2 * log_sd)
        precision = information + 1 / tau2
        log_median = (information * data["mean"] + mu / tau2 + jnp.sqrt(precision) * parts["log_median"]) / precision
        jacobian = jacobian - 0.5 * jnp.log(precision).sum()
        return {**values, "log_sd": log_sd, "log_median": log_median}, jacobian

    return Geometry(size=length(shapes), data=data, to_values=to_values)


def _rough_scale(values: np.ndarray, variance: np.ndarray, prior: float) -> float:
    """Return the spread of values beyond their errors, by moments."""
    if len(values) < 2:
        return 0.5 * prior
    return float(np.sqrt(np.clip(values.var(ddof=1) - variance.mean(), (0.1 * prior) ** 2, (2 * prior) ** 2)))


def _complete(draws: Draws, repairs: Repairs, rng: np.random.Generator) -> Variables:
    sd = np.exp(draws["log_sd"])
    mean = np.exp(draws["log_median"] + sd**2 / 2)
    return {"median_hours": (("class",), np.exp(draws["log_median"])), "mean_hours": (("class",), mean)}


def _log_likelihood(draws: Draws, repairs: Repairs) -> np.ndarray:
    """Return that of each class's mean and of its variance, (..., class, 2); 0 where there is none."""
    sd, count = np.exp(draws["log_sd"]), repairs.count
    mean = stats.norm.logpdf(repairs.log_mean, draws["log_median"], sd / np.sqrt(np.maximum(count, 1)))
    half = np.maximum(count - 1, 1) / 2
    variance = stats.gamma.logpdf(np.maximum(repairs.log_variance, 1e-300), half, scale=sd**2 / half)
    return np.stack([np.where(count >= 1, mean, 0.0), np.where(count >= 2, variance, 0.0)], axis=-1)


def _replicate(draws: Draws, repairs: Repairs, rng: np.random.Generator) -> np.ndarray:
    return draw_statistics(draws["log_median"], np.exp(draws["log_sd"]), repairs.count, None, rng)


def _design() -> xr.Dataset:
    hours = np.exp(np.random.default_rng(1).normal(1.0, 1.2, 70))
    return repairs_from_arrays(hours, np.repeat(["disk", "gpu", "link", "node"], [40, 20, 8, 2]))


def _replace(table: xr.Dataset, repairs: Repairs, values: np.ndarray) -> xr.Dataset:
    table = table.drop_dims("value", errors="ignore")  # the lengths, which are others now
    return table.assign(log_mean=("class", values[:, 0]), log_variance=("class", values[:, 1]))


REPAIR = Family(
    check=check_repairs,
    layout=repairs_of,
    outcome=("log_hours", ("class", "statistic")),
    dims={
        "mu": (),
        "class_sd": (),
        "log_sigma": (),
        "spread_class_sd": (),
        "log_median": ("class",),
        "log_sd": ("class",),
    },
    geometry=_geometry,
    complete=_complete,
    log_likelihood=_log_likelihood,
    replicate=_replicate,
    design=_design,
    replace=_replace,
)
