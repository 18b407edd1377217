"""Expected and realised ETTR of a training run, as functions of arrays in hours and 1/hour.

Every function broadcasts its arguments. NumPy in, float64 NumPy out, whatever JAX's precision is;
JAX arrays or tracers in, JAX arrays of their own precision out, so that `jit`, `vmap` and `grad` work.
"""

from meantime.ettr.asynchronous import SynchronousPlan, asynchronous, optimal_asynchronous_interval
from meantime.ettr.corruption import checkpoints_to_keep, corrupted, optimal_corrupted_interval
from meantime.ettr.distribution import wallclock_cdf, wallclock_quantile
from meantime.ettr.events import simulate
from meantime.ettr.fleet import FleetJob, FleetPlan, FleetResult, RepairStage, simulate_fleet
from meantime.ettr.hazard import hazard_of, mttf
from meantime.ettr.kokolis import kokolis
from meantime.ettr.levels import multilevel
from meantime.ettr.levels_events import simulate_levels
from meantime.ettr.levels_optimum import LevelPlan, optimal_levels
from meantime.ettr.limited import limited
from meantime.ettr.luck import sample_wallclock
from meantime.ettr.optimum import daly, optimal_interval, young
from meantime.ettr.quantile import quantiles
from meantime.ettr.renewal import renewal
from meantime.ettr.robust import robust_interval
from meantime.ettr.wallclock import wallclock_moments

__all__ = [
    "FleetJob",
    "FleetPlan",
    "FleetResult",
    "LevelPlan",
    "RepairStage",
    "SynchronousPlan",
    "asynchronous",
    "checkpoints_to_keep",
    "corrupted",
    "daly",
    "hazard_of",
    "kokolis",
    "limited",
    "mttf",
    "multilevel",
    "optimal_asynchronous_interval",
    "optimal_corrupted_interval",
    "optimal_interval",
    "optimal_levels",
    "quantiles",
    "renewal",
    "robust_interval",
    "sample_wallclock",
    "simulate",
    "simulate_fleet",
    "simulate_levels",
    "wallclock_cdf",
    "wallclock_moments",
    "wallclock_quantile",
    "young",
]
