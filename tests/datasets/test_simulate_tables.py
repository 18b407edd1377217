"""Tables drawn straight from the models: parameters, shapes, and the law that the counts follow."""

import numpy as np
import pytest
from scipy import stats

from meantime.datasets.simulate import simulate_table
from meantime.datasets.table import check_table
from meantime.errors import InputError

FALSE_ALARM = 1e-5


def test_shapes_and_labels():
    table, truth = simulate_table(seed=1)
    check_table(table)
    assert dict(table.sizes) == {"cluster": 2, "component": 12, "job_size": 8}
    assert table["job_size"].values.tolist() == [8, 16, 32, 64, 128, 256, 512, 1024]
    assert truth["rate"].dims == ("cluster", "component", "job_size")
    named, _ = simulate_table(seed=1, components=["a", "b"], clusters=["x"], sizes=[64, 4096])
    assert named["component"].values.tolist() == ["a", "b"]
    assert named.attrs["largest_job_gpus"] == 4096


def test_component_model_has_no_sizes():
    table, truth = simulate_table(seed=1, model="component", components=20, clusters=3)
    assert set(table["failures"].dims) == {"cluster", "component"}
    assert "slope" not in truth
    formula = np.exp(truth["level"] + truth["cluster_deviation"]).transpose(*truth["rate"].dims)
    np.testing.assert_allclose(truth["rate"], formula, rtol=1e-12)
    check_table(table)


def test_truth_is_the_formula_of_the_model():
    _, truth = simulate_table(seed=2, slope_mean=0.1, sigma_cell=0.4)
    doublings = np.log2(truth["job_size"] / 64)
    formula = np.exp(truth["level"] + truth["cluster_deviation"] + truth["slope"] * doublings) * truth["cell"]
    np.testing.assert_allclose(truth["rate"], formula.transpose(*truth["rate"].dims), rtol=1e-12)


def test_counts_are_poisson_about_the_truth():
    """Pearson's statistic over 20 x 10 x 12 cells; both tails, false alarm 1e-5."""
    table, truth = simulate_table(seed=3, components=20, clusters=10, sizes=12, exposure=2e5)
    expected = (truth["rate"] * table["exposure"]).transpose(*table["failures"].dims).values
    enough = expected > 5
    statistic = ((table["failures"].values - expected) ** 2 / expected)[enough].sum()
    p = 2 * min(stats.chi2.sf(statistic, enough.sum()), stats.chi2.cdf(statistic, enough.sum()))
    assert p > FALSE_ALARM, statistic


@pytest.mark.parametrize("name", ["level", "slope", "cluster_deviation", "cell"])
def test_parameters_are_drawn_from_what_was_asked_for(name):
    """Kolmogorov-Smirnov against the stated distributions; false alarm 1e-5 each."""
    _, truth = simulate_table(
        seed=4, components=400, clusters=4, sizes=3, mu=-7, sigma_component=0.8, sigma_cluster=0.2,
        slope_mean=0.1, slope_sd=0.03, sigma_cell=0.5,
    )  # fmt: skip
    law = {
        "level": stats.norm(-7, 0.8),
        "slope": stats.norm(0.1, 0.03),
        "cluster_deviation": stats.norm(0, 0.2),
        "cell": stats.gamma(4, scale=0.25),
    }[name]
    assert stats.kstest(truth[name].values.ravel(), law.cdf).pvalue > FALSE_ALARM


def test_given_parameters_are_kept():
    level, slope = np.log([1e-3, 2e-3]), [0.0, 0.1]
    table, truth = simulate_table(
        seed=5, components=2, clusters=1, sizes=[64, 128], level=level, slope=slope, sigma_cluster=0, sigma_cell=0,
        exposure=[[100.0, 50.0]],
    )  # fmt: skip
    np.testing.assert_allclose(truth["rate"].values[0], [[1e-3, 1e-3], [2e-3, 2e-3 * np.exp(0.1)]], rtol=1e-12)
    assert table["exposure"].values.tolist() == [[100.0, 50.0]]


def test_default_fleet_fails_at_about_the_published_rate():
    """Mean over 400 fleets of the total rate at 64 GPUs; within 15 %, which is over 4 standard errors."""
    rates = []
    for seed in range(400):
        _, truth = simulate_table(seed=seed, clusters=1, sigma_cluster=0.0, sizes=[64], sigma_cell=0.0)
        rates.append(truth["rate"].sum().item())
    assert np.mean(rates) == pytest.approx(6.5e-3, rel=0.15)


def test_same_seed_same_table():
    first, again, other = (simulate_table(seed=seed) for seed in (1, 1, 2))
    assert first[0].identical(again[0])
    assert first[1].identical(again[1])
    assert not first[0].identical(other[0])


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"model": "constant"}, "model is 'constant'"),
        ({"sigma_cell": -1}, "sigma_cell is -1"),
        ({"slope": [1, 2, 3]}, "slope has shape"),
        ({"sizes": [3]}, "powers of two"),
    ],
)
def test_bad_input_is_refused(changes, message):
    with pytest.raises(InputError, match=message):
        simulate_table(seed=1, **changes)
