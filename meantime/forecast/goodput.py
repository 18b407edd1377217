"""Goodput of a whole cluster: a mix of jobs, the failures of each size, and where the GPU-hours go."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields
from typing import Any, Self

import numpy as np
import xarray as xr

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.document import document, finite, four
from meantime.forecast.forecast import SEED
from meantime.forecast.plan import Plan
from meantime.forecast.rates import checked_gpus, with_components
from meantime.forecast.work import checked_price
from meantime.intervals import summarise
from meantime.units import HOURS_PER_DAY, SECONDS_PER_HOUR, Duration, seconds

SCHEMA = "meantime.goodput/1"
MAX_CLASSES = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class JobClass:
    """Jobs of one size on a cluster.

    Parameters
    ----------
    gpus
        GPUs of a job.
    running
        GPUs in such jobs at a time, on average.
    priority
        A higher number first.
    taken
        Share of its GPUs that a failed job takes from others when it starts again.
    checkpoint_interval, checkpoint_write, restart, detection
        As in `Plan`, each one duration.

    Raises
    ------
    InputError
        If a value cannot be used.
    """

    gpus: int
    running: float
    priority: float = 0.0
    taken: float = 0.0
    checkpoint_interval: Duration = "1h"
    checkpoint_write: Duration = "0s"
    restart: Duration = "5min"
    detection: Duration = "0s"

    def __post_init__(self) -> None:
        checked_gpus([self.gpus])
        for name, most in (("running", 1e8), ("priority", 1e6), ("taken", 1.0)):
            value = getattr(self, name)
            number = isinstance(value, int | float | np.number) and not isinstance(value, bool)
            if not number or not 0 <= value <= most:
                raise InputError(
                    f"{name} of jobs on {self.gpus} GPUs is {value!r}; expected a number from 0 to {most:g}"
                )
        for name in ("checkpoint_interval", "checkpoint_write", "restart", "detection"):
            length = seconds(getattr(self, name), name=f"{name} of jobs on {self.gpus} GPUs")
            if name == "checkpoint_interval" and length == 0:
                raise InputError(f"checkpoint_interval of jobs on {self.gpus} GPUs is 0; expected a duration above 0")

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Self:
        """Read it from a mapping, as JSON or TOML gives it."""
        known = [field.name for field in fields(cls)]
        unknown = sorted(set(content) - set(known))
        missing = [name for name in ("gpus", "running") if name not in content]
        if unknown or missing:
            wrong = f"unknown {unknown[0]!r}" if unknown else f"{missing[0]} is missing"
            raise InputError(f"class of jobs: {wrong}; expected {', '.join(known)}")
        return cls(**content)

    def hours(self, name: str) -> float:
        """Return one of its durations in hours."""
        return seconds(getattr(self, name)) / SECONDS_PER_HOUR


def cluster_goodput(
    rate: xr.DataArray,
    jobs: Iterable[JobClass],
    cluster_gpus: int,
    *,
    gpus_per_node: int = 8,
    idle: float = 0.0,
    price_per_gpu_hour: float | None = None,
    seed: int = SEED,
) -> dict[str, Any]:
    """Say where the GPU-hours of a cluster go in a day, by size of job and by component.

    Failures cost their jobs time, and other jobs too: one that starts again may preempt those of lower priority
    (`meantime.ettr.cluster_ledger` and `failure_losses`). Entries add up to 24 times the GPUs of the cluster, draw by
    draw.

    Parameters
    ----------
    rate
        Failures per node-day, dims (sample, component, gpus), with the sizes of `jobs` among its sizes.
    jobs
        The mix of jobs, each size once.
    cluster_gpus
        GPUs of the cluster, at least those that run.
    gpus_per_node
        GPUs of a node.
    idle
        GPUs that stand idle and are taken before any job is preempted.
    price_per_gpu_hour
        Price of a GPU-hour.
    seed
        For the record.

    Returns
    -------
    dict
        Schema ``meantime.goodput/1``: figures of `goodput`; `ledger` (GPU-hours a day by entry); `rows` by size, with
        the entries of the ledger, `failures_per_day`, `lost_first_order` and `lost_second_order` (GPU-hours a day, by
        the size of the job that failed, with `lost_cost`); and `components`, each with its failures and losses.

    Raises
    ------
    InputError
        If an input cannot be used.
    """
    mix = _checked_mix(jobs, rate, cluster_gpus)
    price = checked_price(price_per_gpu_hour)
    plan = Plan(gpus_per_node=gpus_per_node)
    if isinstance(idle, bool) or not isinstance(idle, int | float | np.number) or not 0 <= idle <= cluster_gpus:
        raise InputError(f"idle is {idle!r}; expected a number of GPUs from 0 to {cluster_gpus}")
    sizes = [job.gpus for job in mix]
    rates = with_components(rate).sel(gpus=sizes)
    draws = rates.transpose("sample", "component", "gpus").values
    arrays = {
        "gpus": np.array(sizes, dtype=float),
        "running": np.array([job.running for job in mix], dtype=float),
        "priority": np.array([job.priority for job in mix], dtype=float),
        "taken": np.array([job.taken for job in mix], dtype=float),
        "idle": float(idle),
        "gpus_per_node": float(gpus_per_node),
    }
    hours = {
        name: np.array([job.hours(name) for job in mix])
        for name in ("checkpoint_interval", "checkpoint_write", "restart", "detection")
    }
    ledger = ettr.cluster_ledger(
        float(cluster_gpus),
        rate_per_node_day=draws.sum(axis=1),
        interval=hours["checkpoint_interval"],
        write=hours["checkpoint_write"],
        restart=hours["restart"],
        detection=hours["detection"],
        **arrays,
    )
    losses = ettr.failure_losses(
        rate_per_node_day=draws, at_most=np.minimum(hours["checkpoint_interval"] / 2, 1e6), **arrays
    )
    entries = {name: np.asarray(value) for name, value in ledger._asdict().items()}
    by_size = {name: value for name, value in entries.items() if name != "unused"}
    first, second, failures = (
        np.asarray(value) for value in (losses.first, losses.second.sum(axis=-1), losses.failures)
    )
    total = {name: value.sum(axis=-1) for name, value in by_size.items()} | {"unused": entries["unused"]}
    rows = [
        {
            "gpus": size,
            "running": float(mix[place].running),
            "ledger": {name: four(summarise(value[..., place])) for name, value in by_size.items()},
            **_lost(failures.sum(axis=1)[:, place], first.sum(axis=1)[:, place], second.sum(axis=1)[:, place], price),
        }
        for place, size in enumerate(sizes)
    ]
    parts: list[dict[str, Any]] = []
    for place, name in enumerate(rates["component"].values):
        sums = [value[:, place].sum(axis=-1) for value in (failures, first, second)]
        parts.append({"component": str(name), **_lost(sums[0], sums[1], sums[2], price)})
    parts.sort(key=lambda part: -(part["lost_first_order"]["mean"] + part["lost_second_order"]["mean"]))
    facts: dict[str, Any] = {
        "cluster_gpus": int(cluster_gpus),
        "price_per_gpu_hour": price,
        "goodput": four(summarise(total["productive"] / (HOURS_PER_DAY * cluster_gpus))),
        "ledger": {name: four(summarise(value)) for name, value in total.items()},
        "second_order_share": finite(_share(second.sum(), first.sum() + second.sum())),
        "components": parts,
    }
    result = document(SCHEMA, rate, plan, rows, seed=seed, **facts)
    del result["plan"]
    return result


def _lost(failures: np.ndarray, first: np.ndarray, second: np.ndarray, price: float | None) -> dict[str, Any]:
    return {
        "failures_per_day": four(summarise(failures)),
        "lost_first_order": four(summarise(first)),
        "lost_second_order": four(summarise(second)),
        "lost_cost": None if price is None else four(summarise((first + second) * price)),
    }


def _share(part: float, whole: float) -> float:
    return part / whole if whole > 0 else 0.0


def _checked_mix(jobs: Iterable[JobClass], rate: xr.DataArray, cluster_gpus: int) -> Sequence[JobClass]:
    mix = list(jobs)
    if not 0 < len(mix) <= MAX_CLASSES or not all(isinstance(job, JobClass) for job in mix):
        raise InputError(f"jobs holds {len(mix)} classes; expected 1 to {MAX_CLASSES} of JobClass")
    sizes = checked_gpus([job.gpus for job in mix])
    missing = [size for size in sizes if size not in rate["gpus"].values]
    if missing:
        raise InputError(f"rate has no jobs of {missing[0]:,} GPUs; expected all sizes of the mix, {sizes}")
    checked_gpus([cluster_gpus])
    running = sum(job.running for job in mix)
    if running > cluster_gpus:
        raise InputError(f"jobs hold {running:g} GPUs of {cluster_gpus:,}; expected at most those of the cluster")
    return mix
