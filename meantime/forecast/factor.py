"""Numbers without a unit by which something is multiplied: known, or known only as a distribution."""

from typing import Any

import numpy as np

from meantime.errors import InputError

type Factor = float | np.ndarray | Any
"""A number, a frozen `scipy.stats` distribution, or a 1-D array of samples."""

MAX_FACTOR = 1e6


def checked_factor(value: Factor, *, name: str) -> Factor:
    """Return a factor that can be drawn: a float, a distribution or an array of samples.

    Raises
    ------
    InputError
        If it is neither, negative, not finite or above a million.
    """
    if hasattr(value, "to_numpy"):
        value = value.to_numpy()
    if hasattr(value, "rvs") or hasattr(value, "sample"):
        return value
    if isinstance(value, str | bool):
        raise InputError(f"{name} is {value!r}; expected a number to multiply by, such as 0.3")
    try:
        array = np.asarray(value, dtype=float)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} is {value!r}; expected a number to multiply by, such as 0.3") from error
    if array.ndim > 1 or array.size == 0 or not ((array >= 0) & (array <= MAX_FACTOR)).all():
        raise InputError(f"{name} is {value!r}; expected numbers from 0 to {MAX_FACTOR:g} to multiply by, such as 0.3")
    return array if array.ndim else float(array)


def drawn_factor(value: Factor, n_draws: int, rng: np.random.Generator, *, name: str) -> np.ndarray:
    """Draw a factor: shape (1,) if it is a number, else (n_draws,).

    Raises
    ------
    InputError
        If the distribution gives negative or infinite factors.
    """
    if isinstance(value, float):
        return np.array([value])
    if isinstance(value, np.ndarray):
        return rng.choice(value, size=n_draws)
    drawn = value.rvs(size=n_draws, random_state=rng) if hasattr(value, "rvs") else value.sample(n_draws, rng=rng)
    factors = np.asarray(drawn, dtype=float)
    bad = ~(np.isfinite(factors) & (factors >= 0))
    if bad.any():
        raise InputError(
            f"{name}: the distribution gives negative or infinite factors ({bad.mean():.1%} of draws); "
            "use one on positive numbers, such as scipy.stats.lognorm, beta or gamma"
        )
    return factors


def factor_text(value: Factor) -> str:
    """Return a short text for tables."""
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, np.ndarray):
        return f"{value.size} samples, median {np.median(value):.3g}"
    if not hasattr(value, "dist"):
        return repr(value)
    arguments = [f"{argument:g}" for argument in value.args]
    arguments += [f"{key}={argument:g}" for key, argument in value.kwds.items()]
    return f"{value.dist.name}({', '.join(arguments)})"
