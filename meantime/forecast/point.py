"""ETTR at a stated failure rate: no fit, no uncertainty, one line of JSON."""

import math
from typing import Any

import numpy as np

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast.plan import DURATIONS, Plan, fixed_hours, plan_or_default
from meantime.forecast.rates import checked_gpus
from meantime.units import PER_1000_NODE_DAYS, SECONDS_PER_HOUR

SCHEMA = "meantime.ettr/1"
MIN_RATE, MAX_RATE = 1e-9, 1e9
"""Rates worked with, per 1,000 node-days: beyond are slips of the pen, and MTTF that no number can hold."""


def ettr_point(rate_per_1000_node_days: float, gpus: int, plan: Plan | None = None) -> dict[str, Any]:
    """Work out the ETTR of a long run at a stated failure rate.

    Parameters
    ----------
    rate_per_1000_node_days
        Failures per 1,000 node-days, from 1e-9 to 1e9.
    gpus
        Size of the job.
    plan
        The plan, with single values. The run is taken to be so long that its start does not matter:
        `productive` plays no part (`forecast_rates` with `stated_rate` has runs of a length).

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
    rate = rate_per_1000_node_days
    if not isinstance(rate, int | float | np.number) or isinstance(rate, bool):
        raise InputError(f"rate is {rate!r}; expected failures per 1,000 node-days, such as 6.5")
    if not MIN_RATE <= rate <= MAX_RATE:
        raise InputError(f"rate is {rate:g}; expected failures per 1,000 node-days from 1e-9 to 1e9, such as 6.5")
    (size,) = checked_gpus([gpus])
    plan = plan_or_default(plan)
    hours = {name: _single(plan, name) for name in DURATIONS}
    nodes = size / plan.gpus_per_node
    hazard = float(ettr.hazard_of(nodes, float(rate) / PER_1000_NODE_DAYS))
    write, restart, queue = hours["checkpoint_write"], hours["restart"], hours["queue"]
    interval = hours["checkpoint_interval"]
    if math.isnan(interval):
        interval = float(ettr.optimal_interval(hazard, write))
    renewal = ettr.renewal(hazard, interval, write, restart, detection=hours["detection"], queue=queue)
    kokolis = ettr.kokolis(hazard, interval, write, restart, queue=queue)
    return {
        "schema": SCHEMA,
        "gpus": size,
        "nodes": math.ceil(nodes),
        "rate_per_1000_node_days": float(rate),
        "mttf_hours": float(ettr.mttf(hazard)),
        "checkpoint_interval_seconds": interval * SECONDS_PER_HOUR,
        "ettr": {"renewal": float(renewal), "kokolis": float(kokolis)},
    }


def _single(plan: Plan, name: str) -> float:
    value = getattr(plan, name)
    if not isinstance(value, str):
        raise InputError(f"{name} is {value!r}; expected one duration with its unit, such as 5min")
    return fixed_hours(value)
