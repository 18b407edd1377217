"""From a plan to its simulation and back to hours."""

import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from meantime.errors import InputError
from meantime.ettr.fleet.jobs import new_jobs
from meantime.ettr.fleet.lives import Lives, lemons, life, stationary
from meantime.ettr.fleet.machine import run
from meantime.ettr.fleet.plan import FleetJob, FleetPlan
from meantime.ettr.fleet.result import FleetResult
from meantime.ettr.fleet.state import Account, Entry, Fleet, Owner, Rules, Settings, Tasks
from meantime.ettr.fleet.ticks import LONGEST, NEVER, as_hours, in_ticks, ticks_per_hour, total_hours

_TOGETHER = 1 << 22
"""About so many nodes of all replicates are simulated side by side."""
_LONGEST_LIFE = 1e30


def simulate_fleet(
    key: int | jax.Array, plan: FleetPlan, n_replicates: int = 1, *, max_events: int = 10_000_000
) -> FleetResult:
    """Simulate a fleet event by event: failures of nodes, their repair, and the jobs on them.

    Every node has a life of its own in hours of operation, drawn when it was repaired and kept whatever jobs come
    and go; the next event of a fleet is the earliest of all nodes and jobs. An event costs two short looks
    at the nodes (one number for each of about sqrt(nodes) blocks, and one block), but for the start
    and the end of a job, which look at all nodes. Replicates go side by side.

    A failed node leaves its job, which falls back to its last finished checkpoint and wants another node: an
    idle one if there is one, or one of a job of lower priority, or the next that is repaired. With all its nodes it
    starts again `detection` + `swap` hours after its last failure, and not before `swap` hours after it
    got its last node. While it waits its nodes can fail too. What jobs without preemption and with idle nodes at all
    times get is thus `renewal` with a detection of (e^(lam d) - 1) / lam, d = `detection` + `swap`.

    Parameters
    ----------
    key
        A seed (computed in float64) or a JAX key (the current precision). A replicate's random numbers depend
        on the key and its number only, those of a node's life on its number and the time: plans that differ in their
        jobs, spares and waits meet the same failures.
    plan
        The fleet.
    n_replicates
        Number of replicates.
    max_events
        Give up after so many steps; a failure makes about four.

    Returns
    -------
    FleetResult
        Hours and counts of each replicate, as NumPy arrays.

    Raises
    ------
    InputError
        If `n_replicates` is not positive, or `max_events` was not enough.
    """
    if n_replicates < 1:
        raise InputError(f"n_replicates is {n_replicates}; expected at least 1")
    if not isinstance(key, jax.Array):
        with jax.enable_x64(True):
            return _simulate(jax.random.key(key), plan, n_replicates, max_events)
    return _simulate(key, plan, n_replicates, max_events)


def _simulate(key: jax.Array, plan: FleetPlan, n_replicates: int, max_events: int) -> FleetResult:
    together = max(1, min(n_replicates, _TOGETHER // plan.nodes))
    order = sorted(range(len(plan.each_job())), key=lambda number: -plan.each_job()[number].priority)
    settings, rules = _settings(plan, together, max_events), _rules(plan, order)
    parts = []
    for start in range(0, n_replicates, together):
        numbers = jnp.arange(start, start + together, dtype=jnp.uint32)
        fleet, steps = _run(key, numbers, rules, settings)
        if int(steps) >= max_events and bool(jnp.any(fleet.now < rules.horizon)):
            raise InputError(
                f"the fleet was not at hour {plan.horizon:g} after max_events = {max_events} steps; "
                "expected a lower rate, a shorter horizon or a larger max_events"
            )
        parts.append(jax.tree.map(np.asarray, _kept(fleet)))
    whole = jax.tree.map(lambda *arrays: np.concatenate(arrays)[:n_replicates], *parts)
    return _result(plan, order, whole)


def _kept(fleet: Fleet) -> dict[str, jax.Array]:
    """What a result is made of."""
    names = ("failures", "lemon_failures", "manual", "repair", "accounts")
    of_jobs = ("ledger", "since", "finished", "failures", "preemptions")
    return {name: getattr(fleet, name) for name in names} | {"job_" + n: getattr(fleet.jobs, n) for n in of_jobs}


@partial(jax.jit, static_argnames="settings")
def _run(key: jax.Array, numbers: jax.Array, rules: Rules, settings: Settings) -> tuple[Fleet, jax.Array]:
    keys = jax.vmap(lambda number: jax.random.fold_in(key, number))(numbers)
    return run(_new_fleet(keys, rules, settings), rules, settings)


def _new_fleet(keys: jax.Array, rules: Rules, settings: Settings) -> Fleet:
    """Fleets at hour zero: all nodes up, idle ones off as far as spares may be."""
    count, nodes, blocks, block = settings.replicates, settings.nodes, settings.blocks, settings.block
    streams, births, places = jnp.moveaxis(jax.vmap(lambda key: jax.random.split(key, 3))(keys), 1, 0)
    lives, padding = rules.lives, blocks * block - nodes
    dtype = lives.shape.dtype

    def in_blocks(array: jax.Array, fill: int) -> jax.Array:
        return jnp.pad(array, ((0, 0), (0, padding)), constant_values=fill).reshape(count, blocks, block)

    lemon = None
    scale = lives.scale
    if settings.lemons:
        chosen = jax.vmap(lambda key: lemons(key, nodes, settings.lemons))(places)
        lemon = in_blocks(chosen, 0)
        scale = jnp.where(lemon, scale / lives.lemon_factor, scale)
    if settings.stationary:
        ages, rest = stationary(births, lives.shape, nodes)
        ages, rest = in_blocks(ages, 0), in_blocks(rest, 0)
        used = (ages + rest) ** lives.shape
        hours = rest * scale
    else:
        hazard = jax.vmap(lambda key: jax.random.exponential(key, (nodes,), dtype))(births)
        old = (rules.age / scale) ** lives.shape
        used = old + in_blocks(hazard, 0)
        hours = life(in_blocks(hazard, 1), jnp.broadcast_to(old, used.shape), scale, lives.shape)
    due = in_ticks(hours, lives.per_hour, least=1)
    real = jnp.arange(blocks * block).reshape(blocks, block) < nodes
    due = jnp.where(real, due, NEVER)
    owner = jnp.broadcast_to(jnp.where(real, Owner.IDLE, Owner.NONE).astype(jnp.int32), due.shape)
    zero = jnp.zeros(count, jnp.int32)
    left = None
    if settings.switched:
        spare = real & (jnp.arange(blocks * block).reshape(blocks, block) >= rules.warm_spares)
        left = jnp.where(spare, due, 0)
        due = jnp.where(spare, NEVER, due)
        owner = jnp.where(spare, jnp.int32(Owner.OFF), owner)
    jobs = new_jobs(rules.tasks)
    return Fleet(
        key=streams,
        now=zero,
        owner=owner,
        due=due,
        left=left,
        used=used if settings.ages else None,
        lemon=lemon,
        soonest=jnp.min(due, -1),
        idle=jnp.sum(owner == Owner.IDLE, -1, dtype=jnp.int32),
        off=jnp.sum(owner == Owner.OFF, -1, dtype=jnp.int32),
        starting=zero,
        repair=zero,
        failures=zero,
        lemon_failures=zero,
        manual=zero,
        accounts=jnp.zeros((count, len(Account), 3), jnp.int32),
        jobs=jax.tree.map(lambda array: jnp.broadcast_to(array, (count, *array.shape)), jobs),
    )


def _settings(plan: FleetPlan, replicates: int, max_events: int) -> Settings:
    block = 1 << max(3, math.ceil(math.log2(plan.nodes) / 2))
    jobs = plan.each_job()
    return Settings(
        replicates=replicates,
        nodes=plan.nodes,
        blocks=-(-plan.nodes // block),
        block=block,
        lemons=round(plan.lemon_share * plan.nodes),
        stationary=plan.age == "stationary",
        ages=plan.renews != "all" and plan.shape != 1,
        switched=plan.warm_spares is not None,
        preemption=plan.preemption and len({job.priority for job in jobs}) > 1,
        most_events=max_events,
    )


def _rules(plan: FleetPlan, order: list[int]) -> Rules:
    per_hour = ticks_per_hour(plan.horizon)
    settings = _settings(plan, 1, 1)
    rates = np.broadcast_to(np.asarray(plan.rate_per_node_day, np.float64), (plan.nodes,))
    with np.errstate(divide="ignore"):
        scale = np.minimum(24 / rates / math.gamma(1 + 1 / plan.shape), _LONGEST_LIFE)
    scale = np.pad(scale, (0, settings.blocks * settings.block - plan.nodes), constant_values=_LONGEST_LIFE)
    real = partial(jnp.asarray, dtype=jnp.result_type(float))
    lives = Lives(
        scale=real(scale.reshape(settings.blocks, settings.block)),
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
    interval = np.array([_rounded(job.interval, per_hour, 1) for job in jobs])
    productive = np.array([_rounded(job.productive, per_hour, 1) for job in jobs])
    endless = productive >= LONGEST
    full = np.where(endless, LONGEST, (productive - 1) // interval)
    priorities = np.array([job.priority for job in jobs])
    columns = {
        "size": [job.nodes for job in jobs],
        "full": full,
        "interval": interval,
        "last": np.where(endless, 0, productive - full * interval),
        "write": [_rounded(job.write, per_hour) for job in jobs],
        "restart": [_rounded(job.restart, per_hour) for job in jobs],
        "submit": [_rounded(job.submit, per_hour) for job in jobs],
        "below": np.searchsorted(-priorities, -priorities, side="right"),
    }
    return Tasks(**{name: jnp.asarray(np.asarray(column), jnp.int32) for name, column in columns.items()})


def _rounded(hours: float, per_hour: float, least: int = 0) -> int:
    """Hours as a whole number of ticks, at most a quarter of `LONGEST` where they are finite, so that sums fit."""
    return LONGEST if math.isinf(hours) else int(min(max(round(hours * per_hour), least), LONGEST // 4))


def _ticks(hours: float, per_hour: float) -> jax.Array:
    return jnp.int32(_rounded(hours, per_hour))


def _result(plan: FleetPlan, order: list[int], parts: dict[str, np.ndarray]) -> FleetResult:
    per_hour = ticks_per_hour(plan.horizon)
    back = np.argsort(order)
    ledger = as_hours(parts["job_ledger"], per_hour)[:, :, back]
    accounts = total_hours(parts["accounts"], per_hour)
    submit = np.array([_rounded(job.submit, per_hour) for job in plan.each_job()])
    wallclock = as_hours(parts["job_since"][:, back] - submit, per_hour)
    return FleetResult(
        plan=plan,
        productive=ledger[:, Entry.PRODUCTIVE],
        writing=ledger[:, Entry.WRITING],
        restarting=ledger[:, Entry.RESTARTING],
        lost=ledger[:, Entry.LOST],
        preempted=ledger[:, Entry.PREEMPTED],
        unsaved=ledger[:, Entry.UNSAVED],
        waiting=ledger[:, Entry.WAITING],
        short=ledger[:, Entry.SHORT],
        queued=ledger[:, Entry.QUEUED],
        wallclock=wallclock,
        finished=parts["job_finished"][:, back] < NEVER,
        job_failures=parts["job_failures"][:, back],
        preemptions=parts["job_preemptions"][:, back],
        node_hours=plan.nodes * _rounded(plan.horizon, per_hour) / per_hour,
        running=accounts[:, Account.RUNNING],
        held=accounts[:, Account.HELD],
        idle=accounts[:, Account.IDLE],
        off=accounts[:, Account.OFF],
        starting=accounts[:, Account.STARTING],
        repair=accounts[:, Account.REPAIR],
        failures=parts["failures"],
        lemon_failures=parts["lemon_failures"],
        manual_repairs=parts["manual"],
        nodes_down=parts["repair"],
    )
