"""Job states, by number of jobs and by GPU time: the two tell different stories."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from meantime.errors import InputError
from meantime.report.evidence import source_facts
from meantime.report.numbers import label, share
from meantime.report.style import WIDE, colour, literal, new_figure, styled, top_legend

MOST_STATES = 20
_HEIGHT = 0.36


def job_states(source: xr.DataTree, *, width: float = WIDE) -> Figure:
    """Draw how jobs ended, as shares of the jobs and of the GPU time.

    Parameters
    ----------
    source
        A fit whose provenance has the job summary of its log.
    width
        Width in inches; below 5 the layout is that of a phone.

    Raises
    ------
    InputError
        If the fit holds no job summary (a log of counts, say).

    Examples
    --------
    >>> figure = job_states(load_fit("fit.nc"))  # doctest: +SKIP
    >>> figure.savefig("states.png")  # doctest: +SKIP
    """
    rows = state_shares(source)
    if not rows:
        raise InputError("the fit holds no summary of job states; fit a job log (sacct, CSV of jobs) to get one")
    with styled():
        figure = new_figure(width, 0.8 + 0.42 * len(rows))
        axes = figure.add_subplot()
        positions = np.arange(len(rows))
        names, jobs, time = zip(*rows, strict=True)
        for offset, values, tint, text in ((-0.19, jobs, "blue", "of jobs"), (0.19, time, "ochre", "of GPU time")):
            axes.barh(positions + offset, values, height=_HEIGHT, color=colour(tint), label=f"share {text}")
            for position, value in zip(positions + offset, values, strict=True):
                axes.annotate(share(value), (value, position), xytext=(4, 0), textcoords="offset points", va="center")
        axes.set_yticks(positions, [label(name).lower() for name in names])
        axes.set_ylim(len(rows) - 0.45, -0.55)
        axes.set_xlim(0, max(*jobs, *time) * 1.16)
        axes.set_xticks([])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
        axes.spines[["left", "bottom"]].set_visible(False)
        top_legend(figure, *axes.get_legend_handles_labels(), columns=2)
        return literal(figure)


def has_job_states(source: xr.DataTree) -> bool:
    """Tell whether `job_states` has something to draw."""
    return bool(state_shares(source))


def state_shares(source: xr.DataTree) -> list[tuple[str, float, float]]:
    """Return (state, share of jobs, share of GPU time), the most frequent first; empty without a summary.

    Reads the entry ``states`` of the table's provenance: rows as `meantime.datasets.summarise` gives them.
    """
    rows = source_facts(source).get("states")
    if not isinstance(rows, list):
        return []
    named = [row for row in rows if isinstance(row, Mapping) and "state" in row][:MOST_STATES]
    shares = [(str(row["state"]), _share(row, "attempts"), _share(row, "gpu_time")) for row in named]
    return sorted(shares, key=lambda row: -row[1])


def _share(row: Mapping[str, Any], of: str) -> float:
    return float(row.get(f"share_of_{of}") or 0.0)
