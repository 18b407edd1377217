"""Expected and realised ETTR of a training run, as functions of arrays in hours and 1/hour.

Every function broadcasts its arguments. NumPy in, float64 NumPy out, whatever JAX's precision is;
JAX arrays or tracers in, JAX arrays of their own precision out, so that `jit`, `vmap` and `grad` work.
"""

from meantime.ettr.distribution import wallclock_cdf, wallclock_quantile
from meantime.ettr.events import simulate
from meantime.ettr.hazard import hazard_of, mttf
from meantime.ettr.kokolis import kokolis
from meantime.ettr.luck import sample_wallclock
from meantime.ettr.optimum import daly, optimal_interval, young
from meantime.ettr.quantile import quantiles
from meantime.ettr.renewal import renewal
from meantime.ettr.wallclock import wallclock_moments

__all__ = [
    "daly",
    "hazard_of",
    "kokolis",
    "mttf",
    "optimal_interval",
    "quantiles",
    "renewal",
    "sample_wallclock",
    "simulate",
    "wallclock_cdf",
    "wallclock_moments",
    "wallclock_quantile",
    "young",
]
