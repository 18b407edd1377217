"""Figures of nodes, lives and repairs: what is drawn is the posterior and the data."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from meantime.datasets import repair_table
from meantime.inference import fit, node_posterior, survival_curve
from meantime.report.figures import lemon_nodes, repair_times, save_figures, survival_by_age

FIRST = dt.datetime(2026, 1, 1, tzinfo=dt.UTC)


@pytest.fixture(scope="module")
def outages():
    rng = np.random.default_rng(8)
    hours, component = np.exp(rng.normal(1.0, 1.2, 300)), rng.choice(["gpu", "link"], 300, p=[0.7, 0.3])
    ends = [FIRST + dt.timedelta(hours=float(value)) for value in hours]
    return pl.DataFrame({"start": [FIRST] * 300, "end": ends, "component": component})


def test_worst_nodes_first_and_coloured_by_their_probability(lemon_fit):
    axes = lemon_nodes(lemon_fit, most=40).axes[0]
    posterior = node_posterior(lemon_fit)
    order = np.argsort(-posterior["rate"].mean("sample").values)[:40]
    drawn = {line.get_label(): np.asarray(line.get_xydata()) for line in axes.lines}
    counted = 1000 * posterior["failures"].values[order] / posterior["exposure"].values[order]
    some = counted > 0
    np.testing.assert_allclose(drawn.pop("failures / node-days")[:, 1], counted[some])
    points = np.concatenate(list(drawn.values()))
    points = points[np.argsort(points[:, 0])]
    np.testing.assert_allclose(points[:, 1], 1000 * posterior["rate"].median("sample").values[order])
    surely = 1 + np.flatnonzero(posterior["lemon_probability"].values[order] > 0.9)
    assert drawn["> 90 %"][:, 0].tolist() == surely.tolist()


def test_survival_is_that_of_the_fit_and_of_the_lives(lives_fit):
    """Of a late batch; the points are Breslow's estimator, summed by hand."""
    given = {"batch=new": 1.0, "position": 1.0}
    hazard, survival = survival_by_age(lives_fit, covariates=given).axes
    curve = survival_curve(lives_fit, hazard.lines[0].get_xdata(), covariates=given)
    np.testing.assert_allclose(hazard.lines[0].get_ydata(), 1e6 * curve["hazard"].median("sample"))
    np.testing.assert_allclose(survival.lines[0].get_ydata(), curve["survival"].median("sample"))
    table, effect = lives_fit["fit_data"].to_dataset(), lives_fit["posterior"]["coefficient"].mean(("chain", "draw"))
    design, weight = table["design"].values, table["lives"].values
    at = table["covariate"].values.tolist().index("position")
    mean = np.average(design[:, at], weights=weight)
    distance = design - [given[name] for name in table["covariate"].values]
    distance[:, at] /= np.sqrt(np.average((design[:, at] - mean) ** 2, weights=weight))
    days = np.exp(distance @ effect.values) @ table["exposure"].values
    expected = table["failures"].values.sum(0) / days
    np.testing.assert_allclose(hazard.lines[1].get_ydata(), 1e6 * expected[expected > 0], rtol=1e-9)
    alive = np.exp(-np.cumsum(expected * np.diff(table["cut"].values)))
    np.testing.assert_allclose(survival.lines[1].get_ydata(), alive, rtol=1e-9)


def test_repair_times_against_the_outages(outages, tmp_path):
    """Strokes are quantiles of the outages, points those of the posterior; the larger class stands first."""
    tree = fit(repair_table(outages), "repair", seed=1, method="laplace", progress=False, allow_unconverged=True)
    axes = repair_times(tree, outages).axes[0]
    hours = (outages["end"] - outages["start"]).dt.total_microseconds().to_numpy() / 3.6e9
    for line, share in ((axes.lines[1], 0.5), (axes.lines[3], 0.9), (axes.lines[5], 0.99)):
        expected = [np.quantile(hours[outages["component"].to_numpy() == name], share) for name in ("gpu", "link")]
        np.testing.assert_allclose(line.get_xdata(), expected)
    posterior = tree["posterior"]
    median = np.exp(posterior["log_median"]).median(("chain", "draw")).values
    np.testing.assert_allclose(axes.lines[0].get_xdata(), median)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["GPU", "link"]
    assert [path.name for path in save_figures(tree, tmp_path)] == ["repair_times.png"]
