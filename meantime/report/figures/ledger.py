"""Where the wallclock went: a bar a run, or a bar a size of runs."""

from typing import Any

import numpy as np
import polars as pl
from matplotlib.figure import Figure

from meantime.datasets.exposure import add_bucket
from meantime.datasets.ledger import PARTS
from meantime.errors import InputError
from meantime.report.figures.rows_axis import name_rows, side_column
from meantime.report.numbers import count, fraction
from meantime.report.style import WIDE, colour, literal, new_figure, styled, top_legend

MOST_ROWS = 24
_TINTS = dict(zip(PARTS, ("green", "vermilion", "ochre", "blue", "purple", "muted"), strict=True))


def ledger_bars(runs: pl.DataFrame, *, by_size: bool | None = None, width: float = WIDE) -> Figure:
    """Draw the parts of the wallclock: productive, lost, restart, checkpoint, queue and unknown.

    Parameters
    ----------
    runs
        What `meantime.datasets.measure_runs` or `meantime.datasets.training_ledger` returns.
    by_size
        Whether to add up the runs of a size, each weighted by its GPUs, and all of them. Default: if there are more
        than twelve and their GPUs are known.
    width
        Width in inches; below 5 the layout is that of a phone.

    Returns
    -------
    matplotlib.figure.Figure
        The ETTR, productive over wallclock less what is unknown, stands beside each bar. Of single runs the longest
        are shown, at most 24.

    Raises
    ------
    InputError
        If that is not what they return, or no run ran.

    Examples
    --------
    >>> from meantime.datasets import measure_runs, read
    >>> figure = ledger_bars(measure_runs(read("sacct.txt")))  # doctest: +SKIP
    >>> figure.savefig("ledger.png")  # doctest: +SKIP
    """
    if not {*PARTS, "wallclock", "run"} <= set(runs.columns):
        raise InputError("runs has no ledger; expected what measure_runs or training_ledger returns")
    sized = "n_gpus" in runs.columns
    together = (sized and runs.height > 12) if by_size is None else by_size
    if together and not sized:
        raise InputError("by_size is True, but the GPUs of the runs are not known")
    rows = _of_sizes(runs) if together else _of_runs(runs)
    if not rows:
        raise InputError("no run ran, so there is no wallclock to draw")
    phone = width < 5
    values = np.array([parts for _, parts in rows])
    shares = values / values.sum(axis=1, keepdims=True)
    with styled():
        figure = new_figure(width, 1.2 + 0.3 * len(rows) + (0.3 if phone else 0))
        axes = figure.add_subplot()
        left = np.zeros(len(rows))
        for part, share in zip(PARTS, shares.T, strict=True):
            if share.max() > 0:
                axes.barh(range(len(rows)), share, left=left, height=0.62, color=colour(_TINTS[part]), label=part,
                          edgecolor=colour("paper"), linewidth=0.8)  # fmt: skip
            left += share
        name_rows(axes, [name for name, _ in rows], phone=phone)
        axes.set_xlim(0, 1)
        axes.set_xticks([0, 0.25, 0.5, 0.75, 1], ["0", "25 %", "50 %", "75 %", "100 %"])
        axes.set_xlabel("share of the wallclock" + (", runs weighted by their GPUs" if together else ""))
        known = values[:, :-1].sum(axis=1)
        side_column(axes, "ETTR", [fraction(one / whole) if whole else "–"
                                   for one, whole in zip(values[:, 0], known, strict=True)], width=36)  # fmt: skip
        top_legend(figure, *axes.get_legend_handles_labels(), columns=3 if phone else 6)
        return literal(figure)


def _of_runs(runs: pl.DataFrame) -> list[tuple[str, list[float]]]:
    longest = runs.filter(pl.col("wallclock") > pl.duration()).sort("wallclock", descending=True).head(MOST_ROWS)
    return [(str(row["run"]), _seconds(row)) for row in longest.iter_rows(named=True)]


def _of_sizes(runs: pl.DataFrame) -> list[tuple[str, list[float]]]:
    ran = runs.filter((pl.col("n_gpus") > 0) & (pl.col("attempts") > 0) & (pl.col("wallclock") > pl.duration()))
    weighted = add_bucket(ran).with_columns(
        pl.col(part).dt.total_microseconds().cast(pl.Float64) / 1e6 * pl.col("n_gpus") for part in PARTS
    )
    by_size = weighted.group_by("job_size").agg(pl.col(*PARTS).sum(), pl.len().alias("runs")).sort("job_size")
    rows = [
        (
            f"{count(row['job_size'])} GPU{'s' if row['job_size'] > 1 else ''} ({count(row['runs'])})",
            [float(row[part]) for part in PARTS],
        )
        for row in by_size.iter_rows(named=True)
    ]
    whole = [sum(parts[place] for _, parts in rows) for place in range(len(PARTS))]
    return [(f"all runs ({count(ran.height)})", whole), *rows] if rows else []


def _seconds(row: dict[str, Any]) -> list[float]:
    return [row[part].total_seconds() for part in PARTS]
