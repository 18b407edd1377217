"""The jobs that are submitted: sizes, times, amounts of work, and how they would end on sound hardware."""

import dataclasses

import numpy as np
from scipy import stats

from meantime.datasets.jobs import STATES
from meantime.datasets.simulate.plan import ClusterPlan
from meantime.units import seconds

CODE = {state: code for code, state in enumerate(STATES)}
QOS = ("low", "normal", "high")
LOW, NORMAL, HIGH = range(3)
LOW_SHARE = 0.7
"""Share of the jobs that are not large that have low priority, the only ones that are preempted."""

_ODD_SHARE = 0.1
_PREEMPTED_EXTRA = 1800.0
_NEVER_STARTED = 0.2


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """Arrays with one entry a job, in order of submission; times in seconds from the log's start.

    ``ending`` is the state (code) in which the job ends after ``work`` seconds of progress;
    ``withdrawn`` jobs are cancelled before they start, after ``work`` seconds of waiting.
    """

    gpus: np.ndarray
    nodes: np.ndarray
    submit: np.ndarray
    work: np.ndarray
    ending: np.ndarray
    qos: np.ndarray
    withdrawn: np.ndarray
    user: np.ndarray


def draw_jobs(rng: np.random.Generator, plan: ClusterPlan) -> Jobs:
    """Draw the jobs of a plan.

    The number of jobs of each size is its share, rounded; submissions of a size spread evenly. The
    work of a size is log-normal, with the mean that gives the size its share of GPU time.
    """
    sizes = np.array(list(plan.mix))
    shares = np.array([shares[0] for shares in plan.mix.values()])
    counts = _whole_numbers(shares * plan.n_jobs)
    size = np.repeat(sizes, counts)
    ending = _draw_endings(rng, plan, plan.n_jobs)
    work = np.concatenate([_draw_work(rng, plan, s, n) for s, n in zip(sizes, counts, strict=True)])
    early = (ending == CODE["FAILED"]) | (ending == CODE["OUT_OF_MEMORY"])
    work = np.where(early, work * rng.random(plan.n_jobs), work)
    work = np.where(ending == CODE["TIMEOUT"], np.ceil(work / 3600) * 3600, work)
    withdrawn = (ending == CODE["CANCELLED"]) & (rng.random(plan.n_jobs) < _NEVER_STARTED)
    work = np.where(withdrawn, rng.exponential(seconds(plan.queue) + 60, plan.n_jobs), np.maximum(work, 1))
    submit = np.concatenate([(rng.permutation(n) + rng.random(n)) / max(n, 1) for n in counts]) * plan.log_seconds
    gpus = _spread_sizes(rng, size, plan.gpus_per_node)
    low = rng.random(plan.n_jobs) < LOW_SHARE
    order = np.argsort(submit, kind="stable")
    qos = np.where(size >= plan.large_gpus, HIGH, np.where(low, LOW, NORMAL))
    user = np.minimum(rng.geometric(0.01, plan.n_jobs), 999)
    columns = {
        "gpus": gpus,
        "nodes": -(-gpus // plan.gpus_per_node),
        "submit": np.floor(submit),
        "work": np.ceil(work),
        "ending": ending,
        "qos": qos,
        "withdrawn": withdrawn,
        "user": user,
    }
    return Jobs(**{name: column[order] for name, column in columns.items()})


def preemption_chance(plan: ClusterPlan) -> float:
    """Chance that an attempt of low priority is preempted, so that `preemption` of all attempts are."""
    small = sum(jobs for size, (jobs, _) in plan.mix.items() if size < plan.large_gpus)
    return min(0.9, plan.preemption / max(LOW_SHARE * small, 1e-9))


def _whole_numbers(wanted: np.ndarray) -> np.ndarray:
    """Round so that the sum stays: the largest remainders go up."""
    counts = np.floor(wanted).astype(np.int64)
    missing = round(wanted.sum()) - counts.sum()
    counts[np.argsort(counts - wanted, kind="stable")[:missing]] += 1
    return counts


def _draw_endings(rng: np.random.Generator, plan: ClusterPlan, count: int) -> np.ndarray:
    kinds = ("FAILED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY")
    shares = np.array([plan.user_failure, plan.cancelled, plan.timeout, plan.out_of_memory])
    chances = shares / (1 - plan.preemption - plan.requeued)
    index = np.searchsorted(np.cumsum(chances), rng.random(count), side="right")
    return np.array([CODE[kind] for kind in kinds] + [CODE["COMPLETED"]])[index]


def _draw_work(rng: np.random.Generator, plan: ClusterPlan, size: int, count: int) -> np.ndarray:
    if count == 0:
        return np.zeros(0)
    share = plan.mix[int(size)][1]
    gpu_seconds = plan.n_nodes * plan.gpus_per_node * plan.utilisation * plan.log_seconds
    sigma = max(0.4, 1.6 - 0.08 * np.log2(size))
    median = _solve_median(plan, int(size), share * gpu_seconds / (count * size), sigma)
    ranks = (rng.permutation(count) + rng.random(count)) / count
    return median * np.exp(sigma * stats.norm.ppf(ranks))


def _solve_median(plan: ClusterPlan, size: int, wanted: float, sigma: float) -> float:
    """Find the median work with which a job of this size runs `wanted` seconds on average in the log."""
    shape = np.exp(sigma * stats.norm.ppf((np.arange(200) + 0.5) / 200))[:, None]
    left = plan.log_seconds * (1 - (np.arange(50) + 0.5) / 50)
    single = 1 - plan.preemption - plan.requeued
    early = 0.5 * (plan.user_failure + plan.out_of_memory) / single
    if size < plan.large_gpus:
        attempts = plan.preemption / single
        wanted -= attempts * (seconds(plan.preempt_after) + _PREEMPTED_EXTRA)
    ran = 1 - _NEVER_STARTED * plan.cancelled / single

    def mean(median: float) -> float:
        full, half = (np.minimum(np.minimum(f * median * shape, longest), left).mean() for f in (1.0, 0.5))
        return float(ran * ((1 - 2 * early) * full + 2 * early * half))

    longest = seconds(plan.max_lifetime)
    low, high = 60.0, 20 * longest
    for _ in range(40):
        middle = np.sqrt(low * high)
        low, high = (middle, high) if mean(middle) < wanted else (low, middle)
    return low


def _spread_sizes(rng: np.random.Generator, size: np.ndarray, gpus_per_node: int) -> np.ndarray:
    """Give a tenth of the jobs above 2 GPUs a size between two powers of two (whole nodes above one)."""
    odd = (size > 2) & (size != 2 * gpus_per_node) & (rng.random(len(size)) < _ODD_SHARE)
    unit = np.where(size > gpus_per_node, gpus_per_node, 1)
    half = size // 2
    return np.where(odd, half + unit * (1 + np.floor(rng.random(len(size)) * (half // unit))).astype(np.int64), size)


def preempted_runtime(rng: np.random.Generator, plan: ClusterPlan, count: int) -> np.ndarray:
    """Draw the runtimes (seconds) of attempts that are preempted for reasons other than a restart."""
    return seconds(plan.preempt_after) + rng.exponential(_PREEMPTED_EXTRA, count)
