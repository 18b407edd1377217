"""Simulated logs and tables whose truth is known: for tests, tutorials and calibration."""

from meantime.datasets.simulate.ages import simulate_lives, simulate_repairs, simulate_survival
from meantime.datasets.simulate.cluster import simulate_cluster
from meantime.datasets.simulate.frailty import simulate_nodes
from meantime.datasets.simulate.frames import Simulation
from meantime.datasets.simulate.incidents import simulate_incidents
from meantime.datasets.simulate.plan import RSC1_RATES, RSC1_SIZES, ClusterPlan
from meantime.datasets.simulate.tables import simulate_table
from meantime.datasets.simulate.walks import simulate_walks
from meantime.datasets.simulate.write import write_cluster

__all__ = [
    "RSC1_RATES",
    "RSC1_SIZES",
    "ClusterPlan",
    "Simulation",
    "simulate_cluster",
    "simulate_incidents",
    "simulate_lives",
    "simulate_nodes",
    "simulate_repairs",
    "simulate_survival",
    "simulate_table",
    "simulate_walks",
    "write_cluster",
]
