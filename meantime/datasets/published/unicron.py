"""Unicron (Alibaba): abnormal ends of LLM training tasks, with severities."""

import polars as pl

from meantime.datasets.published._data import read_csv


def load_unicron() -> pl.DataFrame:
    """Load Unicron: the 43.4 % of training tasks that end abnormally, by error and severity.

    Source: "Unicron: Economizing Self-Healing LLM Training at Scale", arXiv 2401.00134, table of
    errors. Certainty B (a study that tabulated the paper row by row).

    Returns
    -------
    pl.DataFrame
        One row a kind of error: ``failure``, ``percent_of_tasks``, ``severity`` (SEV1, SEV2 or SEV3 as
        printed; null for "Others"), ``certainty``. Sums to 43.4; the other 56.6 % finish.

    Notes
    -----
    The table's number and the paper's definition of its severities were not at hand. Also stated (B):
    73 % of the errors are transient, so that a restart suffices (about 68 minutes of down time); the node
    is drained in 37 % of the cases. Quirk: the SEV1 rows sum to 12.2 of 43.4 = 28 % (D); how that relates
    to the 37 % is not known. Counts and exposure were not found, so this is no failure table.
    """
    return read_csv("unicron.csv", {"percent_of_tasks": pl.Float64})
