"""What a model's priors expect: the spread of data drawn from them, beside the data themselves."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meantime.report.numbers import label
from meantime.report.style import WIDE, colour, literal, new_figure, styled, top_legend

SHARES = np.linspace(0, 1, 201)
"""Shares of the cells for which the least number that holds them is drawn."""

BANDS = ((0.05, 0.95, 0.18), (0.25, 0.75, 0.3))
"""Lower and upper probability of each band, and how opaque it is."""

MOST_TICKS = 6

UNITS = {
    "failures": "failures of a cell",
    "incidents": "incidents of one size in a cluster",
    "count": "failures of a stratum",
    "sum_log_age": "sum of log ages at failure, days",
    "log_mean": "mean of log hours of a class",
    "log_variance": "variance of log hours of a class",
    "log_hours": "log hours of a repair",
}
"""What the numbers of each panel are."""


def prior_spread(drawn: xr.Dataset, *, width: float = WIDE) -> Figure:
    """Draw the distribution of data over their cells, as the priors expect it.

    Each data set drawn from the priors has a curve: the share of its cells with at most so much. The bands hold half
    and 90 % of these curves; the line is that of the data, if `prior_predictive` was given any. Data inside wide bands:
    the priors allow them and leave the rest to the data. Data outside: think again before fitting.

    Parameters
    ----------
    drawn
        What `meantime.inference.prior_predictive` returns.
    width
        Width in inches; below 5 the layout is that of a phone.

    Examples
    --------
    >>> from meantime.inference import prior_predictive
    >>> figure = prior_spread(prior_predictive("component", table))  # doctest: +SKIP
    >>> figure.savefig("prior.png")  # doctest: +SKIP
    """
    name = next(str(key) for key in drawn.data_vars if key != "observed")
    panels = drawn["statistic"].values.tolist() if "statistic" in drawn.dims else [None]
    phone = width < 5
    with styled():
        columns = 1 if phone else len(panels)
        figure = new_figure(width, 2.6 * (len(panels) if phone else 1) + 0.6)
        for index, panel in enumerate(panels):
            axes = figure.add_subplot(len(panels) // columns, columns, index + 1)
            part = drawn if panel is None else drawn.sel(statistic=panel)
            _panel(axes, part, name)
            axes.set_xlabel(UNITS.get(panel or name, label(panel or name)))
            if index % columns == 0:
                axes.set_ylabel("share with at most that")
        top_legend(figure, *axes.get_legend_handles_labels(), columns=1 if phone else 3)
        return literal(figure)


def _panel(axes: Axes, part: xr.Dataset, name: str) -> None:
    values = part[name].values.reshape(part.sizes["draw"], -1).astype(float)
    curves = np.quantile(values, SHARES, axis=1, method="inverted_cdf")
    for low, high, opacity in BANDS:
        bounds = np.quantile(curves, [low, high], axis=1)
        axes.fill_betweenx(SHARES, *bounds, color=colour("blue"), alpha=opacity, linewidth=0,
                           label=f"{100 * (high - low):.0f} % of data sets drawn from the priors")  # fmt: skip
    axes.plot(np.median(curves, axis=1), SHARES, color=colour("blue"), linewidth=1.0)
    drawn = [np.quantile(curves, [0.05, 0.95], axis=1)]
    if "observed" in part:
        own = np.quantile(part["observed"].values.astype(float), SHARES, method="inverted_cdf")
        axes.plot(own, SHARES, color=colour("vermilion"), linewidth=1.6, label="the data")
        drawn.append(own)
    high = max(float(one.max()) for one in drawn)
    if min(float(one.min()) for one in drawn) >= 0 and high > 20:
        axes.set_xscale("symlog", linthresh=1)
        axes.set_xlim(0, 1.2 * high)
        powers = [0, *(10**k for k in range(int(np.log10(1.2 * high)) + 1))]
        ticks = powers if len(powers) <= MOST_TICKS else [0, *powers[1 :: -(-len(powers) // MOST_TICKS)]]
        axes.set_xticks(ticks, [f"{at:,}" for at in ticks])
        axes.minorticks_off()
    axes.set_ylim(0, 1)
