"""ETTR over failure rate and checkpoint interval, as contours, with the best interval for each rate."""

import numpy as np
import xarray as xr
from matplotlib.artist import Artist
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast import Plan
from meantime.forecast.forecast import SEED
from meantime.forecast.rates import checked_gpus
from meantime.inference import predict_rate
from meantime.intervals import summarise
from meantime.report.evidence import choose_cluster
from meantime.report.numbers import INTERVAL, count
from meantime.report.style import WIDE, colour, literal, log_ticks, new_figure, styled, top_legend
from meantime.units import PER_1000_NODE_DAYS, SECONDS_PER_HOUR, Duration, seconds

LEVELS = (0.1, 0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
_SHADES = np.linspace(0.02, 0.34, len(LEVELS) + 1)
_POINTS = 61
_TICKS = {1 / 60: "1 min", 1 / 12: "5 min", 0.25: "15 min", 1.0: "1 h", 4.0: "4 h", 24.0: "1 d"}


def ettr_contours(
    gpus: int,
    plan: Plan | None = None,
    *,
    fit: xr.DataTree | None = None,
    rates: tuple[float, float] = (1.0, 30.0),
    intervals: tuple[Duration, Duration] = ("1min", "4h"),
    cluster: str | None = None,
    seed: int = SEED,
    width: float = WIDE,
) -> Figure:
    """Draw the expected ETTR of a long run against checkpoint interval and failure rate.

    The exact form for a run without end (`meantime.ettr.renewal`), and its best interval for each rate
    (`meantime.ettr.optimal_interval`). After Figure 10 of Kokolis et al. 2025 (arXiv 2410.21680).

    Parameters
    ----------
    gpus
        Size of the job.
    plan
        Restart, checkpoint write, queue and detection; its interval is not used.
    fit
        A fit whose rate is marked: its 90 % interval as a band.
    rates
        Failures per 1,000 node-days, the range that is drawn.
    intervals
        Checkpoint intervals, the range that is drawn.
    cluster, seed
        Of the fit, see `meantime.inference.predict_rate`.
    width
        Width in inches; below 5 the layout is that of a phone.

    Raises
    ------
    InputError
        If the plan has lists or uncertain values, or a range is none.

    Examples
    --------
    >>> figure = ettr_contours(16384, Plan(restart="5min", checkpoint_write="30s"))
    >>> figure.axes[0].get_ylabel()
    'failures per 1,000 node-days'
    """
    plan = Plan() if plan is None else plan
    checked_gpus(gpus)
    terms = _hours(plan)
    every = _range([seconds(value, name="intervals") / SECONDS_PER_HOUR for value in intervals], "intervals")
    rate = _range([float(value) for value in rates], "rates")
    hazard = np.asarray(ettr.hazard_of(gpus / plan.gpus_per_node, rate / PER_1000_NODE_DAYS))
    values = np.asarray(
        ettr.renewal(
            hazard[:, None],
            every[None, :],
            terms["checkpoint_write"],
            terms["restart"],
            detection=terms["detection"],
            queue=terms["queue"],
        )
    )
    best = np.asarray(ettr.optimal_interval(hazard, terms["checkpoint_write"]))
    phone = width < 5
    with styled():
        figure = new_figure(width, 4.0)
        axes = figure.add_subplot()
        log_ticks(axes.yaxis, rate[0], rate[-1], most=6)
        _interval_axis(axes, every, phone=phone)
        inside = [level for level in LEVELS if values.min() < level < values.max()]
        shades = [to_rgba(colour("blue"), shade) for shade in _SHADES]
        axes.contourf(every, rate, values, levels=[0, *LEVELS, 1], colors=shades)
        lines = axes.contour(every, rate, values, levels=inside or [0.5], colors=colour("blue"), linewidths=1.2)
        for text in axes.clabel(lines, fmt=lambda value: f"{value:g}", fontsize=8.5, inline_spacing=4):
            text.set_color(colour("ink"))
        drawn = (best >= every[0]) & (best <= every[-1])
        axes.plot(best[drawn], rate[drawn], color=colour("vermilion"), dashes=(4, 3), label="_best")
        handles: list[Artist] = [
            Line2D([], [], color=colour("blue"), linewidth=1.2, label=f"ETTR at {count(gpus)} GPUs"),
            Line2D([], [], color=colour("vermilion"), dashes=(4, 3), label="best interval"),
        ]
        if fit is not None:
            draws = predict_rate(fit, [gpus], cluster=choose_cluster(fit, cluster), seed=seed)
            _, median, lower, upper = summarise(draws.sum("component").values.ravel()) * PER_1000_NODE_DAYS
            axes.axhspan(lower, upper, color=colour("ochre"), alpha=0.3, linewidth=0, label="_fit")
            axes.axhline(median, color=colour("ochre"), linewidth=1.2)
            handles.append(Patch(color=colour("ochre"), alpha=0.5, label=f"rate of the fit, {INTERVAL}"))
        axes.set_ylabel(f"failures per {PER_1000_NODE_DAYS:,.0f} node-days")
        top_legend(figure, handles, [str(handle.get_label()) for handle in handles], columns=1 if phone else 3)
        return literal(figure)


def _hours(plan: Plan) -> dict[str, float]:
    hours = {}
    for field in ("checkpoint_write", "restart", "detection", "queue"):
        value = plan.values(field)[0]
        if field in plan.lists or not isinstance(value, str):
            raise InputError(f"{field} of the plan is a list or uncertain; expected one duration")
        hours[field] = seconds(value, name=field) / SECONDS_PER_HOUR
    return hours


def _range(ends: list[float], name: str) -> np.ndarray:
    if len(ends) != 2 or not 0 < ends[0] < ends[1] or not np.isfinite(ends[1]):
        raise InputError(f"{name} is {ends!r}; expected a lower and a higher value above 0")
    return np.geomspace(ends[0], ends[1], _POINTS)


def _interval_axis(axes: Axes, every: np.ndarray, *, phone: bool) -> None:
    axes.set_xscale("log")
    axes.set_xlim(every[0], every[-1])
    ticks = [tick for tick in _TICKS if every[0] * 0.999 <= tick <= every[-1] * 1.001]
    axes.xaxis.set_major_locator(FixedLocator(ticks[:: 2 if phone and len(ticks) > 4 else 1] or [every[0], every[-1]]))
    axes.xaxis.set_minor_locator(NullLocator())
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: _TICKS.get(value, f"{value:.3g} h")))
    axes.set_xlabel("checkpoint interval")
