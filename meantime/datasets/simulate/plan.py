"""What is simulated: the cluster, its jobs, its failures."""

import dataclasses
import datetime as dt
import math
import types
from collections.abc import Mapping

from meantime.datasets.taxonomy import UNATTRIBUTED
from meantime.errors import InputError
from meantime.units import Duration, seconds

RSC1_SIZES: Mapping[int, tuple[float, float]] = types.MappingProxyType(
    {
        1: (0.42, 0.010),
        2: (0.05, 0.005),
        4: (0.06, 0.010),
        8: (0.3852, 0.065),
        16: (0.03, 0.035),
        32: (0.02, 0.05),
        64: (0.015, 0.075),
        128: (0.009, 0.09),
        256: (0.006, 0.15),
        512: (0.003, 0.14),
        1024: (0.0012, 0.13),
        2048: (0.0004, 0.12),
        4096: (0.0002, 0.12),
    }
)
"""Job-size mix: GPUs -> (share of jobs, share of GPU time).

Chosen by us so that every published statement on RSC-1 holds (arXiv 2410.21680, Figure 6: over 40 % of
jobs use 1 GPU; over 90 % fit a server, with under 10 % of the GPU time; 66 % of the GPU time from
256 GPUs up; 4,096-GPU jobs under 1 % of jobs and 12 % of the GPU time). The histogram is not published.
"""

RSC1_RATES: Mapping[str, float] = types.MappingProxyType(
    {
        "infiniband_link": 1.25e-3,
        "filesystem_mount": 1.05e-3,
        "gpu_memory": 0.95e-3,
        "pcie": 0.80e-3,
        "gpu_hardware": 0.45e-3,
        "nvlink": 0.30e-3,
        "gpu_driver": 0.25e-3,
        "ethernet_link": 0.20e-3,
        "system_services": 0.15e-3,
        "host_memory": 0.10e-3,
        "block_device": 0.10e-3,
        UNATTRIBUTED: 0.90e-3,
    }
)
"""Failures per node-day by component, in all 6.5 per 1,000 node-days.

The sum is RSC-1's published rate; the division among components is ours, in the published order
(InfiniBand links, file-system mounts, GPU memory and PCIe lead), because the bars of the paper's
Figure 4 are not published in figures.
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPlan:
    """A cluster like Meta's RSC-1; every figure can be changed.

    Attributes
    ----------
    n_jobs
        Jobs submitted. A job that is requeued has several attempts, each a row of the log.
    n_nodes, gpus_per_node
        Size of the cluster; GPUs of a node are a power of two.
    days
        Length of the log. Default: as long as RSC-1 took for so many jobs (3.6 jobs a node and day).
        A longer log with as many jobs has longer jobs, and so more failures.
    utilisation
        Share of all GPU time that jobs are meant to use, 0 to 1; runs up from an empty cluster, so a
        short log falls a little short of it.
    sizes
        GPUs (a power of two) -> (share of jobs, share of GPU time). Sizes above half the cluster are
        left out and the shares scaled up.
    rates
        Component -> failures per node-day of a 64-GPU job. ``"unattributed"`` leaves no event.
    slopes
        Change of the log rate per doubling of the job's size about 64 GPUs: one figure, or
        component -> figure (others 0). 0 is the law MTTF = 1/(N r).
    cell_sd
        Standard deviation of the multiplier (Gamma, mean 1) of each component and size; 0 = none.
    node_fail
        Share of the attributable failures whose state is NODE_FAIL; the others read FAILED.
    lemon_share, lemon_multiplier
        Share of the nodes that are lemons, and how many times the rate of a sound node they have.
    user_failure, cancelled, timeout, out_of_memory, preemption, requeued
        Shares of attempts that end in these ways for reasons other than hardware.
    cascade
        Nodes that a large job takes from running jobs of low priority when it restarts after a
        failure, over its own nodes.
    requeue
        Probability that a job which lost a node is requeued under its own id.
    queue
        Mean wait of jobs below `large_gpus`, exponential. Larger ones wait for nodes to be free.
    restart, checkpoint_interval
        Time a requeued attempt needs before it makes progress; work since the last checkpoint is lost.
    max_lifetime, preempt_after
        Longest attempt; shortest runtime after which an attempt may be preempted.
    noise_low, noise_high
        Events per node-day that no failure belongs to, of low and of high severity.
    start, cluster
        First instant of the log (UTC) and name of the cluster.
    """

    n_jobs: int = 100_000
    n_nodes: int = 2000
    gpus_per_node: int = 8
    days: float | None = None
    utilisation: float = 0.83
    sizes: Mapping[int, tuple[float, float]] = RSC1_SIZES
    rates: Mapping[str, float] = RSC1_RATES
    slopes: float | Mapping[str, float] = 0.0
    cell_sd: float = 0.0
    node_fail: float = 0.5
    lemon_share: float = 0.0
    lemon_multiplier: float = 20.0
    user_failure: float = 0.24
    cancelled: float = 0.032
    timeout: float = 0.006
    out_of_memory: float = 0.001
    preemption: float = 0.10
    requeued: float = 0.02
    cascade: float = 0.1
    requeue: float = 0.95
    queue: Duration = "10min"
    restart: Duration = "5min"
    checkpoint_interval: Duration = "1h"
    max_lifetime: Duration = "7d"
    preempt_after: Duration = "2h"
    noise_low: float = 0.02
    noise_high: float = 0.0005
    start: dt.datetime = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
    cluster: str = "rsc-sim"

    def __post_init__(self) -> None:
        for name, most in (("n_jobs", 20_000_000), ("n_nodes", 200_000), ("gpus_per_node", 1024)):
            _check(name, getattr(self, name), 1, most)
        if self.gpus_per_node & (self.gpus_per_node - 1):
            raise InputError(f"gpus_per_node is {self.gpus_per_node}; expected a power of two")
        if self.days is not None:
            _check("days", self.days, 0.01, 36525)
        for name in _SHARES:
            _check(name, getattr(self, name), 0, 1)
        for name in ("cell_sd", "noise_low", "noise_high"):
            _check(name, getattr(self, name), 0, 10)
        _check("lemon_multiplier", self.lemon_multiplier, 1, 1e6)
        if (others := sum(getattr(self, name) for name in _ENDINGS)) > 0.95:
            raise InputError(f"{' + '.join(_ENDINGS)} is {others:g}; expected at most 0.95, the rest completes")
        _check_sizes(self.sizes)
        if not self.rates:
            raise InputError("rates are empty; expected at least one component")
        for component, rate in self.rates.items():
            _check(f"the rate of {component!r}", rate, 0, 10)
        if isinstance(self.slopes, Mapping) and (unknown := set(self.slopes) - set(self.rates)):
            raise InputError(f"slopes name {sorted(unknown)[0]!r}, which has no rate; expected {', '.join(self.rates)}")
        for name in ("queue", "restart", "checkpoint_interval", "max_lifetime", "preempt_after"):
            seconds(getattr(self, name), name=name)
        for name in ("checkpoint_interval", "max_lifetime"):
            _check(f"{name} (in seconds)", seconds(getattr(self, name)), 1, 1e10)
        if self.start.tzinfo is None:
            raise InputError(f"start is {self.start}, without a time zone; expected one, such as datetime.UTC")

    @property
    def log_seconds(self) -> int:
        """Length of the log in seconds."""
        days = self.days if self.days is not None else max(0.01, self.n_jobs / (3.6 * self.n_nodes))
        return int(days * 86400)

    @property
    def large_gpus(self) -> int:
        """Jobs from this size up have high priority: 256 GPUs, or less where that is over 1/64 of the cluster."""
        return min(256, 2 ** math.ceil(math.log2(max(self.n_nodes * self.gpus_per_node / 64, 1))))

    @property
    def mix(self) -> dict[int, tuple[float, float]]:
        """Sizes that fit half the cluster, their shares summing to 1."""
        limit = max(self.n_nodes * self.gpus_per_node // 2, min(self.sizes))
        kept = {size: shares for size, shares in sorted(self.sizes.items()) if size <= limit}
        jobs, time = (sum(shares[i] for shares in kept.values()) for i in (0, 1))
        return {size: (shares[0] / jobs, shares[1] / time) for size, shares in kept.items()}


_ENDINGS = ("user_failure", "cancelled", "timeout", "out_of_memory", "preemption", "requeued")
_SHARES = (*_ENDINGS, "utilisation", "node_fail", "lemon_share", "cascade", "requeue")


def _check(name: str, value: float, least: float, most: float) -> None:
    if not least <= value <= most:
        raise InputError(f"{name} is {value!r}; expected {least:g} to {most:g}")


def _check_sizes(sizes: Mapping[int, tuple[float, float]]) -> None:
    if not sizes:
        raise InputError("sizes are empty; expected GPUs -> (share of jobs, share of GPU time)")
    for size, shares in sizes.items():
        if size < 1 or size > 2**20 or size & (size - 1):
            raise InputError(f"sizes hold {size}; expected powers of two, 1 to {2**20}")
        if len(shares) != 2 or min(shares) <= 0:
            raise InputError(f"the shares of size {size} are {shares}; expected two positive figures")
