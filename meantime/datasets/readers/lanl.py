"""Node outages of Los Alamos National Laboratory 1996-2005, release LA-UR-05-7318.

The input is the file of that release, a row a node outage, as re-hosted for example by ::

    curl -LO https://github.com/Derek-Jones/ESEUR-code-data/raw/master/reliability/\\
    LA-UR-05-7318-failure-data-1996-2005.csv.xz

Acknowledge Los Alamos National Laboratory wherever results from it are shown.

Besides the columns of the outages table, the table has ``n_nodes`` of the system, ``procs_in_node``,
``machine_type``, ``purpose``, ``production`` and ``decommission`` (months as the file writes them) and
``down_minutes`` (as stated: 423 rows differ from end - start). Decisions:

- ``cluster`` is the code ``System``, ``node`` is ``nodenumz``, ``component`` the name of the cause column that is
  filled, ``detail`` what stands in it.
- Times are local without a zone; they are read as UTC unless a zone is given, so that days are whole days.
- The 126 rows of system 17 name no node and are quarantined. 25 rows repeat another exactly and stay: published
  counts have them.
- Months were mangled by a spreadsheet, see `parse_month`; `meantime.datasets.readers.lanl_nodes` turns them into
  days in service.
"""

import datetime as dt
import re

import polars as pl

from meantime.datasets.columns import whole_column
from meantime.datasets.header import find_header
from meantime.datasets.jobs import Conventions
from meantime.datasets.log import Log
from meantime.datasets.outages import outages_log
from meantime.datasets.ragged import LINE
from meantime.datasets.records import line_texts, read_records
from meantime.datasets.source import PathLike, read_bytes
from meantime.datasets.times import check_timezone
from meantime.errors import InputError

CAUSES = {
    "Hardware": "hardware",
    "Software": "software",
    "Network": "network",
    "Facilities": "facilities",
    "Human Error": "human_error",
    "Undetermined": "undetermined",
}
"""Cause columns of the file, and the component of each."""
BEFORE_TRACKING, CURRENT = "before tracking", "current"
MAX_NODES = 100_000
"""Largest believable number of nodes of a system."""
NEEDED = ("System", "nodes", "nodenumz", "node prod", "node decom", "Prob Started", "Prob Fixed", *CAUSES)

_KEPT = {
    "procsinnode": "procs_in_node",
    "machine type": "machine_type",
    "purpose": "purpose",
    "node prod": "production",
    "node decom": "decommission",
}
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_MONTH = re.compile(r"(?:(\d{1,2})-([A-Z][a-z]{2})|([A-Z][a-z]{2})-(\d{2}))")


def read_lanl(path: PathLike, *, timezone: str = "UTC", system: str | None = None) -> Log:
    """Read the outages (see the module's text for the download and the decisions).

    Parameters
    ----------
    path
        The CSV file; .xz, .gz and .zst are unpacked.
    timezone
        Zone of the times.
    system
        Only this system, by its code.

    Raises
    ------
    InputError
        If the file cannot be read or its header lacks a column that is needed.
    """
    file = str(path)
    data = read_bytes(path)
    header = find_header(data)
    if missing := [name for name in NEEDED if name not in header.names]:
        raise InputError(
            f"{file}: line {header.line}: the header lacks {', '.join(missing)}; expected that of LA-UR-05-7318"
        )
    records = read_records(data, header, file=file)
    rows, folded = records.frame, dict(records.folded)
    if system is not None:
        chosen = rows.filter(pl.col("System").str.strip_chars() == str(system))
        folded["other systems"] = rows.height - chosen.height
        rows = chosen
    filled = {column: pl.col(column).str.strip_chars() != "" for column in CAUSES}
    several = int(rows.select(pl.sum_horizontal(filled.values()) > 1).to_series().sum())
    notes = [*records.notes]
    if several:
        notes.append(f"{several} rows name more than one cause; the first in the order {', '.join(CAUSES)} counts")
    raw = rows.select(
        LINE,
        pl.col("System").str.strip_chars().alias("cluster"),
        pl.col("nodenumz").str.strip_chars().alias("node"),
        pl.col("Prob Started").alias("start"),
        pl.col("Prob Fixed").alias("end"),
        pl.coalesce(pl.when(mask).then(pl.lit(CAUSES[column])) for column, mask in filled.items()).alias("component"),
        pl.coalesce(pl.when(mask).then(pl.col(column)) for column, mask in filled.items()).alias("detail"),
        *(pl.col(old).str.strip_chars().replace("", None).alias(new) for old, new in _KEPT.items() if old in rows),
        *_whole(rows, "nodes", "n_nodes"),
        *_whole(rows, "Down Time", "down_minutes"),
    ).with_columns(_whole(rows, "procsinnode", "procs_in_node"))
    return outages_log(
        raw,
        file=file,
        format="lanl",
        texts=lambda lines: line_texts(data, lines),
        conventions=Conventions(timezone=check_timezone(timezone), time_format="%m/%d/%Y %H:%M"),
        keep=[name for name in raw.columns if name not in (LINE, *_OUTAGE)],
        checks=[(~pl.col("n_nodes").is_between(1, MAX_NODES), pl.format("nodes '{}' is impossible", "n_nodes"))],
        quarantine=records.quarantine,
        folded=folded,
        notes=notes,
    )


def parse_month(text: str) -> dt.date | None:
    """First day of a month that a spreadsheet mangled; None if it is no month.

    ``5-Apr`` is April 2005 (shown as a day of April because the year has one digit), ``Nov-96`` November 1996.

    Examples
    --------
    >>> parse_month("5-Apr"), parse_month("Nov-96")
    (datetime.date(2005, 4, 1), datetime.date(1996, 11, 1))
    """
    match = _MONTH.fullmatch(text.strip())
    if match is None:
        return None
    year, month = int(match.group(1) or match.group(4)), match.group(2) or match.group(3)
    if month not in _MONTHS:
        return None
    return dt.date(year + (2000 if year < 50 else 1900), _MONTHS.index(month) + 1, 1)


_OUTAGE = ("cluster", "node", "start", "end", "component", "detail")


def _whole(rows: pl.DataFrame, old: str, new: str) -> list[pl.Series]:
    return [whole_column(rows[old]).values.alias(new)] if old in rows.columns else []
