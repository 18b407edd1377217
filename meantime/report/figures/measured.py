"""Measured ETTR of a log's runs beside the ETTR that a fit expects, by size."""

import datetime as dt
from typing import Any

import numpy as np
import polars as pl
import xarray as xr
from matplotlib.figure import Figure

from meantime.datasets.exposure import add_bucket
from meantime.errors import InputError
from meantime.forecast import Plan, forecast
from meantime.forecast.forecast import SEED
from meantime.intervals import LOWER, UPPER
from meantime.report.evidence import choose_cluster, gpus_per_node
from meantime.report.numbers import INTERVAL, count
from meantime.report.style import WIDE, colour, gpu_axis, literal, new_figure, styled, top_legend
from meantime.units import Duration, seconds

RESAMPLES = 2000
_FEW = 3


def measured_ettr(
    runs: pl.DataFrame,
    fit: xr.DataTree,
    *,
    restart: Duration = "5min",
    checkpoint_interval: Duration = "1h",
    checkpoint_write: Duration = "0s",
    at_least: Duration = "24h",
    cluster: str | None = None,
    seed: int = SEED,
    width: float = WIDE,
) -> Figure:
    """Draw the ETTR measured on runs against what the fit expects of runs like them, by size.

    Measured: productive over wallclock of all runs of a size together, with a bootstrap interval over runs. Expected:
    the forecast for that size with the mean productive time and the mean queue of these runs, so that only failures
    of the infrastructure, and not preemptions, take work away. After Figure 9 of Kokolis et al. 2025
    (arXiv 2410.21680).

    Parameters
    ----------
    runs
        What `meantime.datasets.measure_runs` returns.
    fit
        A fit.
    restart, checkpoint_interval, checkpoint_write
        As the runs were measured with.
    at_least
        Shortest time in attempts of a run that counts.
    cluster
        Cluster of the runs and of the fit; default the one with most node-days.
    seed
        Of the forecast and the bootstrap.
    width
        Width in inches; below 5 the layout is that of a phone.

    Raises
    ------
    InputError
        If no run is that long.

    Examples
    --------
    >>> runs = measure_runs(read("sacct.txt"), read("events.csv"))  # doctest: +SKIP
    >>> figure = measured_ettr(runs, load_fit("fit.nc"))  # doctest: +SKIP
    """
    chosen = choose_cluster(fit, cluster)
    rows = measured_by_size(runs, at_least=at_least, cluster=chosen, seed=seed)
    terms: dict[str, Any] = {"restart": restart, "checkpoint_interval": checkpoint_interval,
                            "checkpoint_write": checkpoint_write, "gpus_per_node": gpus_per_node(fit)}  # fmt: skip
    expected = []
    for row in rows.iter_rows(named=True):
        terms |= {name: dt.timedelta(seconds=row[name]) for name in ("productive", "queue")}
        expected.append(forecast(fit, [row["gpus"]], Plan(**terms), cluster=chosen, seed=seed).isel(gpus=0))
    sizes = rows["gpus"].to_numpy()
    figures = {
        name: np.array([[float(one[name].sel(figure=part)) for part in ("median", "lower", "upper")]
                        for one in expected]) for name in ("ettr", "ettr_run")
    }  # fmt: skip
    phone = width < 5
    with styled():
        figure = new_figure(width, 3.4)
        axes = figure.add_subplot()
        _expected(axes, sizes, figures)
        several = rows.filter(pl.col("lower").is_not_null())
        axes.vlines(several["gpus"], several["lower"], several["upper"], color=colour("vermilion"), linewidth=1.4)
        axes.plot(sizes, rows["ettr"], "o", color=colour("vermilion"), markersize=6, markeredgecolor=colour("paper"),
                  markeredgewidth=0.8, label=f"measured, {INTERVAL}")  # fmt: skip
        gpu_axis(axes, np.array([sizes.min(), max(sizes.max(), sizes.min() * 2)]), ticks=4 if phone else 8)
        axes.set_xlim(sizes.min() / 1.4, sizes.max() * 1.4)
        axes.set_ylim(0, 1.06)
        axes.set_ylabel("ETTR")
        for row in rows[:: 2 if phone and rows.height > 6 else 1].iter_rows(named=True):
            axes.annotate(count(row["runs"]), (row["gpus"], 0), xytext=(0, 3), textcoords="offset points", ha="center",
                          color=colour("muted"))  # fmt: skip
        axes.annotate("runs:", (0, 0), xycoords="axes fraction", xytext=(3, 15), textcoords="offset points",
                      color=colour("muted"))  # fmt: skip
        top_legend(figure, *axes.get_legend_handles_labels(), columns=1 if phone else 3)
        return literal(figure)


def _expected(axes: Any, sizes: np.ndarray, figures: dict[str, np.ndarray]) -> None:
    low, high = sizes / 1.12, sizes * 1.12
    labels = [f"one run, luck included, {INTERVAL}", f"expected, {INTERVAL}"]
    for name, alpha, text in (("ettr_run", 0.18, labels[0]), ("ettr", 0.45, labels[1])):
        for place in range(len(sizes)):
            _, lower, upper = figures[name][place]
            axes.fill_between([low[place], high[place]], lower, max(upper, lower + 0.003), color=colour("blue"),
                              alpha=alpha, linewidth=0, label=text if place == 0 else None)  # fmt: skip
    axes.hlines(figures["ettr"][:, 0], low, high, color=colour("blue"), linewidth=1.6)


def measured_by_size(
    runs: pl.DataFrame, *, at_least: Duration = "24h", cluster: str | None = None, seed: int = SEED
) -> pl.DataFrame:
    """Measure runs of a size together.

    Parameters
    ----------
    runs, at_least, cluster, seed
        As in `measured_ettr`; without `cluster` all runs count.

    Returns
    -------
    pl.DataFrame
        ``gpus`` (upper edge of the bucket), ``runs``, ``ettr`` (sum of productive over sum of known wallclock),
        ``lower`` and ``upper`` (bootstrap over runs; null for fewer than three), and ``productive`` and ``queue``:
        mean seconds of a run, and of an attempt.

    Raises
    ------
    InputError
        If no run is that long.
    """
    least = seconds(at_least, name="at_least")
    known = (pl.col("wallclock") - pl.col("unknown")).dt.total_microseconds() / 1e6
    long = runs.filter(
        (pl.col("scheduled").dt.total_microseconds() / 1e6 >= least) & (pl.col("n_gpus") > 0) & (known > 0)
    )
    if cluster is not None:
        long = long.filter(pl.col("cluster") == cluster)
    if long.is_empty():
        raise InputError(f"none of {runs.height:,} runs has {at_least} in attempts; choose a smaller at_least")
    rng = np.random.default_rng([seed, 5])
    rows = []
    timed = add_bucket(long).with_columns(
        known.alias("__known"), *(pl.col(part).dt.total_microseconds() / 1e6 for part in ("productive", "queue"))
    )
    for (size,), part in timed.sort("job_size", "cluster", "run").group_by("job_size", maintain_order=True):
        productive, whole = part["productive"].to_numpy(), part["__known"].to_numpy()
        lower, upper = _bootstrap(productive, whole, rng) if part.height >= _FEW else (None, None)
        rows.append(
            {
                "gpus": int(size),
                "runs": part.height,
                "ettr": float(productive.sum() / whole.sum()),
                "lower": lower,
                "upper": upper,
                "productive": float(max(productive.mean(), 1.0)),
                "queue": float(part["queue"].sum()) / float(part["attempts"].sum()),
            }
        )
    return pl.DataFrame(rows)


def _bootstrap(productive: np.ndarray, whole: np.ndarray, rng: np.random.Generator) -> tuple[float, float]:
    chosen = rng.integers(len(whole), size=(RESAMPLES, min(len(whole), 2000)))
    ratios = productive[chosen].sum(axis=1) / whole[chosen].sum(axis=1)
    spread = np.sqrt(min(len(whole), 2000) / len(whole))  # of a bootstrap of part of the runs
    centre = productive.sum() / whole.sum()
    low, high = np.quantile(ratios, [LOWER, UPPER])
    return float(centre + (low - centre) * spread), float(centre + (high - centre) * spread)
