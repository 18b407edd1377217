"""The arrays of one replicate of a fleet, and the rules that are the same for all of them.

Times are int32 ticks. Nodes lie in blocks, so that the next event of any node, or the first idle
node, is found in two short looks: at one number per block, then at one block.
"""

from enum import IntEnum
from typing import NamedTuple

import jax

from meantime.ettr.fleet.lives import Lives


class Owner(IntEnum):
    """Where a node is, if it is not with a job, whose number (zero or more) stands here otherwise."""

    IDLE = -1
    OFF = -2
    STARTING = -3
    REPAIR = -4
    NONE = -5
    """Not a node: fills the last block."""


class Phase(IntEnum):
    """What a job does."""

    COMING = 0
    QUEUED = 1
    SHORT = 2
    """Holds nodes and lacks some."""
    WAITING = 3
    """Has its nodes; the failure is being noticed, or a node put in place."""
    RUNNING = 4
    DONE = 5


class Settings(NamedTuple):
    """What a simulation is compiled for.

    Attributes
    ----------
    replicates
        Replicates side by side.
    blocks, block
        Number of blocks and nodes of a block.
    lemons
        Whether there are lemons.
    stationary
        Whether ages are drawn as in a fleet that has run for ever.
    ages
        Whether ages matter after a repair.
    switched
        Whether idle nodes may be off.
    preemption
        Whether jobs may take the nodes of others.
    """

    replicates: int
    blocks: int
    block: int
    lemons: bool
    stationary: bool
    ages: bool
    switched: bool
    preemption: bool


class Tasks(NamedTuple):
    """What the jobs are, in order of priority: int32, shape (jobs,).

    `full` segments of `interval` ticks and one of `last` ticks, each with its `write`. `below` is the place
    of the first job of lower priority.
    """

    size: jax.Array
    full: jax.Array
    interval: jax.Array
    last: jax.Array
    write: jax.Array
    restart: jax.Array
    submit: jax.Array
    below: jax.Array


class Rules(NamedTuple):
    """What is the same for all replicates; times in ticks, the age in hours.

    The simulation gives up after `most_events` steps.
    """

    tasks: Tasks
    lives: Lives
    nodes: jax.Array
    lemons: jax.Array
    most_events: jax.Array
    horizon: jax.Array
    age: jax.Array
    detection: jax.Array
    swap: jax.Array
    cold_start: jax.Array
    warm_spares: jax.Array
    protected: jax.Array


class Jobs(NamedTuple):
    """How the jobs of a replicate stand: int32, shape (jobs,).

    Attributes
    ----------
    phase
        One of `Phase`.
    lack
        Nodes that it lacks.
    when
        Time of its submission, of its next start, or of its end, by phase.
    since
        Time up to which its ledger is kept.
    begun
        Time at which it got its nodes.
    done
        Segments that are finished and saved.
    finished
        Time at which it was finished, `NEVER` if it was not.
    failures, preemptions
        How often it was stopped while it ran, and how often it lost its nodes.
    ledger
        Ticks by `Entry`, shape (entries, jobs).
    """

    phase: jax.Array
    lack: jax.Array
    when: jax.Array
    since: jax.Array
    begun: jax.Array
    done: jax.Array
    finished: jax.Array
    failures: jax.Array
    preemptions: jax.Array
    ledger: jax.Array


class Entry(IntEnum):
    """The ledger of a job: all its hours since submission are in exactly one of these."""

    PRODUCTIVE = 0
    WRITING = 1
    RESTARTING = 2
    LOST = 3
    """Work and writes that a failure undid."""
    PREEMPTED = 4
    """Work and writes that a preemption undid."""
    UNSAVED = 5
    """Work and writes since the last checkpoint at the end of the simulation."""
    WAITING = 6
    SHORT = 7
    QUEUED = 8


class Account(IntEnum):
    """The ledger of the nodes: all node-hours are in exactly one of these."""

    RUNNING = 0
    HELD = 1
    IDLE = 2
    OFF = 3
    STARTING = 4
    REPAIR = 5


class Fleet(NamedTuple):
    """One replicate.

    Attributes
    ----------
    key
        Key of the replicate.
    now
        Time.
    owner
        Job that holds a node, or one of `Owner`, shape (blocks, nodes of a block).
    due
        Time of the next event of a node: failure, or end of its repair or start; `NEVER` while it is off.
    left
        Ticks of operation until the failure of a node that is off or starting; none if none is ever off.
    used
        Cumulative hazard at which a node fails, or, in repair, that which its age stands for from then on; none if
        every repair makes a node new.
    lemon
        Whether a node is a lemon.
    soonest
        Earliest of `due` in each block.
    idle, off
        Nodes of each block that are idle, and off.
    starting, repair
        Nodes that are starting, and in repair.
    failures, lemon_failures, manual
        Failures of nodes, of lemons among them, and those that needed the second stage of repair.
    accounts
        Node-ticks by `Account` in limbs, shape (accounts, 3).
    jobs
        How the jobs stand.
    """

    key: jax.Array
    now: jax.Array
    owner: jax.Array
    due: jax.Array
    left: jax.Array | None
    used: jax.Array | None
    lemon: jax.Array | None
    soonest: jax.Array
    idle: jax.Array
    off: jax.Array
    starting: jax.Array
    repair: jax.Array
    failures: jax.Array
    lemon_failures: jax.Array
    manual: jax.Array
    accounts: jax.Array
    jobs: Jobs
