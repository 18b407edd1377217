"""How far the failure rates depend on the attribution rule, and how well the rule finds a known truth."""

from collections.abc import Sequence
from typing import Any

import narwhals as nw
import polars as pl

from meantime.datasets.candidates import AttributionRule, collect_candidates
from meantime.datasets.fates import FATE, USED, Limits, take_census, with_fates
from meantime.datasets.hits import check_severity
from meantime.datasets.scan import open_events, open_jobs
from meantime.datasets.taxonomy import SEVERITIES, taxonomy
from meantime.errors import InputError
from meantime.units import PER_1000_NODE_DAYS, Duration, seconds

WINDOWS = ("5min", "10min", "15min", "20min", "30min")


def sensitivity(
    jobs: Any,
    events: Any,
    *,
    before: Sequence[Duration] = WINDOWS,
    after: Sequence[Duration] = ("5min",),
    severities: Sequence[str] = ("high", "low"),
    gpus_per_node: int = 8,
    min_gpus: int = 0,
    taxonomy_table: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """Show how the failure rates move with the window and the severity of the attribution rule.

    Events are joined once, in the widest window; every rule then takes what lies in its own.

    Parameters
    ----------
    jobs, events, gpus_per_node, min_gpus, taxonomy_table
        As in `meantime.datasets.failure_table.failure_table`.
    before, after
        Windows before and after the end of a job; every pair is tried.
    severities
        Least severities of events that count.

    Returns
    -------
    pl.DataFrame
        ``before_minutes``, ``after_minutes``, ``severity``, ``component`` (and ``all``), ``failures``,
        ``co_occurring`` (failures in which the component was seen but lost), ``node_days`` and
        ``rate_per_1000_node_days``.

    Raises
    ------
    InputError
        If there are no events, nothing to count, or no window is given.
    """
    if events is None:
        raise InputError("sensitivity needs events: without them the rule has no window")
    if not before or not after or not severities:
        raise InputError("expected at least one window before, one after and one severity")
    least = SEVERITIES[0] if SEVERITIES[0] in [check_severity(name) for name in severities] else SEVERITIES[-1]
    widest = AttributionRule(before=max(before, key=seconds), after=max(after, key=seconds), severity=least)
    opened, reported = open_jobs(jobs), open_events(events)
    limits = Limits(min_gpus=max(1, min_gpus))
    fated = with_fates(opened, limits)
    census = take_census(fated, limits)
    days = float(census.totals.select(pl.col("n_gpus") * pl.col("seconds")).sum().item()) / gpus_per_node / 86_400
    if not days > 0:
        raise InputError(f"{opened.source}: no job with GPUs ran")
    used = fated.filter((nw.col(FATE) == USED) & ~nw.col("running"))
    candidates = collect_candidates(used, reported, widest, identity=opened.identity)
    rows = []
    for low_or_high in severities:
        for lag in after:
            for lead in before:
                rule = AttributionRule(before=lead, after=lag, severity=low_or_high)
                failed = candidates.settle(rule, taxonomy() if taxonomy_table is None else taxonomy_table)
                rows.append(
                    _rates(failed, days).select(
                        pl.lit(seconds(lead) / 60).alias("before_minutes"),
                        pl.lit(seconds(lag) / 60).alias("after_minutes"),
                        pl.lit(low_or_high).alias("severity"),
                        pl.all(),
                    )
                )
    return pl.concat(rows)


def score_attribution(attributed: pl.DataFrame, failures: pl.DataFrame) -> dict[str, Any]:
    """Compare attributed failures with a known truth.

    Parameters
    ----------
    attributed
        Of `meantime.datasets.attribution.attribute`: ``job_id``, ``attempt``, ``infrastructure``, ``component``.
    failures
        The truth: ``job_id``, ``attempt``, ``component`` (as `meantime.datasets.simulate.Simulation.failures`).

    Returns
    -------
    dict
        ``found``, ``true``, ``both`` (failures), ``precision`` and ``recall`` of saying that a job failed because of
        the infrastructure, ``named`` (share of those in both whose component is the true one), and ``components``:
        for each, ``component``, ``found``, ``true``, ``both`` (found where it is the truth), ``precision``, ``recall``.
    """
    key = ["job_id", "attempt"]
    said = attributed.filter("infrastructure").select(*key, pl.col("component").alias("said"))
    true = failures.select(*key, pl.col("component").alias("true"))
    joined = said.join(true, on=key, how="full", coalesce=True)
    both = joined.drop_nulls(["said", "true"])
    right = both.filter(pl.col("said") == pl.col("true"))
    counts = {
        name: dict(frame.group_by(column).len().iter_rows())
        for name, frame, column in (("found", said, "said"), ("true", true, "true"), ("both", right, "said"))
    }
    names = sorted(set(counts["found"]) | set(counts["true"]))
    return {
        **_scores(said.height, true.height, both.height),
        "named": _share(right.height, both.height),
        "components": [
            {"component": name, **_scores(*(counts[which].get(name, 0) for which in ("found", "true", "both")))}
            for name in names
        ],
    }


def _rates(failed: pl.DataFrame, days: float) -> pl.DataFrame:
    counts = failed.group_by("component").len("failures").sort("failures", "component", descending=[True, False])
    seen = failed.select(pl.col("co_causes").explode(empty_as_null=False).alias("component")).drop_nulls()
    total = pl.DataFrame({"component": ["all"], "failures": [failed.height]}, schema=counts.schema)
    table = pl.concat([counts, total]).join(
        seen.group_by("component").len("co_occurring"), on="component", how="left", maintain_order="left"
    )
    rate = pl.col("failures") / days * PER_1000_NODE_DAYS
    return table.select(
        "component",
        pl.col("failures").cast(pl.Int64),
        pl.col("co_occurring").fill_null(0).cast(pl.Int64),
        pl.lit(days).alias("node_days"),
        rate.alias("rate_per_1000_node_days"),
    )


def _scores(found: int, true: int, both: int) -> dict[str, Any]:
    return {"found": found, "true": true, "both": both, "precision": _share(both, found), "recall": _share(both, true)}


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
