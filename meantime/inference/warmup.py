"""Warm-up of NUTS: the step size in every iteration, the mass matrix between blocks of them.

Stan's windows (Stan Reference Manual, "HMC algorithm parameters"): the step size alone, then windows of doubling
length at whose ends each chain takes the variances of its own draws, then the step size again. The step size follows
Hoffman and Gelman's dual averaging (JMLR 15, 2014).
"""

from typing import Any

import numpy as np

DELAY, SHRINKAGE, FORGETTING = 10, 0.05, 0.75
"""Of dual averaging: t0, gamma and kappa."""

type Tuning = tuple[Any, Any, Any, Any]
"""Of each chain: point that log step sizes are drawn to, mean shortfall of acceptance, log step size, its mean."""


def window_ends(tune: int, block: int) -> list[int]:
    """Return the iterations after which windows end, the first being the end of what precedes them; multiples of block.

    Parameters
    ----------
    tune
        Iterations of the warm-up.
    block
        Iterations between which the mass matrix can change.
    """
    from numpyro.infer.hmc_util import build_adaptation_schedule

    ends = [window.end + 1 for window in build_adaptation_schedule(tune)[:-1]]
    return sorted({block * min(round(end / block), (tune - 1) // block) for end in ends} - {0})


def begin(step_size: np.ndarray) -> Tuning:
    """Start dual averaging at step sizes, shape (chain,)."""
    logs = np.log(step_size)
    return np.log(10) + logs, np.zeros_like(logs), logs, logs


def paces(since: np.ndarray) -> dict[str, np.ndarray]:
    """Return the weights of dual averaging in the iterations of a block; 0 where the step size stands.

    Parameters
    ----------
    since
        Number of each iteration since dual averaging began, from 1; 0 where it does not take place.
    """
    t = np.maximum(since, 1).astype(float)
    tuned = since > 0
    return {
        "newest": np.where(tuned, 1 / (t + DELAY), 0.0),
        "pull": np.sqrt(t) / SHRINKAGE,
        "share": np.where(tuned, t**-FORGETTING, 0.0),
        "tuned": tuned,
    }


def tuned(xp: Any, state: Tuning, pace: Any, shortfall: Any) -> Tuning:
    """Return the state after an iteration whose acceptance was short of the target by `shortfall`.

    `pace` holds one iteration of `paces`; `xp` is `numpy` or `jax.numpy`.
    """
    centre, mean, log_step, average = state
    mean = mean + pace["newest"] * (shortfall - mean)
    log_step = xp.where(pace["tuned"], centre - pace["pull"] * mean, log_step)
    return centre, mean, log_step, average + pace["share"] * (log_step - average)


def variances(z: np.ndarray) -> np.ndarray:
    """Return the variances of a window's draws, (draw, chain, size), by chain: (chain, size).

    They are drawn to 1, which they would be if the change of variables were perfect, on the log scale as by five draws.
    """
    n = len(z)
    return np.maximum(z.var(axis=0, ddof=1), 1e-10) ** (n / (n + 5))
