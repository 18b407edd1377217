"""Reads the CSV files of this package. Nothing is read at import."""

from collections.abc import Mapping
from importlib.resources import files
from io import BytesIO
from typing import Any

import polars as pl

CERTAINTY = pl.Enum(["A", "B", "C", "D", "R"])
"""How sure a figure is; the meaning of the letters stands in `meantime.datasets.published`."""


def read_csv(name: str, types: Mapping[str, Any]) -> pl.DataFrame:
    """Read one CSV of the package.

    Parameters
    ----------
    name
        File name in the package's ``data`` folder.
    types
        Polars types of the columns that are not text, certainty columns apart.

    Returns
    -------
    pl.DataFrame
        Empty fields are null. Columns named ``certainty`` or ending in ``_certainty`` are of type `CERTAINTY`.
    """
    content = (files(__package__) / "data" / name).read_bytes()
    header = content.split(b"\n", 1)[0].decode().strip().split(",")
    schema = {column: types.get(column, CERTAINTY if column.endswith("certainty") else pl.String) for column in header}
    return pl.read_csv(BytesIO(content), schema=schema)
