"""Budgets of work: throughput by size, days and cost, and the size to choose."""

import math

import numpy as np
import pytest
import scipy.optimize
import xarray as xr

from meantime.errors import InputError
from meantime.forecast import Budget, Plan, Throughput, cluster_size, forecast_rates, forecast_work, stated_rate

RATES = np.random.default_rng(6).gamma(40, 6.5 / 40, 800)
PLAN = Plan(queue="5min", detection="2min")


def budget(**rest: float) -> Budget:
    return Budget(work=15e12, throughput=Throughput(measured={1024: 5e5, 8192: 3.6e6}, **rest))


def test_throughput_goes_through_what_was_measured_and_doubles_beyond() -> None:
    throughput = budget(efficiency_per_doubling=0.9).throughput
    assert throughput.per_second(1024) == pytest.approx(5e5)
    assert throughput.per_second(8192) == pytest.approx(3.6e6)
    assert throughput.per_second(2896) == pytest.approx(math.sqrt(5e5 * 3.6e6), rel=2e-4), "the geometric middle"
    assert throughput.per_second(32768) == pytest.approx(3.6e6 * 1.8**2)
    assert throughput.per_second(256) == pytest.approx(5e5 / 1.8**2)
    steps = Throughput.of_steps({384: "105s"}, efficiency_per_doubling=1)
    assert Budget(work=115_311, throughput=steps, unit="steps").productive_hours(384) == pytest.approx(
        115_311 * 105 / 3600
    )
    assert Budget(work=115_311, throughput=steps).productive_hours(192) == pytest.approx(115_311 * 210 / 3600)


def test_a_budget_is_a_forecast_of_its_productive_time() -> None:
    """Every size as a forecast of its own; days x GPUs x 24 are GPU-hours, and a price makes them money."""
    result = forecast_work(stated_rate(RATES, [1024, 4096, 8192]), budget(), PLAN, price_per_gpu_hour=2.5, seed=3)
    for size in (1024, 4096, 8192):
        hours = budget().productive_hours(size)
        alone = Plan(queue="5min", detection="2min", productive=f"{hours * 3600:.6f}s")
        expected = forecast_rates(stated_rate(RATES, [size]), alone, seed=3).sel(gpus=size)
        row = result.sel(gpus=size)
        for name in ("ettr", "ettr_run", "days_to_finish", "mttf", "chosen_interval"):
            np.testing.assert_allclose(row[name], expected[name], err_msg=name)
        np.testing.assert_allclose(row["gpu_hours"], row["days_to_finish"] * 24 * size)
        np.testing.assert_allclose(row["cost"], row["gpu_hours"] * 2.5)
        assert float(row["productive_hours"]) == pytest.approx(hours)
        assert float(row["days_to_finish"].sel(figure="mean")) * 24 > hours
    assert result.attrs["budget"] == "1.5e+13 tokens"


def test_an_uncertain_throughput_widens_the_days_and_not_the_rate() -> None:
    rates = stated_rate(RATES, [4096])
    sure, unsure = (forecast_work(rates, budget(relative_sd=sd), PLAN, seed=1) for sd in (0.0, 0.1))
    np.testing.assert_array_equal(sure["rate"], unsure["rate"])
    days = [result["days_to_finish"].isel(gpus=0) for result in (sure, unsure)]
    spread = [float(figures.sel(figure="upper") / figures.sel(figure="lower")) for figures in days]
    assert spread[0] < 1.04
    assert spread[1] == pytest.approx(math.exp(2 * 1.645 * 0.1), rel=0.1)


def test_the_size_that_minimises_days() -> None:
    """One rate, known exactly, and 6 % lost at each doubling: the minimum of R(N) / ETTR(N), searched for here."""
    lam = 6.5e-3 / 8 / 24

    def days(log2_gpus: float) -> float:
        gpus = 2.0**log2_gpus
        hazard = lam * gpus
        productive = 15e12 / (5e5 * (gpus / 1024) ** (1 + math.log2(0.94))) / 3600
        growth = math.expm1(hazard * (0.1 + 1 / 120))
        return (productive / 0.1 * math.exp(hazard / 12) * growth / hazard + math.expm1(hazard / 12) / hazard) / 24

    best = scipy.optimize.minimize_scalar(days, bounds=(12, 20), method="bounded").x
    sizes = sorted({8 * round(2 ** (best + step) / 8) for step in (-2, -1, -0.3, 0, 0.3, 1, 2)})
    work = Budget(work=15e12, throughput=Throughput(measured={1024: 5e5}, efficiency_per_doubling=0.94))
    result = cluster_size(stated_rate(6.5, sizes), work, Plan(checkpoint_interval="6min"))
    assert result.attrs["chosen_gpus"] == 8 * round(2**best / 8)
    assert result["probability_best"].values.max() == 1
    nearest = result.sel(gpus=result.attrs["chosen_gpus"])
    assert float(nearest["days_to_finish"].sel(figure="mean")) == pytest.approx(days(best), rel=1e-4)
    assert float(nearest["regret"]) == 0
    assert (result["regret"] >= 0).all()


@pytest.mark.slow
def test_money_wants_few_gpus_and_a_deadline_more() -> None:
    rates = stated_rate(RATES, [1024, 2048, 4096, 8192])
    cheap = cluster_size(rates, budget(), PLAN, aim="cost", price_per_gpu_hour=2)
    assert cheap.attrs["chosen_gpus"] == 1024
    in_time = cluster_size(rates, budget(), PLAN, aim="cost", price_per_gpu_hour=2, within="105d")
    done = in_time["probability_done"].values
    assert (np.diff(done) >= 0).all()
    assert in_time.attrs["chosen_gpus"] == int(in_time["gpus"].values[np.argmax(done >= 0.9)])
    never = cluster_size(rates, budget(), PLAN, aim="cost", within="1d")
    assert never.attrs["chosen_gpus"] == 0
    assert "No size is done within 1d" in never.attrs["notes"]


def test_probability_best_pairs_the_draws_of_sizes() -> None:
    """Two sizes whose rates move together: the larger is the better where the rate is below a bound."""
    bound = 15.0
    draws = np.linspace(1, 30, 501)
    rates = stated_rate(draws, [1024, 131072])
    speeds = {size: size * 500.0 for size in (1024, 131072)}
    work = Budget(work=1e12, throughput=Throughput(measured=speeds))
    plan = Plan(checkpoint_interval="6min")
    at = forecast_rates(stated_rate(bound, [1024, 131072]), Plan(checkpoint_interval="6min", productive="30d"))["ettr"]
    ratio = float(at[0, 0] / at[1, 0])  # make them equal at the bound
    work = Budget(work=1e12, throughput=Throughput(measured={1024: 5e5, 131072: 5e5 * ratio}))
    result = cluster_size(rates, work, plan)
    assert float(result["probability_best"].sel(gpus=131072)) == pytest.approx((draws < bound).mean(), abs=0.02)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: Throughput(measured={}), "GPUs and units per second"),
        (lambda: Throughput(measured={1024: 0}), "above 0"),
        (lambda: Throughput(measured={-8: 5.0}), "gpus is"),
        (lambda: Throughput(measured={1024: 5.0}, efficiency_per_doubling=95), "at most 1.5"),
        (lambda: Throughput.of_steps({384: 105}), "without a unit"),
        (lambda: Budget(work=-1, throughput=Throughput(measured={8: 1.0})), "work"),
        (lambda: Budget(work=1, throughput=5.0), "Throughput"),  # type: ignore[arg-type]
        (lambda: budget().productive_hours(16384), "state efficiency_per_doubling"),
        (lambda: Budget(work=1e-9, throughput=Throughput(measured={8: 1.0})).plan_of(Plan(), 8), "check work"),
        (
            lambda: forecast_work(stated_rate(6.5, [1024]), budget(), Plan(productive=["1d", "2d"])),
            "productive is a list",
        ),
        (lambda: forecast_work(stated_rate(6.5, [1024]), budget(), price_per_gpu_hour=-1), "price"),
        (lambda: cluster_size(stated_rate(6.5, [1024]), budget(), Plan(queue=["1min", "2min"])), "queue of the plan"),
        (lambda: cluster_size(stated_rate(6.5, [1024]), budget(), aim="joy"), "aim"),
        (lambda: cluster_size(stated_rate(6.5, [1024]), budget(), sureness=2), "sureness"),
    ],
)
def test_what_cannot_be_is_refused(make: object, match: str) -> None:
    with pytest.raises(InputError, match=match):
        make()  # type: ignore[operator]


def test_lists_of_the_plan_stay_dimensions() -> None:
    result = forecast_work(stated_rate(RATES, [1024, 8192]), budget(), Plan(restart=["1min", "10min"]))
    assert result["days_to_finish"].dims == ("gpus", "restart", "figure")
    assert result["gpu_hours"].dims == ("gpus", "restart", "figure")
    assert isinstance(result, xr.Dataset)
