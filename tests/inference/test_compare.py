"""Comparison by leave-one-out: against exact refits, and what it refuses."""

import numpy as np
import pytest
import xarray as xr
from scipy import stats

from meantime.datasets.table import build_table
from meantime.errors import InputError
from meantime.inference import compare, fit
from meantime.inference.cells import common_likelihoods
from meantime.models import ConstantPriors


def _negative_binomial(count, days, shape, rate):
    """Log probability of a count under a Gamma(shape, rate) belief about its rate."""
    return stats.nbinom.logpmf(count, shape, rate / (rate + days))


def test_elpd_is_that_of_exact_refits():
    """`constant` fitted to a table with sizes: each cell left out has a closed-form predictive distribution."""
    rng = np.random.default_rng(5)
    days = rng.uniform(2_000, 20_000, 12)
    counts = rng.poisson(days * 4e-3)
    sizes = 2 ** np.arange(3, 15)
    table = build_table(counts[None, None], days[None], cluster=["A"], component=["gpu"], job_size=sizes)
    tree = fit(table, "constant", seed=1, draws=4000)
    sized = fit(table, "component_size", seed=1, progress=False)
    priors = ConstantPriors()
    exact = [
        _negative_binomial(n, e, priors.shape + counts.sum() - n, priors.rate + days.sum() - e)
        for n, e in zip(counts, days, strict=True)
    ]
    result = compare({"one rate": tree, "sizes": sized})
    found = result["elpd_i"].sel(model="one rate").values[:, 0]
    assert found == pytest.approx(exact, abs=0.03)  # 16,000 independent draws
    assert float(result["elpd"].sel(model="one rate")) == pytest.approx(sum(exact), abs=0.1)
    assert result["weight"].sum() == pytest.approx(1)
    assert any("cells" in note for note in result.attrs["notes"])


def test_models_are_held_to_the_same_cells(sized, plain, pooled):
    """The size model's cells, for all; the elpd of a model that leaves a real trend out is lower."""
    result = compare([plain, sized, pooled])
    assert result.attrs["observations"] == sized["observed_data"]["failures"].size
    assert set(result["model"].values) == {"component_size", "component", "component_gamma"}
    assert (np.diff(result["elpd"]) <= 0).all()
    assert float(result["difference"][0]) == 0
    assert float(result["weight"].sum()) == pytest.approx(1, abs=1e-6)


def test_finer_cells_say_of_a_sum_what_the_sum_says(sized, plain):
    """Poisson counts by size, given their sum, are multinomial whatever the rate: likelihoods differ by a constant."""
    fine = common_likelihoods({"a": sized, "b": plain})["b"]
    coarse = plain["log_likelihood"]["failures"]
    difference = fine.groupby("cluster").sum("stratum").values - coarse.values
    assert np.ptp(difference, axis=(0, 1)).max() < 1e-8


def test_refusals(sized, plain, exact, table):
    other = table.copy(deep=True)
    other["failures"][0, 0, 0] += 1
    with pytest.raises(InputError, match="different data"):
        compare({"a": exact, "b": fit(other, "constant")})
    with pytest.raises(InputError, match="knows no components"):
        compare([sized, exact])
    with pytest.raises(InputError, match="two or more"):
        compare([sized])
    with pytest.raises(InputError, match="give them names"):
        compare([sized, sized])
    bare = xr.DataTree.from_dict({name: node for name, node in plain.children.items() if name != "log_likelihood"})
    bare.attrs = plain.attrs
    with pytest.raises(InputError, match="no pointwise likelihood"):
        compare({"a": bare, "b": plain})
