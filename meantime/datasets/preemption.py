"""Which preempted jobs gave way to the restart of a job that the infrastructure had ended."""

import narwhals as nw
import polars as pl

from meantime.datasets.hits import join_events

SHIFTS = tuple(sign * hours * 3_600_000_000 for hours in (1, 2, 3, 4) for sign in (-1, 1))
"""Microseconds by which restarts are moved to see what matches by chance."""


def find_restarts(attempts: pl.DataFrame) -> pl.DataFrame:
    """Keep the attempts before which an attempt of the same run was ended by the infrastructure.

    Parameters
    ----------
    attempts
        Of `meantime.datasets.runs.stitch_runs`, those that ran.
    """
    return attempts.filter(_is_restart())


def match_named(victims: pl.DataFrame, attempts: pl.DataFrame, near: int) -> pl.DataFrame:
    """Keep the victims whose ``preempted_by`` names a job that restarts then.

    The job's first start from `near` microseconds before the victim's end onwards must be such a restart: one that
    starts for the first time takes nodes too, but not because of a failure.
    """
    starts = attempts.with_columns(_is_restart().alias("restart")).select(
        "cluster", pl.col("job_id").alias("preempted_by"), pl.col("start").alias("taken"), "restart"
    )
    edge = pl.col("end") - pl.duration(microseconds=near)
    named = victims.filter(pl.col("preempted_by").is_not_null()).with_columns(edge.alias("__from"))
    found = named.sort("__from").join_asof(
        starts.sort("taken"),
        left_on="__from",
        right_on="taken",
        by=["cluster", "preempted_by"],
        strategy="forward",
        check_sortedness=False,
    )
    return found.filter(pl.col("restart").fill_null(False)).drop("__from", "taken", "restart")


def match_nodes(victims: pl.DataFrame, restarts: pl.DataFrame, near: int, shift: int = 0) -> pl.DataFrame:
    """Keep the victims on a node of which another job restarts within `near` microseconds after their end."""
    numbered = victims.with_row_index("__victim")
    ends = numbered.lazy().select("__victim", "cluster", pl.col("run"), pl.col("end").dt.epoch("us"), "nodes")
    taken = restarts.lazy().select(
        pl.col("cluster").alias("by_cluster"),
        pl.col("run").alias("by_run"),
        (pl.col("start").dt.epoch("us") + shift).alias("time"),
        pl.col("nodes").alias("node"),
        pl.lit(True).alias("high"),
        pl.lit("restart").alias("component"),
    )
    found = join_events(
        nw.from_native(ends), nw.from_native(taken.explode("node")), window=(0, near), severity="high"
    ).to_native()
    other = (pl.col("cluster") == pl.col("by_cluster")) & (pl.col("run") != pl.col("by_run"))
    return numbered.join(found.filter(other).select("__victim").unique().collect(), on="__victim", how="semi").drop(
        "__victim"
    )


def chance_matches(victims: pl.DataFrame, restarts: pl.DataFrame, near: int) -> dict[str, float]:
    """Say what `match_nodes` finds where there is nothing to find: mean over `SHIFTS` of the restarts."""
    found = [match_nodes(victims, restarts, near, shift) for shift in SHIFTS]
    return {
        "preemptions": sum(frame.height for frame in found) / len(SHIFTS),
        "gpu_hours": sum(float(frame["lost"].sum()) for frame in found) / len(SHIFTS),
    }


def _is_restart() -> pl.Expr:
    """Say which attempts (in order of their runs) come after one that the infrastructure ended."""
    before = pl.col("infrastructure").shift(1).over("cluster", "run")
    return before.fill_null(False)
