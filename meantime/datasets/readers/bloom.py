"""Chronicle of one training run: BLOOM 176B, March to July 2022 (Apache-2.0).

The input is a CSV with ``date``, ``event_class``, ``component``, ``lost_hours`` and ``note``, made by reading ::

    curl -LO https://github.com/bigscience-workshop/bigscience/raw/master/train/tr11-176B-ml/chronicles.md

Any diary of a run in these columns is read. Besides the columns of the outages table, the table has ``event_class`` and
``lost_hours`` (as stated; null: not said). Decisions:

- Times are dates: each is uncertain by a day. A date without a day (2022-04) is quarantined.
- `NOT_FAILURES` (starts, changes by the operators, milestones) are folded by class, all else is an outage of ``node``
  ``run``. A failure without a component is unattributed.
"""

import polars as pl
import xarray as xr

from meantime.datasets.jobs import Conventions
from meantime.datasets.log import Log
from meantime.datasets.outages import outage_table, outages_log
from meantime.datasets.ragged import LINE
from meantime.datasets.readers._columns import load
from meantime.datasets.source import PathLike
from meantime.errors import InputError

NEEDED = ("date", "event_class", "component", "lost_hours", "note")
NOT_FAILURES = ("start", "operator_change", "milestone", "reconfiguration")
NODE = "run"
NODES = 48
"""Nodes of 8 GPUs that BLOOM ran on."""


def read_bloom(path: PathLike, *, cluster: str = "bloom") -> Log:
    """Read the incidents (see the module's text for the decisions).

    Parameters
    ----------
    path
        The CSV file.
    cluster
        Name of the run.
    """
    raw = load(path, NEEDED, "the chronicle of a run")
    frame = raw.frame
    classes = frame["event_class"].str.strip_chars()
    planned = frame.filter(classes.is_in(NOT_FAILURES))
    counts = {f"not failures: {name}": int((classes == name).sum()) for name in NOT_FAILURES}
    rows = frame.filter(~classes.is_in(NOT_FAILURES))
    stated = rows["lost_hours"].fill_null("").str.strip_chars()
    hours = stated.cast(pl.Float64, strict=False)
    said = pl.select(pl.format("lost_hours '{}' is not a number of hours", stated)).to_series()
    ends = [f"the dates of all {frame.height} rows span {_span(frame)}"] if planned.height else []
    day = rows["date"].str.strip_chars()
    return outages_log(
        pl.DataFrame(
            [
                rows[LINE],
                pl.repeat(NODE, rows.height, eager=True, dtype=pl.String).alias("node"),
                day.alias("start"),
                rows["component"],
                rows["note"].alias("detail"),
                rows["event_class"],
                hours.alias("lost_hours"),
            ]
        ),
        file=raw.file,
        format="bloom",
        texts=raw.texts,
        conventions=Conventions(cluster=cluster, time_format="%Y-%m-%d"),
        keep=["event_class", "lost_hours"],
        problems=[said.set((stated == "") | (hours >= 0).fill_null(False), None)],
        quarantine=raw.quarantine,
        folded={**raw.folded, **counts},
        notes=[*raw.notes, *ends],
    )


def bloom_table(log: Log, *, begin: str = "2022-03-11", until: str = "2022-07-04", nodes: int = NODES) -> xr.Dataset:
    """Make the failure table of a run: incidents by component, exposure of all its nodes from begin to end.

    Parameters
    ----------
    log
        From `read_bloom`.
    begin, until
        Dates between which the run had its nodes. Default: from launch to the move to fewer nodes.
    nodes
        Nodes of the run.
    """
    if log.format != "bloom":
        raise InputError(f"{log.source}: was read as {log.format}; expected the chronicle of a run (format bloom)")
    days = pl.Series([f"{begin}/{until}"]).str.split("/").list.eval(pl.element().str.to_date(strict=False))
    span = days.list.get(1)[0] - days.list.get(0)[0] if not days.explode().null_count() else None
    if span is None or span.days <= 0:
        raise InputError(f"the run is said to last from {begin!r} to {until!r}; expected dates such as 2022-03-11")
    cluster = log.table["cluster"].unique().to_list() or ["bloom"]
    served = pl.DataFrame({"cluster": cluster, "node": [NODE], "days": [float(nodes * span.days)]})
    return outage_table(log, served, by_node=False, gpus_per_node=8)


def _span(frame: pl.DataFrame) -> str:
    days = frame["date"].drop_nulls().str.strip_chars().sort().to_list()
    return f"{days[0]} to {days[-1]}" if days else "nothing"
