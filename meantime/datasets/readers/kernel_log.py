"""Xid and SXid lines of NVIDIA's driver in kernel logs.

The input is any of ::

    journalctl -k -o short-iso --since 2024-01-01 > node.log       # host and zone in every line
    journalctl -k -o json --since 2024-01-01 > node.jsonl
    cat /var/log/syslog* > node.log                                # year= for lines such as "Jan  5 03:21:11"
    dmesg --time-format iso > node.log                             # node=
    dmesg > node.log                                               # node=, boot_time= (uptime -s)

All lines may be given, or those with ``NVRM`` (grep). Decisions:

- An Xid is an event; its component and severity come from `meantime.datasets.xids`. Numbers that are not there are
  critical and ``gpu_driver``. ``NVRM: GPU at PCI:...: GPU-uuid`` lines name the GPU of later events. An SXid (of an
  NVSwitch) is ``nvlink``, critical unless it says that it is non-fatal.
- ``source`` is ``xid 79`` or ``sxid 12028``; ``detail`` holds PCI address, GPU and message.
- All other lines are folded. Lines with an Xid whose time or host cannot be told are quarantined.
"""

import datetime as dt

import polars as pl

from meantime.datasets.events import events_log
from meantime.datasets.jobs import Conventions
from meantime.datasets.log import Log, empty_quarantine, make_quarantine
from meantime.datasets.ragged import LINE
from meantime.datasets.readers.line_times import add_times
from meantime.datasets.records import line_texts
from meantime.datasets.source import PathLike, read_bytes
from meantime.datasets.times import check_timezone
from meantime.datasets.xids import UNKNOWN_COMPONENT, UNKNOWN_SEVERITY, xid_table

_XID = r"NVRM: Xid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)[^)]*\): (?P<number>\d+)(?:, )?(?P<message>.*)$"
_SXID = r"SXid \((?:PCI:)?(?P<pci>[0-9a-fA-F:.]+)[^)]*\): (?P<number>\d+)(?:, )?(?P<message>.*)$"
_GPU = r"NVRM: GPU at (?:PCI:)?(?P<pci>[0-9a-fA-F:.]+): (?P<uuid>GPU-[0-9a-fA-F-]+)"


def read_kernel_log(
    path: PathLike,
    *,
    node: str | None = None,
    timezone: str = "UTC",
    year: int | None = None,
    boot_time: str | dt.datetime | None = None,
    xids: PathLike | None = None,
) -> Log:
    """Read the Xid lines of a log (see the module's text for the commands and the decisions).

    Parameters
    ----------
    path
        The log; .gz, .xz and .zst are unpacked.
    node
        Name of the node where lines do not say it.
    timezone
        Zone of times that name none.
    year
        Year of the first line where lines do not say it; months that go back begin the next year.
    boot_time
        When the node was booted (UTC unless it says otherwise), for lines with seconds since boot.
    xids
        TOML file that changes or adds Xid numbers.

    Raises
    ------
    InputError
        If the file cannot be read, or all its Xids lack a time or host that an option would give.
    """
    file = str(path)
    check_timezone(timezone)
    table = xid_table(xids)
    data = read_bytes(path)
    lines = pl.DataFrame({"text": pl.Series(data.decode("utf-8", errors="replace").split("\n"))}).with_columns(
        pl.int_range(1, pl.len() + 1, dtype=pl.Int64).alias(LINE), pl.col("text").str.strip_chars_end("\r \0")
    )
    lines = lines.filter(pl.col("text").str.strip_chars() != "")
    told = pl.col("text").str.contains(r"NVRM: (?:Xid \(|GPU at )|SXid \(")
    frame = lines.filter(told)
    frame = add_times(frame, node=node, year=year, boot_time=boot_time, file=file)
    names = frame.with_columns(pl.col("message").str.extract_groups(_GPU).alias("g")).unnest("g").drop_nulls("uuid")
    events = _events(frame, names, table)
    right = events.filter(pl.col("problem").is_null())
    wrong = events.filter(pl.col("problem").is_not_null())
    aside = make_quarantine(file, wrong[LINE].to_list(), wrong["problem"].to_list(), wrong["text"].to_list())
    folded = {"GPU names": names.height, "other lines": lines.height - events.height - names.height}
    return events_log(
        right.select(LINE, "time", "node", "component", "severity", "source", "detail"),
        file=file,
        format="kernel",
        texts=lambda numbers: line_texts(data, numbers),
        conventions=Conventions(timezone=timezone),
        quarantine=pl.concat([empty_quarantine(), aside]),
        folded=folded,
        notes=_say_unknown(right, table),
    )


def _events(frame: pl.DataFrame, names: pl.DataFrame, table: pl.DataFrame) -> pl.DataFrame:
    """Take the Xids and SXids apart; give each its component, severity and words."""
    parts = []
    for kind, pattern in (("xid", _XID), ("sxid", _SXID)):
        found = frame.with_columns(pl.col("message").str.extract_groups(pattern).alias("g"))
        found = found.rename({"message": "__whole"}).unnest("g").drop_nulls("number")
        parts.append(found.with_columns(pl.lit(kind).alias("kind")))
    events = pl.concat(parts).sort(LINE).with_columns(pl.col("number").cast(pl.Int64, strict=False).alias("xid"))
    gpus = names.select("node", pl.col("pci").str.to_lowercase(), "uuid").unique(["node", "pci"], keep="last")
    known = table.select(
        "xid", "name", pl.col("component").alias("__c"), pl.col("severity").cast(pl.String).alias("__s")
    )
    events = (
        events.with_columns(pl.col("pci").str.to_lowercase())
        .join(gpus, on=["node", "pci"], how="left", nulls_equal=True, maintain_order="left")
        .join(known, on="xid", how="left", maintain_order="left")
    )
    switch = pl.col("kind") == "sxid"
    harmless = pl.col("message").str.to_lowercase().str.contains("non-fatal", literal=True)
    what = pl.when(pl.col("message") != "").then("message").otherwise(pl.when(~switch).then("name"))
    return events.with_columns(
        pl.when(switch).then(pl.lit("nvlink")).otherwise(pl.col("__c").fill_null(UNKNOWN_COMPONENT)).alias("component"),
        pl.when(switch)
        .then(pl.when(harmless).then(pl.lit("low")).otherwise(pl.lit("high")))
        .otherwise(pl.col("__s").fill_null(UNKNOWN_SEVERITY))
        .alias("severity"),
        pl.format("{} {}", "kind", "number").alias("source"),
        pl.concat_str(pl.format("PCI {}", "pci"), "uuid", what, separator=", ", ignore_nulls=True).alias("detail"),
    )


def _say_unknown(events: pl.DataFrame, table: pl.DataFrame) -> list[str]:
    unknown = events.filter((pl.col("kind") == "xid") & ~pl.col("xid").is_in(table["xid"].implode()))["xid"]
    if unknown.is_empty():
        return []
    numbers = ", ".join(map(str, unknown.unique().sort().to_list()[:10]))
    return [f"Xid numbers that are not in the table count as critical errors of {UNKNOWN_COMPONENT}: {numbers}"]
