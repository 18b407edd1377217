"""The one look of all figures: colours by role, type sizes, axes, and how sizes and times are ticked.

Colours are the Okabe-Ito set, which people with the common colour-vision deficiencies tell apart, two
of them darkened until they stand 3:1 against white; text is ink, grey or blue. Every role has a colour
of its own, so that a figure written as SVG can swap each for a CSS variable and follow the page from
light to dark (see `meantime.report.svg`).
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.axis import Axis
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.text import Text
from matplotlib.ticker import FixedLocator, FuncFormatter, MaxNLocator, NullLocator

from meantime.report.numbers import count, duration

LIGHT = {
    "ink": "#1f2733",
    "muted": "#5a6572",
    "grid": "#dfe3e8",
    "shade": "#f0f2f5",
    "paper": "#fffffe",
    "blue": "#0072b2",
    "vermilion": "#d55e00",
    "green": "#009e73",
    "purple": "#b85f96",
    "ochre": "#b88200",
}
"""Colour of each role on white paper (PNG, print, light screens)."""

DARK = {
    "ink": "#e8ebef",
    "muted": "#a3adb9",
    "grid": "#343b45",
    "shade": "#232931",
    "paper": "#171b21",
    "blue": "#5cb3ea",
    "vermilion": "#f58c4b",
    "green": "#3fc79a",
    "purple": "#dd93c4",
    "ochre": "#e3b341",
}
"""The same roles on a dark screen."""

SERIES = ("blue", "vermilion", "green", "purple", "ochre")
"""The order in which series take their colours."""

MARKERS = ("o", "s", "^", "D", "v")
"""The order in which series take their markers, so that colour is never alone in telling them apart."""

WIDE = 7.2
"""Width of a figure on paper and desktop screens, inches."""
NARROW = 3.7
"""Width of a figure on a phone, inches; type keeps its size, so less is put side by side."""

_RC: dict[Any, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 8.5,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.labelsize": 8.5,
    "axes.labelcolor": LIGHT["muted"],
    "axes.edgecolor": LIGHT["muted"],
    "axes.linewidth": 0.7,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "axes.facecolor": "none",
    "grid.color": LIGHT["grid"],
    "grid.linewidth": 0.7,
    "text.color": LIGHT["ink"],
    "text.parse_math": False,
    "xtick.color": LIGHT["muted"],
    "ytick.color": LIGHT["muted"],
    "xtick.labelcolor": LIGHT["ink"],
    "ytick.labelcolor": LIGHT["ink"],
    "xtick.labelsize": 8.5,
    "ytick.labelsize": 8.5,
    "xtick.major.width": 0.7,
    "ytick.major.width": 0.7,
    "xtick.major.size": 3,
    "ytick.major.size": 3,
    "lines.linewidth": 1.8,
    "lines.solid_capstyle": "butt",
    "legend.frameon": False,
    "legend.fontsize": 8.5,
    "legend.labelcolor": LIGHT["ink"],
    "figure.facecolor": "white",
    "savefig.facecolor": "white",
    "savefig.dpi": 200,
    "svg.fonttype": "none",
    "svg.hashsalt": "meantime",
}

_TIME_TICKS = {
    1 / 3600: "1 s",
    1 / 360: "10 s",
    1 / 60: "1 min",
    1 / 6: "10 min",
    1.0: "1 h",
    6.0: "6 h",
    24.0: "1 d",
    168.0: "1 week",
    720.0: "30 d",
    8760.0: "1 year",
    87600.0: "10 years",
    876000.0: "100 years",
    8760000.0: "1,000 years",
}


@contextmanager
def styled() -> Iterator[None]:
    """Apply the style to figures made or written inside the block; nothing stays changed after it."""
    with mpl.rc_context(_RC):
        yield


def new_figure(width: float, height: float) -> Figure:
    """Make an empty figure, in inches, that belongs to no window and no global state."""
    return Figure(figsize=(width, height), layout=ConstrainedLayoutEngine(w_pad=0.03, h_pad=0.05))


def colour(role: str) -> str:
    """Return the colour of a role on white paper, as ``"#rrggbb"``."""
    return LIGHT[role]


def top_legend(figure: Figure, handles: Sequence[Any], labels: Sequence[str], *, columns: int) -> None:
    """Put the legend above the axes, at the left, clear of everything drawn."""
    figure.legend(
        handles, labels, loc="outside upper left", ncols=columns, borderpad=0.1, borderaxespad=0.2, labelspacing=0.35
    )


def literal(figure: Figure) -> Figure:
    """Make every text of a figure literal: a ``$`` in a name from a log starts no formula."""
    for text in figure.findobj(Text):
        text.set_parse_math(False)
    return figure


def gpu_axis(
    axes: Axes, sizes: Sequence[float] | np.ndarray, *, ticks: int, title: str = "GPUs of the job", tight: bool = False
) -> None:
    """Set the horizontal axis to GPUs, by powers of two, with at most `ticks` labels in full figures.

    With `tight` the outer labels stay within the axes, for panels side by side.
    """
    low, high = int(np.ceil(np.log2(min(sizes)))), int(np.floor(np.log2(max(sizes))))
    axes.set_xscale("log", base=2)
    positions = [2.0**power for power in _even(low, high, ticks)]
    axes.xaxis.set_major_locator(FixedLocator(positions))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: count(value)))
    axes.set_xlabel(title)
    if tight:
        marks = axes.xaxis.get_major_ticks(len(positions))
        marks[0].label1.set_horizontalalignment("left")
        marks[-1].label1.set_horizontalalignment("right")


def time_axis(axes: Axes, low: float, high: float) -> None:
    """Set the vertical axis to hours on a log scale, ticked in the units people use."""
    axes.set_yscale("log")
    axes.set_ylim(low, high)
    inside = [tick for tick in _TIME_TICKS if low <= tick <= high]
    axes.yaxis.set_major_locator(FixedLocator(inside if len(inside) > 1 else [low, high]))
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: _TIME_TICKS.get(value) or duration(value)))


def log_ticks(axis: Axis, low: float, high: float, *, most: int) -> None:
    """Make an axis logarithmic, ticked at 1, 2, 5 times powers of ten, or fewer of them, written in full."""
    powers = np.arange(np.floor(np.log10(low)), np.ceil(np.log10(high)) + 1)
    for steps in ((1, 2, 5), (1, 3), (1,)):
        positions = [step * 10.0**power for power in powers for step in steps]
        inside = [position for position in positions if low * 0.999 <= position <= high * 1.001]
        if len(inside) <= most:
            break
    if len(inside) < 2:
        inside = [tick for tick in MaxNLocator(most - 1).tick_values(low, high) if low <= tick <= high]
    horizontal = axis is axis.axes.xaxis
    (axis.axes.set_xscale if horizontal else axis.axes.set_yscale)("log")
    (axis.axes.set_xlim if horizontal else axis.axes.set_ylim)(low, high)
    axis.set_major_locator(FixedLocator(inside))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: plain(value)))


def plain(value: float) -> str:
    """Write a number in full, never with a power of ten: ``"0.00001"``, ``"20,000"``."""
    text = f"{value:,.10f}" if 0 < abs(value) < 1e-4 else f"{value:,.10g}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def _even(low: int, high: int, most: int) -> list[int]:
    """Space at most `most` whole numbers evenly from `high` down, meeting `low` where that leaves at least three."""
    span = max(high - low, 1)
    fitting = [span // step + 1 for step in range(1, span + 1) if span % step == 0 and span // step + 1 <= most]
    step = span // (max(fitting) - 1) if max(fitting, default=0) >= 3 else -(-span // max(most - 1, 1))
    return list(range(high, low - 1, -step))[::-1]
