"""Values that should be uniform, as the difference of their distribution from the diagonal, with its band."""

from collections.abc import Mapping
from textwrap import fill

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from meantime.errors import InputError
from meantime.inference.uniformity import uniform_band
from meantime.report.numbers import label
from meantime.report.style import WIDE, colour, literal, new_figure, styled

FALSE_ALARM = 0.05
"""Probability that uniform values leave the band of one picture."""

COLUMNS = 4


def loo_pit(checked: xr.Dataset, *, width: float = WIDE) -> Figure:
    """Draw the LOO-PIT values of `meantime.inference.check`.

    A curve inside the band: the model's predictive distributions have the right place and width. An S: too
    narrow or too wide; a bow: too low or too high.

    Parameters
    ----------
    checked
        What `meantime.inference.check` returns.
    width
        Width in inches.

    Raises
    ------
    InputError
        If the check holds no LOO-PIT values.
    """
    if "loo_pit" not in checked:
        raise InputError("the check holds no LOO-PIT values: the fit kept no pointwise likelihood")
    return uniform_figure({f"LOO-PIT of {checked.attrs['model']}": checked["loo_pit"].values.ravel()}, width=width)


def sbc_ranks(calibrated: xr.Dataset, *, width: float = WIDE) -> Figure:
    """Draw the ranks of `meantime.inference.calibrate`, one panel for each quantity.

    Parameters
    ----------
    calibrated
        What `meantime.inference.calibrate` returns.
    width
        Width in inches.
    """
    names = [str(name) for name in calibrated["quantity"].values]
    return uniform_figure(
        dict(zip(names, calibrated["rank"].values, strict=True)),
        false_alarm=float(calibrated.attrs["false_alarm"]) / len(names),
        width=width,
    )


def uniform_figure(
    values: Mapping[str, np.ndarray], *, false_alarm: float = FALSE_ALARM, width: float = WIDE
) -> Figure:
    """Draw one panel for each set of values between 0 and 1.

    Parameters
    ----------
    values
        Values by title.
    false_alarm
        Probability that uniform values leave the band of their panel.
    width
        Width in inches.
    """
    columns = min(COLUMNS if width >= 5 else 2, len(values))
    rows = -(-len(values) // columns)
    with styled():
        figure = new_figure(width, 2.2 * rows + 0.4 if columns > 1 else 3.2)
        shared = None
        for index, (name, numbers) in enumerate(values.items()):
            axes = figure.add_subplot(rows, columns, index + 1, sharex=shared)
            shared = shared or axes
            band = uniform_band(len(numbers), false_alarm)
            curve = np.searchsorted(np.sort(numbers), band.points, side="right") / len(numbers) - band.points
            outside = (curve < band.lower - band.points - 1e-12) | (curve > band.upper - band.points + 1e-12)
            tint = colour("vermilion" if outside.any() else "blue")
            axes.fill_between(band.points, band.lower - band.points, band.upper - band.points,
                              color=colour("muted"), alpha=0.2, linewidth=0, step="mid")  # fmt: skip
            axes.axhline(0, color=colour("muted"), linewidth=0.7)
            axes.step(band.points, curve, where="mid", color=tint, linewidth=1.2)
            axes.set_title(_lines(label(name), round(8 * width / columns)))
            axes.set_xlim(0, 1)
            axes.set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
            if index % columns == 0:
                axes.set_ylabel("share below − expected")
        figure.supxlabel(f"value; the band holds uniform values with probability {1 - false_alarm:.6g}", fontsize=8.5)
        return literal(figure)


def _lines(title: str, room: int) -> str:
    """Break a title before its coordinates, and then at words, where it has more than ``room`` letters."""
    if len(title) <= room:
        return title
    parts = title.replace("[", "\n[", 1).split("\n")
    return "\n".join(fill(part, room, break_long_words=False, break_on_hyphens=False) for part in parts)
