"""ETTR against GPUs: a panel a plan, what is not known of the rates apart from what luck adds."""

import textwrap
from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Patch

from meantime.forecast import Plan
from meantime.forecast.forecast import SEED
from meantime.report.evidence import choose_cluster, gpus_per_node, largest_job
from meantime.report.numbers import INTERVAL, count, fraction, label
from meantime.report.plans import GPUS, check_plans, default_plans, forecast_plans
from meantime.report.style import SERIES, WIDE, colour, gpu_axis, literal, new_figure, styled, top_legend


def ettr_by_gpus(
    source: xr.DataTree | Mapping[str, xr.Dataset],
    *,
    gpus: Sequence[int] = GPUS,
    plans: Mapping[str, Plan] | None = None,
    cluster: str | None = None,
    largest: int = 0,
    seed: int = SEED,
    width: float = WIDE,
) -> Figure:
    """Draw the expected ETTR against the size of the job, one panel for each plan.

    The dark band is the 90 % interval of the expectation: what the log leaves open about the
    rates. The light band is what one run gets: the same and its luck. The other plans are drawn
    in grey for comparison.

    Parameters
    ----------
    source
        A fit, or forecasts made already, by the name of the plan.
    gpus, plans, cluster, seed
        What to forecast from a fit; see `meantime.forecast.forecast`.
    largest
        GPUs of the largest job seen, where `source` is forecasts; a fit knows it.
    width
        Width in inches; below 5 the panels are stacked.

    Examples
    --------
    >>> plans = {"5 min": Plan(restart="5min"), "1 min": Plan(restart="1min")}  # doctest: +SKIP
    >>> figure = ettr_by_gpus(load_fit("fit.nc"), plans=plans)  # doctest: +SKIP
    >>> figure.savefig("ettr.png")  # doctest: +SKIP
    """
    if isinstance(source, Mapping) and not isinstance(source, xr.DataTree):
        forecasts = dict(source)
    else:
        chosen = check_plans(plans or default_plans(gpus_per_node(source)))
        largest = largest_job(source)
        forecasts = forecast_plans(source, gpus, chosen, cluster=choose_cluster(source, cluster), seed=seed)
    phone = width < 5
    columns = 1 if phone else min(3, len(forecasts))
    rows = -(-len(forecasts) // columns)
    with styled():
        figure = new_figure(width, 0.6 + rows * (1.9 if phone else 2.6))
        panels = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
        for index, axes in enumerate(panels.flat):
            if index < len(forecasts):
                _panel(axes, forecasts, index, largest=largest, phone=phone)
            else:
                axes.set_axis_off()
        for axes in panels[:, 0]:
            axes.set_ylabel("ETTR")
        for axes in panels.flat[len(forecasts) - columns : len(forecasts)]:
            axes.tick_params(axis="x", labelbottom=True)
            axes.set_xlabel("GPUs of the job")
        last = max(int(forecast["gpus"][-1]) for forecast in forecasts.values())
        handles = _legend(len(forecasts), beyond=0 < largest < last)
        top_legend(figure, handles, [str(handle.get_label()) for handle in handles], columns=1 if phone else 3)
        return literal(figure)


def _panel(axes: Axes, forecasts: Mapping[str, xr.Dataset], index: int, *, largest: int, phone: bool) -> None:
    for position, (name, forecast) in enumerate(forecasts.items()):
        sizes = forecast["gpus"].values
        expected = forecast["ettr"]
        if position != index:
            axes.plot(sizes, expected.sel(figure="median"), color=colour("muted"), linewidth=0.9, alpha=0.45)
            continue
        tint = colour(SERIES[index % len(SERIES)])
        run = forecast["ettr_run"]
        axes.fill_between(sizes, run.sel(figure="lower"), run.sel(figure="upper"), color=tint, alpha=0.16, linewidth=0)
        axes.fill_between(
            sizes, expected.sel(figure="lower"), expected.sel(figure="upper"), color=tint, alpha=0.36, linewidth=0
        )
        axes.plot(sizes, expected.sel(figure="median"), color=tint)
        axes.set_title("\n".join(textwrap.wrap(label(name), 40 if phone else 28)), pad=17)
        last = expected.sel(figure="median").values[-1]
        axes.annotate(f"{fraction(last)} at {count(sizes[-1])} GPUs", (0, 1), xycoords="axes fraction", xytext=(0, 5),
                      textcoords="offset points", color=colour("muted"))  # fmt: skip
        _beyond(axes, sizes, largest)
        gpu_axis(axes, sizes, ticks=4 if phone else 3, title="", tight=True)
    axes.set_ylim(0, 1)
    axes.set_yticks([0, 0.25, 0.5, 0.75, 1], ["0", "0.25", "0.5", "0.75", "1"])


def _beyond(axes: Axes, sizes: np.ndarray, largest: int) -> None:
    """Shade the sizes larger than any job seen."""
    low, high = sizes[0] / 1.15, sizes[-1] * 1.15
    axes.set_xlim(low, high)
    if 0 < largest < sizes[-1]:
        axes.axvspan(max(largest, low), high, color=colour("shade"), linewidth=0, zorder=0)


def _legend(plans: int, *, beyond: bool) -> list[Patch]:
    tint = colour("blue") if plans == 1 else colour("muted")
    handles = [
        Patch(color=tint, alpha=0.5, linewidth=0, label=f"expected, {INTERVAL}"),
        Patch(color=tint, alpha=0.2, linewidth=0, label=f"one run, luck included, {INTERVAL}"),
    ]
    if beyond:
        edge = colour("grid")
        handles.append(
            Patch(facecolor=colour("shade"), edgecolor=edge, linewidth=0.7, label="larger than any job seen")
        )
    return handles
