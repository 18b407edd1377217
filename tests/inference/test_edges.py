"""Tables at the edge: no failures, one cell, one cluster, many clusters, nothing but one size seen by some."""

import numpy as np
import pytest

from meantime.datasets.table import build_table
from meantime.inference import fit, predict_rate, provenance

from ..models.tables import small_table


def test_a_component_without_failures(table, sized):
    """Its rate is small but not zero, and below the 95 % Poisson bound of no failure at all times 1.5."""
    empty = table.copy(deep=True)
    empty["failures"][:, 1] = 0
    tree = fit(empty, "component_size", seed=1, progress=False)
    rate = predict_rate(tree, [64], cluster="cluster 0").sel(component="part 1").values
    assert (rate > 0).all()
    assert np.quantile(rate, 0.95) < 1.5 * 2.996 / float(empty["exposure"].sum())


def test_no_failures_at_all(table, plain):
    empty = table.copy(deep=True)
    empty["failures"][:] = 0
    tree = fit(empty, "component", seed=2, progress=False)
    total = tree["posterior"]["rate"].sum("component").mean(("chain", "draw")).values
    assert (total > 0).all()
    assert (total < 3 / empty["exposure"].sum("job_size").values).all()


@pytest.mark.slow
def test_a_cluster_without_exposure(table, plain):
    """It is predicted from the population: wider than the observed one, with finite figures."""
    unseen = table.copy(deep=True)
    unseen["exposure"][1] = 0.0
    unseen["failures"][1] = 0
    tree = fit(unseen, "component", seed=3, progress=False, allow_unconverged=False)
    spread = np.log(tree["posterior"]["rate"]).std(("chain", "draw")).values
    assert np.isfinite(spread).all()
    assert (spread[1] > spread[0]).all()


@pytest.mark.slow
@pytest.mark.parametrize("failures", [0, 1, 500])
def test_one_cell(failures):
    """One component of one cluster: the posterior mean is near (n + something below 1) / exposure."""
    table = build_table([[failures]], [50_000.0], cluster=["A"], component=["gpu"])
    for model in ("component", "component_gamma"):
        tree = fit(table, model, seed=4, progress=False)
        mean = float(tree["posterior"]["rate"].mean()) * 50_000
        assert failures - 0.15 * failures < mean < failures + 2.5


@pytest.mark.slow
def test_one_cluster_with_sizes():
    tree = fit(small_table(clusters=1), "component_size", seed=5, progress=False)
    assert "cluster_deviation" not in tree["posterior"]
    assert predict_rate(tree, [16, 4096]).shape == (4000, 4, 2)


@pytest.mark.slow
def test_many_clusters():
    """40 clusters: the spread between them is found, poor clusters are drawn to their component's level."""
    rng = np.random.default_rng(6)
    exposure = rng.lognormal(8, 2, 40)
    level = np.log([1e-3, 2e-4, 5e-3])
    rate = np.exp(level + 0.5 * rng.standard_normal((40, 3)))
    table = build_table(
        rng.poisson(rate * exposure[:, None]), exposure, cluster=[f"c{i}" for i in range(40)], component=list("xyz")
    )
    tree = fit(table, "component", seed=6, progress=False)
    sigma = tree["posterior"]["sigma_cluster"].values
    assert np.quantile(sigma, 0.005) < 0.5 < np.quantile(sigma, 0.995)
    draws = np.log(tree["posterior"]["rate"].values)
    inside = (np.quantile(draws, 0.05, (0, 1)) < np.log(rate)) & (np.log(rate) < np.quantile(draws, 0.95, (0, 1)))
    assert (
        93 <= inside.sum() <= 119
    )  # 120 rates at 90 %: binomial bounds of probability 1e-4 each, were they independent
    assert provenance(tree)["diagnostics"]["mean_steps"] < 31
