"""A whole fleet event by event: node ages, lemons, repair, spares, and jobs that compete for nodes.

`plan` says what is simulated and `result` what comes back. Inside, `state` holds the arrays of one
replicate, `ticks` its clock, `lives` draws lives and repairs, `agenda` says what happens next, `nodes`,
`jobs` and `pool` change the state accordingly, `machine` puts one step together and `simulate` runs it.
"""

from meantime.ettr.fleet.plan import FleetJob, FleetPlan, RepairStage
from meantime.ettr.fleet.result import FleetResult
from meantime.ettr.fleet.simulate import simulate_fleet

__all__ = ["FleetJob", "FleetPlan", "FleetResult", "RepairStage", "simulate_fleet"]
