"""Metrics of NVIDIA's DCGM exporter, as scraped (Prometheus text).

The input is scrapes one after another, each line with its time in milliseconds::

    while sleep 60; do curl -s http://gpu-017:9400/metrics | sed "s/\\$/ $(date +%s%3N)/"; done >> gpu-017.prom

A single scrape without times is read with ``time`` given. Decisions:

- Events come from `METRICS`: the last Xid of a GPU, failed and pending row remaps, uncorrectable remapped rows and
  double bit errors. All other metrics and comments are folded.
- A scrape shows a state: an event is where the value of a GPU changes to something other than 0, at the time of that
  scrape; equal values after it are folded. What the first scrape shows may be of any age (noted).
- The node is the label ``Hostname``, else ``node``.
"""

import datetime as dt

import polars as pl

from meantime.datasets.events import events_log
from meantime.datasets.jobs import Conventions
from meantime.datasets.log import Log, make_quarantine
from meantime.datasets.ragged import LINE
from meantime.datasets.records import line_texts
from meantime.datasets.source import PathLike, read_bytes
from meantime.datasets.times import parse_times
from meantime.datasets.xids import UNKNOWN_COMPONENT, UNKNOWN_SEVERITY, xid_table
from meantime.errors import InputError

XID = "DCGM_FI_DEV_XID_ERRORS"
METRICS = {
    XID: (UNKNOWN_COMPONENT, UNKNOWN_SEVERITY),
    "DCGM_FI_DEV_ROW_REMAP_FAILURE": ("gpu_memory", "high"),
    "DCGM_FI_DEV_ROW_REMAP_PENDING": ("gpu_memory", "low"),
    "DCGM_FI_DEV_UNCORRECTABLE_REMAPPED_ROWS": ("gpu_memory", "low"),
    "DCGM_FI_DEV_ECC_DBE_VOL_TOTAL": ("gpu_memory", "high"),
}
"""Metrics that tell faults, with component and severity (of Xids: if the number is not known)."""

_SAMPLE = r"^(?P<metric>[A-Za-z_:][A-Za-z0-9_:]*)\{(?P<labels>.*)\}\s+(?P<value>\S+)(?:\s+(?P<stamp>\d{1,17}))?$"
_LABEL = r'{}="((?:[^"\\]|\\.)*)"'


def read_dcgm(
    path: PathLike,
    *,
    node: str | None = None,
    time: str | dt.datetime | None = None,
    xids: PathLike | None = None,
) -> Log:
    """Read scrapes of the exporter (see the module's text for the command and the decisions).

    Parameters
    ----------
    path
        The text; .gz, .xz and .zst are unpacked.
    node
        Name of the node where no label ``Hostname`` says it.
    time
        When a scrape without times was made (UTC unless it says otherwise).
    xids
        TOML file that changes or adds Xid numbers.

    Raises
    ------
    InputError
        If the file cannot be read, holds no metric of DCGM, or does not say when it was scraped.
    """
    file = str(path)
    data = read_bytes(path)
    lines = pl.DataFrame({"text": pl.Series(data.decode("utf-8", errors="replace").split("\n"))}).with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(LINE), pl.col("text").str.strip_chars(" \t\r\0")
    )
    lines = lines.filter(pl.col("text") != "")
    told = lines.filter(pl.col("text").str.starts_with("DCGM_FI_") & pl.col("text").str.contains("|".join(METRICS)))
    if not lines["text"].str.starts_with("DCGM_").any():
        raise InputError(f'{file}: has no metric of DCGM; expected lines such as {XID}{{gpu="0",...}} 79')
    samples = _samples(told, node, _millis(time))
    broken = samples.filter(pl.col("problem").is_not_null())
    good = samples.filter(pl.col("problem").is_null())
    if good.is_empty() and broken.height and set(broken["problem"]) == {_NO_TIME}:
        raise InputError(f"{file}: line {broken[LINE][0]}: {_NO_TIME}")
    events = _changes(good)
    events = _named(events, xid_table(xids))
    aside = make_quarantine(file, broken[LINE].to_list(), broken["problem"].to_list(), broken["text"].to_list())
    return events_log(
        events,
        file=file,
        format="dcgm",
        texts=lambda numbers: line_texts(data, numbers),
        conventions=Conventions(time_unit="ms"),
        quarantine=aside,
        folded={
            "other metrics and comments": lines.height - told.height,
            "values without a new fault": good.height - events.height,
        },
        notes=["times are those of the scrape: the faults of the first scrape may be older"],
    )


_NO_TIME = "the line has no time; give time=, or add times to the lines (see the reader's text)"


def _millis(time: str | dt.datetime | None) -> float | None:
    if time is None:
        return None
    found = parse_times(pl.Series("time", [time if isinstance(time, str) else time.isoformat()])).utc[0]
    if found is None:
        raise InputError(f"time is {time!r}; expected a time such as 2024-01-05T03:00:00")
    return found.timestamp() * 1000


def _samples(told: pl.DataFrame, node: str | None, stamp: float | None) -> pl.DataFrame:
    frame = told.with_columns(pl.col("text").str.extract_groups(_SAMPLE).alias("g")).unnest("g")
    label = {
        name: pl.col("labels").str.extract(_LABEL.format(name)) for name in ("Hostname", "gpu", "UUID", "pci_bus_id")
    }
    value = pl.col("value").cast(pl.Float64, strict=False)
    frame = frame.with_columns(
        pl.coalesce(label["Hostname"], pl.lit(node, dtype=pl.String)).alias("node"),
        pl.coalesce(label["UUID"], label["gpu"]).alias("gpu"),
        label["pci_bus_id"].alias("pci"),
        value.alias("number"),
        pl.coalesce(pl.col("stamp").cast(pl.Float64), pl.lit(stamp, dtype=pl.Float64)).alias("time"),
    )
    problem = (
        pl.when(pl.col("metric").is_null())
        .then(pl.lit("is no metric with labels and a value (cut short?)"))
        .when(pl.col("number").is_null() | ~pl.col("number").is_finite())
        .then(pl.format("value '{}' is not a number", "value"))
        .when(pl.col("node").is_null())
        .then(pl.lit("no label Hostname; give node="))
        .when(pl.col("gpu").is_null())
        .then(pl.lit("no label UUID or gpu"))
        .when(pl.col("time").is_null())
        .then(pl.lit(_NO_TIME))
    )
    return frame.with_columns(problem.alias("problem"))


def _changes(samples: pl.DataFrame) -> pl.DataFrame:
    """Keep the samples in which a value becomes another one than 0."""
    series = ["node", "gpu", "metric"]
    ordered = samples.sort("time", LINE)
    before = pl.col("number").shift(1, fill_value=0.0).over(series)
    return ordered.filter((pl.col("number") != 0) & (pl.col("number") != before))


def _named(events: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    known = table.select(
        pl.col("xid").cast(pl.Float64).alias("number"),
        "name",
        pl.col("component").alias("__c"),
        pl.col("severity").cast(pl.String).alias("__s"),
    )
    is_xid = pl.col("metric") == XID
    usual = {i: {name: pair[i] for name, pair in METRICS.items()} for i in (0, 1)}
    number = pl.col("number").cast(pl.Int64, strict=False)
    return (
        events.join(known, on="number", how="left", maintain_order="left")
        .with_columns(
            pl.when(is_xid)
            .then(pl.coalesce("__c", pl.lit(UNKNOWN_COMPONENT)))
            .otherwise(pl.col("metric").replace(usual[0]))
            .alias("component"),
            pl.when(is_xid)
            .then(pl.coalesce("__s", pl.lit(UNKNOWN_SEVERITY)))
            .otherwise(pl.col("metric").replace(usual[1]))
            .alias("severity"),
            pl.when(is_xid).then(pl.format("xid {}", number)).otherwise(pl.format("dcgm {}", "metric")).alias("source"),
            pl.concat_str(
                "gpu",
                pl.format("PCI {}", "pci"),
                pl.when(is_xid).then("name").otherwise(pl.format("value {}", number)),
                separator=", ",
                ignore_nulls=True,
            ).alias("detail"),
        )
        .sort(LINE)
        .select(LINE, "time", "node", "component", "severity", "source", "detail")
    )
