"""What a fleet simulation gives back."""

from dataclasses import dataclass

import numpy as np

from meantime.ettr.fleet.plan import FleetPlan


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetResult:
    """What happened in each replicate; every hour is in exactly one entry of a ledger.

    Hours of jobs have the shape (replicates, jobs), the jobs in the order of `FleetPlan.each_job`; the
    first nine add up to `wallclock`. Node-hours have the shape (replicates,); the six add up to
    `node_hours`. The sums hold to the last digit: times are whole ticks of a power of two of an hour.

    Attributes
    ----------
    plan
        What was simulated.
    productive
        Hours of work that is saved in a checkpoint or that ended a job.
    writing
        Hours of the writes of those checkpoints.
    restarting
        Hours of initialising and loading, finished or cut short by a failure.
    lost
        Hours of work and writes that failures undid.
    preempted
        Hours of work and writes that preemptions undid.
    unsaved
        Hours of work and writes since the last checkpoint, of jobs that ran at the horizon.
    waiting
        Hours in which failures were noticed and nodes put in place or switched on.
    short
        Hours of waiting for a spare node.
    queued
        Hours without nodes since submission.
    wallclock
        Hours from submission to the end of the job or the horizon.
    finished
        Whether a job was finished.
    job_failures
        How often a job was stopped by a failure while it ran.
    preemptions
        How often a job lost its nodes to another.
    node_hours
        Node-hours of the fleet: nodes x horizon.
    running
        Node-hours with jobs that ran.
    held
        Node-hours with jobs that waited.
    idle
        Node-hours powered without a job.
    off
        Node-hours switched off.
    starting
        Node-hours starting as spares.
    repair
        Node-hours in repair.
    failures
        Failures of nodes, wherever they were.
    lemon_failures
        Those of lemons.
    manual_repairs
        Those that needed the second stage of repair.
    nodes_down
        Nodes in repair at the horizon.
    """

    plan: FleetPlan
    productive: np.ndarray
    writing: np.ndarray
    restarting: np.ndarray
    lost: np.ndarray
    preempted: np.ndarray
    unsaved: np.ndarray
    waiting: np.ndarray
    short: np.ndarray
    queued: np.ndarray
    wallclock: np.ndarray
    finished: np.ndarray
    job_failures: np.ndarray
    preemptions: np.ndarray
    node_hours: float
    running: np.ndarray
    held: np.ndarray
    idle: np.ndarray
    off: np.ndarray
    starting: np.ndarray
    repair: np.ndarray
    failures: np.ndarray
    lemon_failures: np.ndarray
    manual_repairs: np.ndarray
    nodes_down: np.ndarray

    @property
    def ettr(self) -> np.ndarray:
        """Productive hours over wall-clock hours, shape (replicates, jobs); zero for a job that never came."""
        known = self.wallclock > 0
        return np.where(known, self.productive / np.where(known, self.wallclock, 1), 0)

    @property
    def goodput(self) -> np.ndarray:
        """Productive node-hours over all node-hours of the fleet, shape (replicates,)."""
        sizes = np.array([job.nodes for job in self.plan.each_job()], np.float64)
        return self.productive @ sizes / self.node_hours

    def job_ledger(self) -> dict[str, np.ndarray]:
        """Entries that add up to `wallclock`, shape (replicates, jobs)."""
        names = "productive writing restarting lost preempted unsaved waiting short queued"
        return {name: getattr(self, name) for name in names.split()}

    def node_ledger(self) -> dict[str, np.ndarray]:
        """Entries that add up to `node_hours`, shape (replicates,)."""
        return {name: getattr(self, name) for name in ("running", "held", "idle", "off", "starting", "repair")}
