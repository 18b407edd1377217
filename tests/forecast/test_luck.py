"""Realised ETTR of single runs against event simulation, and its relation to the expected ETTR."""

import numpy as np
import pytest
import scipy.stats

from meantime import ettr
from meantime.forecast import Plan, forecast_rates, stated_rate
from meantime.forecast.grid import grid_of
from meantime.forecast.luck import LUCK_DRAWS, TERMS, single_runs

PLANS = {
    "few failures": (256, Plan(checkpoint_interval="2h", productive="20d")),
    "some failures": (4096, Plan(checkpoint_interval="30min", productive="10d", queue="10min")),
    "many failures": (16384, Plan(checkpoint_interval="20min", productive="20d", detection="5min")),
    "failures all the time": (131072, Plan(checkpoint_interval="6min", productive="2d", restart="10min")),
}


def runs_of(gpus: int, plan: Plan, rates: np.ndarray, seed: int) -> np.ndarray:
    grid = grid_of(plan, rates.size, seed=seed)
    terms = {name: grid.hours[name] for name in TERMS}
    hazard = rates / 1000 * gpus / 8 / 24
    wallclock, _ = single_runs(hazard, grid.hours["checkpoint_interval"], terms, seed=seed)
    assert wallclock.shape == (1, LUCK_DRAWS)
    return wallclock[0]


def simulated(gpus: int, plan: Plan, rates: np.ndarray, seed: int, n_runs: int = 1) -> np.ndarray:
    """One run (or more) of every draw of the rate by event simulation, which shares no formula."""
    hours = {name: values[0, 0] for name, values in grid_of(plan, 1, seed=0).hours.items()}
    return ettr.simulate(
        seed,
        rates / 1000 * gpus / 8 / 24,
        hours["checkpoint_interval"],
        hours["checkpoint_write"],
        hours["restart"],
        productive=hours["productive"],
        detection=hours["detection"],
        queue=hours["queue"],
        n_runs=n_runs,
    ).ravel()


@pytest.mark.parametrize("case", PLANS)
@pytest.mark.parametrize("spread", ["known", "uncertain"])
def test_single_runs_are_distributed_as_simulated_ones(case: str, spread: str) -> None:
    """Two-sample Kolmogorov-Smirnov, seed 11, p > 1e-4: false alarm 1e-4 for each of the 8 cases."""
    gpus, plan = PLANS[case]
    rates = np.full(4000, 6.5) if spread == "known" else np.random.default_rng(11).gamma(10, 0.65, 4000)
    result = scipy.stats.kstest(runs_of(gpus, plan, rates, 11), simulated(gpus, plan, rates, 11))
    assert result.pvalue > 1e-4, f"{case}, {spread}: seed 11, {result}"


@pytest.mark.parametrize("case", PLANS)
def test_the_bounds_of_the_forecast_hold_what_they_say(case: str) -> None:
    """Share of 4,000 simulated runs inside the 90 % interval, seed 12.

    Binomial error 0.0047, and 2,000 draws add sqrt(2) times that: 5 of both are 0.04; false alarm below 1e-6.
    """
    gpus, plan = PLANS[case]
    rates = np.random.default_rng(12).gamma(10, 0.65, 4000)
    figures = forecast_rates(stated_rate(rates, [gpus]), plan, seed=12).sel(gpus=gpus)
    wallclock = simulated(gpus, plan, rates, 12)
    share = float(figures["productive_hours"]) / wallclock
    inside = (share > float(figures["ettr_run"][2])) & (share < float(figures["ettr_run"][3]))
    assert inside.mean() == pytest.approx(0.9, abs=0.04)
    days = figures["days_to_finish"]
    inside = (wallclock / 24 > float(days[2])) & (wallclock / 24 < float(days[3]))
    assert inside.mean() == pytest.approx(0.9, abs=0.04)
    error = wallclock.std() / np.sqrt(wallclock.size) / 24
    assert float(days.sel(figure="mean")) == pytest.approx(wallclock.mean() / 24, abs=5 * error), "false alarm 6e-7"


@pytest.mark.parametrize("seed", range(3))
def test_luck_widens_the_interval(seed: int) -> None:
    """At every size, and by more where a run meets few failures."""
    rates = np.random.default_rng(seed).gamma(20, 6.5 / 20, 2000)
    sizes = [256, 1024, 4096, 16384, 131072, 1_000_000]
    result = forecast_rates(stated_rate(rates, sizes), Plan(productive="14d"), seed=seed)
    for figure, smaller in (("lower", "ettr_run"), ("upper", "ettr")):
        larger = {"ettr_run": "ettr", "ettr": "ettr_run"}[smaller]
        assert (result[smaller].sel(figure=figure) <= result[larger].sel(figure=figure)).all(), figure
    widths = {
        name: result[name].sel(figure="upper") - result[name].sel(figure="lower") for name in ("ettr", "ettr_run")
    }
    excess = (widths["ettr_run"] / widths["ettr"] - 1).values
    assert excess[0] > 0.5
    assert excess[0] > excess[1] > excess[2] > excess[3] > 0


@pytest.mark.parametrize("case", PLANS)
def test_variances_add_up(case: str) -> None:
    """Var[wall] = Var[E[wall | rate]] + E[Var[wall | rate]], with the exact conditional moments.

    Seed 13. A variance of 2,000 draws of kurtosis k has relative error sqrt((k - 1) / 2000); 5 of them: 6e-7.
    """
    gpus, plan = PLANS[case]
    rates = np.random.default_rng(13).gamma(10, 0.65, 4000)
    hours = {name: values[0, 0] for name, values in grid_of(plan, 1, seed=0).hours.items()}
    mean, variance = ettr.wallclock_moments(
        rates / 1000 * gpus / 8 / 24,
        *(hours[name] for name in ("checkpoint_interval", "checkpoint_write", "restart")),
        productive=hours["productive"],
        detection=hours["detection"],
        queue=hours["queue"],
    )
    runs = runs_of(gpus, plan, rates, 13)
    kurtosis = scipy.stats.kurtosis(runs, fisher=False)
    expected = mean.var() + variance.mean()
    assert runs.var() == pytest.approx(expected, rel=5 * np.sqrt((kurtosis - 1) / LUCK_DRAWS))
    assert variance.mean() > 0
    assert runs.mean() == pytest.approx(mean.mean(), abs=5 * np.sqrt(expected / LUCK_DRAWS))


def test_a_known_rate_leaves_luck_alone() -> None:
    figures = forecast_rates(stated_rate(6.5, [1024]), Plan(checkpoint_interval="1h")).sel(gpus=1024)
    assert np.ptp(figures["ettr"].values) < 1e-12
    assert np.ptp(figures["ettr_run"].values[2:]) > 0.003


def test_plans_are_compared_under_the_same_luck() -> None:
    """With many failures, a longer restart makes every bound worse, however little longer it is."""
    plan = Plan(restart=["300s", "301s", "302s"], checkpoint_interval="10min")
    rates = np.random.default_rng(5).gamma(10, 0.65, 1000)
    figures = forecast_rates(stated_rate(rates, [65536]), plan)["ettr_run"].sel(gpus=65536)
    assert (figures.diff("restart") < 0).all()


def test_the_figures_of_a_plan_do_not_depend_on_its_neighbours() -> None:
    rate = stated_rate(np.random.default_rng(4).gamma(6, 1, 500), 512)
    alone = forecast_rates(rate, Plan(restart="5min", queue="1min"), seed=3)
    listed = forecast_rates(rate, Plan(restart=["1h", "5min"], queue=["0s", "10min", "1min"]), seed=3)
    for name in ("ettr", "ettr_run", "days_to_finish"):
        np.testing.assert_allclose(listed[name].sel(restart="5min", queue="1min"), alone[name], rtol=1e-9)
