"""What mitigations buy: fair shares of the joint gain, beside what each buys alone."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch

from meantime.errors import InputError
from meantime.report.figures.rows_axis import name_rows, side_column
from meantime.report.numbers import INTERVAL, count, odds
from meantime.report.style import WIDE, colour, literal, new_figure, styled, top_legend

MOST_ROWS = 15


def mitigation_shares(found: xr.Dataset, *, gpus: int | None = None, width: float = WIDE) -> Figure:
    """Draw the Shapley share of each mitigation in the gain of all together, and its gain alone.

    Parameters
    ----------
    found
        What `meantime.forecast.mitigate` returns.
    gpus
        Size of the job; default the largest.
    width
        Width in inches; below 5 the layout is that of a phone.

    Returns
    -------
    matplotlib.figure.Figure
        Rows sorted by share. At the right of each: the probability that it is the best alone.

    Raises
    ------
    InputError
        If that is not what it returns, or has no such size.

    Examples
    --------
    >>> from meantime.forecast import FasterRestart, CheaperCheckpoint, mitigate_rates, stated_rate
    >>> both = [FasterRestart("1min"), CheaperCheckpoint("5s")]
    >>> figure = mitigation_shares(mitigate_rates(stated_rate(6.5, 16384), None, both))
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['checkpoint write to 5s', 'restart to 1min']
    """
    if "gain_shapley" not in found:
        raise InputError("found holds no shares; expected what meantime.forecast.mitigate returns")
    size = int(found["gpus"].values.max()) if gpus is None else gpus
    if size not in found["gpus"].values:
        raise InputError(f"gpus is {gpus!r}; expected one of {found['gpus'].values.tolist()}")
    one = found.sel(gpus=size)
    order = np.argsort(-one["gain_shapley"].sel(figure="median").values, kind="stable")[:MOST_ROWS]
    one = one.isel(mitigation=order)
    shares, alone = (one[name].transpose("mitigation", "figure") for name in ("gain_shapley", "gain_alone"))
    names = [str(name) for name in one["mitigation"].values]
    rows = np.arange(len(names))
    phone = width < 5
    with styled():
        figure = new_figure(width, 1.1 + 0.36 * len(names))
        axes = figure.add_subplot()
        axes.barh(rows, shares.sel(figure="median"), height=0.58, color=colour("blue"))
        axes.hlines(rows, shares.sel(figure="lower"), shares.sel(figure="upper"), color=colour("ink"), linewidth=1.2)
        axes.plot(alone.sel(figure="median"), rows, "D", color=colour("vermilion"), markersize=5,
                  markeredgecolor=colour("paper"), markeredgewidth=0.7)  # fmt: skip
        axes.axvline(0, color=colour("muted"), linewidth=0.7)
        axes.set_xlabel(f"gain of expected ETTR at {count(size)} GPUs")
        axes.locator_params(axis="x", nbins=4 if phone else 7)
        name_rows(axes, names, phone=phone, narrow=20)
        side_column(axes, "best alone", [odds(float(value)) for value in one["probability_best"].values], width=56)
        handles = [
            Patch(color=colour("blue"), label="share of the gain of all together (Shapley)"),
            Line2D([], [], color=colour("ink"), linewidth=1.2, label=INTERVAL),
            Line2D([], [], color=colour("vermilion"), marker="D", markersize=5, linestyle="none", label="gain alone"),
        ]
        top_legend(figure, handles, [str(handle.get_label()) for handle in handles], columns=1 if phone else 3)
        return literal(figure)
