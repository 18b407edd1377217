"""How fast is the simulation, of single runs and of a fleet, and what does it say? Run: python benchmarks/fleet.py

100,000 runs of 30 days on 12,500 nodes; then 100 replicates of 30 days of a fleet of 12,500 nodes: node
ages, lemons, two stages of repair, spares that are off, and 68 jobs of four priorities that compete. Failures of
aged and new fleets against renewal theory, and what the closed form of one run misses when hazards are not constant.
"""

import math
import os
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import jax
import numpy as np
from scipy import stats

from meantime import ettr
from meantime.ettr import FleetJob, FleetPlan, RepairStage, simulate_fleet

SEED = 20250301
NODES, RATE, DAYS, REPLICATES = 12_500, 6.5e-3, 30, 100
WRITE, RESTART, DETECTION = 30 / 3600, 5 / 60, 2 / 60
JOBS = (
    FleetJob(nodes=8000, interval=0.25, write=WRITE, restart=RESTART, priority=3),
    FleetJob(nodes=2048, interval=0.5, write=WRITE, restart=RESTART, priority=2, productive=200),
    FleetJob(nodes=256, interval=1.0, write=WRITE, restart=RESTART, priority=1, productive=300, copies=6),
    FleetJob(nodes=32, productive=48, copies=40),
    FleetJob(nodes=64, productive=100, submit=100, copies=20),
)
CROWD = FleetPlan(
    nodes=NODES,
    jobs=JOBS,
    rate_per_node_day=RATE,
    horizon=24.0 * DAYS,
    shape=0.7,
    lemon_share=0.012,
    lemon_factor=10,
    warm_spares=32,
    cold_start=0.25,
    detection=DETECTION,
    swap=0.05,
)
AT_ONCE = RepairStage(median=0.0)


class Cost(NamedTuple):
    """Seconds on the clock, and of all processors together: the two differ on a machine that does other things too."""

    wall: float
    processors: float

    def __str__(self) -> str:
        return f"{self.wall:.1f} s ({self.processors:.1f} s of processor time)"


def timed(function: Callable[[], Any]) -> tuple[Cost, Any]:
    wall, processors = time.perf_counter(), time.process_time()
    result = function()
    return Cost(time.perf_counter() - wall, time.process_time() - processors), result


def single_runs() -> None:
    lam = ettr.hazard_of(NODES, RATE)
    tau = ettr.optimal_interval(lam, WRITE)
    plan = {"detection": DETECTION, "productive": 24.0 * DAYS}
    cost, (wall, failures) = timed(
        lambda: ettr.simulate(SEED, lam, tau, WRITE, RESTART, **plan, n_runs=100_000, with_failures=True)
    )
    mean = plan["productive"] / ettr.renewal(lam, tau, WRITE, RESTART, **plan)
    z = (wall.mean() - mean) / wall.std() * math.sqrt(wall.size)
    print(f"single runs: 100,000 of {DAYS} productive days on {NODES:,} nodes: {cost} with compiling")
    print(
        f"  {failures.sum() / cost.wall / 1e6:.0f} million failures a second; mean against closed form {z:+.1f} errors"
    )


def crowd() -> None:
    cold, result = timed(lambda: simulate_fleet(SEED, CROWD, REPLICATES))
    warm, _ = timed(lambda: simulate_fleet(SEED + 1, CROWD, REPLICATES))
    print(f"fleet: {REPLICATES} replicates of {DAYS} days, {NODES:,} nodes, {len(CROWD.each_job())} jobs")
    print(f"  {cold} with compiling, {warm} warm, {result.failures.sum() / warm.wall:,.0f} failures a second")
    with jax.enable_x64(False):
        single, _ = timed(lambda: simulate_fleet(jax.random.key(SEED), CROWD, REPLICATES))
        single_warm, _ = timed(lambda: simulate_fleet(jax.random.key(SEED + 1), CROWD, REPLICATES))
    print(f"  {single} and {single_warm} in single precision")
    off = np.abs(sum(result.job_ledger().values()) - result.wallclock).max()
    nodes_off = np.abs(sum(result.node_ledger().values()) - result.node_hours).max()
    print(f"  ledgers: {off} h of a job and {nodes_off} node-hours unaccounted for")
    print(f"  {result.failures.mean():.0f} failures, {result.lemon_failures.mean():.0f} of lemons, ", end="")
    print(f"{result.preemptions.sum(1).mean():.0f} preemptions, goodput {result.goodput.mean():.3f}")
    shares = {name: hours.mean() / result.node_hours for name, hours in result.node_ledger().items()}
    print("  node-hours: " + ", ".join(f"{name} {share:.1%}" for name, share in shares.items()))
    largest = {name: hours[:, 0].mean() / result.wallclock[:, 0].mean() for name, hours in result.job_ledger().items()}
    print("  largest job: " + ", ".join(f"{name} {share:.1%}" for name, share in largest.items() if share > 5e-4))


def renewals() -> None:
    print(f"failures of {NODES:,} nodes in {DAYS} days, repaired at once; a job on all that fails every 18 minutes")
    job = FleetJob(nodes=NODES, interval=0.1, write=0.0, restart=0.05)
    for shape in (0.7, 1.0, 2.0):
        plan = FleetPlan(
            nodes=NODES, jobs=[job], rate_per_node_day=RATE, horizon=24.0 * DAYS, shape=shape, automatic=AT_ONCE,
            automatic_share=1.0,
        )  # fmt: skip
        mean_life = 24 / RATE
        expected = NODES * plan.horizon / mean_life
        aged = simulate_fleet(SEED, plan, REPLICATES).failures
        young = simulate_fleet(SEED, replace(plan, age=0.0), REPLICATES).failures
        new = NODES * renewal_function(shape, plan.horizon, mean_life)
        print(
            f"  shape {shape}: aged {aged.mean():.1f} against {expected:.1f} ({error(aged, expected):+.1f} errors), "
            f"new {young.mean():.1f} against {new:.1f} ({error(young, new):+.1f} errors)"
        )


def renewal_form() -> None:
    print(f"renewal form at {RATE * 1000} failures per 1,000 node-days, against a job on 8,000 of 8,500 ageing nodes")
    lam = float(ettr.hazard_of(8000, RATE))
    tau = float(ettr.optimal_interval(lam, WRITE))
    wait = math.expm1(lam * DETECTION) / lam
    form = float(ettr.renewal(lam, tau, WRITE, RESTART, detection=wait))
    job = FleetJob(nodes=8000, interval=tau, write=WRITE, restart=RESTART)
    for shape in (0.7, 1.0, 2.0):
        for name, age in {"aged": "stationary", "new": 0.0, "a year old": 8760.0}.items():
            plan = FleetPlan(
                nodes=8500, jobs=[job], rate_per_node_day=RATE, horizon=24.0 * DAYS, shape=shape, age=age,
                detection=DETECTION,
            )  # fmt: skip
            result = simulate_fleet(SEED, plan, REPLICATES)
            seen = result.ettr.mean()
            rate = result.failures.mean() / (plan.nodes * DAYS)
            known = ettr.renewal(lam * rate / RATE, tau, WRITE, RESTART, detection=wait)
            print(
                f"  shape {shape}, {name:>10}: {rate * 1000:5.2f} failures per 1,000 node-days, ETTR {seen:.3f}; form "
                f"{form:.3f} ({form / seen - 1:+.1%}), at the rate that there was {known:.3f} ({known / seen - 1:+.1%})"
            )


def spares() -> None:
    print("a job on 8,000 nodes and its spares, 20 days after the first ten: share of time without a spare")
    mean = FleetPlan(nodes=1, jobs=[FleetJob(nodes=1)], rate_per_node_day=RATE).mean_repair
    for number in (10, 20, 30):
        nodes = 8000 + number
        plan = FleetPlan(nodes=nodes, jobs=[FleetJob(nodes=8000, submit=240)], rate_per_node_day=RATE, horizon=720.0)
        result = simulate_fleet(SEED, plan, REPLICATES)
        share = ((result.short + result.queued) / 480)[:, 0]
        down = mean / (24 / RATE + mean)
        print(
            f"  {number} spares: simulated {share.mean():.4f} +- {share.std() / math.sqrt(REPLICATES):.4f}, "
            f"binomial {stats.binom.sf(number, nodes, down):.4f}, Poisson {stats.poisson.sf(number, nodes * down):.4f}"
        )


def renewal_function(shape: float, time: float, mean: float, steps: int = 2000) -> float:
    """Expected renewals of a Weibull process that starts new (Xie's midpoint rule for the renewal equation)."""
    scale = mean / math.gamma(1 + 1 / shape)
    step = time / steps
    whole = stats.weibull_min.cdf(np.arange(steps + 1) * step, shape, scale=scale)
    half = stats.weibull_min.cdf((np.arange(1, steps + 1) - 0.5) * step, shape, scale=scale)
    renewals = np.zeros(steps + 1)
    for i in range(1, steps + 1):
        past = np.diff(renewals[:i]) @ half[1:i][::-1]
        renewals[i] = (whole[i] - half[0] * renewals[i - 1] + past) / (1 - half[0])
    return float(renewals[-1])


def error(values: np.ndarray, expected: float) -> float:
    return float((values.mean() - expected) / values.std(ddof=1) * math.sqrt(len(values)))


def main() -> None:
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, seed {SEED}")
    single_runs()
    crowd()
    renewals()
    renewal_form()
    spares()


if __name__ == "__main__":
    main()
