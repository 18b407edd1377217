"""Every figure on public logs and on a simulated cluster: drawn within its bounds, no panel empty."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure

from meantime.datasets import (
    failure_table,
    goodput,
    measure_runs,
    outage_periods,
    repair_table,
    summarise,
)
from meantime.datasets.readers.lanl import read_lanl
from meantime.datasets.readers.lanl_nodes import lanl_nodes, lanl_service, lanl_table
from meantime.datasets.simulate import simulate_cluster
from meantime.forecast import Plan, rates_of, sensitivity
from meantime.inference import fit
from meantime.report import figures
from meantime.report.evidence import clusters
from meantime.report.figures import __all__ as NAMES
from meantime.report.measures import price_measures

from ..datasets.public_logs import read_philly
from .conftest import QUICK

pytestmark = pytest.mark.slow

PLAN = Plan(restart="5min", checkpoint_write="30s")
SIZE = 16_384
FEW = QUICK | {"draws": 100}
type Drawn = dict[str, Callable[[], Figure]]


def of_fit(tree: xr.DataTree) -> Drawn:
    """Figures of any fit of a failure table."""
    name = clusters(tree)[0]
    return {
        "forest": lambda: figures.forest(tree),
        "mttf_by_size": lambda: figures.mttf_by_size(tree, gpus=[SIZE]),
        "ettr_by_gpus": lambda: figures.ettr_by_gpus(tree, gpus=[SIZE], plans={"plan": PLAN}),
        "attributed_rates": lambda: figures.attributed_rates(tree),
        "shrinkage": lambda: figures.shrinkage(tree),
        "ettr_contours": lambda: figures.ettr_contours(SIZE, PLAN, fit=tree),
        "mitigation_shares": lambda: figures.mitigation_shares(price_measures(tree, SIZE, PLAN, cluster=name)),
        "tornado": lambda: figures.tornado(sensitivity(rates_of(tree, SIZE, cluster=name), PLAN)),
    }


def of_log(jobs: Any, events: Any, tree: xr.DataTree) -> Drawn:
    """Figures of a log of jobs."""
    summary, runs = summarise(jobs, events), measure_runs(jobs, events)
    return {
        "job_states": lambda: figures.job_states(summary),
        "job_sizes": lambda: figures.job_sizes(summary),
        "ledger_bars": lambda: figures.ledger_bars(runs),
        "measured_ettr": lambda: figures.measured_ettr(runs, tree),
    }


def philly(folder: Path) -> Drawn:
    """A log of jobs without states or components."""
    log = read_philly(folder)
    tree = fit(failure_table(log, rule="interruption", min_runtime="10min"), "component_size", **FEW)
    return of_fit(tree) | of_log(log, None, tree)


def lanl(folder: Path) -> Drawn:
    """A log of outages: nodes, years, repairs; no jobs."""
    log = read_lanl(folder / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz")
    nodes = lanl_table(log)
    table = nodes.sel(cluster=["18", "19", "20"]).sum("node", keep_attrs=True)
    years = outage_periods(log, lanl_service(lanl_nodes(log)), period="year", clusters=["20"])
    frail, walk = fit(nodes.sel(cluster=["20"]), "node_frailty", **FEW), fit(years, "over_time", **FEW)
    repairs = fit(repair_table(log), "repair", **FEW)
    return of_fit(fit(table, "component", **FEW)) | {
        "node_signals": lambda: figures.node_signals(nodes.sel(cluster=["20"])),
        "lemon_nodes": lambda: figures.lemon_nodes(frail),
        "rates_over_time": lambda: figures.rates_over_time(walk, horizon="400d"),
        "repair_times": lambda: figures.repair_times(repairs, log),
    }


def simulated(_: Path) -> Drawn:
    """A cluster with everything a log can hold."""
    made = simulate_cluster(seed=4, n_jobs=4000, n_nodes=200, days=40)
    tree = fit(failure_table(made.jobs, made.events), "component_size", **FEW)
    by_node = failure_table(made.jobs, made.events, by_node=True)
    return of_fit(tree) | of_log(made.jobs, made.events, tree) | {
        "node_signals": lambda: figures.node_signals(by_node),
        "goodput_lost": lambda: figures.goodput_lost(goodput(made.jobs, made.events)),
    }  # fmt: skip


@pytest.mark.parametrize("source", [philly, lanl, simulated], ids=lambda source: source.__name__)
def test_every_figure_that_there_are_data_for(source: Callable[[Path], Drawn], shared_data: Path) -> None:
    drawn = source(shared_data)
    assert set(drawn) <= set(NAMES)
    for name, draw in drawn.items():
        figure = draw()
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        assert min(box.x0, box.y0) * 72 > -2, name
        assert box.x1 * 72 < figure.get_figwidth() * 72 + 2, name
        assert box.y1 * 72 < figure.get_figheight() * 72 + 2, name
        for axes in figure.axes:
            assert axes.has_data() or not axes.axison, name  # places of a grid that are left over are off
            for label in [*axes.get_xticklabels(), *axes.get_yticklabels()]:
                assert "e-" not in label.get_text(), name
            limits = np.array([*axes.get_xlim(), *axes.get_ylim()], dtype=float)
            assert np.isfinite(limits).all(), name
