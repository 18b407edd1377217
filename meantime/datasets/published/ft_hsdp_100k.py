"""Meta's fault-tolerant HSDP at 100,000 GPUs: interruptions by root cause."""

import polars as pl

from meantime.datasets.published._data import read_csv


def load_ft_hsdp_100k() -> pl.DataFrame:
    """Load Meta at the order of 100,000 GPUs (FT-HSDP): 678 interruptions by root cause.

    Source: "Training LLMs with Fault Tolerant HSDP on 100,000 GPUs", arXiv 2602.00277, table of
    interruptions (number not at hand). Certainty B (a study that tabulated the paper row by row).

    Returns
    -------
    pl.DataFrame
        One row a cause: ``component``, ``interruptions``, ``percent_as_printed`` (null where not seen),
        ``certainty``.

    Notes
    -----
    The time and the GPUs over which these were counted were not found, so this is no failure table: it
    gives shares, not rates. The total of 678 is derived by us (D) and fits the printed percentages.
    """
    return read_csv("ft_hsdp_100k.csv", {"interruptions": pl.Int64, "percent_as_printed": pl.Float64})
