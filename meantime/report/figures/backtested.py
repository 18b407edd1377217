"""A back-test: what was predicted of held-out data beside what came, and how often it lay inside."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, MaxNLocator
from scipy.stats import beta

from meantime.errors import InputError
from meantime.intervals import LOWER, PROBABILITY, UPPER
from meantime.report.numbers import INTERVAL, count, label
from meantime.report.style import MARKERS, SERIES, WIDE, colour, literal, new_figure, styled, top_legend

MOST_TARGETS = 40
"""Held-out targets drawn one by one; of more, evenly spaced ones."""


def backtest_coverage(backtested: xr.Dataset, *, width: float = WIDE) -> Figure:
    """Draw a back-test: predicted intervals beside what was observed, and coverage of all forecasters.

    Left, each held-out target (all components together where there are several) with the model's predictive interval,
    relative to the predicted median, and the observed count. Right, how many of the held-out counts lay inside the 90 %
    interval of the model and of the baselines, with the exact (Clopper-Pearson) interval of that share; a forecaster
    that knows how sure it is has 0.9.

    Parameters
    ----------
    backtested
        What `meantime.inference.backtest` returns.
    width
        Width in inches; below 5 the layout is that of a phone.

    Raises
    ------
    InputError
        If it is something else, or nothing was held out.

    Examples
    --------
    >>> figure = backtest_coverage(backtest(table, "over_time", over="period", hold=8))  # doctest: +SKIP
    >>> figure.savefig("backtest.png")  # doctest: +SKIP
    """
    if not {"covered", "observed", "lower", "upper", "forecaster"} <= {*backtested.variables}:
        raise InputError("this is no back-test; expected what meantime.inference.backtest returns")
    model = str(backtested.attrs["model"])
    whole = backtested["component"].values == "all"
    shown = backtested.isel(target=np.flatnonzero(whole if whole.any() else ~whole))
    if not shown.sizes["target"]:
        raise InputError("the back-test holds no target; expected sizes or periods held out")
    phone = width < 5
    with styled():
        figure = new_figure(width, 6.0 if phone else 3.5)
        left, right = figure.subplots(2, 1) if phone else figure.subplots(1, 2, width_ratios=(3, 2))
        _targets(left, shown, model)
        _coverage(right, backtested)
        top_legend(figure, *left.get_legend_handles_labels(), columns=1 if phone else 3)
        return literal(figure)


def _targets(axes: Axes, shown: xr.Dataset, model: str) -> None:
    over = str(shown.attrs["over"])
    order = np.argsort(shown[over].values, kind="stable")
    few = np.unique(np.linspace(0, len(order) - 1, min(len(order), MOST_TARGETS)).round().astype(int))
    one = shown.sel(forecaster=model).isel(target=order[few])
    at = np.arange(one.sizes["target"])
    median = np.maximum(one["median"].values, 0.5)
    inside = one["covered"].values.astype(bool)
    axes.vlines(at, one["lower"].values / median, one["upper"].values / median, color=colour("blue"), linewidth=2.2,
                alpha=0.6, label=f"predicted, {INTERVAL}")  # fmt: skip
    ratio = one["observed"].values / median
    for which, tint, marker, text in (
        (inside, "ink", "o", "came, inside"),
        (~inside, "vermilion", "D", "came, outside"),
    ):
        if which.any():
            axes.plot(at[which], ratio[which], marker, color=colour(tint), markersize=4, label=text)
    axes.axhline(1, color=colour("muted"), linewidth=0.7)
    axes.set_ylim(0, 1.1 * max([*ratio, *(one["upper"].values / median)]))
    axes.set_ylabel("count over predicted median")
    names = [_named(value) for value in one[over].values]
    axes.xaxis.set_major_locator(MaxNLocator(4, integer=True, min_n_ticks=1))
    axes.xaxis.set_major_formatter(
        FuncFormatter(lambda value, _: names[int(value)] if value == int(value) and 0 <= value < len(names) else "")
    )
    axes.set_xlim(-0.7, len(names) - 0.3)
    axes.set_xlabel({"job_size": "held-out sizes, GPUs", "period": "held-out periods"}[over])


def _coverage(axes: Axes, backtested: xr.Dataset) -> None:
    """Draw the share of all targets covered, by forecaster."""
    known = backtested["log_score"].notnull()
    names = [str(name) for name in backtested["forecaster"].values]
    for row, name in enumerate(names):
        mask = known.sel(forecaster=name).values
        inside, total = int(backtested["covered"].sel(forecaster=name).values[mask].sum()), int(mask.sum())
        if not total:
            continue
        low = beta.ppf(LOWER, inside, total - inside + 1) if inside else 0.0
        high = beta.ppf(UPPER, inside + 1, total - inside) if inside < total else 1.0
        tint = colour(SERIES[row % len(SERIES)])
        axes.hlines(row, low, high, color=tint, linewidth=2)
        axes.plot(inside / total, row, MARKERS[row % len(MARKERS)], color=tint, markersize=6)
        axes.annotate(f"{count(inside)} of {count(total)}", (1, row), xycoords=axes.get_yaxis_transform(),
                      xytext=(4, 0), textcoords="offset points", va="center", annotation_clip=False)  # fmt: skip
    axes.axvline(PROBABILITY, color=colour("ink"), linewidth=1.1, dashes=(4, 3))
    axes.set_xlim(0, 1.02)
    axes.set_ylim(len(names) - 0.5, -0.5)
    axes.set_yticks(range(len(names)), [label(name).replace(" ", "\n", 1) for name in names])
    axes.set_xlabel(f"share inside the {INTERVAL}")


def _named(value: Any) -> str:
    if isinstance(value, np.datetime64):
        return str(np.datetime_as_string(value, unit="D"))
    return count(float(value))
