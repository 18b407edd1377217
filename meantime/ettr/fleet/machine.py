"""One step of a fleet after the other, all replicates side by side."""

import jax
import jax.numpy as jnp

from meantime.ettr.fleet.agenda import Kind, next_event
from meantime.ettr.fleet.counting import total
from meantime.ettr.fleet.jobs import end_of_horizon, update_jobs
from meantime.ettr.fleet.nodes import update_node
from meantime.ettr.fleet.pool import Exchange, exchange
from meantime.ettr.fleet.state import Account, Fleet, Phase, Rules, Settings
from meantime.ettr.fleet.ticks import add_product


def run(fleet: Fleet, rules: Rules, settings: Settings) -> tuple[Fleet, jax.Array]:
    """Run replicates to the horizon; also the number of steps, `Rules.most_events` if not all got there."""

    def open_(state: tuple[Fleet, jax.Array]) -> jax.Array:
        fleet, steps = state
        return (steps < rules.most_events) & jnp.any(fleet.now < rules.horizon)

    def step(state: tuple[Fleet, jax.Array]) -> tuple[Fleet, jax.Array]:
        fleet, steps = state
        fleet, wanted = jax.vmap(lambda one: _step(one, rules, settings))(fleet)
        return exchange(fleet, wanted, rules, settings), steps + 1

    fleet, steps = jax.lax.while_loop(open_, step, (fleet, jnp.int32(0)))
    return fleet._replace(jobs=jax.vmap(lambda jobs: end_of_horizon(jobs, rules))(fleet.jobs)), steps


def _step(fleet: Fleet, rules: Rules, settings: Settings) -> tuple[Fleet, Exchange]:
    """One event of one replicate, but for the exchange of nodes that it makes a job want."""
    event = next_event(fleet, rules, settings)
    accounts = add_product(fleet.accounts, _counts(fleet, rules), event.time - fleet.now)
    change = update_node(fleet, rules, settings, event)
    jobs = update_jobs(fleet, rules, event, change.struck, change.from_off)
    started, preempted = event.kind == Kind.START, event.kind == Kind.PREEMPT
    ended = (event.kind == Kind.JOB) & (jobs.phase[event.job] == Phase.DONE)
    size = rules.tasks.size[event.job]
    number = jnp.where(started, size, jnp.where(preempted | ended, -size, 0))
    return change.fleet._replace(now=event.time, accounts=accounts, jobs=jobs), Exchange(event.job, number)


def _counts(fleet: Fleet, rules: Rules) -> jax.Array:
    """Nodes in each account."""
    phase, held = fleet.jobs.phase, rules.tasks.size - fleet.jobs.lack
    running = total(jnp.where(phase == Phase.RUNNING, held, 0))
    waiting = total(jnp.where((phase == Phase.SHORT) | (phase == Phase.WAITING), held, 0))
    counts = {
        Account.RUNNING: running,
        Account.HELD: waiting,
        Account.IDLE: total(fleet.idle),
        Account.OFF: total(fleet.off),
        Account.STARTING: fleet.starting,
        Account.REPAIR: fleet.repair,
    }
    return jnp.stack([counts[account] for account in Account])
