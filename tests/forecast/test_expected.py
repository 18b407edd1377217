"""Expected figures against formulas written out again here, from the derivation."""

import math

import numpy as np
import pytest
import scipy.stats

from meantime.forecast import Plan, Uncertain, expected_ettr, forecast_rates, stated_rate

SIZES = [8, 1024, 16384, 131072, 1_000_000]
PLAN = Plan(restart="5min", checkpoint_write="30s", checkpoint_interval="12min", queue="3min", detection="2min")


def wall_hours(lam: float, plan: tuple[float, ...], productive: float) -> float:
    """Expected wallclock of a run of whole segments: first queue, first restart, and the segments."""
    interval, write, restart, queue, detection = plan
    per_failure = 1 / lam + detection + queue
    segment = per_failure * math.exp(lam * restart) * math.expm1(lam * (interval + write))
    return queue + per_failure * math.expm1(lam * restart) + productive / interval * segment


def test_a_rate_known_exactly_gives_the_closed_forms() -> None:
    """All four figures are one number; 30 d are 3,600 whole segments of 12 min. Tolerance: rounding."""
    result = forecast_rates(stated_rate(6.5, SIZES), PLAN)
    for size in SIZES:
        lam = 6.5e-3 * size / 8 / 24
        row = result.sel(gpus=size)
        wall = wall_hours(lam, (0.2, 1 / 120, 1 / 12, 0.05, 1 / 30), 720.0)
        paper = 1 - lam * (1 / 12 + 0.1)
        paper /= (1 + 1 / 24 + 1 / 12 / 720) * (1 + lam * 0.05) + 0.05 / 720 * paper
        expected = {
            "rate": 6.5e-3,
            "mttf": 1 / lam,
            "ettr": 720 / wall,
            "ettr_kokolis": paper,
            "checkpoint_interval": 0.2,
            "failures_per_day": 24 / (1 / lam + 0.05 + 1 / 30),
            "gpu_hours_lost_per_day": 24 * size * (1 - 720 / wall),
        }
        for name, value in expected.items():
            np.testing.assert_allclose(row[name].values, value, rtol=1e-9, err_msg=f"{name} at {size}")
        assert row["days_to_finish"].sel(figure="mean") == pytest.approx(wall / 24, rel=1e-9)
        assert row["chosen_interval"] == pytest.approx(0.2)


def test_a_gamma_posterior_gives_the_ettr_at_its_quantiles() -> None:
    """ETTR falls with the rate, so its 5 % quantile is the ETTR at the rate's 95 % quantile.

    The draws are the Gamma's quantiles at 40,000 even probabilities, so there is no Monte Carlo error; the
    tolerance is that of interpolation. The mean is compared with quadrature.
    """
    posterior = scipy.stats.gamma(20, scale=6.5 / 20)
    draws = posterior.ppf((np.arange(40_000) + 0.5) / 40_000)
    result = forecast_rates(stated_rate(draws, SIZES), PLAN)
    terms = (0.2, 1 / 120, 1 / 12, 0.05, 1 / 30)
    for size in SIZES[:-1]:

        def ettr(rate: float, nodes: float = size / 8) -> float:
            return 720 / wall_hours(rate / 1000 * nodes / 24, terms, 720.0)

        row = result["ettr"].sel(gpus=size)
        assert row.sel(figure="mean") == pytest.approx(posterior.expect(ettr), rel=1e-5)
        for figure, probability in (("lower", 0.95), ("median", 0.5), ("upper", 0.05)):
            assert row.sel(figure=figure) == pytest.approx(ettr(posterior.ppf(probability)), rel=1e-4), figure
    mttf = result["mttf"].sel(gpus=1024)
    assert mttf.sel(figure="lower") == pytest.approx(24 / 128 / posterior.ppf(0.95) * 1000, rel=1e-4)
    assert mttf.sel(figure="mean") == pytest.approx(24 / 128 * 1000 / (6.5 / 20 * 19), rel=1e-3), "mean of 1/Gamma"


def test_quantiles_at_the_hazard_agree_with_quantiles_over_draws() -> None:
    """An uncertain queue of one value changes nothing but the way the quantiles are computed."""
    draws = np.random.default_rng(4).gamma(5, 6.5 / 5, 3000)
    rates = stated_rate(draws, [16384])
    same = Uncertain(np.array([180], dtype="timedelta64[s]"))
    one = forecast_rates(rates, Plan(queue="3min"))
    other = forecast_rates(rates, Plan(queue=same))
    for name in ("ettr", "ettr_kokolis", "checkpoint_interval", "failures_per_day", "gpu_hours_lost_per_day", "mttf"):
        np.testing.assert_allclose(one[name], other[name], rtol=2e-4, err_msg=name)
    assert float(one["chosen_interval"][0]) == pytest.approx(float(other["chosen_interval"][0]), rel=1e-3)


def test_uncertain_terms_propagate() -> None:
    """With rate known, ETTR is monotone in the restart: its quantiles are those at the restart's (seed 1).

    4,000 draws: a 5 % quantile lies within probability 0.05 +- 5 x 0.0034, false alarm 6e-7 each.
    """
    restart = scipy.stats.lognorm(0.6, scale=8)
    rates = stated_rate(np.full(4000, 6.5), [16384])
    plan = {"checkpoint_interval": "12min"}
    result = forecast_rates(rates, Plan(restart=Uncertain(restart, unit="min"), **plan), seed=1)["ettr"].sel(gpus=16384)
    for figure, probability in (("upper", 0.05), ("median", 0.5), ("lower", 0.95)):
        error = 5 * math.sqrt(probability * (1 - probability) / 4000)
        bounds = [f"{restart.ppf(p) * 60:.6f}s" for p in (probability + error, probability - error)]
        least, most = (
            float(forecast_rates(rates[:1], Plan(restart=bound, **plan))["ettr"].sel(gpus=16384, figure="mean"))
            for bound in bounds
        )
        assert least < float(result.sel(figure=figure)) < most, figure


def test_a_part_of_a_node_counts_as_that_part() -> None:
    result = forecast_rates(stated_rate(6.5, [4, 8, 12]), Plan(checkpoint_interval="1h"))
    hours = result["mttf"].sel(figure="mean").values
    np.testing.assert_allclose(hours * np.array([4, 8, 12]), hours[1] * 8)
    assert result["nodes"].values.tolist() == [1, 1, 2]
    assert "4 and 12 GPUs: part of a node" in result.attrs["notes"]


def test_intervals_longer_than_the_run_mean_no_checkpoint_before_its_end() -> None:
    short = forecast_rates(stated_rate(6.5, [16384]), Plan(productive="2h", checkpoint_interval=["2h", "9d"]))
    np.testing.assert_allclose(short["ettr"].sel(interval="2h"), short["ettr"].sel(interval="9d"), rtol=1e-12)


def test_nothing_is_nan_and_ettr_stays_between_0_and_1() -> None:
    """From no failures at all to one every second, and from 1 GPU to ten million."""
    draws = np.concatenate([[0.0], np.geomspace(1e-9, 1e9, 200)])
    plan = Plan(restart=["1s", "365d"], checkpoint_interval=["optimal", "1s", "365d"], queue=["0s", "365d"])
    result = forecast_rates(stated_rate(draws, [1, 131072, 10_000_000]), plan)
    for name in result.data_vars:
        assert not result[name].isnull().any(), name
    for name in ("ettr", "ettr_run"):
        assert (result[name] > 0).all(), name
        assert (result[name] <= 1).all(), name
    assert (result["ettr"].sel(figure="lower") <= result["ettr"].sel(figure="upper")).all()


@pytest.mark.slow
def test_figures_of_a_plan_do_not_depend_on_the_others_in_the_list() -> None:
    """Known beside drawn ones and drawn beside known ones: to rounding, in every result."""
    rates = np.random.default_rng(5).gamma(20, 6.5 / 20, 1_000)
    rate = stated_rate(rates, [16_384])
    drawn = Uncertain(scipy.stats.lognorm(0.5, scale=5), unit="min", label="drawn")
    listed = {"restart": ["5min", drawn, "10min"], "checkpoint_interval": ["optimal", "30min"]}
    for work in (forecast_rates, expected_ettr):
        together = work(rate, Plan(**listed))
        for value, name in (("5min", "5min"), (drawn, "drawn")):
            alone = work(rate, Plan(restart=value, checkpoint_interval=listed["checkpoint_interval"]))
            for variable in alone.data_vars:
                one = together[variable]
                one = one.sel(restart=name) if "restart" in one.dims else one
                told = f"{work.__name__}: {variable} of {name}"
                np.testing.assert_allclose(one, alone[variable], rtol=1e-13, err_msg=told)
