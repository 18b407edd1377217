"""The fleet simulation against one that is told as a story: plain Python, one object for each node and job."""

import heapq
import itertools
import math
import random
from dataclasses import dataclass, field

import numpy as np
import pytest
from scipy import stats

from meantime.ettr import FleetJob, FleetPlan, FleetResult, RepairStage, simulate_fleet

RATE = 0.6


@dataclass
class Node:
    number: int
    scale: float
    state: str
    left: float
    """Hours of operation to its failure."""
    target: float
    """Cumulative hazard at its failure."""
    since: float = 0.0
    job: "Job | None" = None
    stamp: int = 0


@dataclass
class Job:
    plan: FleetJob
    rank: int
    state: str = "coming"
    since: float = 0.0
    nodes: list[Node] = field(default_factory=list)
    ready: float = 0.0
    begun: float = 0.0
    saved: float = 0.0
    stamp: int = 0
    book: dict[str, float] = field(default_factory=dict)
    stops: int = 0
    evictions: int = 0

    def add(self, entry: str, hours: float) -> None:
        self.book[entry] = self.book.get(entry, 0.0) + hours


class Story:
    """One replicate."""

    def __init__(self, plan: FleetPlan, rng: random.Random) -> None:
        self.plan, self.rng, self.clock, self.order = plan, rng, 0.0, itertools.count()
        self.events: list[tuple[float, bool, int, Node | Job, int]] = []
        self.failures = self.down = 0
        self.hours = dict.fromkeys(("job", "idle", "off", "starting", "repair"), 0.0)
        lemons = set(rng.sample(range(plan.nodes), round(plan.lemon_share * plan.nodes)))
        mean = 24 / RATE
        self.nodes = []
        for number in range(plan.nodes):
            scale = mean / math.gamma(1 + 1 / plan.shape) / (plan.lemon_factor if number in lemons else 1)
            age = self.old_age(scale) if plan.age == "stationary" else plan.age
            target = (age / scale) ** plan.shape + rng.expovariate(1)
            powered = plan.warm_spares is None or number < plan.warm_spares
            left = scale * target ** (1 / plan.shape) - age
            self.nodes.append(Node(number, scale, "idle" if powered else "off", left, target))
            self.expect(self.nodes[-1])
        ranked = sorted(plan.each_job(), key=lambda job: -job.priority)
        self.jobs = [Job(job, rank, since=job.submit) for rank, job in enumerate(ranked)]
        for job in self.jobs:
            self.call(job.plan.submit, job)

    def old_age(self, scale: float) -> float:
        """Age of a node in a fleet that has run for long: renew it until after a hundred mean lives."""
        end, age = 100 * scale * self.rng.random() + 20 * scale, 0.0
        while age <= end:
            end -= age
            age = scale * self.rng.expovariate(1) ** (1 / self.plan.shape)
        return end

    def call(self, when: float, who: Node | Job, stamp: int | None = None) -> None:
        """Let something happen; what happens at the same time, but for rounding, nodes before jobs."""
        who.stamp += stamp is None
        entry = (round(when, 9), isinstance(who, Job), next(self.order), who, who.stamp if stamp is None else stamp)
        heapq.heappush(self.events, entry)

    def expect(self, node: Node) -> None:
        """Call at the failure of a node, if it is powered."""
        node.stamp += 1
        if node.state in ("idle", "job"):
            self.call(self.clock + node.left, node)

    def turn(self, node: Node, state: str, job: Job | None = None) -> None:
        gone = self.clock - node.since
        self.hours[node.state] += gone
        if node.state in ("idle", "job"):
            node.left -= gone
        node.state, node.since, node.job = state, self.clock, job

    def free(self, state: str) -> list[Node]:
        return [node for node in self.nodes if node.state == state]

    def spare(self, node: Node) -> None:
        """A node has nothing to do."""
        warm = self.plan.warm_spares
        self.turn(node, "idle" if warm is None or len(self.free("idle")) < warm else "off")
        self.expect(node)

    def fail(self, node: Node) -> None:
        plan, rng = self.plan, self.rng
        self.failures += 1
        job = node.job
        self.turn(node, "repair")
        manual = rng.random() >= plan.automatic_share
        hours = rng.lognormvariate(math.log(plan.automatic.median), plan.automatic.sigma)
        hours += rng.lognormvariate(math.log(plan.manual.median), plan.manual.sigma) if manual else 0
        if plan.renews == "all" or (plan.renews == "manual" and manual):
            node.target = 0.0
        self.call(self.clock + hours, node)
        if job:
            noticed = self.clock + plan.detection + plan.swap
            job.ready = noticed if job.state == "running" else max(job.ready, noticed)
            job.stops += job.state == "running"
            self.stop(job, "lost")
            job.nodes.remove(node)
            job.state = "short"
            job.stamp += 1

    def repaired(self, node: Node) -> None:
        old = node.target
        node.target = old + self.rng.expovariate(1)
        shape = self.plan.shape
        node.left = node.scale * (node.target ** (1 / shape) - old ** (1 / shape))
        self.spare(node)

    def stop(self, job: Job, cause: str) -> None:
        """Write into the book what a job did since it was looked at last."""
        spent = self.clock - job.since
        job.since = self.clock
        if job.state != "running":
            job.add({"queued": "queued", "short": "short", "waiting": "waiting"}[job.state], spent)
            return
        restart = min(spent, job.plan.restart)
        job.add("restarting", restart)
        spent -= restart
        while spent > 1e-9:
            work = min(job.plan.interval, job.plan.productive - job.saved)
            if spent < work + job.plan.write - 1e-9:
                job.add(cause, spent)
                return
            job.add("productive", work)
            job.add("writing", job.plan.write)
            job.saved += work
            spent -= work + job.plan.write

    def give(self, job: Job, node: Node) -> float:
        start = self.plan.cold_start if node.state == "off" else 0.0
        self.turn(node, "job", job)
        self.expect(node)
        job.nodes.append(node)
        return start

    def release(self, job: Job) -> None:
        for node in sorted(job.nodes, key=lambda node: node.number):
            self.spare(node)
        job.nodes = []

    def serve(self) -> bool:
        """Serve one wish, the most urgent one that can be served."""
        pool = self.free("idle") + self.free("off")
        for job in self.jobs:
            if job.state not in ("queued", "short"):
                continue
            need = job.plan.nodes if job.state == "queued" else 1
            if need <= len(pool):
                slowest = [self.give(job, node) for node in pool[:need]]
                arrival = self.clock + max(slowest)
                if job.state == "short":
                    job.ready = max(job.ready, arrival + self.plan.swap)
                else:
                    job.ready = arrival
                    job.begun = self.clock
                self.stop(job, "")
                if len(job.nodes) == job.plan.nodes:
                    job.state = "waiting"
                    self.call(job.ready, job)
                return True
            below = [other for other in self.jobs if other.nodes and other.plan.priority < job.plan.priority]
            if not self.plan.preemption:
                below = []
            for other in below:
                self.look_again(other.begun + self.plan.protected)
            ripe = [other for other in below if self.clock > other.begun + self.plan.protected - 1e-8]
            if ripe and need <= len(pool) + sum(len(other.nodes) for other in ripe):
                victim = ripe[-1]
                victim.evictions += 1
                self.stop(victim, "preempted")
                victim.state = "queued"
                victim.stamp += 1
                self.release(victim)
                return True
        spares = len(self.free("idle")) + len(self.free("starting"))
        if self.plan.warm_spares is not None and spares < self.plan.warm_spares and self.free("off"):
            node = self.free("off")[0]
            self.turn(node, "starting")
            self.call(self.clock + self.plan.cold_start, node)
            return True
        return False

    def look_again(self, when: float) -> None:
        if when > self.clock + 1e-8:
            self.call(when, self.jobs[0], stamp=-1)

    def happen(self, who: Node | Job) -> None:
        if isinstance(who, Node):
            if who.state == "repair":
                self.repaired(who)
            elif who.state == "starting":
                self.turn(who, "idle")
                self.expect(who)
            else:
                self.fail(who)
        elif who.state == "coming":
            who.state, who.since = "queued", self.clock
        elif who.state == "waiting":
            self.stop(who, "")
            who.state = "running"
            left = who.plan.productive - who.saved
            writes = math.ceil(left / who.plan.interval - 1e-9) if left < math.inf else 0
            self.call(self.clock + who.plan.restart + left + writes * who.plan.write, who)
        elif who.state == "running":
            self.stop(who, "lost")
            who.state = "done"
            self.release(who)

    def tell(self) -> "Story":
        while self.events[0][0] < self.plan.horizon:
            self.clock, _, _, who, stamp = heapq.heappop(self.events)
            if stamp == who.stamp:
                self.happen(who)
            while self.serve():
                pass
        self.clock = self.plan.horizon
        self.down = len(self.free("repair"))
        for node in self.nodes:
            self.turn(node, node.state)
        for job in self.jobs:
            if job.state not in ("coming", "done"):
                self.stop(job, "unsaved")
        return self


FAST = {"automatic": RepairStage.between(1, 3), "manual": RepairStage.between(6, 24), "automatic_share": 0.7}
JOBS = (
    FleetJob(nodes=4, interval=0.5, write=0.05, restart=0.1, priority=0, productive=9.3, copies=3),
    FleetJob(nodes=10, interval=0.7, write=0.1, restart=0.2, priority=2),
    FleetJob(nodes=6, interval=1.1, write=0.0, restart=0.1, priority=1, productive=20.0, submit=5.0),
    FleetJob(nodes=2, interval=0.3, write=0.01, restart=0.0, priority=0, submit=12.0),
)
COMMON = {"jobs": JOBS, "rate_per_node_day": RATE, "horizon": 48.0} | FAST
PLANS = {
    "crowded, infant mortality": FleetPlan(nodes=24, shape=0.7, detection=0.2, swap=0.1, **COMMON),
    "wear, cold spares, lemons, ages outlive repairs": FleetPlan(
        nodes=28, shape=2.0, lemon_share=0.1, lemon_factor=5.0, warm_spares=1, cold_start=0.5, detection=0.1,
        renews="manual", **COMMON,
    ),
    "short of nodes, long protected, old": FleetPlan(nodes=20, shape=0.8, age=15.0, protected=4.0, **COMMON),
    "nobody gives way, no repair renews, new": FleetPlan(
        nodes=18, shape=1.5, age=0.0, renews="none", preemption=False, warm_spares=2, cold_start=0.3, swap=0.2, **COMMON
    ),
}  # fmt: skip
ENTRIES = ("productive", "writing", "restarting", "lost", "preempted", "unsaved", "waiting", "short", "queued")


def told(plan: FleetPlan, seed: int, count: int) -> dict[str, np.ndarray]:
    stories = [Story(plan, random.Random(f"{seed} {number}")).tell() for number in range(count)]
    back = np.argsort(sorted(range(len(plan.each_job())), key=lambda place: -plan.each_job()[place].priority))
    figures = {
        f"{entry} {place}": np.array([story.jobs[rank].book.get(entry, 0.0) for story in stories])
        for entry in ENTRIES
        for place, rank in enumerate(back)
    }
    figures |= {f"stops {place}": np.array([s.jobs[rank].stops for s in stories]) for place, rank in enumerate(back)}
    figures |= {f"evictions {p}": np.array([s.jobs[rank].evictions for s in stories]) for p, rank in enumerate(back)}
    figures |= {state: np.array([story.hours[state] for story in stories]) for state in stories[0].hours}
    return figures | {
        "failures": np.array([story.failures for story in stories]),
        "down": np.array([story.down for story in stories]),
    }


def simulated(result: FleetResult) -> dict[str, np.ndarray]:
    jobs = range(result.wallclock.shape[1])
    figures = {f"{entry} {job}": hours[:, job] for entry, hours in result.job_ledger().items() for job in jobs}
    figures |= {f"stops {job}": result.job_failures[:, job] for job in jobs}
    figures |= {f"evictions {job}": result.preemptions[:, job] for job in jobs}
    figures |= {"job": result.running + result.held, "idle": result.idle, "off": result.off}
    figures |= {"starting": result.starting, "repair": result.repair}
    return figures | {"failures": result.failures, "down": result.nodes_down}


def disagreements(plan: FleetPlan, seed: int, stories: int, parts: int) -> dict[str, tuple[float, float, float]]:
    """Figures whose distribution differs: two-sample Kolmogorov-Smirnov tests, each at 0.1 % over their number."""
    story = told(plan, seed, stories)
    results = [simulated(simulate_fleet(seed + part, plan, 64)) for part in range(parts)]
    other = {name: np.concatenate([result[name] for result in results]) for name in results[0]}
    assert story.keys() == other.keys()
    # Rounded to 0.01 h, so that what is all alike (a whole run, a wait without luck) is alike in both.
    values = {name: stats.ks_2samp(np.round(story[name], 2), np.round(other[name], 2)).pvalue for name in story}
    limit = 1e-3 / len(story)
    return {name: (value, story[name].mean(), other[name].mean()) for name, value in values.items() if value < limit}


@pytest.mark.parametrize("seed", [20251])
def test_simulation_agrees_with_the_story(seed: int) -> None:
    """Each hour and count, job by job; false-alarm rate at most 0.1 % (Bonferroni)."""
    plan = PLANS["wear, cold spares, lemons, ages outlive repairs"]
    assert not disagreements(plan, seed, stories=400, parts=20)


@pytest.mark.slow
@pytest.mark.parametrize("seed", [20352])
@pytest.mark.parametrize("name", PLANS)
def test_simulation_agrees_with_many_stories(name: str, seed: int) -> None:
    """As above with several times as many, every plan; false-alarm rate 0.1 % a plan."""
    assert not disagreements(PLANS[name], seed, stories=2500, parts=100)
