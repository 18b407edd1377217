"""What a fleet simulation is told: nodes, how they fail and are repaired, and the jobs on them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np

from meantime.errors import InputError
from meantime.ettr.fleet.checks import check_hours, check_number, check_whole

MOST_NODES = 1 << 20
_QUANTILE_95 = 1.6448536269514722


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetJob:
    """A job, or several alike, that compete for the nodes of a fleet.

    Attributes
    ----------
    nodes
        Nodes of the job; it runs on all of them or not at all.
    productive
        Productive hours until it is finished; infinite: it runs for as long as is simulated.
    interval
        Productive hours between checkpoints.
    write
        Hours during which a checkpoint blocks the job; the last one is written too.
    restart
        Hours to initialise and load the last checkpoint, at each start.
    priority
        The larger goes first. Jobs of equal priority are served in the order of the plan.
    submit
        Hour of submission.
    copies
        Number of jobs like this one.
    """

    nodes: int
    productive: float = math.inf
    interval: float = 1.0
    write: float = 0.0
    restart: float = 5 / 60
    priority: int = 0
    submit: float = 0.0
    copies: int = 1

    def __post_init__(self) -> None:
        check_whole(self, "nodes", 1)
        check_whole(self, "copies", 1)
        check_whole(self, "priority", None)
        check_hours(self, "productive", positive=True, infinite=True)
        check_hours(self, "interval", positive=True)
        for name in ("write", "restart", "submit"):
            check_hours(self, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class RepairStage:
    """Log-normal hours that a stage of repair takes.

    Attributes
    ----------
    median
        Median hours.
    sigma
        Standard deviation of the logarithm; zero: all alike.
    """

    median: float
    sigma: float = 0.0

    def __post_init__(self) -> None:
        check_hours(self, "median")
        check_hours(self, "sigma")

    @classmethod
    def between(cls, lower: float, upper: float) -> Self:
        """Stage that takes between `lower` and `upper` hours in nine cases out of ten (5 % to 95 %)."""
        if not 0 < lower <= upper < math.inf:
            raise InputError(f"a repair of {lower} to {upper} hours; expected 0 < lower <= upper")
        return cls(median=math.sqrt(lower * upper), sigma=math.log(upper / lower) / (2 * _QUANTILE_95))

    @property
    def mean(self) -> float:
        """Mean hours."""
        return self.median * math.exp(self.sigma**2 / 2)


@dataclass(frozen=True, slots=True, kw_only=True)
class FleetPlan:
    """A fleet of nodes and the jobs on it; all times in hours.

    The life of a node is Weibull in hours of operation, S(t) = exp(-(t / scale)^shape), with mean
    24 / rate whatever the shape. A node ages while it is powered, working or idle, and its age goes on
    through the restarts of jobs: only a repair makes it young again. Its failure stops the job that
    holds it, running or waiting.

    Attributes
    ----------
    nodes
        Nodes of the fleet, spares included.
    jobs
        Jobs that compete for them. What no job holds is spare.
    rate_per_node_day
        Failures per node-day at the mean life; one number, or one for each node.
    horizon
        Hours that are simulated.
    shape
        Weibull shape: 1 constant hazard, below 1 infant mortality, above 1 wear.
    age
        Hours of operation of every node at the start; "stationary" draws them as they are in a fleet
        that has run for ever, so that failures come at the constant rate nodes / mean life.
    lemon_share
        Share of the nodes that are lemons, placed at random; rounded to whole nodes.
    lemon_factor
        How many times as often a lemon fails, before a repair and after.
    automatic
        First stage of every repair.
    manual
        Second stage, where the first was not enough.
    automatic_share
        Share of the failures that need the first stage only.
    renews
        Repairs that leave a node as good as new: "all", "manual" (a node that needed the first stage
        only goes on ageing as if it had not failed), or "none".
    warm_spares
        Idle nodes that are kept powered; the others are switched off, do not age and cannot fail.
        `None`: all are powered.
    cold_start
        Hours that a node takes to start which was switched off.
    detection
        Hours from a failure to its being noticed.
    swap
        Hours to put another node in the place of a failed one, once there is one.
    preemption
        Whether a job that wants nodes may take those of jobs with lower priority.
    protected
        Hours for which a job that has got its nodes cannot be preempted.
    """

    nodes: int
    jobs: Sequence[FleetJob]
    rate_per_node_day: float | Sequence[float]
    horizon: float = 720.0
    shape: float = 1.0
    age: float | Literal["stationary"] = "stationary"
    lemon_share: float = 0.0
    lemon_factor: float = 1.0
    automatic: RepairStage = field(default_factory=lambda: RepairStage.between(1.0, 3.0))
    manual: RepairStage = field(default_factory=lambda: RepairStage.between(24.0, 72.0))
    automatic_share: float = 0.9
    renews: Literal["all", "manual", "none"] = "all"
    warm_spares: int | None = None
    cold_start: float = 0.0
    detection: float = 0.0
    swap: float = 0.0
    preemption: bool = True
    protected: float = 2.0

    def __post_init__(self) -> None:
        check_whole(self, "nodes", 1, MOST_NODES)
        object.__setattr__(self, "jobs", tuple(self.jobs))
        _check_jobs(self)
        _check_rates(self)
        check_hours(self, "horizon", positive=True)
        for name in ("cold_start", "detection", "swap", "protected", "lemon_factor"):
            check_hours(self, name)
        for name in ("lemon_share", "automatic_share"):
            check_hours(self, name, most=1)
        if not 0.1 <= check_number(self, "shape") <= 100:
            raise InputError(f"shape is {self.shape}; expected a Weibull shape from 0.1 to 100")
        if self.age != "stationary":
            check_hours(self, "age")
        if self.renews not in ("all", "manual", "none"):
            raise InputError(f'renews is {self.renews!r}; expected "all", "manual" or "none"')
        if self.warm_spares is not None:
            check_whole(self, "warm_spares", 0)

    @property
    def mean_repair(self) -> float:
        """Mean hours of a repair."""
        return self.automatic.mean + (1 - self.automatic_share) * self.manual.mean

    def each_job(self) -> list[FleetJob]:
        """All jobs in the order of the plan, copies one by one: the last axis of a result's arrays."""
        return [job for job in self.jobs for _ in range(job.copies)]


def _check_jobs(plan: FleetPlan) -> None:
    if not plan.jobs or not all(isinstance(job, FleetJob) for job in plan.jobs):
        raise InputError(f"jobs is {plan.jobs!r}; expected at least one FleetJob")
    for number, job in enumerate(plan.jobs):
        if job.nodes > plan.nodes:
            raise InputError(
                f"jobs[{number}] wants {job.nodes} nodes; expected at most {plan.nodes}, those of the fleet"
            )


def _check_rates(plan: FleetPlan) -> None:
    expected = f"expected a number of failures per node-day, zero or positive, or {plan.nodes} of them"
    try:
        rates = np.asarray(plan.rate_per_node_day, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise InputError(f"rate_per_node_day is {plan.rate_per_node_day!r}; {expected}") from error
    if rates.shape not in ((), (plan.nodes,)):
        raise InputError(f"rate_per_node_day has shape {rates.shape}; {expected}")
    bad = ~((rates >= 0) & np.isfinite(rates))
    if bad.any():
        raise InputError(f"rate_per_node_day has the value {rates[bad][0]}; {expected}")
    if rates.ndim:
        object.__setattr__(plan, "rate_per_node_day", tuple(rates.tolist()))
