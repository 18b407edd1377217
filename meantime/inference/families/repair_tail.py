"""`repair_tail` in inference: classes are whitened as those of `repair`, by mean and spread of all their repairs."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr
from scipy import stats

from meantime.datasets.repairs import check_repair_times, repairs_from_arrays
from meantime.inference.families.family import Draws, Family, Variables
from meantime.inference.families.repair import REPAIR
from meantime.inference.geometry import Geometry
from meantime.models.repair_tail import RepairTailPriors, RepairTimes, repair_tail_by_value, repair_times_of

if TYPE_CHECKING:
    import pymc as pm


def _geometry(times: RepairTimes, priors: RepairTailPriors) -> Geometry:
    """Take what the long repairs add to mean and spread of all off what is known of the common ones of a class."""
    plain = REPAIR.geometry(times, priors)
    classes = len(times.classes)
    weight = 1 / priors.share_mean - 1

    def to_values(z: Any, data: Mapping[str, Any]) -> tuple[dict[str, Any], Any]:
        import jax.numpy as jnp
        from jax.scipy.stats import norm

        rest = z[plain.size :]
        delay = np.log(priors.delay) + priors.delay_sd * rest[0]
        stretch = np.log(priors.stretch) + priors.stretch_sd * rest[1]
        # where nothing is known of a share, z is a standard normal: 1 - share = U^(1 / weight)
        left = norm.logcdf(-rest[2:]) / weight
        log_share = jnp.log(-jnp.expm1(left))
        slope = norm.logpdf(rest[2:]) - norm.logcdf(-rest[2:]) - log_share - np.log(weight)
        share, late = jnp.exp(log_share), jnp.exp(delay)
        variance = jnp.exp(left) + share * jnp.exp(2 * stretch) + share * jnp.exp(left) * late**2
        deviation = data["deviation"] - 0.5 * jnp.log(variance)
        mean = data["mean"] - jnp.exp(deviation) * share * late
        values, jacobian = plain.to_values(z[: plain.size], {**data, "deviation": deviation, "mean": mean})
        values |= {
            "long_share_logodds__": log_share - left,
            "long_delay_log__": delay,
            "long_stretch_log__": stretch,
        }
        return values, jacobian + slope.sum() + np.log(priors.delay_sd) + np.log(priors.stretch_sd)

    return Geometry(size=plain.size + 2 + classes, data=plain.data, to_values=to_values)


def _condensed(times: RepairTimes, priors: RepairTailPriors) -> "tuple[Callable[[], pm.Model], dict[str, np.ndarray]]":
    return lambda: repair_tail_by_value(times, priors), times.values()


def _complete(draws: Draws, times: RepairTimes, rng: np.random.Generator) -> Variables:
    """Return medians and means of all repairs of each class."""
    from meantime.inference.repair_times import quantile_hours

    sd, share = np.exp(draws["log_sd"]), draws["long_share"]
    delay, stretch = draws["long_delay"][..., None], draws["long_stretch"][..., None]
    long = np.exp(delay * sd + (stretch * sd) ** 2 / 2)
    mean = np.exp(draws["log_median"]) * ((1 - share) * np.exp(sd**2 / 2) + share * long)
    return {"median_hours": (("class",), quantile_hours(draws, 0.5)), "mean_hours": (("class",), mean)}


def _log_likelihood(draws: Draws, times: RepairTimes) -> np.ndarray:
    """Return that of every repair, (..., repair), worked out once for each different length."""
    place = times.value_class
    sd, share = np.exp(draws["log_sd"])[..., place], draws["long_share"][..., place]
    delay, stretch = draws["long_delay"][..., None], draws["long_stretch"][..., None]
    scaled = (times.value_log_hours - draws["log_median"][..., place]) / sd
    common = np.log1p(-share) + stats.norm.logpdf(scaled)
    long = np.log(share) + stats.norm.logpdf((scaled - delay) / stretch) - np.log(stretch)
    return np.repeat(np.logaddexp(common, long) - np.log(sd), times.value_count, axis=-1)


def _replicate(draws: Draws, times: RepairTimes, rng: np.random.Generator) -> np.ndarray:
    place = times.class_of
    sd, share = np.exp(draws["log_sd"])[..., place], draws["long_share"][..., place]
    noise = rng.standard_normal(sd.shape)
    late = draws["long_delay"][..., None] + draws["long_stretch"][..., None] * noise
    return draws["log_median"][..., place] + sd * np.where(rng.random(sd.shape) < share, late, noise)


def _design() -> xr.Dataset:
    hours = np.exp(np.random.default_rng(1).normal(1.0, 1.2, 120))
    return repairs_from_arrays(hours, np.repeat(["disk", "gpu", "link"], [70, 40, 10]))


def _replace(table: xr.Dataset, times: RepairTimes, values: np.ndarray) -> xr.Dataset:
    hours, place = np.exp(np.clip(values, -600, 600)), times.class_of
    found = repairs_from_arrays(hours, np.array(times.classes)[place])
    each = {"value_hours": hours, "value_class": place, "value_count": np.ones(len(place), dtype=np.int64)}
    return table.drop_dims("value").assign(
        {name: found[name] for name in ("repairs", "log_mean", "log_variance")}
        | {name: ("value", array) for name, array in each.items()}
    )


REPAIR_TAIL = Family(
    check=check_repair_times,
    layout=repair_times_of,
    outcome=("log_hours", ("repair",)),
    dims={**REPAIR.dims, "long_share": ("class",), "long_delay": (), "long_stretch": ()},
    geometry=_geometry,
    condensed=_condensed,
    complete=_complete,
    log_likelihood=_log_likelihood,
    replicate=_replicate,
    design=_design,
    replace=_replace,
)
