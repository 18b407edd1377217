"""Acme (Shanghai AI Laboratory): failures of LLM jobs by reason."""

import polars as pl

from meantime.datasets.published._data import read_csv


def load_acme() -> pl.DataFrame:
    """Load Acme: 2,575 failures of LLM jobs by reason, with their share of the GPU time of failed jobs.

    Source: "Characterization of Large Language Model Development in the Datacenter", arXiv 2403.07648
    (NSDI 2024), table of failure reasons (number not at hand). Clusters Seren and Kalos. Certainty
    B (a study that tabulated the paper row by row).

    Returns
    -------
    pl.DataFrame
        One row a reason: ``failure``, ``category`` ("infrastructure", "framework" or "script"),
        ``count``, ``percent_of_failure_gpu_time``, ``cluster`` (null: not stated),
        ``mean_minutes_to_failure`` and ``mean_gpus`` (null where not seen), ``certainty``.

    Notes
    -----
    Derived by us (D): the category of each row. It is taken from the paper's totals, which the rows
    reproduce exactly in this order: infrastructure 281 (82 % of the GPU time), framework 404 (14.7 %),
    script 1,890 (3.2 %).

    Quirk: percentages are of the GPU time of failed jobs and printed to 0.01 %, so many rows are 0.00.
    An exposure of the counts was not found, so this is no failure table.
    """
    numbers = ("percent_of_failure_gpu_time", "mean_minutes_to_failure", "mean_gpus")
    return read_csv("acme.csv", {"count": pl.Int64, **dict.fromkeys(numbers, pl.Float64)})
