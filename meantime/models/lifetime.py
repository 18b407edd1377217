"""`lifetime` and `lifetime_steps`: the hazard of a part as a function of its age."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import xarray as xr

from meantime.models.lives import YEAR, Lives, lives_by_steps, lives_of

if TYPE_CHECKING:
    import pymc as pm


@dataclass(frozen=True, slots=True, kw_only=True)
class LifetimePriors:
    """Priors of `lifetime`.

    Published parts fail 3e-5 (drives: 1 % to 2 % a year, Backblaze) to 5e-4 times a day (GPUs of Llama 3: 3.8 per
    1,000 node-days of 8, arXiv 2407.21783); shapes from 0.6 to 3 are reported of parts.

    Parameters
    ----------
    rate
        Centre of the prior of the hazard at one year of age, per day.
    rate_sd
        Its spread, on the log scale.
    shape
        Centre of the prior of the shape: 1, a part that does not age.
    shape_sd
        Its spread, on the log scale.
    coefficient_sd
        Standard deviation of the prior of a covariate's effect on the log hazard (of a number: for one standard
        deviation of it).
    """

    rate: float = 1e-4
    rate_sd: float = 2.0
    shape: float = 1.0
    shape_sd: float = 0.5
    coefficient_sd: float = 1.0


@dataclass(frozen=True, slots=True, kw_only=True)
class LifetimeStepsPriors:
    """Priors of `lifetime_steps`; those of the same name are as in `LifetimePriors`.

    Parameters
    ----------
    rate, rate_sd, coefficient_sd
        See `LifetimePriors`; the rate is that of the first interval.
    step_sd
        Scale of the half-normal prior of the steps of the log hazard from interval to interval.
    """

    rate: float = 1e-4
    rate_sd: float = 2.0
    step_sd: float = 0.5
    coefficient_sd: float = 1.0


def lifetime(table: xr.Dataset, priors: LifetimePriors | None = None) -> "pm.Model":
    r"""Build the model of a Weibull hazard in the age of a part.

    With t the age of the part (never the time since its job started), T one year and x its covariates,

    .. math::

        h(t | x) = \mathrm{rate}\, (t / T)^{\mathrm{shape} - 1} e^{x \beta}, \qquad
        S(t | x) = \exp\left(-(t / \mathrm{scale})^{\mathrm{shape}} e^{x \beta}\right),

    so that rate is the hazard at one year. A row at risk from age a (late entry) to age b contributes
    :math:`\log h(b)` if it failed and always :math:`-\int_a^b h`, which covers right censoring. Summed over the rows
    of a stratum (a pattern of covariates) with D failures the log likelihood is

    .. math::

        D (\log \mathrm{rate} + x \beta) + (\mathrm{shape} - 1) \sum_{\mathrm{failed}} \log (b / T)
        - \frac{\mathrm{rate}\, T}{\mathrm{shape}} e^{x \beta}
          \sum_{\mathrm{rows}} \left[(b / T)^{\mathrm{shape}} - (a / T)^{\mathrm{shape}}\right].

    The last sum is that of a quadrature of 65 ages, whatever the number of rows; its error is bounded in
    `meantime.datasets.survival.power_sum_bound`.

    Replicated data (prior and posterior predictive) are those of parts that are repaired to the state before the
    failure and stay under observation, for the same exposure.

    Parameters
    ----------
    table
        A survival table (`meantime.datasets.survival_table`).
    priors
        Default: `LifetimePriors`.

    Returns
    -------
    pm.Model
        Variables ``rate`` (1/day), ``shape`` and, with covariates, ``coefficient`` (covariate,); and the observed
        ``events`` (stratum, statistic): failures, and the sum of the logarithms of their ages in days.
    """
    import pymc as pm

    priors = priors or LifetimePriors()
    lives = lives_of(table)
    with pm.Model(coords={key: lives.coords[key] for key in ("stratum", "statistic", "covariate")}) as model:
        data = {name: pm.Data(name, values) for name, values in lives.observed().items()}
        rate = pm.LogNormal("rate", np.log(priors.rate), priors.rate_sd)
        shape = pm.LogNormal("shape", np.log(priors.shape), priors.shape_sd)
        level = pm.math.log(rate) + _effects(priors.coefficient_sd, lives, data)
        integral = data["age_weight"] @ (data["age_years"] ** shape)
        mean = pm.math.exp(level) * (YEAR / shape) * integral

        def random(mean: Any, level: Any, shape: Any, statistic: Any, rng: Any = None, size: Any = None) -> np.ndarray:
            return draw_events(np.asarray(mean), float(np.ravel(shape)[0]), lives, rng)

        pm.CustomDist(
            "events",
            mean,
            level,
            shape,
            np.arange(2),
            logp=_log_probability,
            random=random,
            signature="(s),(s),(),(k)->(s,k)",
            observed=data["observed_events"],
            dims=("stratum", "statistic"),
        )
    return model


def lifetime_steps(table: xr.Dataset, priors: LifetimeStepsPriors | None = None) -> "pm.Model":
    r"""Build the model of a hazard that is constant within intervals of age, and walks from one to the next.

    .. math::

        d_{gj} &\sim \mathrm{Poisson}(e_{gj}\, \lambda_j\, e^{x_g \beta}), \\
        \log \lambda_1 &\sim \mathrm{Normal}(\log \mathrm{rate}, \mathrm{rate\_sd}), \qquad
        \log \lambda_{j + 1} - \log \lambda_j \sim \mathrm{Normal}(0, \sigma),

    with failures :math:`d_{gj}` and days at risk :math:`e_{gj}` of stratum g in interval j: exact sufficient
    statistics. Right censoring and late entry only change :math:`e_{gj}`.

    Parameters
    ----------
    table
        A survival table.
    priors
        Default: `LifetimeStepsPriors`.

    Returns
    -------
    pm.Model
        Variables ``first``, the log hazard of the first interval, ``step`` (later,), those to the later intervals,
        ``step_sd`` and, with covariates, ``coefficient`` (covariate,); and the observed ``failures`` (stratum,
        interval).
    """
    import pymc as pm
    from pytensor import tensor as pt

    priors = priors or LifetimeStepsPriors()
    lives = lives_by_steps(table)
    coords = {key: lives.coords[key] for key in ("stratum", "interval", "later", "covariate")}
    with pm.Model(coords=coords) as model:
        data = {name: pm.Data(name, values) for name, values in lives.observed().items()}
        step_sd = pm.HalfNormal("step_sd", priors.step_sd)
        first = pm.Normal("first", np.log(priors.rate), priors.rate_sd)
        step = pm.Normal("step", 0.0, step_sd, dims="later")
        log_hazard = first + pt.concatenate([np.zeros(1), pt.cumsum(step)])
        level = _effects(priors.coefficient_sd, lives, data)
        level = level[:, None] if lives.covariates else level
        pm.Poisson(
            "failures",
            data["exposure_days"] * pm.math.exp(level + log_hazard[None, :]),
            observed=data["observed_failures"],
            dims=("stratum", "interval"),
        )
    return model


def draw_events(mean: np.ndarray, shape: float, lives: Lives, rng: np.random.Generator) -> np.ndarray:
    """Draw counts and sums of log ages, (stratum, 2): Poisson counts, ages from the hazard where rows are at risk.

    Within an interval the number at risk is taken to be constant.
    """
    powers = lives.cuts**shape
    width = np.diff(lives.cuts)
    chance = lives.exposure / width * np.diff(powers)
    chance /= np.maximum(chance.sum(axis=1, keepdims=True), 1e-300)
    counts = rng.poisson(np.maximum(mean, 0.0))
    sums = np.zeros(len(counts))
    for stratum, count in enumerate(counts):
        interval = rng.choice(len(width), size=count, p=chance[stratum])
        age = (powers[interval] + rng.random(count) * np.diff(powers)[interval]) ** (1 / shape)
        sums[stratum] = np.log(age).sum()
    return np.stack([counts.astype(float), sums], axis=1)


def _effects(coefficient_sd: float, lives: Lives, data: dict[str, Any]) -> Any:
    import pymc as pm

    if not lives.covariates:
        return np.zeros(len(lives.strata)) if type(lives) is Lives else 0.0
    return data["design"] @ pm.Normal("coefficient", 0.0, coefficient_sd, dims="covariate")


def _log_probability(value: Any, mean: Any, level: Any, shape: Any, statistic: Any) -> Any:
    count, sum_log = value[:, 0], value[:, 1]
    return count * level + (shape - 1) * (sum_log - count * np.log(YEAR)) - mean
