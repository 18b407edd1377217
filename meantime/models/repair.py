"""`repair`: how long nodes are down, by class."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

if TYPE_CHECKING:
    import pymc as pm


REPAIR_MODELS = ("repair", "repair_tail")
"""Models of how long nodes are down."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairPriors:
    """Priors of `repair`.

    Medians from minutes (a reboot) to days (a part ordered): half of the outages at Los Alamos are over in an hour,
    one in a hundred lasts 33 hours (LA-UR-05-7318); automatic repairs in 1 to 3 hours and manual ones in 1 to 3 days
    are assumed of GPU clusters (AIReSim, arXiv 2603.07041).

    Parameters
    ----------
    median_hours
        Centre of the prior of the median down time, hours.
    median_sd
        Its spread, on the log scale.
    class_sd
        Scale of the half-normal prior of the spread of classes' medians, on the log scale.
    spread
        Centre of the prior of the standard deviation of log down times within a class.
    spread_sd
        Its spread, on the log scale.
    spread_class_sd
        Scale of the half-normal prior of the spread of classes' standard deviations, on the log scale.
    """

    median_hours: float = 3.0
    median_sd: float = 1.5
    class_sd: float = 1.0
    spread: float = 1.2
    spread_sd: float = 0.5
    spread_class_sd: float = 0.3


@dataclass(frozen=True, slots=True, kw_only=True)
class Repairs:
    """A repair table as arrays.

    Parameters
    ----------
    count, log_mean, log_variance
        Closed repairs of each class: number, mean and sample variance of log hours, shape (class,).
    open_class, open_hours
        Repairs not over when the log ends: class and hours so far, shape (open,).
    classes
        Labels.
    """

    count: np.ndarray
    log_mean: np.ndarray
    log_variance: np.ndarray
    open_class: np.ndarray
    open_hours: np.ndarray
    classes: tuple[str, ...]

    @property
    def coords(self) -> dict[str, Sequence[Any]]:
        """Labels of the dimensions."""
        return {
            "class": list(self.classes),
            "statistic": ["log_mean", "log_variance"],
            "open": list(range(len(self.open_hours))),
        }

    @property
    def outcome_coords(self) -> dict[str, tuple[str, Sequence[Any]]]:
        """None beside the labels."""
        return {}

    def observed(self) -> dict[str, np.ndarray]:
        """Return the data of the likelihood."""
        data = {
            "observed_log_hours": np.stack([self.log_mean, self.log_variance], axis=1),
            "repair_count": self.count.astype(float),
        }
        if len(self.open_hours):
            data |= {"open_class": self.open_class, "open_log_hours": np.log(self.open_hours)}
        return data


def repairs_of(table: xr.Dataset) -> Repairs:
    """Lay a repair table (`meantime.datasets.repair_table`) out for `repair`."""
    return Repairs(
        count=table["repairs"].values.astype(np.int64),
        log_mean=table["log_mean"].values.astype(float),
        log_variance=table["log_variance"].values.astype(float),
        open_class=table["open_class"].values.astype(np.int64),
        open_hours=table["open_hours"].values.astype(float),
        classes=tuple(str(name) for name in table["class"].values),
    )


def repair(table: xr.Dataset, priors: RepairPriors | None = None) -> "pm.Model":
    r"""Build the model of log-normal down times by class, partially pooled.

    .. math::

        \log t_{ki} &\sim \mathrm{Normal}(\mu_k, \sigma_k), \\
        \mu_k &\sim \mathrm{Normal}(\mu, \tau), \qquad \log \sigma_k \sim \mathrm{Normal}(\log \sigma, \omega).

    The likelihood of n repairs is that of their sufficient statistics, exactly: the mean of the log times is
    :math:`\mathrm{Normal}(\mu_k, \sigma_k / \sqrt{n})` and, independently, their sample variance is
    :math:`\mathrm{Gamma}((n - 1)/2, \mathrm{rate}\ (n - 1) / (2 \sigma_k^2))`, so a million repairs cost as little
    as ten. A repair that is not over after time c contributes :math:`P(t > c)`: leaving it out would make repairs
    look shorter than they are. With one class there are no :math:`\tau` and :math:`\omega`.

    Parameters
    ----------
    table
        A repair table.
    priors
        Default: `RepairPriors`.

    Returns
    -------
    pm.Model
        Variables ``log_median`` and ``log_sd`` (class,), with hyperparameters ``mu``, ``class_sd``, ``log_sigma`` and
        ``spread_class_sd`` where there are several classes; the observed ``log_hours`` (class, statistic), mean and
        variance of log hours (of fewer than two repairs: 0), and ``still_open`` (open,), all 1.
    """
    import pymc as pm

    priors = priors or RepairPriors()
    repairs = repairs_of(table)
    with pm.Model(coords={key: repairs.coords[key] for key in ("class", "statistic", "open")}) as model:
        data = {name: pm.Data(name, values) for name, values in repairs.observed().items()}
        log_median, log_sd = add_classes(priors, len(repairs.classes))
        pm.CustomDist(
            "log_hours",
            log_median,
            pm.math.exp(log_sd),
            data["repair_count"],
            np.arange(2),
            logp=_log_probability,
            random=draw_statistics,
            signature="(c),(c),(c),(k)->(c,k)",
            observed=data["observed_log_hours"],
            dims=("class", "statistic"),
        )
        if len(repairs.open_hours):
            longer = (log_median[data["open_class"]] - data["open_log_hours"]) / pm.math.exp(log_sd[data["open_class"]])
            still = 0.5 * pm.math.erfc(-longer / np.sqrt(2))
            pm.Bernoulli("still_open", p=still, observed=np.ones(len(repairs.open_hours), dtype=int), dims="open")
    return model


def add_classes(priors: RepairPriors, classes: int) -> tuple[Any, Any]:
    """Add ``log_median`` and ``log_sd`` (class,), pooled where there are several, to the model in context."""
    import pymc as pm

    mu: Any = np.log(priors.median_hours)
    log_sigma: Any = np.log(priors.spread)
    class_sd: Any = priors.median_sd
    spread_class_sd: Any = priors.spread_sd
    if classes > 1:
        mu = pm.Normal("mu", mu, priors.median_sd)
        class_sd = pm.HalfNormal("class_sd", priors.class_sd)
        log_sigma = pm.Normal("log_sigma", log_sigma, priors.spread_sd)
        spread_class_sd = pm.HalfNormal("spread_class_sd", priors.spread_class_sd)
    log_median = pm.Normal("log_median", mu, class_sd, dims="class")
    return log_median, pm.Normal("log_sd", log_sigma, spread_class_sd, dims="class")


def draw_statistics(
    log_median: np.ndarray, sd: np.ndarray, count: np.ndarray, statistic: Any, rng: Any = None, size: Any = None
) -> np.ndarray:
    """Draw mean and variance of log hours, (..., class, 2); 0 where they are of too few repairs."""
    mean = np.where(count >= 1, rng.normal(log_median, sd / np.sqrt(np.maximum(count, 1))), 0.0)
    freedom = np.maximum(count - 1, 1)
    variance = np.where(count >= 2, sd**2 * rng.chisquare(freedom, np.shape(sd)) / freedom, 0.0)
    return np.stack([mean, variance], axis=-1)


def _log_probability(value: Any, log_median: Any, sd: Any, count: Any, statistic: Any) -> Any:
    """Log density of the log times whose mean and variance these are: the sufficient statistics."""
    from pytensor import tensor as pt

    squares = pt.maximum(count - 1, 0) * value[:, 1] + count * (value[:, 0] - log_median) ** 2
    return -count * pt.log(sd) - 0.5 * squares / sd**2 - 0.5 * count * np.log(2 * np.pi)
