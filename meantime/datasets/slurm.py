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


def whole_numbers(text: pl.Series) -> pl.Series:
    """Write out numbers that Slurm shortened: ``2K`` is 2048 (``sacct --noconvert`` leaves them whole)."""
    short = text.str.contains(r"^\d+(\.\d+)?[KM]$")
    if not short.any():
        return text
    return text.zip_with(~short, _number(text).cast(pl.String))


def count_gpus(tres: pl.Series) -> pl.Series:
    """Count the GPUs of TRES text such as ``billing=8,gres/gpu:a100=8,gres/gpu=8,node=1``.

    The total ``gres/gpu=`` counts where it stands, else the sum over types ``gres/gpu:TYPE=``; they
    are the same GPUs. Text without either gives 0, empty text gives null (not known).
    """
    unique = tres.unique().drop_nulls()
    unique = unique.filter(unique != "")
    typed = (
        pl.DataFrame({"tres": unique, "part": unique.str.extract_all(r"gres/gpu:[^=,]+=[\d.]+[KM]?")})
        .explode("part")
        .with_columns(_number(pl.col("part").str.extract(r"=(.+)$")).alias("gpus"))
        .group_by("tres")
        .agg(pl.col("gpus").sum())
    )
    total = _number(pl.col("tres").str.extract(r"(?:^|,)gres/gpu=([\d.]+[KM]?)(?:,|$)"))
    counts = (
        pl.DataFrame({"tres": unique}, schema={"tres": pl.String})
        .join(typed, on="tres", how="left")
        .with_columns(pl.coalesce(total, "gpus", pl.lit(0)).alias("gpus"))
    )
    joined = pl.DataFrame({"tres": tres}, schema={"tres": pl.String})
    return joined.join(counts, on="tres", how="left", maintain_order="left")["gpus"]


def _number[T: (pl.Expr, pl.Series)](text: T) -> T:
    """Turn digits with or without K (1024) or M into a whole number; anything else is null."""
    digits = text.str.strip_suffix("K").str.strip_suffix("M").cast(pl.Float64, strict=False)
    kilo, mega = text.str.ends_with("K").cast(pl.Int64), text.str.ends_with("M").cast(pl.Int64)
    return (digits * (1 + 1023 * kilo + 1048575 * mega)).round().cast(pl.Int64, strict=False)
