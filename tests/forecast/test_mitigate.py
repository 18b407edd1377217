"""Mitigations against forecasts of the changed inputs, against simulation, and in every order."""

import itertools

import numpy as np
import pytest
import scipy.stats
import xarray as xr

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast import (
    AsyncCheckpoint,
    CheaperCheckpoint,
    FasterDetection,
    FasterRestart,
    HotSpares,
    Plan,
    RemoveLemons,
    ScaleComponent,
    Uncertain,
    forecast_rates,
    mitigate_rates,
)

BASE = {"restart": "6min", "checkpoint_write": "40s", "queue": "10min", "detection": "5min"}


def rates(n: int = 600, gpus: tuple[int, ...] = (1024, 16384)) -> xr.DataArray:
    rng = np.random.default_rng(11)
    draws = np.stack([rng.gamma(50, 2 / 50, n), rng.gamma(20, 3 / 20, n), rng.gamma(5, 1.5 / 5, n)], axis=1) / 1000
    return xr.DataArray(
        np.repeat(draws[:, :, None], len(gpus), axis=2),
        dims=("sample", "component", "gpus"),
        coords={"component": ["gpu", "ib", "fs"], "gpus": list(gpus)},
    )


def lemons() -> xr.DataArray:
    draws = np.random.default_rng(5).gamma(2, 1, (300, 40))
    return xr.DataArray(draws, dims=("sample", "node"), coords={"node": [f"n{i}" for i in range(40)]})


def gain(result: xr.Dataset) -> np.ndarray:
    return result["gain_alone"].sel(figure="mean").values[:, 0]


@pytest.mark.parametrize(
    ("mitigation", "changed"),
    [
        (FasterRestart("1min"), {"restart": "1min"}),
        (FasterRestart(factor=0.5), {"restart": "3min"}),
        (FasterRestart("1h"), {}),
        (CheaperCheckpoint("5s"), {"checkpoint_write": "5s"}),
        (CheaperCheckpoint(factor=0.25), {"checkpoint_write": "10s"}),
        (FasterDetection("10s"), {"detection": "10s"}),
        (FasterDetection(factor=2), {"detection": "10min"}),
        (ScaleComponent("ib", 1), {}),
        (AsyncCheckpoint("40s", "0s"), {}),
    ],
)
def test_one_mitigation_is_a_forecast_of_the_changed_plan(mitigation: object, changed: dict[str, str]) -> None:
    """Means of the expected ETTR at each one's own best interval; the maximum is flat, so within 1e-5."""
    before = forecast_rates(rates(), Plan(**BASE))["ettr"]
    after = forecast_rates(rates(), Plan(**BASE | changed))["ettr"]
    result = mitigate_rates(rates(), Plan(**BASE), [mitigation])
    np.testing.assert_allclose(result["ettr_before"], before, atol=1e-5)
    np.testing.assert_allclose(result["ettr_after"], after, atol=1e-5)
    np.testing.assert_allclose(gain(result), (after - before).sel(figure="mean"), atol=1e-5)


def test_a_scaled_component_is_a_forecast_of_scaled_rates() -> None:
    scaled = rates() * xr.DataArray([1, 0.3, 1], dims="component")
    result = mitigate_rates(rates(), Plan(**BASE), [ScaleComponent("ib", 0.3)])
    np.testing.assert_allclose(result["ettr_after"], forecast_rates(scaled, Plan(**BASE))["ettr"], atol=1e-5)


def test_removed_lemons_scale_all_rates_or_one_component() -> None:
    order = np.argsort(-lemons().mean("sample").values)
    factor = lemons().values[:, order[3:]].mean(axis=1) / lemons().values.mean(axis=1)
    per_draw = xr.DataArray(np.repeat(factor, 2), dims="sample")
    for component, scale in (
        (None, per_draw),
        ("ib", xr.concat([per_draw * 0 + 1, per_draw, per_draw * 0 + 1], "component")),
    ):
        result = mitigate_rates(rates(), Plan(**BASE), [RemoveLemons(3, lemons(), component)])
        expected = forecast_rates((rates() * scale).transpose("sample", "component", "gpus"), Plan(**BASE))["ettr"]
        np.testing.assert_allclose(result["ettr_after"], expected, atol=1e-5)


def test_asynchronous_checkpoints_are_the_renewal_form_of_their_synchronous_twin() -> None:
    """Left out, writing beside the run takes as long as the blocking write of the plan, 40 s."""
    plan = Plan(**BASE, checkpoint_interval="12min", productive="30d")
    result = mitigate_rates(rates(), plan, [AsyncCheckpoint("2s", slowdown=0.1)])
    twin = ettr.asynchronous(0.2, 2 / 3600, 40 / 3600, 0.1, slowdown=0.1, productive=720.0)
    for size in (1024, 16384):
        hazard = rates().sel(gpus=size).sum("component").values * size / 8 / 24
        value = ettr.renewal(hazard, *twin, detection=1 / 12, queue=1 / 6, productive=720.0)
        assert float(result["ettr_after"].sel(gpus=size, figure="mean")) == pytest.approx(value.mean(), rel=1e-9)


@pytest.mark.parametrize("shape", [0.5, 3.0])
def test_spares_are_missing_as_often_as_in_a_simulation(shape: float) -> None:
    """Failures at rate 1.5/h, repair of 4 h on average: how often do six spares not suffice?

    Arrivals see the number under repair just before them (PASTA); 300,000 failures, batches of 300 for the error.
    False alarm 6e-5 (4 standard errors), seed 3.
    """
    rng = np.random.default_rng(3)
    times = np.cumsum(rng.exponential(1 / 1.5, 300_000))
    back = times + rng.gamma(shape, 4 / shape, times.size)
    under_repair = np.arange(times.size) - np.searchsorted(np.sort(back), times)
    missing = (under_repair >= 6).astype(float)
    error = missing[:300_000].reshape(1000, 300).mean(axis=1).std() / np.sqrt(1000)
    exact = scipy.stats.poisson.sf(5, 6.0)
    assert abs(missing.mean() - exact) < 4 * error, "seed 3"


def test_missing_spares_are_those_of_a_fleet_with_as_much_repair() -> None:
    """The Poisson tail that mitigations use is the fleet form of `ettr.spare_pool`."""
    hazard = np.array([0.01, 0.5, 3.0])
    pool = ettr.spare_pool(2048, 6, hazard * 24 / 2048, 4.0, stops=False)
    np.testing.assert_allclose(pool.none_left, scipy.stats.poisson.sf(5, hazard * 4), rtol=1e-9)


def test_spares_replace_the_queue_of_the_failures_that_find_one() -> None:
    plan = Plan(**BASE, checkpoint_interval="12min")
    result = mitigate_rates(rates(), plan, [HotSpares(6, repair="4h", swap="1min")])
    hazard = rates().sel(gpus=16384).sum("component").values * 2048 / 24
    missing = scipy.stats.poisson.sf(5, hazard * 4)
    wall = 1 / hazard + 1 / 12 + missing / 6 + (1 - missing) / 60
    growth = np.expm1(hazard * (0.2 + 40 / 3600))
    whole = 1 / 6 + wall * np.expm1(hazard * 0.1) + 3600 * wall * np.exp(hazard * 0.1) * growth
    assert float(result["ettr_after"].sel(gpus=16384, figure="mean")) == pytest.approx((720 / whole).mean(), rel=1e-9)
    assert "48 GPUs idle, 1,152 GPU-hours a day" in result.attrs["notes"]
    none = mitigate_rates(rates(), Plan(), [HotSpares(6)])
    assert gain(none) == pytest.approx(0, abs=1e-12)
    assert "nothing to save" in none.attrs["notes"]


def test_the_order_does_not_matter() -> None:
    """All 120 orders of five, three of which work on the same two terms."""
    five = [
        CheaperCheckpoint(factor=0.5),
        AsyncCheckpoint("4s", "2min"),
        CheaperCheckpoint("20s"),
        ScaleComponent("ib", scipy.stats.beta(3, 7)),
        HotSpares(3),
    ]
    plan = Plan(**BASE)
    reference = None
    for order in itertools.islice(itertools.permutations(five), 0, 120, 7):
        result = mitigate_rates(rates(100, (16384,)), plan, order, seed=4).sortby("mitigation")
        reference = result if reference is None else reference
        xr.testing.assert_allclose(result, reference, rtol=1e-9)
        assert set(result.attrs["notes"].split("\n")) == set(reference.attrs["notes"].split("\n"))


def test_two_of_a_kind_combine() -> None:
    both = mitigate_rates(rates(), Plan(**BASE), [FasterRestart("3min"), FasterRestart(factor=0.5)])
    one = mitigate_rates(rates(), Plan(**BASE), [FasterRestart("90s")])
    np.testing.assert_allclose(both["ettr_after"], one["ettr_after"], atol=1e-5)
    halves = mitigate_rates(rates(), Plan(**BASE), [ScaleComponent("ib", 0.5), ScaleComponent("ib", 0.25)])
    eighth = mitigate_rates(rates(), Plan(**BASE), [ScaleComponent("ib", 0.125)])
    np.testing.assert_allclose(halves["ettr_after"], eighth["ettr_after"], atol=1e-5)
    pools = mitigate_rates(rates(), Plan(**BASE), [HotSpares(2), HotSpares(3)])
    pool = mitigate_rates(rates(), Plan(**BASE), [HotSpares(5)])
    np.testing.assert_allclose(pools["ettr_after"], pool["ettr_after"], atol=1e-5)


def test_shares_add_up_and_lie_between_alone_and_last() -> None:
    several = [FasterRestart("1min"), AsyncCheckpoint("2s"), ScaleComponent("ib", 0.3), FasterDetection("10s")]
    result = mitigate_rates(rates(), Plan(**BASE), several).sel(figure="mean")
    np.testing.assert_allclose(result["gain_shapley"].sum("mitigation"), result["gain_together"], rtol=1e-9)
    assert (result["gain_shapley"] < result["gain_alone"]).all()
    assert (result["gain_shapley"] > result["gain_last"]).all()
    np.testing.assert_allclose(result["probability_best"].sum("mitigation"), 1)
    saved = result["gain_shapley"] * 24 * result["gpus"]
    np.testing.assert_allclose(result["gpu_hours_saved_per_day"], saved.transpose("gpus", "mitigation"))


def test_the_best_is_as_likely_the_best_as_its_rate_is_the_largest() -> None:
    """Removing one of two components gains more where its rate is larger: P(a > b) of two Gamma posteriors.

    Gamma(12) against Gamma(8) of the same scale: a Beta(12, 8) share above 1/2. 20,000 draws, seed 2; 4 errors, 6e-5.
    """
    rng = np.random.default_rng(2)
    draws = np.stack([rng.gamma(12, 0.2, 20_000), rng.gamma(8, 0.2, 20_000)], axis=1)[:, :, None] / 1000
    rate = xr.DataArray(draws, dims=("sample", "component", "gpus"), coords={"component": ["a", "b"], "gpus": [4096]})
    result = mitigate_rates(rate, Plan(checkpoint_interval="1h"), [ScaleComponent("a", 0), ScaleComponent("b", 0)])
    exact = scipy.stats.beta.sf(0.5, 12, 8)
    error = np.sqrt(exact * (1 - exact) / 20_000)
    assert abs(float(result["probability_best"][0, 0]) - exact) < 4 * error, "seed 2"


def test_equal_ones_share_the_probability_and_useless_ones_are_said_so() -> None:
    result = mitigate_rates(rates(), Plan(), [FasterRestart("1h"), FasterDetection("1h")])
    assert result["probability_best"].values.tolist() == [[0.5, 0.5], [0.5, 0.5]]
    assert "'restart to 1h' changes nothing" in result.attrs["notes"]


def test_uncertain_plans_and_mitigations_propagate() -> None:
    restart = Uncertain(scipy.stats.lognorm(0.5, scale=8), unit="min")
    plan = Plan(restart=restart, checkpoint_interval="20min")
    sure = mitigate_rates(rates(), plan, [ScaleComponent("ib", 0.3)], seed=7)
    np.testing.assert_allclose(sure["ettr_before"], forecast_rates(rates(), plan, seed=7)["ettr"], rtol=1e-9)
    unsure = mitigate_rates(rates(), plan, [ScaleComponent("ib", scipy.stats.beta(3, 7))], seed=7)
    wide, narrow = (r["gain_alone"].sel(figure="upper") - r["gain_alone"].sel(figure="lower") for r in (unsure, sure))
    assert (wide > narrow).all()
    samples = mitigate_rates(rates(), plan, [ScaleComponent("ib", [0.3, 0.3])], seed=7)
    np.testing.assert_allclose(samples["ettr_after"], sure["ettr_after"], rtol=1e-12)


def test_more_than_ten_are_shared_out_by_drawn_orders() -> None:
    many = [FasterRestart("4min"), FasterDetection("1min"), AsyncCheckpoint("2s")]
    many += [ScaleComponent(name, factor) for name in ("gpu", "ib", "fs") for factor in (0.9, 0.8, 0.7)]
    result = mitigate_rates(rates(60, (16384,)), Plan(**BASE, checkpoint_interval="20min"), many)
    mean = result.sel(figure="mean")
    np.testing.assert_allclose(mean["gain_shapley"].sum("mitigation"), mean["gain_together"], rtol=1e-9)
    assert "drawn orders" in result.attrs["notes"]
    assert (result["shapley_error"] < 0.02 * mean["gain_together"]).all()


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: ScaleComponent("ib", -1), "multiply"),
        (lambda: ScaleComponent("ib", "0.3"), "multiply"),
        (lambda: ScaleComponent("", 0.3), "component"),
        (lambda: ScaleComponent("ib", np.nan), "multiply"),
        (lambda: FasterRestart(5), "without a unit"),
        (lambda: FasterRestart(), "either a duration"),
        (lambda: FasterRestart("1min", factor=0.5), "either a duration"),
        (lambda: AsyncCheckpoint("2s", slowdown=1), "slowdown"),
        (lambda: HotSpares(0), "spares"),
        (lambda: HotSpares(2.5), "spares"),
        (lambda: RemoveLemons(40, lemons()), "from 1 to 39"),
        (lambda: RemoveLemons(3, lemons().isel(sample=0)), "dims"),
        (lambda: RemoveLemons(3, -lemons()), "0 or more"),
        (lambda: mitigate_rates(rates(), Plan(), []), "0 mitigations"),
        (lambda: mitigate_rates(rates(), Plan(), [FasterRestart]), "no mitigation"),
        (lambda: mitigate_rates(rates(), Plan(), [HotSpares(2), HotSpares(2)]), "twice"),
        (
            lambda: mitigate_rates(rates(), Plan(restart=["1min", "2min"]), [HotSpares(2)]),
            "restart of the plan is a list",
        ),
        (lambda: mitigate_rates(rates(), Plan(), [ScaleComponent("infiniband", 0.3)]), "gpu, ib, fs"),
        (lambda: mitigate_rates(rates(), Plan(), [ScaleComponent("ib", scipy.stats.norm(0, 1))]), "negative"),
    ],
)
def test_what_cannot_be_is_refused(make: object, match: str) -> None:
    with pytest.raises(InputError, match=match):
        make()  # type: ignore[operator]
