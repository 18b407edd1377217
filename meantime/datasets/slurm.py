"""What Slurm's words mean: job states and trackable resources (TRES).

States become those of the jobs table. Where the mapping is a decision:

- BOOT_FAIL (the allocated nodes did not boot), LAUNCH_FAILED (prolog failed) and RECONFIG_FAIL end a
  job through no doing of its own and are NODE_FAIL, Slurm's catch-all for nodes.
- DEADLINE is a time limit: TIMEOUT. REVOKED (a sibling job runs on another cluster) is CANCELLED.
- SUSPENDED, STOPPED, RESIZING, COMPLETING and SIGNALING hold their nodes: RUNNING.
- CONFIGURING and the held or delayed forms of pending are PENDING; SPECIAL_EXIT is REQUEUED.
"""

import re
from collections.abc import Iterable

import polars as pl

STATES = {
    "BOOT_FAIL": "NODE_FAIL",
    "CANCELLED": "CANCELLED",
    "COMPLETED": "COMPLETED",
    "COMPLETING": "RUNNING",
    "CONFIGURING": "PENDING",
    "DEADLINE": "TIMEOUT",
    "EXPEDITING": "PENDING",
    "FAILED": "FAILED",
    "LAUNCH_FAILED": "NODE_FAIL",
    "NODE_FAIL": "NODE_FAIL",
    "OUT_OF_MEMORY": "OUT_OF_MEMORY",
    "PENDING": "PENDING",
    "POWER_UP_NODE": "PENDING",
    "PREEMPTED": "PREEMPTED",
    "RECONFIG_FAIL": "NODE_FAIL",
    "REQUEUED": "REQUEUED",
    "REQUEUE_FED": "PENDING",
    "REQUEUE_HOLD": "PENDING",
    "RESIZING": "RUNNING",
    "RESV_DEL_HOLD": "PENDING",
    "REVOKED": "CANCELLED",
    "RUNNING": "RUNNING",
    "SIGNALING": "RUNNING",
    "SPECIAL_EXIT": "REQUEUED",
    "STAGE_OUT": "RUNNING",
    "STOPPED": "RUNNING",
    "SUSPENDED": "RUNNING",
    "TIMEOUT": "TIMEOUT",
}
"""Slurm's job states, and the state of the jobs table that each becomes."""

_WORD = re.compile(r"\s*([A-Za-z_]+)(\+?)(?:\s+by\s+\S+)?\s*")


def state_map(raw: Iterable[str]) -> dict[str, str]:
    """Map states as sacct prints them (``CANCELLED by 1234``, ``OUT_OF_ME+``); unknown ones are left out."""
    found = {}
    for text in raw:
        match = _WORD.fullmatch(text)
        if match is None:
            continue
        word, cut = match.group(1).upper(), match.group(2)
        full = [state for state in STATES if state.startswith(word)] if cut else [word]
        if len(full) == 1 and full[0] in STATES:
            found[text] = STATES[full[0]]
    return found


def count_gpus(tres: pl.Series) -> pl.Series:
    """Count the GPUs of TRES text such as ``billing=8,gres/gpu:a100=8,gres/gpu=8,node=1``.

    The total ``gres/gpu=`` counts where it stands, else the sum over types ``gres/gpu:TYPE=``; they
    are the same GPUs. Text without either gives 0, empty text gives null (not known).
    """
    unique = tres.unique().drop_nulls()
    counts = pl.DataFrame({"tres": unique}, schema={"tres": pl.String}).with_columns(
        pl.when(pl.col("tres") != "")
        .then(
            pl.coalesce(
                pl.col("tres").str.extract(r"(?:^|,)gres/gpu=(\d+)(?:,|$)").cast(pl.Int64, strict=False),
                pl.col("tres")
                .str.extract_all(r"(?:^|,)gres/gpu:[^=,]+=\d+")
                .list.eval(pl.element().str.extract(r"=(\d+)$").cast(pl.Int64, strict=False))
                .list.sum(),
            )
        )
        .alias("gpus")
    )
    joined = pl.DataFrame({"tres": tres}, schema={"tres": pl.String})
    return joined.join(counts, on="tres", how="left", maintain_order="left")["gpus"]
