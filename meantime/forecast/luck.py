"""The luck of single runs, drawn so that a forecast hardly depends on the seed."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy.special import ndtri

from meantime import ettr
from meantime.intervals import LOWER, UPPER

LUCK_DRAWS = 2_000
"""Runs drawn for each plan, spread evenly over the ordered draws of the hazard."""

MANY = 200.0
"""Squared mean over variance of the lost time (about the number of failures) from which it is taken as Gamma."""

TERMS = ("checkpoint_write", "restart", "detection", "queue", "productive")


def single_runs(
    hazard: np.ndarray, interval: np.ndarray, terms: Mapping[str, np.ndarray], *, seed: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw wallclock and productive hours of single runs over the draws of the hazard.

    A run with few failures is drawn by `ettr.sample_wallclock`. One with many has lost time close to
    a Gamma distribution with the exact mean and variance of `ettr.wallclock_moments`; it is drawn by
    inversion (Wilson and Hilferty 1931), at points spread evenly over the square of hazard and
    luck (Hammersley's), the same for all plans. At the change from one to the other the 90 % bounds
    differ by at most 0.02 standard deviations of the luck.

    Parameters
    ----------
    hazard
        Failures per hour, shape (draws,).
    interval
        Hours between checkpoints, shape (plans, 1) or (plans, draws).
    terms
        Hours, keys `TERMS`, each of shape (plans, 1) or (plans, draws).
    seed
        Seed of the runs with few failures. Every plan begins with it anew, so that the figures of a plan do not
        depend on the others, and differences between plans are of the plans, not of luck.

    Returns
    -------
    tuple[numpy.ndarray, numpy.ndarray]
        Wallclock hours, shape (plans, `LUCK_DRAWS`), and productive hours, which broadcast against it.
    """
    place = np.arange(LUCK_DRAWS)
    evenly = (place + 0.5) / LUCK_DRAWS
    order = np.argsort(hazard)
    places = order[(evenly * hazard.size).astype(int)]
    alone = all(values.shape[1] == 1 for values in (interval, *terms.values()))
    lam = np.interp(evenly * (hazard.size - 1), np.arange(hazard.size), hazard[order]) if alone else hazard[places]
    plan = {"interval": interval, **terms}
    plan = {name: values[:, places] if values.shape[1] > 1 else values for name, values in plan.items()}
    every, write, restart, detection, queue, productive = (plan[name] for name in ("interval", *TERMS))
    costs: dict[str, Any] = {"detection": detection, "queue": queue, "productive": productive}
    wallclock = _of_many_failures(lam, every, write, restart, costs, normal=ndtri(_van_der_corput(place)))
    few = np.isnan(wallclock)
    for row in np.flatnonzero(few.any(axis=1)):  # all runs of a plan: every new shape of array costs a compilation
        one = {name: values[row] for name, values in costs.items()}
        drawn = ettr.sample_wallclock(seed, lam, every[row], write[row], restart[row], **one)
        wallclock[row] = np.where(few[row], drawn, wallclock[row])
    return wallclock, productive


def figures_of_runs(values: np.ndarray) -> np.ndarray:
    """Reduce runs to mean, median, lower and upper, shape (plans, 4).

    The quantiles take run i of n to lie at probability (i + 1/2) / n, as `single_runs` spreads them.
    """
    lower, median, upper = np.quantile(values, [LOWER, 0.5, UPPER], axis=-1, method="hazen")
    return np.stack([values.mean(axis=-1), median, lower, upper], axis=-1)


def _of_many_failures(
    hazard: np.ndarray,
    interval: np.ndarray,
    write: np.ndarray,
    restart: np.ndarray,
    costs: Mapping[str, Any],
    *,
    normal: np.ndarray,
) -> np.ndarray:
    """Wallclock hours at normal scores of the luck, NaN where failures are few."""
    mean, variance = ettr.wallclock_moments(hazard, interval, write, restart, **costs)
    segments = np.ceil(costs["productive"] / interval * (1 - 1e-12))
    least = costs["queue"] + restart + costs["productive"] + segments * write
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        lost = mean - least
        shape = lost**2 / variance
        many = np.isfinite(shape) & (shape >= MANY)
    shape = np.where(many, shape, MANY)
    gamma = (1 - 1 / (9 * shape) + normal / (3 * np.sqrt(shape))) ** 3
    return np.where(many, least + lost * gamma, np.nan)


def _van_der_corput(place: np.ndarray) -> np.ndarray:
    """Mirror the binary digits of whole numbers at the point: evenly spread over (0, 1)."""
    rest, result, share = place + 1, np.zeros(place.shape), 0.5
    while rest.any():
        result += share * (rest & 1)
        rest, share = rest >> 1, share / 2
    return result
