"""Figures of logs, runs, plans and mitigations draw the numbers that they are given."""

import datetime as dt

import numpy as np
import polars as pl
import pytest
import xarray as xr
from matplotlib.collections import LineCollection
from matplotlib.figure import Figure

from meantime.errors import InputError
from meantime.forecast import (
    CheaperCheckpoint,
    FasterRestart,
    Plan,
    ScaleComponent,
    forecast,
    mitigate_rates,
    stated_rate,
)
from meantime.report.evidence import garwood
from meantime.report.figures import (
    attributed_rates,
    ettr_contours,
    goodput_lost,
    job_sizes,
    job_states,
    ledger_bars,
    measured_by_size,
    measured_ettr,
    mitigation_shares,
    node_signals,
    shrinkage,
    tornado,
)
from meantime.report.style import NARROW, WIDE

PLAN = Plan(restart="5min", checkpoint_write="30s")
HOUR = dt.timedelta(hours=1)
GOODPUT = {
    "first_order": {
        "failures": 30,
        "gpu_hours": 90.0,
        "by_size": [{"job_size": 8, "jobs": 20, "gpu_hours": 10.0}, {"job_size": 1024, "jobs": 10, "gpu_hours": 80.0}],
    },
    "second_order": {"preemptions": 4, "gpu_hours": 10.0, "by_size": [{"job_size": 64, "jobs": 4, "gpu_hours": 10.0}]},
    "second_order_share": 0.1,
}
"""What `meantime.datasets.goodput` says of a small log."""


def texts(figure: Figure) -> set[str]:
    figure.draw_without_rendering()
    return {text.get_text().replace("\u00a0", " ") for text in figure.findobj(lambda one: hasattr(one, "get_text"))}


def runs_of(*rows: tuple[int, float, float, float, float]) -> pl.DataFrame:
    """Runs as `measure_runs` gives them, from (GPUs, productive, lost, restart, queue) in hours."""
    parts = ("productive", "lost", "restart", "queue")
    return pl.DataFrame(
        [
            {
                "cluster": "RSC-1",
                "run": f"run {index}",
                "n_gpus": gpus,
                "attempts": 2,
                "wallclock": sum(hours) * HOUR,
                **{name: value * HOUR for name, value in zip(parts, hours, strict=True)},
                "checkpoint": 0 * HOUR,
                "unknown": 0 * HOUR,
                "scheduled": sum(hours[:3]) * HOUR,
            }
            for index, (gpus, *hours) in enumerate(rows)
        ]
    )


RUNS = runs_of((8, 30, 2, 1, 1), (8, 40, 1, 1, 2), (7, 60, 4, 2, 3), (1000, 50, 20, 5, 10), (8, 1, 0, 0, 0))


@pytest.fixture(scope="module")
def by_node() -> xr.Dataset:
    failures = np.array([[[0, 0, 1, 9], [0, 2, 0, 7]]])
    return xr.Dataset(
        {"failures": (("cluster", "component", "node"), failures)},
        coords={"cluster": ["c"], "component": ["gpu_memory", "pcie"], "node": ["a", "b", "c", "<b>lemon"]},
    )


@pytest.fixture(scope="module")
def priced() -> xr.Dataset:
    """Four mitigations of a job on 16,384 GPUs at 6.5 failures per 1,000 node-days."""
    measures = [FasterRestart("1min"), CheaperCheckpoint("5s"), ScaleComponent("all", 0.5)]
    return mitigate_rates(stated_rate(np.linspace(5, 8, 20), 16384), PLAN, measures)


@pytest.fixture(scope="module")
def swings() -> xr.Dataset:
    """Swings as `meantime.forecast.sensitivity` gives them; an input without any comes last."""
    columns = {
        "low": [15 / 3600, 5.9, 2.5 / 60, 0.0],
        "high": [60 / 3600, 8.6, 10 / 60, 0.0],
        "ettr_at_low": [0.88, 0.87, 0.875, 0.86],
        "ettr_at_high": [0.81, 0.84, 0.845, 0.86],
        "swing": [0.07, 0.03, 0.03, 0.0],
        "uncertain": [False, True, False, False],
    }
    names = ["checkpoint_write", "all components", "restart", "queue"]
    data = {name: (("gpus", "input"), np.array([values])) for name, values in columns.items()}
    found = xr.Dataset(data, coords={"gpus": [16384], "input": names}, attrs={"swing": 2.0})
    return found.assign(ettr_at_medians=("gpus", [0.86]))


def test_job_states_and_sizes_take_fits_tables_and_summaries(size_fit: xr.DataTree) -> None:
    sizes = [{"job_size": 8, "share_of_attempts": 0.9, "share_of_gpu_time": 0.2},
             {"job_size": 1024, "share_of_attempts": 0.1, "share_of_gpu_time": 0.8}]  # fmt: skip
    assert {"8", "1,024", "90 %", "20 %"} <= texts(job_sizes({"sizes": sizes}))
    table = size_fit["fit_data"].to_dataset()
    assert texts(job_states(table)) == texts(job_states(size_fit))
    bars = [patch.get_width() for patch in job_sizes({"sizes": sizes}).axes[0].patches]
    assert bars == pytest.approx([0.9, 0.1, 0.2, 0.8])
    for wrong in ({"states": []}, {}):
        with pytest.raises(InputError, match="no summary of job"):
            job_sizes(wrong)
    with pytest.raises(InputError, match="expected a fit, a failure table"):
        job_states(3)  # type: ignore[arg-type]


def test_attributed_rates_are_counts_over_exposure(component_fit: xr.DataTree) -> None:
    axes = attributed_rates(component_fit).axes[0]
    n = np.array([148, 72, 54, 35, 2, 0])
    dots = next(line for line in axes.lines if line.get_marker() == "o")
    assert dots.get_xdata() == pytest.approx(1000 * n[:-1] / (2048 * 54))
    lower, upper = garwood(n, 2048 * 54.0)
    drawn = np.array([path[:, 0] for path in axes.collections[0].get_segments()])
    assert drawn == pytest.approx(1000 * np.stack([lower, upper], axis=1)[:-1])
    bound = next(line for line in axes.lines if line.get_marker() == "<")
    assert bound.get_xdata() == pytest.approx([1000 * upper[-1]])


def test_attributed_rates_of_several_clusters(two_fit: xr.DataTree) -> None:
    assert {"RSC-1, exact 90 % interval", "RSC-2, exact 90 % interval"} <= texts(attributed_rates(two_fit))
    with pytest.raises(InputError, match="cluster 'RSC-9' is not in the source"):
        attributed_rates(two_fit, clusters=["RSC-9"])


def test_goodput_lost_stacks_both_orders() -> None:
    figure = goodput_lost(GOODPUT)
    bars = [(patch.get_y(), patch.get_height()) for patch in figure.axes[0].patches]
    assert bars == [(0, 10), (0, 0), (0, 80), (10, 0), (0, 10), (80, 0)]
    assert "second order: 10.0 GPU-hours, 10 % of all lost" in texts(figure)
    with pytest.raises(InputError, match="nothing to draw"):
        goodput_lost({name: {"gpu_hours": 0.0, "by_size": []} for name in ("first_order", "second_order")})
    with pytest.raises(InputError, match=r"what meantime\.datasets\.goodput returns"):
        goodput_lost({})


def test_ledger_bars_add_up_to_the_wallclock() -> None:
    alone, together = ledger_bars(RUNS), ledger_bars(RUNS, by_size=True)
    for figure in (alone, together):
        ends = [patch.get_x() + patch.get_width() for patch in figure.axes[0].patches]
        assert max(ends) == pytest.approx(1)
    longest = alone.axes[0].patches[0]
    assert longest.get_width() == pytest.approx(50 / 85)  # the run of 1,000 GPUs, productive over wallclock
    whole = 8 * (30 + 40 + 1) + 7 * 60 + 1000 * 50
    everything = 8 * (34 + 44 + 1) + 7 * 69 + 1000 * 85
    assert together.axes[0].patches[0].get_width() == pytest.approx(whole / everything)
    assert {"all runs (5)", "8 GPUs (4)", "1,024 GPUs (1)", "0.588"} <= texts(together)
    with pytest.raises(InputError, match="runs has no ledger"):
        ledger_bars(pl.DataFrame({"run": ["a"]}))


def test_runs_of_a_size_are_measured_together() -> None:
    """Only runs of 24 hours and more; the size is that of the bucket."""
    rows = measured_by_size(RUNS)
    assert rows["gpus"].to_list() == [8, 1024]
    assert rows["runs"].to_list() == [3, 1]
    assert rows["ettr"].to_list() == pytest.approx([130 / 147, 50 / 85])
    assert rows["productive"][0] == pytest.approx(130 / 3 * 3600)
    assert rows["queue"][0] == pytest.approx(3600)  # six hours in six attempts
    assert rows["lower"][0] < 130 / 147 < rows["upper"][0]
    assert rows["lower"][1] is None
    with pytest.raises(InputError, match="choose a smaller at_least"):
        measured_by_size(RUNS, at_least="30d")


def test_measured_stands_beside_the_forecast_of_such_runs(size_fit: xr.DataTree) -> None:
    axes = measured_ettr(RUNS, size_fit).axes[0]
    dots = next(line for line in axes.lines if line.get_marker() == "o")
    assert dots.get_ydata() == pytest.approx([130 / 147, 50 / 85])
    plan = Plan(restart="5min", checkpoint_interval="1h", checkpoint_write="0s", queue="5h", productive="50h")
    expected = float(forecast(size_fit, [1024], plan)["ettr"].sel(gpus=1024, figure="median"))
    kinds = [kind for kind in axes.collections if isinstance(kind, LineCollection)]
    lines = [path[0, 1] for kind in kinds for path in kind.get_segments()]
    assert any(abs(height - expected) < 1e-9 for height in lines)


def test_contours_follow_the_closed_form(size_fit: xr.DataTree) -> None:
    """At each rate the best interval is where the contours have their tops: the exact optimum by Lambert's W."""
    from scipy.special import lambertw

    axes = ettr_contours(16384, PLAN, fit=size_fit).axes[0]
    line = next(line for line in axes.lines if line.get_label() == "_best")
    lam = line.get_ydata() / 1000 * 2048 / 24
    exact = (1 + lambertw(-np.exp(-lam * 30 / 3600 - 1)).real) / lam
    assert line.get_xdata() == pytest.approx(exact, rel=1e-6)
    with pytest.raises(InputError, match="restart of the plan is a list"):
        ettr_contours(64, Plan(restart=["1min", "5min"]))


def test_tornado_draws_the_swings(swings: xr.Dataset) -> None:
    axes = tornado(swings).axes[0]
    one = swings.sel(gpus=16384)
    middle = float(one["ettr_at_medians"])
    shown = int((one["swing"] > 0).sum())
    low = [patch.get_x() + patch.get_width() for patch in axes.patches[:shown]]
    assert low == pytest.approx(one["ettr_at_low"].values[:shown])
    assert axes.lines[0].get_xdata()[0] == pytest.approx(middle)
    assert [tick.get_text().replace("\n", " ") for tick in axes.get_yticklabels()] == [
        "checkpoint write",
        "all components *",
        "restart",
    ]
    assert "2.5 to 10 min" in texts(axes.get_figure())
    with pytest.raises(InputError, match="expected one of"):
        tornado(swings, gpus=8)


def test_mitigation_shares_add_up_to_the_joint_gain(priced: xr.Dataset) -> None:
    axes = mitigation_shares(priced).axes[0]
    bars = [patch.get_width() for patch in axes.patches]
    assert bars == sorted(bars, reverse=True)
    assert sum(bars) == pytest.approx(float(priced["gain_together"].sel(figure="median", gpus=16384)), rel=0.01)
    alone = next(line for line in axes.lines if line.get_marker() == "D")
    assert sorted(alone.get_xdata()) == pytest.approx(
        sorted(priced["gain_alone"].sel(figure="median", gpus=16384).values)
    )
    with pytest.raises(InputError, match=r"what meantime\.forecast\.mitigate returns"):
        mitigation_shares(xr.Dataset())


def test_shrinkage_draws_every_cell_between_counts_and_pool(size_fit: xr.DataTree) -> None:
    axes = shrinkage(size_fit).axes[0]
    table = size_fit["fit_data"]
    n = table["failures"].values[0]
    raw = 1000 * n / table["exposure"].values[0]
    dots, empty = axes.collections[1].get_offsets(), axes.collections[2].get_offsets()
    assert sorted(dots[:, 0]) == pytest.approx(sorted(raw[n > 0]))
    assert len(empty) == (n == 0).sum()
    fitted = np.median(size_fit["posterior"]["rate"].values.reshape(-1, *n.shape), axis=0) * 1000
    assert sorted([*dots[:, 1], *empty[:, 1]]) == pytest.approx(sorted(fitted.ravel()))


def test_node_signals_count_nodes_from_above(by_node: xr.Dataset) -> None:
    figure = node_signals(by_node, named=["<b>lemon"])
    assert [axes.get_title(loc="left") for axes in figure.axes[:3]] == ["all components", "GPU memory", "PCIe"]
    step = figure.axes[1].lines[0]
    assert list(zip(step.get_xdata(), step.get_ydata(), strict=True)) == [(0, 4), (1, 2), (9, 1), (9, 1)]
    mark = figure.axes[1].lines[1]
    assert (mark.get_xdata()[0], mark.get_ydata()[0]) == (9, 1)
    for wrong, message in (({"named": ["z"]}, "node 'z'"), ({"signals": ["x"]}, "signal 'x'")):
        with pytest.raises(InputError, match=message):
            node_signals(by_node, **wrong)
    with pytest.raises(InputError, match="no column 'node'"):
        node_signals(pl.DataFrame({"a": [1]}))


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_is_drawn_outside(
    width: float, size_fit: xr.DataTree, by_node: xr.Dataset, priced: xr.Dataset, swings: xr.Dataset
) -> None:
    """Two points of slack: half a marker or a line cap may stand over."""
    drawn = {
        "attributed": attributed_rates(size_fit, width=width),
        "contours": ettr_contours(16384, PLAN, fit=size_fit, width=width),
        "ledger": ledger_bars(RUNS, width=width),
        "lost": goodput_lost(GOODPUT, width=width),
        "shapley": mitigation_shares(priced, width=width),
        "shrinkage": shrinkage(size_fit, width=width),
        "signals": node_signals(by_node, width=width),
        "tornado": tornado(swings, width=width),
    }
    for name, figure in drawn.items():
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        right, top = figure.get_size_inches() * 72
        assert min(box.x0, box.y0) * 72 > -2, name
        assert box.x1 * 72 < right + 2, name
        assert box.y1 * 72 < top + 2, name
