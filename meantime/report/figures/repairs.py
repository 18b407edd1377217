"""How long repairs take: quantiles of each class with their intervals, against those of the outages."""

import numpy as np
import polars as pl
import xarray as xr
from matplotlib.figure import Figure

from meantime.datasets import Log
from meantime.errors import InputError
from meantime.inference import provenance
from meantime.inference.repair_times import quantile_hours
from meantime.intervals import summarise
from meantime.models import REPAIR_MODELS
from meantime.report.evidence import source_facts
from meantime.report.figures.rows_axis import name_rows, side_column
from meantime.report.numbers import INTERVAL, count
from meantime.report.style import MARKERS, SERIES, WIDE, colour, literal, log_ticks, new_figure, styled, top_legend

QUANTILES = {"median": 0.5, "9 in 10 within": 0.9, "99 in 100 within": 0.99}
"""What is drawn of the repairs of a class."""

MOST_CLASSES = 20


def repair_times(tree: xr.DataTree, outages: Log | pl.DataFrame | None = None, *, width: float = WIDE) -> Figure:
    """Draw the quantiles of repair times of each class with 90 % intervals, beside those of the outages.

    Intervals are those of the quantiles, not of a single repair. Where the strokes lie right of the intervals the
    times have a heavier tail than those of the fit.

    Parameters
    ----------
    tree
        A fit of `repair` or `repair_tail`.
    outages
        The outages that were fitted, for the strokes. Default: none are drawn.
    width
        Width in inches; below 5 the layout is that of a phone.

    Raises
    ------
    InputError
        If the fit is not of repairs, or the outages lack the column of the classes.

    Examples
    --------
    >>> figure = repair_times(load_fit("repair.nc"), read("outages.csv"))  # doctest: +SKIP
    >>> figure.savefig("repairs.png")  # doctest: +SKIP
    """
    if (model := provenance(tree)["model"]) not in REPAIR_MODELS:
        raise InputError(f"the fit is of the model {model!r}; expected one of 'repair' or 'repair_tail'")
    table = tree["fit_data"].to_dataset()
    order = np.argsort(-table["repairs"].values, kind="stable")[:MOST_CLASSES]
    names = [str(name) for name in table["class"].values[order]]
    figures = _quantiles(tree, order)
    counted = None if outages is None else _counted(outages, source_facts(tree).get("class", "component"), names)
    phone = width < 5
    with styled():
        figure = new_figure(width, 0.95 + 0.42 * len(names))
        axes = figure.add_subplot()
        for index, name in enumerate(QUANTILES):
            tint, height = colour(SERIES[index]), np.arange(len(names)) + 0.25 * (index - 1)
            axes.hlines(height, figures[index, :, 2], figures[index, :, 3], color=tint, linewidth=2.4)
            axes.plot(figures[index, :, 1], height, MARKERS[index], color=tint, markersize=5.5, label=f"fit: {name}",
                      markeredgecolor=colour("paper"), markeredgewidth=0.8)  # fmt: skip
            if counted is not None:
                axes.plot(counted[index], height, "|", color=colour("ink"), markersize=9, markeredgewidth=1.3,
                          label="the outages" if index == len(QUANTILES) - 1 else None)  # fmt: skip
        shown = np.concatenate([figures[..., 2:].ravel(), [] if counted is None else counted[np.isfinite(counted)]])
        log_ticks(axes.xaxis, shown.min() / 1.3, shown.max() * 1.3, most=5 if phone else 9)
        axes.set_xlabel(f"hours a repair takes, {INTERVAL}")
        name_rows(axes, names, phone=phone)
        side_column(axes, "repairs", [count(int(number)) for number in table["repairs"].values[order]])
        top_legend(figure, *axes.get_legend_handles_labels(), columns=1 if phone else 4)
        return literal(figure)


def _quantiles(tree: xr.DataTree, order: np.ndarray) -> np.ndarray:
    """Return figures of the quantiles, hours, shape (quantile, class, 4)."""
    posterior = tree["posterior"].to_dataset().stack(sample=("chain", "draw"), create_index=False)
    draws = {str(name): values.transpose("sample", ...).values for name, values in posterior.data_vars.items()}
    found = [quantile_hours(draws, share)[:, order] for share in QUANTILES.values()]
    return np.stack([summarise(hours.T) for hours in found])


def _counted(outages: Log | pl.DataFrame, by: str, names: list[str]) -> np.ndarray:
    """Return the same quantiles of the repairs that are over, shape (quantile, class); NaN where there is none."""
    table = outages.table if isinstance(outages, Log) else outages
    if missing := [name for name in ("start", "end", by) if name not in table.columns]:
        raise InputError(f"the outages have no column {missing[0]!r}; they have {', '.join(table.columns)}")
    frame = table.select(
        pl.col(by).cast(pl.String).fill_null("not known").alias("class"),
        ((pl.col("end") - pl.col("start")).dt.total_microseconds() / 3.6e9).alias("hours"),
    ).filter(pl.col("hours") > 0)
    parts = [frame.filter(pl.col("class") == name)["hours"].to_numpy() for name in names]
    return np.stack([
        np.quantile(hours, list(QUANTILES.values())) if len(hours) else np.full(len(QUANTILES), np.nan)
        for hours in parts
    ], axis=1)  # fmt: skip
