"""A plan as the numbers that a simulation works with."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from meantime.ettr.fleet.lives import Lives
from meantime.ettr.fleet.plan import FleetJob, FleetPlan
from meantime.ettr.fleet.state import Rules, Settings, Tasks
from meantime.ettr.fleet.ticks import LONGEST, ticks_per_hour

_LONGEST_LIFE = 1e30


def settings_of(plan: FleetPlan, replicates: int) -> Settings:
    """What the simulation of a plan is compiled for."""
    block = 1 << max(3, math.ceil(math.log2(plan.nodes) / 2))
    jobs = plan.each_job()
    return Settings(
        replicates=replicates,
        blocks=-(-plan.nodes // block),
        block=block,
        lemons=round(plan.lemon_share * plan.nodes) > 0,
        stationary=plan.age == "stationary",
        ages=plan.renews != "all",
        switched=plan.warm_spares is not None,
        preemption=plan.preemption and len({job.priority for job in jobs}) > 1,
    )


def rules_of(plan: FleetPlan, order: list[int], settings: Settings, max_events: int) -> Rules:
    """Rules of a plan, its jobs in an order."""
    per_hour = ticks_per_hour(plan.horizon)
    shape = settings.blocks, settings.block
    rates = np.broadcast_to(np.asarray(plan.rate_per_node_day, np.float64), (plan.nodes,))
    with np.errstate(divide="ignore"):
        scale = np.minimum(24 / rates / math.gamma(1 + 1 / plan.shape), _LONGEST_LIFE)
    scale = np.pad(scale, (0, math.prod(shape) - plan.nodes), constant_values=_LONGEST_LIFE)
    real = partial(jnp.asarray, dtype=jnp.result_type(float))
    lives = Lives(
        scale=real(scale.reshape(shape)),
        shape=real(plan.shape),
        lemon_factor=real(plan.lemon_factor),
        automatic=real([plan.automatic.median, plan.automatic.sigma]),
        manual=real([plan.manual.median, plan.manual.sigma]),
        automatic_share=real(plan.automatic_share),
        renewed=jnp.array([plan.renews == "all", plan.renews != "none"]),
        per_hour=real(per_hour),
    )
    jobs = plan.each_job()
    spares = plan.nodes if plan.warm_spares is None else min(plan.warm_spares, plan.nodes)
    return Rules(
        tasks=_tasks([jobs[number] for number in order], per_hour),
        lives=lives,
        nodes=jnp.int32(plan.nodes),
        lemons=jnp.int32(round(plan.lemon_share * plan.nodes)),
        most_events=jnp.int32(max_events),
        horizon=_ticks(plan.horizon, per_hour),
        age=real(0.0 if plan.age == "stationary" else plan.age),
        detection=_ticks(plan.detection, per_hour),
        swap=_ticks(plan.swap, per_hour),
        cold_start=_ticks(plan.cold_start, per_hour),
        warm_spares=jnp.int32(spares),
        protected=_ticks(plan.protected, per_hour),
    )


def _tasks(jobs: list[FleetJob], per_hour: float) -> Tasks:
    """Jobs, in order of priority, in ticks."""
    interval = np.array([rounded(job.interval, per_hour, 1) for job in jobs])
    productive = np.array([rounded(job.productive, per_hour, 1) for job in jobs])
    endless = productive >= LONGEST
    full = np.where(endless, LONGEST, (productive - 1) // interval)
    priorities = np.array([job.priority for job in jobs])
    columns = {
        "size": [job.nodes for job in jobs],
        "full": full,
        "interval": interval,
        "last": np.where(endless, 0, productive - full * interval),
        "write": [rounded(job.write, per_hour) for job in jobs],
        "restart": [rounded(job.restart, per_hour) for job in jobs],
        "submit": [rounded(job.submit, per_hour) for job in jobs],
        "below": np.searchsorted(-priorities, -priorities, side="right"),
    }
    return Tasks(**{name: jnp.asarray(np.asarray(column), jnp.int32) for name, column in columns.items()})


def rounded(hours: float, per_hour: float, least: int = 0) -> int:
    """Hours as a whole number of ticks, at most a quarter of `LONGEST` where they are finite, so that sums fit."""
    return LONGEST if math.isinf(hours) else int(min(max(round(hours * per_hour), least), LONGEST // 4))


def _ticks(hours: float, per_hour: float) -> jax.Array:
    return jnp.int32(rounded(hours, per_hour))
