"""Probabilities of meeting a target against simulation of events and against quantiles of the forecast."""

import numpy as np
import pytest
import scipy.stats

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast import (
    Budget,
    Plan,
    Throughput,
    Uncertain,
    forecast_rates,
    probability_done,
    probability_of_ettr,
    stated_rate,
)

DRAWS = np.random.default_rng(8).gamma(30, 6.5 / 30, 2000)
PLAN = Plan(checkpoint_interval="30min", queue="10min", detection="5min", productive="5d")


@pytest.mark.parametrize("gpus", [256, 2048, 16384])
def test_done_by_a_date_as_often_as_simulated_runs(gpus: int) -> None:
    """20 runs of events for each of 2,000 draws, at three dates: 4 standard errors, 6e-5 each; seed 4.

    The runs of one draw share its rate, so the error is that of the means of draws.
    """
    hazard = DRAWS / 1000 * gpus / 8 / 24
    rates = stated_rate(DRAWS, [gpus])
    days = forecast_rates(rates, PLAN)["days_to_finish"].values[0, 1:] * 24
    within = [f"{hours:.3f}h" for hours in (days[1], days[0], days[2])]
    result = probability_done(rates, PLAN, within)
    wall = ettr.simulate(
        4, hazard, 0.5, 1 / 120, 1 / 12, detection=1 / 12, queue=1 / 6, productive=120.0, n_runs=20
    ).reshape(-1, 2000)
    assert wall.shape == (20, 2000)
    for place, text in enumerate(within):
        share = (wall <= float(text[:-1])).mean(axis=0)
        error = share.std() / np.sqrt(2000) + 1e-4
        assert abs(float(result["probability"][0, place]) - share.mean()) < 4 * error, f"{text}, seed 4"


def test_the_date_of_the_forecast_is_kept_as_often_as_it_says() -> None:
    """Bounds and median of days to finish: probabilities 0.05, 0.5 and 0.95, to the error of 2,000 even draws."""
    rates = stated_rate(DRAWS, [1024, 131072])
    days = forecast_rates(rates, PLAN)["days_to_finish"]
    for size in (1024, 131072):
        for figure, probability in (("lower", 0.05), ("median", 0.5), ("upper", 0.95)):
            hours = float(days.sel(gpus=size, figure=figure)) * 24
            result = probability_done(rates.sel(gpus=[size]), PLAN, f"{hours:.6f}h")
            assert float(result["probability"].item()) == pytest.approx(probability, abs=0.015), figure


def test_an_ettr_is_a_date() -> None:
    """Productive over wallclock of at least 0.9 is a wallclock of at most productive / 0.9; uncertain plans as well."""
    rates = stated_rate(DRAWS, [2048, 4096])
    one = probability_of_ettr(rates, PLAN, [0.85, 0.9])
    other = probability_done(rates, PLAN, [f"{120 / 0.85:.9f}h", f"{120 / 0.9:.9f}h"])
    for name in ("probability", "probability_expected"):
        np.testing.assert_allclose(one[name], other[name], atol=1e-6)
    assert one["probability"].dims == ("gpus", "target")
    unsure = Plan(productive=Uncertain(scipy.stats.lognorm(0.2, scale=5), unit="d"), checkpoint_interval="30min")
    wide = probability_of_ettr(rates, unsure, [0.9])
    runs = forecast_rates(rates, unsure)["ettr_run"]
    for size in (2048, 4096):
        row = runs.sel(gpus=size)
        probability = float(wide["probability"].sel(gpus=size).item())
        if float(row.sel(figure="lower")) > 0.9:
            assert probability > 0.94
        elif float(row.sel(figure="upper")) < 0.9:
            assert probability < 0.06


def test_uncertainty_alone_is_a_share_of_the_draws() -> None:
    """ETTR falls with the rate: the expected one is at least 0.9 where the rate is below a bound."""
    result = probability_of_ettr(stated_rate(DRAWS, [4096]), PLAN, 0.9)
    share = float(result["probability_expected"].item())
    bound = f"{np.quantile(DRAWS, share)!r}"
    at = forecast_rates(stated_rate(float(bound.split("(")[-1].rstrip(")")), [4096]), PLAN)["ettr"]
    assert float(at[0, 0]) == pytest.approx(0.9, abs=1e-4)
    assert 0.05 < share < 0.95


def test_uncertain_plans_are_averaged_over() -> None:
    """A restart of 1 or 20 min, equally likely: the mean of the two probabilities."""
    restarts = Uncertain(np.array([60, 1200], dtype="timedelta64[s]"))
    rates = stated_rate(np.full(2000, 6.5), [4096])
    terms = {"checkpoint_interval": "30min", "productive": "5d"}
    both = probability_done(rates, Plan(restart=restarts, **terms), ["5.3d", "5.5d"], seed=2)["probability"].values
    one, other = (
        probability_done(rates[:1], Plan(restart=restart, **terms), ["5.3d", "5.5d"])["probability"].values
        for restart in ("1min", "20min")
    )
    share = 0.5 + 5 * 0.5 / np.sqrt(2000)
    assert (np.abs(both - (one + other) / 2) < (share - 0.5) * np.abs(one - other)).all(), "seed 2, 6e-7"


def test_lists_and_budgets() -> None:
    plan = Plan(restart=["1min", "20min"], checkpoint_interval=["optimal", "1h"], queue="10min")
    speed = Throughput(measured={1024: 1e6, 4096: 3.8e6})
    budget = Budget(work=5e11, throughput=speed)
    result = probability_done(stated_rate(DRAWS, [1024, 4096]), plan, ["6d", "2d"], budget=budget)
    assert result["probability"].dims == ("gpus", "restart", "interval", "within")
    assert result["within_hours"].values.tolist() == [144, 48]
    values = result["probability"]
    assert (values.sel(restart="1min") >= values.sel(restart="20min") - 1e-9).all()
    assert (values.sel(gpus=1024, within="2d") == 0).all()
    assert ((values >= 0) & (values <= 1)).all()


@pytest.mark.parametrize("targets", [0, 1, 1.5, [], np.nan, [[0.9]]])
def test_targets_that_cannot_be_are_refused(targets: object) -> None:
    with pytest.raises(InputError, match="targets"):
        probability_of_ettr(stated_rate(6.5, [8]), Plan(), targets)  # type: ignore[arg-type]


def test_dates_need_a_unit() -> None:
    with pytest.raises(InputError, match="within is 5"):
        probability_done(stated_rate(6.5, [8]), Plan(), 5)  # type: ignore[arg-type]
