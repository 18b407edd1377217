"""The expected ETTR of large grids: few hazards and a shared table against all draws."""

import importlib.util
import time
from pathlib import Path

import numpy as np
import pytest
import scipy.stats

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast import Plan, Uncertain, expected_draws, expected_ettr, forecast_rates, stated_rate
from meantime.forecast.hazards import condense, figures_at_nodes, nodes_of
from meantime.forecast.table import table_of
from meantime.intervals import summarise

SIZES = [1, 8, 1024, 16384, 131072, 1_000_000]


def posteriors() -> dict[str, np.ndarray]:
    rng = np.random.default_rng(7)
    return {
        "narrow": rng.gamma(400, 6.5 / 400, 4000),
        "wide": rng.gamma(2, 6.5 / 2, 4001),
        "heavy": rng.lognormal(np.log(6.5), 1.5, 3777),
        "two humps": np.concatenate([rng.gamma(400, 0.2 / 400, 2000), rng.gamma(400, 60 / 400, 2000)]),
        "with zeros": np.where(rng.random(4000) < 0.1, 0, rng.gamma(3, 2, 4000)),
        "few": rng.gamma(3, 2, 17),
        "one": np.array([6.5]),
        "none": np.zeros(10),
    }


@pytest.mark.parametrize("posterior", posteriors())
def test_few_points_average_smooth_functions_like_all_draws(posterior: str) -> None:
    """Weights add up, three moments are kept to rounding, and steep functions within 1e-6 of themselves."""
    draws = posteriors()[posterior]
    points, weights = condense(draws)
    assert weights.sum() == pytest.approx(1)
    assert (weights >= 0).all()
    assert points.min() == draws.min()
    assert points.max() == draws.max()
    for power in (1, 2, 3):
        assert points**power @ weights == pytest.approx((draws**power).mean(), rel=1e-9)
    steep = np.exp(-draws)
    assert np.exp(-points) @ weights == pytest.approx(steep.mean(), rel=1e-6)
    nodes, weights = nodes_of(draws)
    np.testing.assert_allclose(figures_at_nodes(-nodes[None], weights)[0], summarise(-draws), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("posterior", posteriors())
def test_figures_are_those_of_all_draws(posterior: str) -> None:
    """Mean of the ETTR at every draw, which the table misses by less than 1e-6; ETTR at quantiles of the hazard."""
    draws = posteriors()[posterior]
    plan = Plan(restart=["1s", "5min"], checkpoint_interval=["5min", "10h", "60d"], detection="2min", queue="1min")
    result = expected_ettr(stated_rate(draws, SIZES), plan)
    assert result["ettr"].dims == ("gpus", "restart", "interval", "figure")
    for size in SIZES:
        hazard = draws / 1000 * size / 8 / 24
        hazards = np.concatenate([hazard, np.quantile(hazard, [0.5, 0.95, 0.05])])
        for restart, interval in np.ndindex(2, 3):
            exact = ettr.renewal(
                hazards,
                [1 / 12, 10.0, 720.0][interval],
                30 / 3600,
                [1 / 3600, 1 / 12][restart],
                detection=1 / 30,
                queue=1 / 60,
                productive=720.0,
            )
            cell = result["ettr"].sel(gpus=size).isel(restart=restart, interval=interval)
            step = 1 / 128 if posterior == "with zeros" else 1e-6  # from 1 to 0 within one share of the draws
            np.testing.assert_allclose(cell[0], exact[:-3].mean(), atol=step)
            np.testing.assert_allclose(cell[1:], exact[-3:], rtol=1e-9)
    assert (result["ettr"] > 0).all()
    assert (result["ettr"] <= 1).all()


def test_grids_with_searched_intervals_agree_with_the_forecast() -> None:
    draws = posteriors()["wide"]
    plan = Plan(restart=["1min", "5min"], checkpoint_interval=["optimal", "1h"])
    one, other = expected_ettr(stated_rate(draws, SIZES), plan), forecast_rates(stated_rate(draws, SIZES), plan)
    np.testing.assert_allclose(one["ettr"], other["ettr"], rtol=1e-12)
    np.testing.assert_allclose(one["chosen_interval"], other["chosen_interval"], rtol=1e-12)
    assert set(one.coords) == set(other.coords)


def test_draws_are_the_draws_of_the_forecast() -> None:
    rates = stated_rate(posteriors()["wide"], [1024, 16384])
    plan = Plan(restart=Uncertain(scipy.stats.lognorm(0.5, scale=5), unit="min"), queue=["0s", "10min"])
    draws, figures = expected_draws(rates, plan, seed=3), forecast_rates(rates, plan, seed=3)
    assert draws["ettr"].dims == ("gpus", "queue", "sample")
    np.testing.assert_allclose(summarise(draws["ettr"].values), figures["ettr"], rtol=1e-9)
    np.testing.assert_allclose(draws["days_to_finish"].mean("sample"), figures["days_to_finish"].sel(figure="mean"))
    np.testing.assert_allclose(expected_ettr(rates, plan, seed=3)["ettr"], figures["ettr"], rtol=1e-9)
    with pytest.raises(InputError, match="too many"):
        expected_draws(rates, Plan(restart=[f"{n}s" for n in range(200)], queue=[f"{n}s" for n in range(200)]))


def test_the_table_keeps_averages() -> None:
    """Of the function 1 / (1 + x), over ten decades and with hazards of zero; degree 5 misses by 1e-9."""
    rng = np.random.default_rng(3)
    points = np.where(rng.random((5, 300)) < 0.1, 0, 10 ** rng.uniform(-5, 5, (5, 300)))
    weights = rng.dirichlet(np.ones(300), 5)
    at, shares = table_of(points, weights)
    assert at.size < 600
    np.testing.assert_allclose(shares @ (1 / (1 + at)), (weights / (1 + points)).sum(axis=1), rtol=1e-8)
    np.testing.assert_allclose(shares.sum(axis=1), 1)


@pytest.mark.slow
def test_figures_do_not_depend_on_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = stated_rate(posteriors()["wide"], SIZES)
    for plan in (Plan(queue=["0s", "1min", "9min"]), Plan(queue=["0s", "1min", "9min"], checkpoint_interval="1h")):
        whole = expected_ettr(rates, plan)["ettr"]
        with monkeypatch.context() as patch:
            patch.setattr("meantime.forecast.expected._BLOCK", 1000)
            patch.setattr("meantime.forecast.draws._BLOCK", 1000)
            np.testing.assert_allclose(expected_ettr(rates, plan)["ettr"], whole, rtol=1e-12)


@pytest.mark.slow
def test_four_thousand_draws_of_ten_thousand_cells_take_less_than_a_second() -> None:
    """And a twentieth of the time of the formula for every draw; time of the processor, so that others do not count."""
    path = Path(__file__).resolve().parents[2] / "benchmarks" / "forecast.py"
    spec = importlib.util.spec_from_file_location("benchmark_of_forecasts", path)
    assert spec is not None
    assert spec.loader is not None
    benchmark = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(benchmark)
    rates, plan, rate, gpus = benchmark.grid()

    def seconds(function: object) -> float:
        start = time.process_time()
        function()  # type: ignore[operator]
        return time.process_time() - start

    expected_ettr(rates, plan)
    quick = min(seconds(lambda: expected_ettr(rates, plan)) for _ in range(5))
    slow = seconds(lambda: benchmark.plain(rate, gpus))
    assert quick < 1
    assert slow / quick > 20
