"""From a plan to its simulation and back to hours."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np

from meantime.errors import InputError
from meantime.ettr.fleet.birth import new_fleet
from meantime.ettr.fleet.machine import run
from meantime.ettr.fleet.plan import FleetPlan
from meantime.ettr.fleet.result import FleetResult
from meantime.ettr.fleet.setup import rounded, rules_of, settings_of
from meantime.ettr.fleet.state import Account, Entry, Fleet, Rules, Settings
from meantime.ettr.fleet.ticks import NEVER, as_hours, ticks_per_hour, total_hours

_TOGETHER = 1 << 22
"""About so many nodes of all replicates are simulated side by side."""


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
    together = max(1, min(_few(n_replicates), _TOGETHER // plan.nodes))
    order = sorted(range(len(plan.each_job())), key=lambda number: -plan.each_job()[number].priority)
    settings = settings_of(plan, together)
    rules = rules_of(plan, order, settings, max_events)
    parts = []
    for start in range(0, n_replicates, together):
        fleet, steps = _run(key, jnp.int32(start), jnp.int32(n_replicates), rules, settings)
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


def _few(count: int) -> int:
    """A power of two that is at least `count`, up to 64: so that small numbers of replicates share a compilation."""
    return count if count > 64 else max(16, 1 << (count - 1).bit_length())


@partial(jax.jit, static_argnames="settings")
def _run(key: jax.Array, start: jax.Array, end: jax.Array, rules: Rules, settings: Settings) -> tuple[Fleet, jax.Array]:
    """Simulate replicates from number `start` on; those from `end` on are over before they begin."""
    numbers = start + jnp.arange(settings.replicates, dtype=jnp.int32)
    keys = jax.vmap(lambda number: jax.random.fold_in(key, number))(numbers)
    fleet = new_fleet(keys, rules, settings)
    return run(fleet._replace(now=jnp.where(numbers < end, 0, rules.horizon)), rules, settings)


def _result(plan: FleetPlan, order: list[int], parts: dict[str, np.ndarray]) -> FleetResult:
    per_hour = ticks_per_hour(plan.horizon)
    back = np.argsort(order)
    ledger = as_hours(parts["job_ledger"], per_hour)[:, :, back]
    accounts = total_hours(parts["accounts"], per_hour)
    submit = np.array([rounded(job.submit, per_hour) for job in plan.each_job()])
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
        node_hours=plan.nodes * rounded(plan.horizon, per_hour) / per_hour,
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
