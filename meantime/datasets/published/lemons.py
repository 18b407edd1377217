"""Lemon nodes of RSC-1 and RSC-2: nodes that fail jobs again and again and pass the ordinary checks."""

import polars as pl

from meantime.datasets.published._data import read_csv


def load_rsc_lemon_signals() -> pl.DataFrame:
    """Load RSC: the seven signals from which lemon nodes are told.

    Source: section IV-A of Kokolis et al., HPCA 2025 (arXiv 2410.21680).

    Returns
    -------
    pl.DataFrame
        ``signal`` (as printed), ``meaning``, ``name_certainty``, ``meaning_certainty``.

    Notes
    -----
    The thresholds are not published; they were set by hand on 28 days of RSC-1. The signal
    excl_jobid_count does not correlate strongly with node failures (A). Outcome: 40 nodes (24 of RSC-1,
    1.2 % of it, touching 13 % of its daily jobs; 16 of RSC-2, 1.7 %), over 85 % of which failed later
    hardware tests; failures of jobs of 512 GPUs and more fell from 14 % to 4 % (A for 40, 85 %, 14 and
    4 %; B for the rest).
    """
    return read_csv("rsc_lemon_signals.csv", {})


def load_rsc_lemon_causes() -> pl.DataFrame:
    """Load RSC: root causes of lemon nodes, in percent.

    Source: Table II of Kokolis et al., HPCA 2025 (arXiv 2410.21680).

    Returns
    -------
    pl.DataFrame
        ``cause``, ``percent``, ``nodes_of_39``, ``certainty`` (of the percentage).

    Notes
    -----
    ``nodes_of_39`` is derived by us (D): every share is a whole multiple of 1/39, although the text
    speaks of 40 nodes. The CPU row is recollected (R): it is in no source that was read, and fits the
    remainder. EUD is NVIDIA's extended utility diagnostics.
    """
    return read_csv("rsc_lemon_causes.csv", {"percent": pl.Float64, "nodes_of_39": pl.Int64})
