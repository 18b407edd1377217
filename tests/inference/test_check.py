"""Posterior predictive checks: quiet where the model is right, loud where it is not."""

import numpy as np
import pytest
from scipy import stats

from meantime.datasets.table import build_table
from meantime.inference import check, fit
from meantime.inference.uniformity import uniform_band, uniform_p_value

from ..models.tables import small_table

SIZES = 2 ** np.arange(3, 9)
PRIOR = {"shape": 20.0, "rate": 5_000.0}


def _table(cells, seed=8, node_days=4_000):
    """40 clusters of one rate, six sizes; `cells` multiplies the mean of each cell."""
    rng = np.random.default_rng(seed)
    days = node_days * rng.uniform(0.5, 1.5, (40, len(SIZES)))
    counts = rng.poisson(4e-3 * days * cells(rng, days.shape))
    return build_table(counts[:, None], days, cluster=[f"c{i}" for i in range(40)], component=["gpu"], job_size=SIZES)


def test_a_true_model_passes():
    """Seed 8, rates drawn from the prior. LOO-PIT p-value above 0.01: false-alarm rate 1 %."""
    table = _table(lambda rng, shape: rng.gamma(20, 1 / 20, (40, 1)), node_days=80)
    result = check(fit(table, "constant", priors=PRIOR), seed=1)
    assert result.attrs["loo_pit_p_value"] > 0.01
    assert not [note for note in result.attrs["notes"] if note.startswith("dispersion")]


def test_overdispersed_sizes_are_seen():
    """Half of the sizes fail four times as often: the totals by size tell, and their dispersion."""
    uneven = np.array([1, 4, 1, 4, 1, 4])
    result = check(fit(_table(lambda rng, shape: uneven), "constant"), seed=1)
    by_size = result.isel(check=np.flatnonzero(result["what"] == "total by job_size"))
    assert by_size["extreme"].all()
    assert by_size["label"].values.tolist() == [str(size) for size in SIZES]
    assert (by_size["p_value"].values > 0.5).tolist() == [True, False] * 3
    assert any(note.startswith("dispersion by job_size") for note in result.attrs["notes"])


def test_p_values_of_totals_are_those_of_the_predictive_distribution():
    """`constant`: a replicated total by size is negative binomial, in closed form."""
    table = _table(lambda rng, shape: 1.0).isel(cluster=[0])
    tree = fit(table, "constant", draws=10_000)
    result = check(tree, seed=3)
    shape, rate = float(tree["exact"]["shape"][0]), float(tree["exact"]["rate"][0])
    for size, days in zip(SIZES, table["exposure"].values[0], strict=True):
        row = result.isel(check=int(np.flatnonzero(result["label"] == str(size))[0]))
        n = float(row["observed"])
        exact = stats.nbinom(shape, rate / (rate + days))
        assert float(row["p_value"]) == pytest.approx(exact.sf(n) + exact.pmf(n) / 2, abs=0.015)


def test_loo_pit_of_one_rate_is_exact():
    """Against the closed form: left out, a cluster's count has the prior's negative binomial distribution."""
    table = _table(lambda rng, shape: 1.0, node_days=100)
    tree = fit(table, "constant", priors=PRIOR, draws=5_000)
    result = check(tree, seed=4)
    counts, days = table["failures"].sum(("job_size", "component")).values, table["exposure"].sum("job_size").values
    exact = stats.nbinom(20, 5_000 / (5_000 + days))
    assert float(result["pareto_k"].max()) < 0.7
    inside = (exact.cdf(counts - 1) - 0.1 < result["loo_pit"][:, 0]) & (
        result["loo_pit"][:, 0] < exact.cdf(counts) + 0.1
    )
    assert inside.mean() > 0.9


def test_every_model_is_checked(trees):
    for name, tree in trees.items():
        result = check(tree, seed=2)
        assert result["predicted"].notnull().all(), name
        assert ((result["p_value"] >= 0) & (result["p_value"] <= 1)).all()
        assert ((result["loo_pit"] >= 0) & (result["loo_pit"] <= 1)).all()
        assert result["observed"].values[2:].sum() > 0


def test_a_component_table_without_sizes():
    tree = fit(small_table().sum("job_size"), "constant")
    assert "total by job_size" not in check(tree)["what"].values


def test_uniform_band_holds_uniform_values():
    """20,000 samples of 50: a band of false-alarm rate 5 % is left by 5 % of them, +- 5 standard errors."""
    values = np.random.default_rng(9).random((20_000, 50))
    band = uniform_band(50, 0.05)
    share = (values[:, :, None] <= band.points).mean(1)
    left = ((share < band.lower - 1e-12) | (share > band.upper + 1e-12)).any(1)
    assert left.mean() == pytest.approx(0.05, abs=0.012)
    p_values = uniform_p_value(values)
    for level in (0.01, 0.1):
        assert (p_values <= level).mean() == pytest.approx(level, abs=0.02)


def test_uniform_band_agrees_with_arviz():
    """Their pointwise band by simulation, 2,000 samples; ours is at most one count off anywhere."""
    from arviz_stats.ecdf_utils import ecdf_pit

    _, _, lower, upper = ecdf_pit(np.linspace(0.005, 0.995, 100), 0.95, 2_000, rng=np.random.default_rng(3))
    band = uniform_band(100, 0.05)
    assert np.abs(lower[1:-1] - band.lower).max() < 0.0101
    assert np.abs(upper[1:-1] - band.upper).max() < 0.0101


@pytest.mark.parametrize("power", [0.6, 1.7])
def test_values_that_are_not_uniform(power):
    assert uniform_p_value(np.random.default_rng(1).random(200) ** power) < 1e-3
