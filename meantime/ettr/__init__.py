"""Expected and realised ETTR of a training run, as functions of arrays in hours and 1/hour.

Every function broadcasts its arguments. NumPy in, float64 NumPy out, whatever JAX's precision is;
JAX arrays or tracers in, JAX arrays of their own precision out, so that `jit`, `vmap` and `grad` work.
"""

from meantime.ettr.asynchronous import SynchronousPlan, asynchronous, optimal_asynchronous_interval
from meantime.ettr.breakdown import Breakdown, breakdown
from meantime.ettr.corruption import checkpoints_to_keep, corrupted, optimal_corrupted_interval
from meantime.ettr.distribution import wallclock_cdf, wallclock_quantile
from meantime.ettr.elastic import ElasticRun, break_even_wait, elastic_run
from meantime.ettr.events import simulate
from meantime.ettr.fleet import FleetJob, FleetPlan, FleetResult, RepairStage, simulate_fleet
from meantime.ettr.goodput import FailureLosses, failure_losses
from meantime.ettr.hazard import hazard_of, mttf
from meantime.ettr.incident import hit_probability, incident_hazard
from meantime.ettr.kokolis import kokolis
from meantime.ettr.ledger import ClusterLedger, cluster_ledger
from meantime.ettr.levels import multilevel
from meantime.ettr.levels_events import simulate_levels
from meantime.ettr.levels_optimum import LevelPlan, optimal_levels
from meantime.ettr.limited import limited
from meantime.ettr.luck import sample_wallclock
from meantime.ettr.optimum import daly, optimal_interval, young
from meantime.ettr.quantile import quantiles
from meantime.ettr.renewal import renewal
from meantime.ettr.robust import robust_interval
from meantime.ettr.spares import SparePool, spare_pool, spares_needed
from meantime.ettr.varying import simulate_varying, varying_wallclock
from meantime.ettr.wallclock import wallclock_moments

__all__ = [
    "Breakdown",
    "ClusterLedger",
    "ElasticRun",
    "FailureLosses",
    "FleetJob",
    "FleetPlan",
    "FleetResult",
    "LevelPlan",
    "RepairStage",
    "SparePool",
    "SynchronousPlan",
    "asynchronous",
    "break_even_wait",
    "breakdown",
    "checkpoints_to_keep",
    "cluster_ledger",
    "corrupted",
    "daly",
    "elastic_run",
    "failure_losses",
    "hazard_of",
    "hit_probability",
    "incident_hazard",
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
    "simulate_varying",
    "spare_pool",
    "spares_needed",
    "varying_wallclock",
    "wallclock_cdf",
    "wallclock_moments",
    "wallclock_quantile",
    "young",
]
