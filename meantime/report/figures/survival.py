"""The life of a part: hazard by age and survival, with what the lives say by themselves."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meantime.inference import survival_curve
from meantime.intervals import summarise
from meantime.models.lives import lives_of
from meantime.report.evidence import garwood
from meantime.report.numbers import INTERVAL
from meantime.report.style import WIDE, colour, literal, log_ticks, new_figure, styled, top_legend

POINTS = 200
MILLION = 1e6


def survival_by_age(tree: xr.DataTree, *, covariates: Mapping[str, float] | None = None, width: float = WIDE) -> Figure:
    """Draw hazard and survival of a part by its age with 90 % intervals, beside the lives themselves.

    The points are failures over days at risk by interval of age, with exact (Garwood) intervals, and the survival
    that follows from them (Nelson and Aalen). Where the fit has covariates, the days at risk count by the effects
    fitted (Breslow's estimator), so that the points are of the same part as the curve.

    Parameters
    ----------
    tree
        A fit of `lifetime` or `lifetime_steps`.
    covariates
        The part, as in `meantime.inference.survival_curve`.
    width
        Width in inches; below 5 the layout is that of a phone.

    Examples
    --------
    >>> figure = survival_by_age(load_fit("lives.nc"), covariates={"batch=new": 1})  # doctest: +SKIP
    >>> figure.savefig("survival.png")  # doctest: +SKIP
    """
    table = tree["fit_data"].to_dataset()
    cuts = table["cut"].values.astype(float)
    ages = np.linspace(cuts[-1] / POINTS, cuts[-1], POINTS)
    curve = survival_curve(tree, ages, covariates=covariates)
    failures, days = table["failures"].values.sum(axis=0), _days_as_of(tree, covariates)
    seen = days > 0
    middles, hazard = 0.5 * (cuts[1:] + cuts[:-1]), np.where(seen, failures / np.where(seen, days, 1.0), 0.0)
    alive = np.exp(-np.cumsum(hazard * np.diff(cuts)))
    phone = width < 5
    with styled():
        figure = new_figure(width, 5.6 if phone else 3.3)
        left, right = figure.subplots(2, 1) if phone else figure.subplots(1, 2)
        low, high = _band(left, ages, MILLION * summarise(curve["hazard"].transpose("age", "sample").values))
        some = seen & (failures > 0)
        bounds = [MILLION * bound for bound in garwood(failures[some], days[some])]
        left.vlines(middles[some], bounds[0], bounds[1], color=colour("vermilion"), linewidth=0.9, alpha=0.7)
        _points(left, middles[some], MILLION * hazard[some])
        log_ticks(left.yaxis, min([low, *bounds[0]]) / 1.1, max([high, *bounds[1]]) * 1.1, most=7)
        left.set_ylabel("failures per million days")
        _band(right, ages, summarise(curve["survival"].transpose("age", "sample").values))
        _points(right, cuts[1:][seen], alive[seen])
        right.set_ylim(0, 1.03)
        right.set_ylabel("still alive")
        for axes in (left, right):
            axes.set_xlim(0, cuts[-1] * 1.02)
            axes.set_xlabel("age, days")
        top_legend(figure, *left.get_legend_handles_labels(), columns=1 if phone else 2)
        return literal(figure)


def _days_as_of(tree: xr.DataTree, covariates: Mapping[str, float] | None) -> np.ndarray:
    """Return days at risk by interval of age, each stratum's times its hazard over that of the part drawn."""
    table = tree["fit_data"].to_dataset()
    days = table["exposure"].values.astype(float)
    lives = lives_of(table)
    if not lives.covariates:
        return np.asarray(days.sum(axis=0))
    effect = tree["posterior"]["coefficient"].mean(("chain", "draw")).values
    both = [survival_curve(tree, [1.0], covariates=given)["hazard"].values for given in (covariates, None)]
    part = float(np.log(both[0] / both[1]).mean())
    return np.asarray(np.exp(lives.design @ effect - part) @ days)


def _band(axes: Axes, ages: np.ndarray, figures: np.ndarray) -> tuple[float, float]:
    axes.fill_between(ages, figures[:, 2], figures[:, 3], color=colour("blue"), alpha=0.25, linewidth=0)
    axes.plot(ages, figures[:, 1], color=colour("blue"), label=f"fit: median, {INTERVAL}")
    return float(figures[:, 2].min()), float(figures[:, 3].max())


def _points(axes: Axes, at: np.ndarray, values: np.ndarray) -> None:
    axes.plot(at, values, "o", color=colour("vermilion"), markersize=3.5, label=f"the lives, exact {INTERVAL}")
