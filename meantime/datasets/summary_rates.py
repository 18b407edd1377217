"""What a failure table holds, as plain JSON types: exposure, and failures by component, size, period and node."""

import json
from typing import Any

import xarray as xr

from meantime.datasets.taxonomy import UNATTRIBUTED
from meantime.units import PER_1000_NODE_DAYS

TOP_NODES = 10
"""Most nodes that are listed."""

NOTHING: dict[str, Any] = {
    "jobs": None,
    "attempts": None,
    "log_start": None,
    "log_end": None,
    "states": [],
    "exposure": None,
    "sizes": [],
    "components": [],
    "periods": [],
    "nodes": [],
    "failures": None,
}
"""What a summary has where nothing is known."""


def summarise_table(table: xr.Dataset, mix: dict[int, dict[str, Any]] | None = None) -> dict[str, Any]:
    """Describe a failure table as `meantime.datasets.summary.summarise` describes a log, as far as it tells.

    Parameters
    ----------
    table, mix
        As in `summarise_rates`.
    """
    account = json.loads(table.attrs["provenance"])
    rows = {
        "read": account.get("rows_read"),
        "used": account.get("rows_used"),
        "quarantined": account.get("quarantined"),
    }
    return {
        **NOTHING,
        "source": table.attrs["source"],
        "format": account.get("format", "failure table"),
        "notes": list(account.get("notes", [])),
        "rows": {**rows, "folded": account.get("folded", {}), "reasons": []},
        "clusters": table["cluster"].values.tolist(),
        **summarise_rates(table, mix or {}),
    }


def summarise_rates(table: xr.Dataset, mix: dict[int, dict[str, Any]]) -> dict[str, Any]:
    """Give exposure, and failures by component, size, period and node, of a failure table.

    Parameters
    ----------
    table
        The table.
    mix
        What else is known of jobs of each size: ``attempts``, ``gpu_hours`` and their shares.
    """
    account, per_node = json.loads(table.attrs["provenance"]), table.attrs["gpus_per_node"]
    node_days = float(table["exposure"].sum())
    by_component = table["failures"].sum([dim for dim in table["failures"].dims if dim != "component"])
    counts = dict(zip(by_component["component"].values.tolist(), by_component.values.tolist(), strict=True))
    seen = account.get("co_occurring", {})
    return {
        "exposure": {"node_days": node_days, "gpu_hours": node_days * 24 * per_node, "gpus_per_node": per_node},
        "sizes": _sizes(table, mix) if "job_size" in table.dims else [],
        "periods": _along(table, "period"),
        "nodes": _worst(_along(table, "node")),
        "components": [
            {
                "component": name,
                "failures": count,
                "co_occurring": seen.get(name, 0),
                "rate_per_1000_node_days": PER_1000_NODE_DAYS * count / node_days,
            }
            for name, count in counts.items()
        ],
        "failures": {
            "total": sum(counts.values()),
            "rule": account.get("rule", "stated"),
            "not_placed": account.get("failures_without_node", 0) + account.get("failures_without_exposure", 0),
            "unattributed": counts.get(UNATTRIBUTED, 0),
        },
    }


def _along(table: xr.Dataset, name: str) -> list[dict[str, Any]]:
    """List failures, node-days and rates along a dimension, if the table has it."""
    if name not in table.dims:
        return []
    failures = table["failures"].sum([dim for dim in table["failures"].dims if dim != name])
    exposure = table["exposure"].sum([dim for dim in table["exposure"].dims if dim != name])
    labels = table[name].dt.strftime("%Y-%m-%dT%H:%M:%S") if name == "period" else table[name]
    return [
        {
            name: label,
            "failures": count,
            "node_days": days,
            "rate_per_1000_node_days": PER_1000_NODE_DAYS * count / days if days else None,
        }
        for label, count, days in zip(
            labels.values.tolist(), failures.values.tolist(), exposure.values.tolist(), strict=True
        )
    ]


def _worst(nodes: list[dict[str, Any]]) -> list[dict[str, Any]]:
    failed = [row for row in nodes if row["failures"]]
    return sorted(failed, key=lambda row: -row["failures"])[:TOP_NODES]


def _sizes(table: xr.Dataset, mix: dict[int, dict[str, Any]]) -> list[dict[str, Any]]:
    failures = table["failures"].sum([dim for dim in table["failures"].dims if dim != "job_size"])
    exposure = table["exposure"].sum([dim for dim in table["exposure"].dims if dim != "job_size"])
    unknown = {"attempts": None, "share_of_attempts": None, "gpu_hours": None, "share_of_gpu_time": None}
    return [
        {
            "job_size": size,
            **mix.get(size, unknown),
            "node_days": days,
            "failures": count,
            "rate_per_1000_node_days": PER_1000_NODE_DAYS * count / days if days else None,
        }
        for size, count, days in zip(
            table["job_size"].values.tolist(), failures.values.tolist(), exposure.values.tolist(), strict=True
        )
    ]
