"""ETTR at a stated failure rate: no fit, no uncertainty, one line of JSON."""

import math
from typing import Any

import numpy as np

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.plan import OPTIMAL, Plan, fixed_hours
from meantime.forecast.rates import checked_gpus
from meantime.units import PER_1000_NODE_DAYS, SECONDS_PER_HOUR, Duration

SCHEMA = "meantime.ettr/1"


def ettr_point(
    rate_per_1000_node_days: float,
    gpus: int,
    *,
    restart: Duration = "5min",
    checkpoint_write: Duration = "30s",
    checkpoint_interval: Duration = OPTIMAL,
    queue: Duration = "0s",
    detection: Duration = "0s",
    productive: Duration | None = None,
    gpus_per_node: int = 8,
) -> dict[str, Any]:
    """Work out the ETTR of a long run at a stated failure rate.

    Parameters
    ----------
    rate_per_1000_node_days
        Failures per 1,000 node-days, above 0.
    gpus
        Size of the job.
    restart, checkpoint_write, checkpoint_interval, queue, detection, gpus_per_node
        As in `Plan`, single values.
    productive
        Productive time of the run; None: so long that its start does not matter.

    Returns
    -------
    dict
        Schema ``meantime.ettr/1``: `gpus`, `nodes` (rounded up; the hazard counts part of a node as a part),
        `rate_per_1000_node_days`, `mttf_hours`, `checkpoint_interval_seconds` and `ettr`, with `renewal` (exact)
        and `kokolis` (the paper's first-order form, which can be negative and knows no detection time).

    Raises
    ------
    InputError
        If a value cannot be used.
    """
    if not isinstance(rate_per_1000_node_days, int | float | np.number) or isinstance(rate_per_1000_node_days, bool):
        raise InputError(f"rate is {rate_per_1000_node_days!r}; expected failures per 1,000 node-days, such as 6.5")
    if not (math.isfinite(rate_per_1000_node_days) and rate_per_1000_node_days > 0):
        raise InputError(f"rate is {rate_per_1000_node_days!r}; expected a finite number above 0, such as 6.5")
    (size,) = checked_gpus([gpus])
    plan = Plan(
        restart=restart,
        checkpoint_write=checkpoint_write,
        checkpoint_interval=checkpoint_interval,
        queue=queue,
        detection=detection,
        productive="1d" if productive is None else productive,
        gpus_per_node=gpus_per_node,
    )
    restarts, write, stated, wait, detected, length = (
        _single(plan, name)
        for name in ("restart", "checkpoint_write", "checkpoint_interval", "queue", "detection", "productive")
    )
    length = math.inf if productive is None else length
    nodes = size / plan.gpus_per_node
    hazard = float(ettr.hazard_of(nodes, float(rate_per_1000_node_days) / PER_1000_NODE_DAYS))
    interval = float(ettr.optimal_interval(hazard, write)) if math.isnan(stated) else stated
    interval = min(interval, length)
    renewal = ettr.renewal(hazard, interval, write, restarts, detection=detected, queue=wait, productive=length)
    kokolis = ettr.kokolis(hazard, interval, write, restarts, queue=wait, productive=length)
    return {
        "schema": SCHEMA,
        "gpus": size,
        "nodes": math.ceil(nodes),
        "rate_per_1000_node_days": float(rate_per_1000_node_days),
        "mttf_hours": float(ettr.mttf(hazard)),
        "checkpoint_interval_seconds": interval * SECONDS_PER_HOUR,
        "ettr": {"renewal": float(renewal), "kokolis": float(kokolis)},
    }


def _single(plan: Plan, name: str) -> float:
    value = getattr(plan, name)
    if not isinstance(value, str):
        raise InputError(f"{name} is {value!r}; expected one duration with its unit, such as 5min")
    return fixed_hours(value)
