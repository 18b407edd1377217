"""Figures of rows: names at the left, from the top down, and a column of text at the right."""

import textwrap
from collections.abc import Sequence

from matplotlib.axes import Axes

from meantime.report.numbers import label
from meantime.report.style import colour


def name_rows(axes: Axes, names: Sequence[str], *, phone: bool, narrow: int = 15) -> None:
    """Name the rows of a figure, the first at the top; names from logs are made fit to show."""
    axes.set_ylim(len(names) - 0.4, -0.6)
    axes.set_yticks(range(len(names)), [_wrapped(name, narrow if phone else 26) for name in names])
    axes.tick_params(axis="y", length=0)
    axes.grid(visible=False, axis="y")
    axes.spines["left"].set_visible(False)


def side_column(axes: Axes, title: str, texts: Sequence[str], *, width: float = 44) -> None:
    """Write a text at the right of each row, right-aligned `width` points outside the axes, under a title."""
    entries = [(title, -0.75, colour("muted")), *((text, row, colour("ink")) for row, text in enumerate(texts))]
    for text, height, tint in entries:
        axes.annotate(text, (1, height), xycoords=axes.get_yaxis_transform(), xytext=(width, 0), color=tint,
                      textcoords="offset points", ha="right", va="center", annotation_clip=False)  # fmt: skip


def _wrapped(name: str, width: int) -> str:
    return "\n".join(textwrap.wrap(label(name), width, max_lines=2, placeholder=" …"))
