"""Failure tables by node, and what else is known of the nodes: signals by which lemons are told."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import numpy as np
import xarray as xr

from meantime.datasets.table import check_table
from meantime.errors import InputError

LEMON_SIGNALS = (
    "excl_jobid_count",
    "xid_cnt",
    "tickets",
    "out_count",
    "multi_node_node_fails",
    "single_node_node_fails",
    "single_node_node_failure_rate",
)
"""The seven signals of Kokolis et al. (arXiv 2410.21680), section IV-A. What they mean:
`meantime.datasets.published.load_rsc_lemon_signals`."""

FAILURE_SIGNALS = ("multi_node_node_fails", "single_node_node_fails", "single_node_node_failure_rate")
"""Those of `LEMON_SIGNALS` that count failures. Where the table counts the same failures they must stay out of a
model of it, or the evidence counts twice."""


def check_nodes(table: xr.Dataset) -> xr.Dataset:
    """Check a failure table by node, with its signals if it has any.

    Parameters
    ----------
    table
        A failure table with the dimension ``node``. Optional ``signals`` (node, signal) or (cluster, node,
        signal): numbers of 0 or more.

    Returns
    -------
    xr.Dataset
        As `meantime.datasets.check_table`; ``signals`` (cluster, node, signal) float64.

    Raises
    ------
    InputError
        As `check_table`; if there are no nodes; or if a signal of a node with exposure is missing or negative.
    """
    checked = check_table(table)
    if "node" not in checked.dims:
        raise InputError("the failure table has no dimension 'node'; make it with failure_table(..., by_node=True)")
    if "signals" not in table:
        return checked
    signals = table["signals"]
    if not {"node", "signal"} <= set(signals.dims) <= {"cluster", "node", "signal"} or "signal" not in signals.coords:
        raise InputError(f"signals have dims {signals.dims}; expected (node, signal) with a coordinate signal")
    if signals["signal"].to_index().has_duplicates:
        raise InputError("a signal is named more than once")
    aligned = signals.assign_coords({dim: signals[dim].astype(str) for dim in signals.dims})
    aligned = aligned.reindex(node=checked["node"].values)
    if "cluster" in aligned.dims:
        aligned = aligned.reindex(cluster=checked["cluster"].values)
    else:
        aligned = aligned.expand_dims(cluster=checked["cluster"].values)
    aligned = aligned.transpose("cluster", "node", "signal").astype(float)
    exposed = checked["exposure"].sum([dim for dim in checked["exposure"].dims if dim not in ("cluster", "node")]) > 0
    bad = exposed.transpose("cluster", "node").values[:, :, None] & ~(
        np.isfinite(aligned.values) & (aligned.values >= 0)
    )
    if bad.any():
        cluster, node, signal = (int(i) for i in np.argwhere(bad)[0])
        raise InputError(
            f"signal {aligned['signal'].values[signal]!s} of node {checked['node'].values[node]!s} (cluster "
            f"{checked['cluster'].values[cluster]!s}) is {aligned.values[cluster, node, signal]:g}; "
            "expected a number of 0 or more for every node with exposure"
        )
    return checked.assign(signals=aligned)


def with_signals(table: xr.Dataset, signals: Any, names: Sequence[str] | None = None) -> xr.Dataset:
    """Add signals from a data frame to a failure table by node.

    Parameters
    ----------
    table
        A failure table with the dimension ``node``.
    signals
        A data frame (polars, pandas, Arrow, ...): ``node``, optionally ``cluster``, and a column a signal.
        Nodes that it does not list have 0 of every signal.
    names
        Columns to take. Default: all but `FAILURE_SIGNALS`, which count failures.

    Returns
    -------
    xr.Dataset
        The table with ``signals`` (cluster, node, signal).

    Raises
    ------
    InputError
        If a column is missing, a node is listed twice, or as `check_nodes`.
    """
    checked = check_nodes(table.drop_vars("signals", errors="ignore"))
    frame = nw.from_native(signals, eager_only=True)
    keys = [key for key in ("cluster", "node") if key in frame.columns]
    if names is None:
        names = [name for name in frame.columns if name not in (*keys, *FAILURE_SIGNALS)]
    if missing := [name for name in ("node", *names) if name not in frame.columns]:
        raise InputError(f"the signals have no column {missing[0]!r}; they have {', '.join(frame.columns)}")
    if not names:
        raise InputError("there is no signal to add; expected columns beside cluster and node")
    if frame.select(keys).is_duplicated().any():
        raise InputError(f"a {' and '.join(keys)} is listed more than once; expected one row a node")
    place = {str(node): i for i, node in enumerate(checked["node"].values)}
    group = {str(name): i for i, name in enumerate(checked["cluster"].values)}
    values = np.zeros((len(group), len(place), len(names)))
    numbers = frame.select(list(names)).to_numpy().astype(float)
    labels = [frame[key].to_list() for key in keys]
    for row, label in enumerate(zip(*labels, strict=True)):
        found = place.get(str(label[-1]))
        where = group.get(str(label[0])) if "cluster" in keys else slice(None)
        if found is not None and where is not None:
            values[where, found] = numbers[row]
    array = xr.DataArray(
        values,
        dims=("cluster", "node", "signal"),
        coords={"cluster": checked["cluster"], "node": checked["node"], "signal": list(names)},
    )
    return check_nodes(checked.assign(signals=array))
