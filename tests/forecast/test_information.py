"""The value of information: exact for a Gamma posterior, and the same from draws."""

import numpy as np
import pytest
import scipy.stats
import xarray as xr

from meantime import ettr
from meantime.datasets.published import load_llama3
from meantime.errors import InputError
from meantime.forecast import Plan, Uncertain, information, information_of_fit, information_of_gamma, stated_rate
from meantime.forecast.information import _future_counts
from meantime.inference import fit

PLAN = Plan(checkpoint_interval="20min")


def test_the_width_is_that_of_simulated_futures() -> None:
    """20,000 futures: a rate from the posterior, its count, the new interval. 4 errors, 6e-5; seed 1."""
    rng = np.random.default_rng(1)
    counts = rng.poisson(rng.gamma(20.5, 1 / 3000, 20_000) * 5000)
    low, high = (scipy.stats.gamma.ppf(p, 20.5 + counts) / 8000 for p in (0.05, 0.95))
    value = [ettr.renewal(rate * 2048 / 24, 1 / 3, 1 / 120, 1 / 12, productive=720.0) for rate in (low, high)]
    result = information_of_gamma(20.5, 3000, [1024, 16384], PLAN, more=[0, 5000])
    for name, widths in (("width_rate", 1000 * (high - low)), ("width_ettr", value[0] - value[1])):
        error = widths.std() / np.sqrt(widths.size)
        assert abs(float(result[name].sel(gpus=16384, more=5000)) - widths.mean()) < 4 * error, f"{name}, seed 1"
    np.testing.assert_allclose(result["narrower_rate"].sel(more=0), 1)
    np.testing.assert_allclose(result["narrower_ettr"].sel(more=0), 1)


def test_much_data_narrows_by_the_root_of_the_exposure() -> None:
    """With thousands of failures the posterior is normal: K times the data, 1 / sqrt(1 + K) of the width."""
    result = information_of_gamma(4000, 1e6, [1024], PLAN, more=[1e6, 3e6, 15e6])
    np.testing.assert_allclose(result["narrower_rate"][0], [2**-0.5, 0.5, 0.25], rtol=2e-3)
    assert (np.diff(result["width_ettr"][0]) < 0).all()


def test_futures_are_negative_binomial() -> None:
    counts, weights = _future_counts(20.5, 3000, 5000)
    assert counts @ weights == pytest.approx(20.5 / 3000 * 5000)
    many, even = _future_counts(4000, 1e4, 1e6)
    assert many @ even == pytest.approx(4000 / 1e4 * 1e6, rel=1e-4)
    assert np.std(many) == pytest.approx(scipy.stats.nbinom(4000, 1e4 / 1.01e6).std(), rel=0.01)


def test_draws_give_what_the_gamma_gives() -> None:
    """4,000 even quantiles of the posterior in place of the posterior; 200 futures leave 2 %."""
    draws = scipy.stats.gamma.ppf((np.arange(4000) + 0.5) / 4000, 20.5) / 3000 * 1000
    exact = information_of_gamma(20.5, 3000, [1024, 16384], PLAN, more=[0, 1000, 10_000])
    result = information(stated_rate(draws, [1024, 16384]), PLAN, more=[0, 1000, 10_000])
    for name in ("width_rate", "width_ettr", "width_rate_now", "width_ettr_now", "narrower_rate", "narrower_ettr"):
        np.testing.assert_allclose(result[name], exact[name], rtol=0.02, err_msg=name)


def test_one_size_informs_about_another_as_far_as_they_agree() -> None:
    """Sizes with the same rate: node-days of one serve both. Unrelated: they are worth nothing to the other."""
    rng = np.random.default_rng(3)
    one, other = rng.gamma(20.5, 1 / 3, 4000), rng.gamma(20.5, 1 / 3, 4000)

    def rates(far: np.ndarray) -> xr.DataArray:
        return xr.DataArray(
            np.stack([one, far], axis=1) / 1000, dims=("sample", "gpus"), coords={"gpus": [1024, 16384]}
        )

    same = information(rates(one), PLAN, more=[10_000], at_gpus=1024)["narrower_rate"]
    assert float(same.sel(gpus=16384).item()) == pytest.approx(float(same.sel(gpus=1024).item()), rel=0.02)
    apart = information(rates(other), PLAN, more=[10_000], at_gpus=1024)["narrower_rate"]
    assert float(apart.sel(gpus=1024).item()) < 0.6
    assert float(apart.sel(gpus=16384).item()) == pytest.approx(1, abs=0.05)


def test_too_much_more_data_for_the_draws_is_refused() -> None:
    draws = np.random.default_rng(1).gamma(20.5, 1 / 3, 500)
    with pytest.raises(InputError, match="effective draws of 500"):
        information(stated_rate(draws, [1024]), PLAN, more=[1e7])


def test_a_fit_is_exact_where_its_posterior_is_a_gamma() -> None:
    """419 failures in 110,592 node-days and the prior's half failure; with an uncertain plan from draws, within 3 %."""
    tree = fit(load_llama3(), "constant", seed=1, progress=False)
    exact = information_of_fit(tree, [16384], PLAN, more=[50_000])
    by_hand = information_of_gamma(419.5, 110_592 + 0.5 / 4e-3, [16384], PLAN, more=[50_000])
    xr.testing.assert_allclose(exact, by_hand, rtol=1e-12)
    assert exact.attrs["exact"] == 1
    unsure = Plan(checkpoint_interval="20min", restart=Uncertain([299, 301], unit="s"))
    drawn = information_of_fit(tree, [16384], unsure, more=[50_000])
    assert drawn.attrs["exact"] == 0
    assert float(drawn["narrower_ettr"].item()) == pytest.approx(float(exact["narrower_ettr"].item()), rel=0.03)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: information_of_gamma(0, 3000, [8], more=[1]), "shape"),
        (lambda: information_of_gamma(5, np.inf, [8], more=[1]), "node_days"),
        (lambda: information_of_gamma(5, 3000, [8], more=[-1]), "more"),
        (lambda: information_of_gamma(5, 3000, [8], more=[]), "more"),
        (lambda: information_of_gamma(5, 3000, [8], more="many"), "more"),
        (lambda: information_of_gamma(5, 3000, [8], Plan(queue=["1min", "2min"]), more=[1]), "single values"),
        (lambda: information_of_gamma(5, 3000, [8], Plan(queue=Uncertain([1, 2], unit="min")), more=[1]), "on draws"),
        (lambda: information(stated_rate([1.0, 2.0], [8]), more=[1], at_gpus=16), "at_gpus"),
        (
            lambda: information(stated_rate([1.0, 2.0], [8]), Plan(queue=["1min", "2min"]), more=[1]),
            "queue of the plan",
        ),
    ],
)
def test_what_cannot_be_is_refused(make: object, match: str) -> None:
    with pytest.raises(InputError, match=match):
        make()  # type: ignore[operator]
