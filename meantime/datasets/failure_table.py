"""From jobs and events to the failure table."""

import datetime as dt
from collections.abc import Sequence
from typing import Any, Literal

import narwhals as nw
import polars as pl
import xarray as xr

from meantime.datasets.assemble import account_rows, assemble, count_co_occurring, count_failures
from meantime.datasets.calendar import calendar_exposure
from meantime.datasets.candidates import AttributionRule, find_failures
from meantime.datasets.exposure import add_bucket, as_time, as_times, last_period, period_length, sum_exposure
from meantime.datasets.fates import FATE, USED, Census, Limits, log_edge, take_census, with_fates
from meantime.datasets.hits import check_severity
from meantime.datasets.jobs import STATES
from meantime.datasets.log import Log
from meantime.datasets.scan import Jobs, collect, is_usable, open_events, open_jobs
from meantime.datasets.taxonomy import UNATTRIBUTED, taxonomy
from meantime.errors import InputError
from meantime.units import Duration, seconds

type Rule = Literal["infrastructure", "interruption"]
RULES = ("infrastructure", "interruption")
EXPOSURES = ("busy", "calendar")
INTERRUPTION = "interruption"
OTHER = "other"


def failure_table(
    jobs: Any,
    events: Any = None,
    *,
    gpus_per_node: int = 8,
    before: Duration = "10min",
    after: Duration = "5min",
    severity: str = "high",
    rule: Rule = "infrastructure",
    min_runtime: Duration = "0s",
    min_gpus: int = 0,
    period: Duration | None = None,
    log_start: str | dt.datetime | None = None,
    log_end: str | dt.datetime | None = None,
    components: Sequence[str] | None = None,
    by_node: bool = False,
    exposure: Literal["busy", "calendar"] = "busy",
    inventory: Any = None,
    taxonomy_table: pl.DataFrame | None = None,
) -> xr.Dataset:
    """Count failures and exposure by cluster, component and job size.

    Parameters
    ----------
    jobs
        A log of jobs, any data frame (polars, pandas, Arrow, ...) with the columns of the jobs table, or a lazy one
        (``polars.scan_parquet(...)``, a PySpark data frame). A lazy frame may be larger than memory; its rows are
        checked, but it is not searched for repeated rows, and its ``state`` must be as in the jobs table.
    events
        A log of events, or a data frame with the columns of the events table, of the same engine as `jobs` where
        these are lazy. Without events only NODE_FAIL and a ``cause`` column tell failures of the infrastructure.
    gpus_per_node
        GPUs of a node.
    before, after, severity
        Which events explain the end of a job, see `meantime.datasets.attribution.attribute`.
    rule
        ``"infrastructure"``: the paper's rule, as `attribute`. ``"interruption"``: every attempt that is
        followed by another attempt of the same job, whatever the reason, as the component
        ``interruption``; for logs without states.
    min_runtime
        Only failures of attempts that ran at least so long count; their exposure does in any case.
    min_gpus
        Only jobs of at least so many GPUs count, in failures and exposure.
    period
        Length of periods to divide time into (weeks begin on Mondays, UTC), or None.
    log_start
        Start of the log (UTC). Of jobs that ran before it only the part after it counts: a log of the jobs that ran
        in a time (``sacct -S``) holds their past, but not that of the jobs which had ended. Default: the first start.
    log_end
        End of the log (UTC). Jobs still running are censored there. Default: its latest time.
    components
        The components wanted, in order, also those without a failure; what failed otherwise is
        ``other``. Default: those that failed or are reported in `events`, in the order of the taxonomy.
    by_node
        Whether to count by node instead of job size: failures where the cause was seen (or on the only node of a
        job), exposure as the job's GPUs shared out over its nodes. Failures of unknown place are left out and
        counted in the provenance.
    exposure
        ``"busy"``: node-days of jobs. ``"calendar"``: node-days in service, whether busy or not, see
        `meantime.datasets.calendar.calendar_exposure`; without job sizes.
    inventory
        For calendar exposure, when nodes arrived and left, if known.
    taxonomy_table
        Which of several causes wins, and the order of components. Default:
        `meantime.datasets.taxonomy.taxonomy` as shipped; ``taxonomy(load_components("site.toml"))`` for a site's own.

    Returns
    -------
    xr.Dataset
        ``failures`` (cluster, component, job_size[, period]) and ``exposure`` (cluster, job_size[,
        period]) in node-days, or with node in the place of job_size. The attribute ``provenance`` (JSON) accounts
        for every row.

    Raises
    ------
    InputError
        If no job can be used, GPUs or states are not known, or events cannot be matched to nodes.
    """
    if rule not in RULES:
        raise InputError(f"rule is {rule!r}; expected one of {', '.join(RULES)}")
    if exposure not in EXPOSURES:
        raise InputError(f"exposure is {exposure!r}; expected one of {', '.join(EXPOSURES)}")
    if gpus_per_node < 1 or min_gpus < 0:
        raise InputError(f"gpus_per_node is {gpus_per_node}, min_gpus {min_gpus}; expected 1 or more, 0 or more")
    if inventory is not None and exposure != "calendar":
        raise InputError("an inventory was given but exposure is 'busy'; expected exposure='calendar' with it")
    marking = AttributionRule(before=before, after=after, severity=check_severity(severity))
    length = None if period is None else period_length(period)
    least = round(seconds(min_runtime, name="min_runtime") * 1e6)
    opened, reported = open_jobs(jobs), open_events(events)
    _check_use(opened, rule, by_node)
    limits = Limits(
        min_gpus=max(1, min_gpus), log_start=log_edge(log_start, "log_start"), log_end=log_edge(log_end, "log_end")
    )
    fated = with_fates(opened, limits)
    census = take_census(fated, limits)
    if census.totals.is_empty():
        raise InputError(_nothing_used(opened, census, limits))
    known_causes = taxonomy() if taxonomy_table is None else taxonomy_table
    failed = _failures(opened, fated, reported, rule, marking, least, length, known_causes)
    names = _component_names(failed, reported, rule, severity, components, known_causes)
    if exposure == "calendar":
        days = calendar_exposure(
            jobs,
            events,
            inventory=inventory,
            log_start=log_start,
            log_end=as_time(census.log_end),
            period=period,
        )
        if not by_node:
            days = days.group_by("cluster", *_period(period), maintain_order=True).agg(pl.col("exposure").sum())
    else:
        days = sum_exposure(fated, census, gpus_per_node=gpus_per_node, period=period, by_node=by_node)
    keys = [name for name in days.columns if name != "exposure"]
    placed = failed.filter(pl.col("node").is_not_null()) if by_node else failed
    known = pl.when(pl.col("component").is_in(names)).then("component").otherwise(pl.lit(OTHER))
    counts = placed.with_columns(known.alias("component")).group_by([*keys, "component"]).agg(pl.col("failures").sum())
    account = account_rows(opened, census) | {
        "failures": count_failures(failed),
        "failures_without_node": count_failures(failed) - count_failures(placed),
        "co_occurring": count_co_occurring(failed),
        "log_start": str(as_time(limits.log_start) if limits.log_start else _first_start(fated)),
        "log_end": str(as_time(census.log_end)),
        "rule": rule,
        "before_seconds": seconds(before),
        "after_seconds": seconds(after),
        "severity": severity,
        "min_runtime_seconds": least / 1e6,
        "min_gpus": min_gpus,
        "period_seconds": None if period is None else seconds(period),
        **_account_events(reported),
    }
    return assemble(
        days,
        counts,
        names,
        account,
        source=opened.source,
        gpus_per_node=gpus_per_node,
        kind=exposure,
        largest=max(census.totals["n_gpus"].to_list()),
    )


def why_no_rates(log: Log, rule: Rule) -> str | None:
    """Say why a log gives no failure table by a rule, or None if it may."""
    table = log.table
    if table.is_empty():
        reasons = log.quarantine["reason"].value_counts(sort=True)["reason"].head(3).to_list()
        why = f": {'; '.join(reasons)}" if reasons else ""
        return f"none of {log.rows_read} rows is a job that can be used{why}"
    if table["n_gpus"].null_count() == table.height:
        return _NO_GPUS
    if rule == "infrastructure" and table["state"].null_count() == table.height:
        return _NO_STATES
    return None


_NO_GPUS = (
    "the GPUs of jobs are not known, so there is no exposure; add AllocTRES (or NNodes, with gpus_per_node "
    "given) to sacct -o, or map n_gpus"
)
_NO_STATES = "the log has no job states; map state, or use the rule 'interruption'"


def _check_use(opened: Jobs, rule: Rule, by_node: bool) -> None:
    if opened.log is not None:
        if why := why_no_rates(opened.log, rule):
            raise InputError(f"{opened.source}: {why}")
    elif "n_gpus" not in opened.columns:
        raise InputError(f"{opened.source}: {_NO_GPUS}")
    else:
        states = collect(opened.frame.select("state").unique())["state"] if "state" in opened.columns else pl.Series([])
        if unknown := sorted(set(states.drop_nulls().to_list()) - set(STATES)):
            raise InputError(f"{opened.source}: state {unknown[0]!r} is unknown; expected {', '.join(STATES)}")
        if rule == "infrastructure" and states.len() == states.null_count():
            raise InputError(f"{opened.source}: {_NO_STATES}")
    if rule == INTERRUPTION and "attempt" not in opened.columns:
        raise InputError(f"{opened.source}: the rule 'interruption' needs the column attempt")
    if by_node and rule == INTERRUPTION:
        raise InputError("by_node needs the rule 'infrastructure': an interruption has no place")
    if by_node and "nodes" not in opened.columns:
        raise InputError(f"{opened.source}: the jobs have no node lists; add NodeList to sacct -o, or map nodes")


def _nothing_used(opened: Jobs, census: Census, limits: Limits) -> str:
    if opened.log is None and census.wrong == census.read:
        return f"{opened.source}: none of {census.read} rows is a job that can be used"
    return f"{opened.source}: no job that ran has {limits.min_gpus} GPUs or more"


def _failures(
    opened: Jobs,
    fated: nw.LazyFrame[Any],
    events: nw.LazyFrame[Any] | None,
    rule: Rule,
    marking: AttributionRule,
    least: int,
    length: int | None,
    table: pl.DataFrame,
) -> pl.DataFrame:
    """Give the failures that count: ``cluster``, ``job_size``, ``component``, ``failures``, ``period``, ``node``."""
    if rule == INTERRUPTION:
        latest = nw.col("attempt").max().over("cluster", "job_id")
        fated = fated.with_columns((nw.col("attempt") < latest).alias("__again"))
    ended = fated.filter((nw.col(FATE) == USED) & ~nw.col("running") & (nw.col("until") - nw.col("start") >= least))
    if rule == INTERRUPTION:
        again = ended.filter(nw.col("__again")).select("cluster", "n_gpus", "begin", "until")
        keys = ["cluster", "n_gpus", *(["begin", "until"] if length is not None else [])]
        failed = collect(again.group_by(keys).agg(nw.len().alias("failures"))).with_columns(
            pl.lit(INTERRUPTION).alias("component"),
            pl.lit(None, dtype=pl.String).alias("node"),
            pl.lit([], dtype=pl.List(pl.String)).alias("co_causes"),
        )
    else:
        kept = ("cluster", "n_gpus", "begin", "until")
        failed = find_failures(ended, events, marking, identity=opened.identity, kept=kept, table=table).rename(
            {"failed_node": "node"}
        )
        failed = failed.with_columns(pl.lit(1, dtype=pl.Int64).alias("failures"))
    failed = add_bucket(failed).with_columns(pl.col("failures").cast(pl.Int64))
    if length is not None:
        failed = failed.with_columns(as_times(last_period(length)).alias("period"))
    return failed


def _period(period: Duration | None) -> list[str]:
    return [] if period is None else ["period"]


def _component_names(
    failed: pl.DataFrame,
    events: nw.LazyFrame[Any] | None,
    rule: Rule,
    severity: str,
    wanted: Sequence[str] | None,
    table: pl.DataFrame,
) -> list[str]:
    seen = set(failed["component"].unique().to_list())
    if wanted is not None:
        return [*wanted, *([OTHER] if seen - set(wanted) else [])]
    if rule == INTERRUPTION:
        return [INTERRUPTION]
    if events is not None:
        counted = events if severity == "low" else events.filter(nw.col("high"))
        seen |= set(collect(counted.filter(is_usable()).select("component").unique())["component"].to_list())
    known = [name for name in table["component"].to_list() if name in seen]
    return [*known, *sorted(seen - set(known) - {UNATTRIBUTED}), UNATTRIBUTED]


def _account_events(events: nw.LazyFrame[Any] | None) -> dict[str, int]:
    """Count the events that were used, and those of a lazy frame that lack something."""
    if events is None:
        return {"events": 0, "events_quarantined": 0}
    read, usable = collect(events.select(nw.len().alias("read"), is_usable().cast(nw.Int64).sum().alias("usable"))).row(
        0
    )
    return {"events": int(usable or 0), "events_quarantined": int(read - (usable or 0))}


def _first_start(fated: nw.LazyFrame[Any]) -> dt.datetime:
    return as_time(int(collect(fated.filter(nw.col(FATE) == USED).select(nw.col("begin").min())).item()))
