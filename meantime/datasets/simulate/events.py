"""Health-check events: those that tell why attempts failed, those that come along, and noise."""

import dataclasses

import numpy as np

from meantime.datasets.simulate.plan import ClusterPlan
from meantime.datasets.taxonomy import UNATTRIBUTED

LATENCY = (-420, 180)
"""Seconds after the end of the attempt at which its event is logged, uniform: checks run every five
minutes, so the event may come first or last. Inside the attribution window of 10 and 5 minutes."""

CHECKS: dict[str, tuple[str, str]] = {
    "infiniband_link": ("check_iblink", "IB link down"),
    "filesystem_mount": ("check_mounts", "mount point missing"),
    "gpu_memory": ("xid", "Xid 48: double-bit ECC error"),
    "pcie": ("check_pci", "PCIe link error"),
    "gpu_hardware": ("xid", "Xid 79: GPU has fallen off the bus"),
    "nvlink": ("xid", "Xid 74: NVLink error"),
    "gpu_driver": ("xid", "Xid 119: GSP timeout"),
    "ethernet_link": ("check_ethlink", "link down"),
    "system_services": ("check_services", "slurmd not running"),
    "host_memory": ("check_ipmi_sel", "uncorrectable memory error"),
    "block_device": ("check_blockdev", "I/O error"),
}
"""Component -> the check or log that sees its failures, and what it says."""

TOGETHER: tuple[tuple[str, str, float], ...] = (
    ("pcie", "gpu_hardware", 0.43),
    ("gpu_hardware", "infiniband_link", 0.057),
)
"""Failures that bring a second event on the same node: cause, other component, probability.

From RSC-1's shares (arXiv 2410.21680): 43 % of PCIe errors come with XID 79; 2 % of InfiniBand link
failures come with a GPU failure, which at the default rates is 5.7 % of the GPU failures. The cause is the
component that the taxonomy ranks first.
"""


@dataclasses.dataclass(frozen=True, slots=True, kw_only=True)
class Events:
    """Arrays with one entry an event, in order of time; ``time`` in seconds from the log's start.

    ``component`` indexes the components of the plan; ``told_by`` the checks (see `CHECKS`).
    """

    time: np.ndarray
    node: np.ndarray
    component: np.ndarray
    high: np.ndarray


def draw_events(
    rng: np.random.Generator,
    plan: ClusterPlan,
    components: tuple[str, ...],
    *,
    start: np.ndarray,
    end: np.ndarray,
    cause: np.ndarray,
    node: np.ndarray,
) -> Events:
    """Draw the event log that goes with failures of attempts.

    Parameters
    ----------
    start, end, cause, node
        Shape (n,): the failed attempts' intervals, the components that failed (index) and where.

    Returns
    -------
    Events
        One event of high severity for each attributable failure, within `LATENCY` of its end and not
        before its start; events that come along (`TOGETHER`); and noise, spread evenly over nodes and
        time, of low severity and (rarer) of high severity.
    """
    told = np.array([name != UNATTRIBUTED for name in components])[cause]
    start, end, cause, node = start[told], end[told], cause[told], node[told]
    time = np.maximum(end + rng.integers(LATENCY[0], LATENCY[1], len(end), endpoint=True), start)
    parts = [(time, node, cause, np.ones(len(time), dtype=bool))]
    for first, second, chance in TOGETHER:
        if first in components and second in components:
            along = (cause == components.index(first)) & (rng.random(len(cause)) < chance)
            count = int(along.sum())
            other = np.full(count, components.index(second))
            parts.append((time[along] + rng.integers(0, 5, count), node[along], other, np.ones(count, dtype=bool)))
    visible = np.array([index for index, name in enumerate(components) if name != UNATTRIBUTED])
    if len(visible):
        for rate, high in ((plan.noise_low, False), (plan.noise_high, True)):
            count = rng.poisson(rate * plan.n_nodes * plan.log_seconds / 86400)
            when = rng.integers(0, plan.log_seconds, count)
            parts.append((when, rng.integers(0, plan.n_nodes, count), rng.choice(visible, count), np.full(count, high)))
    columns = [np.concatenate([part[i] for part in parts]) for i in range(4)]
    order = np.argsort(columns[0], kind="stable")
    order = order[columns[0][order] < plan.log_seconds]
    return Events(time=columns[0][order], node=columns[1][order], component=columns[2][order], high=columns[3][order])
