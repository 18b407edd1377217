"""The chosen interval is the best one: against exhaustive search and known optima."""

import numpy as np
import pytest
from scipy.special import lambertw

from meantime import ettr
from meantime.forecast import Plan, Uncertain, forecast_rates, stated_rate


def posteriors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {
        "narrow": rng.gamma(400, 6.5 / 400, 4000),
        "wide": rng.gamma(2, 6.5 / 2, 4000),
        "heavy": rng.lognormal(np.log(6.5), 1.5, 4000),
        "two humps": np.concatenate([rng.gamma(400, 0.2 / 400, 2000), rng.gamma(400, 60 / 400, 2000)]),
        "odd count": rng.gamma(3, 2, 3777),
        "with zeros": np.where(rng.random(4000) < 0.1, 0, rng.gamma(3, 2, 4000)),
    }


@pytest.mark.parametrize("posterior", posteriors())
@pytest.mark.parametrize("gpus", [256, 16384, 131072])
@pytest.mark.parametrize("productive", ["30d", "5h"])
def test_no_other_interval_is_better(posterior: str, gpus: int, productive: str) -> None:
    """Posterior mean of the ETTR at 600 intervals and at equal segments, all draws, against the one chosen."""
    draws = posteriors()[posterior]
    plan = Plan(checkpoint_write="60s", queue="2min", detection="1min", productive=productive)
    chosen = forecast_rates(stated_rate(draws, [gpus]), plan).sel(gpus=gpus)
    hours = {"30d": 720.0, "5h": 5.0}[productive]
    spread = np.concatenate([np.geomspace(1e-3, 2000, 600), hours / np.arange(1, 100)])
    intervals = np.minimum(spread, hours)
    hazard = draws / 1000 * gpus / 8 / 24
    nodes, counts = np.unique(np.sort(hazard).round(12), return_counts=True)
    values = ettr.renewal(nodes, intervals[:, None], 1 / 60, 1 / 12, detection=1 / 60, queue=1 / 30, productive=hours)
    best = (values @ counts).max() / counts.sum()
    assert float(chosen["ettr"].sel(figure="mean")) > best - 1e-6
    assert float(chosen["ettr"].sel(figure="mean")) < best + 1e-4, "search over the grid is that fine"


@pytest.mark.parametrize("gpus", [1024, 16384, 131072])
def test_with_one_draw_it_is_the_exact_optimum(gpus: int) -> None:
    """(1 + W(-e^(-lam w - 1))) / lam, but for cutting 3,000 d into equal segments: below 1e-3."""
    lam = 6.5e-3 * gpus / 8 / 24
    exact = (1 + lambertw(-np.exp(-lam / 120 - 1)).real) / lam
    result = forecast_rates(stated_rate(6.5, [gpus]), Plan(productive="3000d"))
    np.testing.assert_allclose(result["checkpoint_interval"].values[0], exact, rtol=1e-6)
    assert float(result["chosen_interval"][0]) == pytest.approx(exact, rel=1e-3)


def test_the_reported_optimum_is_that_of_each_draw() -> None:
    draws = np.array([1.0, 5.0, 20.0])
    lam = draws * 2048 / 24 / 1000
    exact = (1 + lambertw(-np.exp(-lam / 120 - 1)).real) / lam
    figures = forecast_rates(stated_rate(draws, [16384]), Plan())["checkpoint_interval"].sel(gpus=16384)
    assert float(figures.sel(figure="mean")) == pytest.approx(exact.mean(), rel=1e-6)
    assert float(figures.sel(figure="median")) == pytest.approx(exact[1], rel=1e-6)
    chosen = float(forecast_rates(stated_rate(draws, [16384]), Plan())["chosen_interval"][0])
    assert exact[2] < chosen < exact[0]


def test_a_stated_interval_is_all_four_figures() -> None:
    draws = np.random.default_rng(1).gamma(5, 1.3, 500)
    result = forecast_rates(stated_rate(draws, [1024, 16384]), Plan(checkpoint_interval="40min"))
    np.testing.assert_allclose(result["checkpoint_interval"], 2 / 3)
    np.testing.assert_allclose(result["chosen_interval"], 2 / 3)


def test_uncertain_writes_are_weighed_in() -> None:
    """Writes of 10 s or 10 min, equally likely: the interval lies between the two optima and beats both."""
    writes = Uncertain(np.array([10, 600], dtype="timedelta64[s]"))
    rates = stated_rate(np.full(2000, 6.5), [16384])
    result = forecast_rates(rates, Plan(checkpoint_write=writes), seed=5)
    chosen = float(result["chosen_interval"][0])
    own = [
        float(forecast_rates(rates[:1], Plan(checkpoint_write=write))["chosen_interval"][0])
        for write in ("10s", "600s")
    ]
    assert own[0] < chosen < own[1]
    for other in (*own, chosen * 0.8, chosen * 1.2):
        worse = forecast_rates(rates, Plan(checkpoint_write=writes, checkpoint_interval=f"{other}h"), seed=5)
        assert float(worse["ettr"].sel(figure="mean")[0]) < float(result["ettr"].sel(figure="mean")[0])
