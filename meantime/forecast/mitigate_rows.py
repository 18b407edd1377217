"""Priced mitigations as plain rows, and mitigations as people and JSON write them."""

import json
from typing import Any

import xarray as xr

from meantime.errors import InputError
from meantime.forecast.document import finite, four
from meantime.forecast.mitigations import (
    AsyncCheckpoint,
    Change,
    CheaperCheckpoint,
    FasterDetection,
    FasterRestart,
    HotSpares,
    Mitigation,
    RemoveLemons,
    ScaleComponent,
)
from meantime.forecast.rows import model, notes
from meantime.intervals import describe
from meantime.units import SECONDS_PER_HOUR

CHANGES: dict[str, type[Change]] = {
    "restart": FasterRestart,
    "checkpoint": CheaperCheckpoint,
    "detection": FasterDetection,
}
_OPTIONS = {"async": ("persist", "slowdown"), "spares": ("repair", "swap"), "lemons": ("component",)}
HELP = (
    "restart=1min, checkpoint=x0.5, detection=30s, async=2s,persist=1min,slowdown=0.02, spares=8,repair=4h,swap=1min, "
    "lemons=24, or COMPONENT=x0.3"
)


def mitigation_of(text: str, *, nodes: xr.DataArray | xr.Dataset | None = None) -> Mitigation:
    """Read a mitigation as it is written on the command line.

    Parameters
    ----------
    text
        ``restart=1min`` (to that) or ``restart=x0.5`` (times that), likewise ``checkpoint`` and ``detection``;
        ``async=2s``, ``async=2s,persist=1min,slowdown=0.02``; ``spares=8``, ``spares=8,repair=4h,swap=1min``;
        ``lemons=24``, ``lemons=24,component=gpu_memory``; or a component, ``infiniband_link=x0.3``. The x is asked for,
        so that no share can be taken for a rate.
    nodes
        Draws of nodes' rates, dims (sample, node), for ``lemons``.

    Returns
    -------
    Mitigation
        The object.

    Raises
    ------
    InputError
        If the text is not understood.
    """
    first, *rest = [part.strip() for part in text.split(",")]
    name, _, value = (part.strip() for part in first.partition("="))
    options = dict(part.split("=", 1) for part in rest if "=" in part)
    unknown = [part for part in rest if "=" not in part or part.split("=")[0] not in _OPTIONS.get(name, ())]
    if not name or not value or unknown:
        raise InputError(f"mitigation {text!r} is not understood; expected {HELP}")
    if name in CHANGES:
        return CHANGES[name](factor=_times(value, text)) if value.startswith("x") else CHANGES[name](value)
    if name == "async":
        share = _number(options["slowdown"], text) if "slowdown" in options else 0.0
        return AsyncCheckpoint(value, options.get("persist"), slowdown=share)
    if name == "spares":
        return HotSpares(_whole(value, text), **options)
    if name == "lemons":
        if nodes is None:
            raise InputError(f"mitigation {text!r} needs the rates of nodes; give a fit of nodes (node_frailty)")
        return RemoveLemons(_whole(value, text), nodes, options.get("component"))  # type: ignore[arg-type]
    return ScaleComponent(name, _times(value, text))


def mitigate_document(result: xr.Dataset) -> dict[str, Any]:
    """Return what `mitigate` gives in plain values, schema ``meantime.mitigate/1``.

    Parameters
    ----------
    result
        What `meantime.forecast.mitigate` or `mitigate_rates` returned.

    Returns
    -------
    dict
        Head, and for every size a row with the figures of `ettr_before`, `ettr_after` and `gain_together`, and
        `mitigations`, the largest Shapley share first.
    """
    rows = []
    for size in result["gpus"].values:
        one = result.sel(gpus=size)
        shares = one["gain_shapley"].sel(figure="mean")
        rows.append(
            {
                "gpus": int(size),
                "ettr_before": four(one["ettr_before"]),
                "ettr_after": four(one["ettr_after"]),
                "gain_together": four(one["gain_together"]),
                "mttf_hours_after": four(one["mttf_after"]),
                "checkpoint_interval_seconds_before": finite(one["interval_before"] * SECONDS_PER_HOUR),
                "checkpoint_interval_seconds_after": finite(one["interval_after"] * SECONDS_PER_HOUR),
                "mitigations": [_row(one.isel(mitigation=place)) for place in (-shares.values).argsort(kind="stable")],
            }
        )
    return {
        "schema": result.attrs["schema"],
        "interval": describe(),
        "seed": int(result.attrs["seed"]),
        "gpus_per_node": int(result.attrs["gpus_per_node"]),
        "model": model(result),
        "notes": notes(result),
        "plan": json.loads(result.attrs["plan"]),
        "rows": rows,
    }


def _row(one: xr.Dataset) -> dict[str, Any]:
    return {
        "mitigation": str(one["mitigation"].item()),
        "gain_alone": four(one["gain_alone"]),
        "gain_last": four(one["gain_last"]),
        "gain_shapley": four(one["gain_shapley"]),
        "gpu_hours_saved_per_day": four(one["gpu_hours_saved_per_day"]),
        "probability_best": finite(one["probability_best"]),
        "checkpoint_interval_seconds_alone": finite(one["interval_alone"] * SECONDS_PER_HOUR),
    }


def _times(value: str, text: str) -> float:
    if not value.startswith("x"):
        raise InputError(f"mitigation {text!r}: write what to multiply by with an x, such as {text.split('=')[0]}=x0.3")
    return _number(value[1:], text)


def _number(value: str, text: str) -> float:
    try:
        return float(value)
    except ValueError as error:
        raise InputError(f"mitigation {text!r}: {value!r} is no number; expected {HELP}") from error


def _whole(value: str, text: str) -> int:
    if not value.isdecimal():
        raise InputError(f"mitigation {text!r}: {value!r} is no whole number; expected {HELP}")
    return int(value)
