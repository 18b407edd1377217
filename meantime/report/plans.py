"""The plans that a report compares, in arrays and in words."""

from collections.abc import Mapping, Sequence

import xarray as xr

from meantime.errors import InputError
from meantime.forecast import Plan, forecast
from meantime.forecast.plan import OPTIMAL
from meantime.forecast.plan import label as value_label
from meantime.report.numbers import stated
from meantime.units import seconds

GPUS = (1024, 4096, 16384, 65536, 131072)
"""Sizes asked unless told otherwise."""
MOST_PLANS = 6
_SMALLEST = 512
_NODE = 8


def default_plans(gpus_per_node: int = 8) -> dict[str, Plan]:
    """Return the plans a report compares unless told otherwise; the first is the one its summary uses."""
    return {
        "Best interval": Plan(restart="5min", checkpoint_write="30s", gpus_per_node=gpus_per_node),
        "Hourly checkpoints": Plan(
            restart="5min", checkpoint_write="30s", checkpoint_interval="1h", gpus_per_node=gpus_per_node
        ),
        "Fast restart, quick writes": Plan(restart="1min", checkpoint_write="5s", gpus_per_node=gpus_per_node),
    }


def check_plans(plans: Mapping[str, Plan]) -> dict[str, Plan]:
    """Return the plans, each of which must be a single one.

    Raises
    ------
    InputError
        If there is none or too many, or one has a list in a field.
    """
    if not 1 <= len(plans) <= MOST_PLANS:
        raise InputError(f"plans holds {len(plans)} plans; expected 1 to {MOST_PLANS}")
    for name, plan in plans.items():
        if plan.lists:
            raise InputError(f"plan {name!r} lists several values of {plan.lists[0]}; give each as a plan of its own")
    return dict(plans)


def forecast_plans(
    tree: xr.DataTree, gpus: Sequence[int], plans: Mapping[str, Plan], *, cluster: str, seed: int
) -> dict[str, xr.Dataset]:
    """Forecast every plan at the sizes asked, and at the powers of two between for smooth curves.

    The sizes asked are forecast by themselves, so that the figures are those that `forecast` gives for them.
    """
    asked = sorted({int(size) for size in gpus})
    between = [size for size in curve_sizes(asked) if size not in asked]
    found = {}
    for name, plan in plans.items():
        parts = [
            forecast(tree, gpus=sizes, plan=plan, cluster=cluster, seed=seed) for sizes in (asked, between) if sizes
        ]
        whole = xr.concat(parts, "gpus", data_vars="all", coords="minimal", compat="override", combine_attrs="override")
        found[name] = whole.sortby("gpus")
    return found


def curve_sizes(gpus: Sequence[int]) -> list[int]:
    """Return the sizes asked and two a doubling from 512 (or the smallest asked) to the largest, whole nodes."""
    asked = sorted({int(size) for size in gpus})
    start = min(asked[0], _SMALLEST if asked[-1] > _SMALLEST else 1)
    powers = [2**power for power in range(40) if start <= 2**power <= asked[-1]]
    between = [3 * power // 2 for power in powers if power >= 2 * _NODE and 3 * power // 2 <= asked[-1]]
    return sorted({*asked, *powers, *between})


def describe(plan: Plan) -> str:
    """Say a plan in words: ``"30 d of work, restart 5 min, checkpoint every 1 h, which takes 30 s"``."""
    best = plan.values("checkpoint_interval")[0] == OPTIMAL
    interval = (
        "checkpoints at the best interval" if best else f"a checkpoint every {_value(plan, 'checkpoint_interval')}"
    )
    parts = [
        f"{_value(plan, 'productive')} of work",
        f"restart {_value(plan, 'restart')}",
        f"{interval}, writing one takes {_value(plan, 'checkpoint_write')}",
    ]
    parts += [f"{name} {_value(plan, name)}" for name in ("queue", "detection") if plan.values(name)[0] != "0s"]
    return ", ".join(parts)


def _value(plan: Plan, name: str) -> str:
    value = plan.values(name)[0]
    return stated(seconds(value)) if isinstance(value, str) else value_label(value)
