"""Two shares of the same things side by side: of the jobs, and of the GPU time."""

from collections.abc import Sequence

import numpy as np
from matplotlib.figure import Figure

from meantime.report.numbers import share
from meantime.report.style import colour, literal, new_figure, styled, top_legend

_HEIGHT = 0.36


def paired_bars(rows: Sequence[tuple[str, float, float]], *, width: float, title: str = "") -> Figure:
    """Draw (name, share of jobs, share of GPU time) as pairs of bars, from the top down.

    Parameters
    ----------
    rows
        What to draw; shares from 0 to 1.
    width
        Width in inches.
    title
        Title of the axis of names, if it needs one.
    """
    with styled():
        figure = new_figure(width, 0.8 + 0.42 * len(rows))
        axes = figure.add_subplot()
        positions = np.arange(len(rows))
        names, jobs, time = zip(*rows, strict=True)
        for offset, values, tint, text in ((-0.19, jobs, "blue", "of jobs"), (0.19, time, "ochre", "of GPU time")):
            axes.barh(positions + offset, values, height=_HEIGHT, color=colour(tint), label=f"share {text}")
            for position, value in zip(positions + offset, values, strict=True):
                axes.annotate(share(value), (value, position), xytext=(4, 0), textcoords="offset points", va="center")
        axes.set_yticks(positions, names)
        axes.set_ylabel(title)
        axes.set_ylim(len(rows) - 0.45, -0.55)
        axes.set_xlim(0, max(*jobs, *time) * 1.16)
        axes.set_xticks([])
        axes.tick_params(axis="y", length=0)
        axes.grid(visible=False)
        axes.spines[["left", "bottom"]].set_visible(False)
        top_legend(figure, *axes.get_legend_handles_labels(), columns=2)
        return literal(figure)
