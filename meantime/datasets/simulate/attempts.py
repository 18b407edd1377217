"""How attempts end: hardware failures by competing exponentials against everything else that ends a job."""

import dataclasses
from collections.abc import Sequence

import numpy as np

from meantime.datasets.simulate.hazards import Hazards, bucket_index, draw_causes
from meantime.datasets.simulate.mix import CODE, LOW, preempted_runtime, preemption_chance
from meantime.datasets.simulate.plan import ClusterPlan
from meantime.datasets.taxonomy import UNATTRIBUTED
from meantime.units import seconds

NONE = -1


@dataclasses.dataclass(slots=True, kw_only=True)
class Attempts:
    """Arrays with one entry an attempt; times in whole seconds from the log's start.

    ``cause`` indexes the components, ``preempted_by`` the jobs (`NONE` where there is none).
    """

    job: np.ndarray
    submit: np.ndarray
    start: np.ndarray
    end: np.ndarray
    state: np.ndarray
    cause: np.ndarray
    preempted_by: np.ndarray

    def take(self, index: np.ndarray) -> "Attempts":
        """Select attempts by index or mask."""
        return Attempts(**{field.name: getattr(self, field.name)[index] for field in dataclasses.fields(self)})

    def __len__(self) -> int:
        return len(self.job)


def join_attempts(parts: Sequence[Attempts]) -> Attempts:
    """Put attempts one after another."""
    names = [field.name for field in dataclasses.fields(Attempts)]
    return Attempts(**{name: np.concatenate([getattr(part, name) for part in parts]) for name in names})


class Engine:
    """Draws outcomes of attempts under one plan and one set of true rates.

    The time to a hardware failure is exponential with the attempt's hazard and independent of every
    other way to end, so counts and exposure follow the Poisson law exactly.
    """

    def __init__(self, rng: np.random.Generator, plan: ClusterPlan, hazards: Hazards) -> None:
        self.rng = rng
        self.plan = plan
        self.rate = hazards.rate
        self.total = self.rate.sum(axis=0)
        self.preemption = preemption_chance(plan)
        self.longest = seconds(plan.max_lifetime)
        self.restart = seconds(plan.restart)
        self.interval = seconds(plan.checkpoint_interval)
        silent = [name == UNATTRIBUTED for name in hazards.components]
        self.always_node_fail = np.array(silent)

    def draw(
        self,
        gpus: np.ndarray,
        needed: np.ndarray,
        ending: np.ndarray,
        qos: np.ndarray,
        evicted: np.ndarray | None = None,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Draw how attempts end.

        Parameters
        ----------
        gpus, needed, ending, qos
            Shape (n,): size, seconds until the job's own ending, that ending (state code), priority.
        evicted
            Seconds after which a restarting large job takes the nodes (infinite: never).

        Returns
        -------
        tuple of arrays
            Whole seconds of runtime (1 or more), state code, cause (`NONE` if no hardware failure),
            and whether the eviction came first.
        """
        rng, count = self.rng, len(gpus)
        interruption = rng.random(count)
        chance = np.where(qos == LOW, self.preemption, 0.0)
        preempted = interruption < chance
        requeued = ~preempted & (interruption < chance + self.plan.requeued)
        planned = np.where(preempted, preempted_runtime(rng, self.plan, count), needed)
        planned = np.where(requeued, needed * rng.random(count), planned)
        state = np.where(preempted, CODE["PREEMPTED"], np.where(requeued, CODE["REQUEUED"], ending))
        too_long = planned > self.longest
        planned = np.where(too_long, self.longest, planned)
        state = np.where(too_long, CODE["TIMEOUT"], state)
        hit = np.zeros(count, dtype=bool)
        if evicted is not None:
            hit = evicted < planned
            planned = np.where(hit, evicted, planned)
            state = np.where(hit, CODE["PREEMPTED"], state)
        bucket = bucket_index(gpus)
        per_second = gpus / self.plan.gpus_per_node * self.total[bucket] / 86400
        with np.errstate(divide="ignore"):
            failure = rng.exponential(1.0, count) / per_second
        failed = failure < planned
        cause = np.full(count, NONE)
        cause[failed] = draw_causes(rng, self.rate, bucket[failed])
        state[failed] = self.failure_states(cause[failed])
        runtime = np.maximum(np.ceil(np.where(failed, failure, planned)), 1)
        return runtime, state, cause, hit & ~failed

    def failure_states(self, cause: np.ndarray) -> np.ndarray:
        """Draw the states of failed attempts: NODE_FAIL, or FAILED with a health check to say why."""
        node_fail = self.always_node_fail[cause] | (self.rng.random(len(cause)) < self.plan.node_fail)
        return np.where(node_fail, CODE["NODE_FAIL"], CODE["FAILED"])

    def progress(self, runtime: np.ndarray, restarted: np.ndarray) -> np.ndarray:
        """Work that survives an interruption: up to the last checkpoint, after the restart."""
        useful = np.maximum(runtime - np.where(restarted, self.restart, 0.0), 0)
        return np.floor(useful / self.interval) * self.interval

    def goes_on(self, state: np.ndarray, cause: np.ndarray) -> np.ndarray:
        """Draw which jobs get another attempt."""
        failed = (cause != NONE) & (self.rng.random(len(cause)) < self.plan.requeue)
        return failed | (state == CODE["PREEMPTED"]) | (state == CODE["REQUEUED"])
