"""Which input moves a forecast: a tornado of swings."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from meantime.errors import InputError
from meantime.forecast.plan import DURATIONS
from meantime.report.figures.rows_axis import name_rows
from meantime.report.numbers import INTERVAL, between, count, duration_between, fraction, three
from meantime.report.style import WIDE, colour, literal, new_figure, styled, top_legend


def tornado(found: xr.Dataset, *, gpus: int | None = None, most: int = 12, width: float = WIDE) -> Figure:
    """Draw how far each input moves the expected ETTR when it goes alone from its low to its high value.

    Parameters
    ----------
    found
        What `meantime.forecast.sensitivity` returns.
    gpus
        Size of the job; default the largest.
    most
        Inputs shown, those with the largest swing.
    width
        Width in inches; below 5 the layout is that of a phone.

    Raises
    ------
    InputError
        If that is not what it returns, or has no such size.

    Examples
    --------
    >>> from meantime.forecast import Plan, sensitivity, stated_rate
    >>> found = sensitivity(stated_rate(6.5, 16384), Plan(restart="5min", checkpoint_write="30s"))
    >>> tornado(found).axes[0].get_xlabel()
    'expected ETTR at 16,384 GPUs'
    """
    if "ettr_at_low" not in found:
        raise InputError("found holds no swings; expected what meantime.forecast.sensitivity returns")
    size = int(found["gpus"].values.max()) if gpus is None else gpus
    if size not in found["gpus"].values:
        raise InputError(f"gpus is {gpus!r}; expected one of {found['gpus'].values.tolist()}")
    one = found.sel(gpus=size)
    order = [index for index in np.argsort(-one["swing"].values, kind="stable") if one["swing"].values[index] > 0]
    one = one.isel(input=order[: max(1, most)])
    phone = width < 5
    middle = float(one["ettr_at_medians"])
    names = [str(name) for name in one["input"].values]
    with styled():
        figure = new_figure(width, 1.0 + 0.42 * max(len(names), 1))
        axes = figure.add_subplot()
        ends = np.stack([one["ettr_at_low"].values, one["ettr_at_high"].values])
        for tint, values in (("blue", ends[0]), ("vermilion", ends[1])):
            axes.barh(range(len(names)), values - middle, left=middle, height=0.6, color=colour(tint))
        axes.axvline(middle, color=colour("ink"), linewidth=1)
        low, high = (ends.min(), ends.max()) if names else (middle, middle)
        room = max(high - low, 1e-3) * (0.8 if phone else 0.32)
        axes.set_xlim(low - max(high - low, 1e-3) * 0.05, high + room)
        axes.set_xticks([tick for tick in axes.get_xticks() if low - 0.5 * room <= tick <= 1])
        axes.set_xlim(low - max(high - low, 1e-3) * 0.05, high + room)
        for row, name in enumerate(names):
            text = _range(name, float(one["low"][row]), float(one["high"][row]))
            axes.annotate(text, (max(middle, ends[:, row].max()), row), xytext=(5, 0), textcoords="offset points",
                          va="center", color=colour("muted"))  # fmt: skip
        name_rows(axes, [_named(name, bool(one["uncertain"][row])) for row, name in enumerate(names)], phone=phone)
        axes.set_xlabel(f"expected ETTR at {count(size)} GPUs")
        axes.annotate(f"{fraction(middle)} at the medians", (middle, 1), xycoords=axes.get_xaxis_transform(),
                      xytext=(4, 3), textcoords="offset points", color=colour("ink"))  # fmt: skip
        factor = float(found.attrs.get("swing", 2.0))
        handles = [Patch(color=colour("blue"), label="input at its low value"),
                   Patch(color=colour("vermilion"), label="at its high value"),
                   Patch(color="none", label=f"* {INTERVAL}; others: halved and doubled" if factor == 2
                         else f"* {INTERVAL}; others: over and times {factor:g}")]  # fmt: skip
        top_legend(figure, handles, [str(handle.get_label()) for handle in handles], columns=1 if phone else 3)
        return literal(figure)


def _named(name: str, uncertain: bool) -> str:
    return f"{name.replace('_', ' ')}{' *' if uncertain else ''}"


def _range(name: str, low: float, high: float) -> str:
    if name in DURATIONS:
        return duration_between(low, high)
    return between(low, high) if high else three(0)
