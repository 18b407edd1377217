"""Lives and repairs drawn from the models, with the truth."""

from typing import Any

import numpy as np
import xarray as xr

from meantime.datasets.repairs import repairs_from_arrays
from meantime.datasets.survival import compress_lives
from meantime.errors import InputError


def simulate_lives(
    *,
    seed: int,
    units: int = 2000,
    rate: float = 3e-4,
    shape: float = 1.5,
    batch_effect: float = 0.5,
    position_effect: float = 0.2,
    longest_entry: float = 500.0,
    longest_window: float = 1500.0,
) -> tuple[dict[str, np.ndarray], xr.Dataset]:
    """Draw lives of the model ``lifetime``: half of them enter late, all are censored at the end of a window.

    Parameters
    ----------
    seed
        Everything is drawn from it.
    units
        Parts.
    rate, shape
        Hazard at one year, per day, and shape of the Weibull distribution.
    batch_effect, position_effect
        Effects on the log hazard of being of the batch ``new`` (a part in three), and of a position 0, 1 or 2.
    longest_entry, longest_window
        Greatest age at entry and length of the window, days.

    Returns
    -------
    tuple
        Arrays ``entry``, ``exit``, ``failed``, ``batch`` and ``position`` (unit,), and the truth: ``rate``, ``shape``,
        ``batch_effect`` and ``position_effect``.
    """
    if units < 1 or rate <= 0 or shape <= 0:
        raise InputError("expected a unit or more, and a positive rate and shape")
    rng = np.random.default_rng(seed)
    entry = np.where(rng.random(units) < 0.5, 0.0, rng.uniform(0, longest_entry, units))
    window = rng.uniform(1, longest_window, units)
    new, position = rng.random(units) < 1 / 3, rng.integers(0, 3, units)
    scale = rate * 365 / shape * np.exp(batch_effect * new + position_effect * position)
    life = 365 * ((entry / 365) ** shape + rng.exponential(size=units) / scale) ** (1 / shape)
    arrays = {
        "entry": entry,
        "exit": np.minimum(life, entry + window),
        "failed": life < entry + window,
        "batch": np.where(new, "new", "old"),
        "position": position,
    }
    truth = {"rate": rate, "shape": shape, "batch_effect": batch_effect, "position_effect": position_effect}
    return arrays, xr.Dataset(truth, attrs={"seed": seed, "model": "lifetime"})


def simulate_survival(*, seed: int, **options: Any) -> tuple[xr.Dataset, xr.Dataset]:
    """Draw lives (see `simulate_lives`) and compress them to a survival table."""
    arrays, truth = simulate_lives(seed=seed, **options)
    covariates = {name: arrays[name] for name in ("batch", "position")}
    return compress_lives(arrays["entry"], arrays["exit"], arrays["failed"], covariates), truth


def simulate_repairs(
    *,
    seed: int,
    repairs: int = 500,
    classes: int = 4,
    median_hours: float = 2.0,
    class_sd: float = 0.8,
    spread: float = 1.1,
) -> tuple[xr.Dataset, xr.Dataset]:
    """Draw down times of the model ``repair``, some of them still open.

    Parameters
    ----------
    seed
        Everything is drawn from it.
    repairs, classes
        Numbers of repairs and of classes; a class is half as frequent as the one before.
    median_hours, class_sd
        Median of the classes' medians, and their spread on the log scale.
    spread
        Standard deviation of log down times in a class.

    Returns
    -------
    tuple of xr.Dataset
        A repair table, and the truth: ``log_median`` and ``log_sd`` (class,).
    """
    rng = np.random.default_rng(seed)
    names = np.array([f"class_{k + 1}" for k in range(classes)])
    share = 0.5 ** np.arange(classes)
    log_median = rng.normal(np.log(median_hours), class_sd, classes)
    code = rng.choice(classes, repairs, p=share / share.sum())
    hours = np.exp(log_median[code] + spread * rng.standard_normal(repairs))
    watched = rng.uniform(0, 500 * median_hours, repairs)  # before the log ends
    table = repairs_from_arrays(np.minimum(hours, watched), names[code], hours > watched)
    data = {"log_median": ("class", log_median), "log_sd": ("class", np.full(classes, np.log(spread)))}
    return table, xr.Dataset(data, coords={"class": names}, attrs={"seed": seed, "model": "repair"})
