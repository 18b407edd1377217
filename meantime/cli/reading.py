"""How the commands that take logs read them."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from meantime.cli.options import Attribution, Counting, Reading
from meantime.errors import InputError

if TYPE_CHECKING:
    import polars as pl
    import xarray as xr

    from meantime.datasets import Log


def read_log(
    paths: list[Path],
    format: str,
    mapping: Path | None,
    *,
    timezone: str | None,
    cluster: str | None,
    gpus_per_node: int | None,
    option: list[str] | None,
    taxonomy: Path | None = None,
    scan: bool | None = False,
) -> "Log | xr.Dataset | pl.LazyFrame":
    """Read a log, or scan it if that is asked for (None: if it is large and can be scanned)."""
    from meantime.datasets import is_large, read, scan_parquet

    plain = format in ("auto", "table") and (mapping, cluster, option) == (None,) * 3 and timezone in (None, "UTC")
    if scan or (scan is None and plain and is_large(paths)):
        if not plain:
            raise InputError(
                "--scan takes columns as they are and times in UTC; expected no --mapping, --timezone, --cluster, "
                "--option or other --format with it"
            )
        return scan_parquet(paths)
    extra: dict[str, Any] = dict(_named(text) for text in option or [])
    if taxonomy is not None and "xids" not in extra and _takes_xids(paths, format, mapping):
        extra["xids"] = taxonomy
    return read(paths, format, mapping, timezone=timezone, cluster=cluster, gpus_per_node=gpus_per_node, **extra)


def read_events(
    paths: list[Path] | None,
    format: str,
    mapping: Path | None,
    *,
    timezone: str | None,
    option: list[str] | None,
    taxonomy: Path | None,
    scan: bool | None = False,
) -> "Log | pl.LazyFrame | None":
    """Read events, or scan them."""
    from meantime.datasets import Log, is_large, scan_parquet

    if not paths:
        return None
    plain = format in ("auto", "events") and (mapping, option) == (None, None) and timezone in (None, "UTC")
    if scan is not False and plain and is_large(paths, "events"):
        return scan_parquet(paths, "events")
    log = read_log(
        paths,
        format,
        mapping,
        timezone=timezone,
        cluster=None,
        gpus_per_node=None,
        option=option,
        taxonomy=taxonomy,
    )
    if not isinstance(log, Log) or log.kind != "events":
        raise InputError(f"--events {paths[0]}: holds {_kind(log)}, no events; expected health checks or kernel logs")
    return log


def fit_of(path: Path) -> "xr.DataTree":
    """Load a fit to plan with; what is compiled for it is kept for the next command."""
    from meantime.inference import load_fit
    from meantime.inference.cache import use_cache

    use_cache()
    return load_fit(path)


def read_both(
    paths: list[Path], reading: Reading, *, scan: bool | None = False
) -> "tuple[Log | xr.Dataset | pl.LazyFrame, Log | pl.LazyFrame | None]":
    """Read a log, and the events that go with it, which only a log of jobs can have."""
    log = read_log(
        paths,
        reading.format,
        reading.mapping,
        timezone=reading.timezone,
        cluster=reading.cluster,
        gpus_per_node=reading.gpus_per_node,
        option=reading.option,
        taxonomy=reading.taxonomy,
        scan=scan,
    )
    if reading.events and _kind(log) != "jobs":
        raise InputError(
            f"--events belong to the jobs of a log; {paths[0]} holds {_kind(log)}: leave --events out, or give the "
            "log of jobs"
        )
    return log, read_events(
        reading.events,
        reading.events_format,
        reading.events_mapping,
        timezone=reading.timezone,
        option=reading.events_option,
        taxonomy=reading.taxonomy,
        scan=scan,
    )


def table_of(
    paths: list[Path],
    reading: Reading,
    counting: Counting,
    *,
    scan: bool | None = None,
    model: str | None = None,
    nodes: int | None = None,
    days: float | None = None,
    covariates: str | None = None,
) -> "xr.Dataset":
    """Read logs or counts to the data of a model: a failure table, or what else it takes."""
    import xarray as xr

    from meantime.datasets import Log, failure_table, incident_table, outage_periods, to_table
    from meantime.datasets.readers.lanl_nodes import lanl_nodes, lanl_service

    log, checks = read_both(paths, reading, scan=scan)
    if model == "incident":
        if not isinstance(log, Log):
            raise InputError("the model 'incident' takes a log of outages or of events of nodes, no counts")
        return incident_table(log, nodes=nodes, days=days, gpus_per_node=reading.gpus_per_node or 8)
    if nodes is not None or days is not None:
        raise InputError("--nodes and --days are those of incidents; expected --model incident with them")
    if counting.period is not None and isinstance(log, Log) and log.format == "lanl":
        return outage_periods(log, lanl_service(lanl_nodes(log)), period=counting.period)
    if model in ("lifetime", "lifetime_steps", "repair", "repair_tail"):
        return _of_parts(log, model, covariates)
    if covariates:
        raise InputError("--covariates are those of lives; expected --model lifetime or lifetime_steps with them")
    if isinstance(log, xr.Dataset) or (isinstance(log, Log) and log.kind != "jobs"):
        return to_table(log)
    return failure_table(
        log,
        checks,
        gpus_per_node=reading.gpus_per_node or 8,
        rule=counting.rule or "infrastructure",
        **counted(counting, reading, by_node=counting.by_node or model == "node_frailty"),
    )


def counted(counting: Counting, reading: Reading, *, by_node: bool) -> dict[str, Any]:
    """Give the options of `failure_table` but the rule."""
    return {
        **attributed(counting),
        "min_runtime": counting.min_runtime,
        "min_gpus": counting.min_gpus,
        "period": counting.period,
        "log_start": counting.log_start,
        "log_end": counting.log_end,
        "components": components_of(counting.components),
        "by_node": by_node,
        "exposure": counting.exposure,
        "inventory": inventory_of(counting.inventory),
        "taxonomy_table": taxonomy_of(reading.taxonomy),
    }


def attributed(attribution: Attribution) -> dict[str, Any]:
    """Give the options by which failures are attributed to events."""
    return {
        "before": attribution.before,
        "after": attribution.after,
        "severity": attribution.min_severity,
    }


def taxonomy_of(path: Path | None) -> "pl.DataFrame | None":
    """Give the taxonomy with what a file of the user changes; None without one."""
    from meantime.datasets import load_components, taxonomy

    return None if path is None else taxonomy(load_components(path))


def inventory_of(path: Path | None) -> "pl.DataFrame | None":
    """Read an inventory of nodes."""
    from meantime.datasets import read_inventory

    return None if path is None else read_inventory(path)


def components_of(text: str | None) -> list[str] | None:
    """Give the names of components as typed."""
    return None if text is None else [name.strip() for name in text.split(",") if name.strip()]


def _kind(log: Any) -> str:
    """Say what was read: jobs (also scanned ones), counts, events, outages, lives, ..."""
    import xarray as xr

    from meantime.datasets import Log

    return "counts" if isinstance(log, xr.Dataset) else log.kind if isinstance(log, Log) else "jobs"


def _takes_xids(paths: list[Path], format: str, mapping: Path | None) -> bool:
    from meantime.datasets.detect import recognise
    from meantime.datasets.formats import BY_NAME

    name = recognise(paths[0], mapping)[0] if format == "auto" else format
    return name in BY_NAME and "xids" in BY_NAME[name].takes


def _named(text: str) -> tuple[str, int | str]:
    name, found, value = text.partition("=")
    if not (found and name.isidentifier()):
        raise InputError(f"--option is {text!r}; expected NAME=VALUE, such as year=2025")
    return name, int(value) if value.isdecimal() else value


def _of_parts(log: Any, model: str, covariates: str | None) -> "xr.Dataset":
    """Return the data of the models of lives and of repairs."""
    from meantime.datasets import repair_table, survival_table
    from meantime.models import REPAIR_MODELS

    wanted = "outages" if model in REPAIR_MODELS else "lives"
    if _kind(log) != wanted:
        raise InputError(f"the model {model!r} takes a log of {wanted}; this one holds {_kind(log)}")
    if model in REPAIR_MODELS:
        return repair_table(log)
    names = [name.strip() for name in covariates.split(",")] if covariates else []
    return survival_table(log, covariates=names)
