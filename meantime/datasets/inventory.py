"""An inventory of nodes from a file: when each arrived and was taken away."""

import polars as pl

from meantime.datasets.ragged import LINE
from meantime.datasets.raw import read_raw
from meantime.datasets.source import PathLike
from meantime.errors import InputError

COLUMNS = ("cluster", "node", "arrival", "retirement")


def read_inventory(path: PathLike) -> pl.DataFrame:
    """Read an inventory for calendar exposure.

    Parameters
    ----------
    path
        CSV, JSON lines or Parquet with ``node`` and, where known, ``cluster``, ``arrival`` and ``retirement`` (UTC).

    Raises
    ------
    InputError
        If the file cannot be read, lacks ``node``, or has a row that cannot be used.
    """
    raw = read_raw(path)
    names = {str(name).strip(): name for name in raw.frame.columns}
    if "node" not in names:
        found = ", ".join(name for name in names if name != LINE)[:200]
        raise InputError(
            f"{path}: is no inventory: it lacks the column node; found {found}; expected {', '.join(COLUMNS)}"
        )
    if raw.quarantine.height:
        line, reason = raw.quarantine.select("line", "reason").row(0)
        raise InputError(f"{path}: line {line}: {reason}; every row of an inventory counts")
    frame = raw.frame.select(pl.col(names[name]).alias(name) for name in COLUMNS if name in names)
    missing = frame.select(pl.col("node").cast(pl.String).str.strip_chars().fill_null("") == "").to_series()
    if missing.any():
        raise InputError(f"{path}: line {raw.frame.filter(missing)[LINE][0]}: node is missing")
    return frame
