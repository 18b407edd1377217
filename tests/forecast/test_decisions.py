"""Spares, intervals, goodput and simulated runs against formulas written out here."""

import json
import math

import numpy as np
import pytest
import scipy.stats
import xarray as xr
from scipy.special import lambertw

from meantime import ettr
from meantime.errors import InputError
from meantime.forecast import (
    AsyncCheckpoint,
    CheaperCheckpoint,
    FasterDetection,
    FasterRestart,
    HotSpares,
    JobClass,
    Plan,
    RemoveLemons,
    ScaleComponent,
    Uncertain,
    cluster_goodput,
    forecast_rates,
    mitigation_of,
    plan_intervals,
    plan_spares,
    simulate_runs,
    stated_rate,
)

DRAWS = np.random.default_rng(31).gamma(6, 6.5 / 6, 1000)


def erlang_loss(spares: int, load: float) -> float:
    terms = [load**j / math.factorial(j) for j in range(spares + 1)]
    return terms[-1] / sum(terms)


def test_spares_for_a_known_rate_are_erlangs() -> None:
    """128 nodes at 6.5 per 1,000 node-days and 6 h of repair: the fewest with a loss of at most 1 %."""
    load = 128 * 6.5e-3 / 24 * 6
    (row,) = plan_spares(stated_rate(6.5, [1024]), "6h", sureness=0.99)["rows"]
    fewest = next(s for s in range(50) if erlang_loss(s, load) <= 0.01)
    assert row["spares"] == fewest
    assert row["none_left"]["mean"] == pytest.approx(erlang_loss(fewest, load))
    assert row["wait_seconds"]["mean"] == pytest.approx(erlang_loss(fewest, load) * 6 * 3600 / (fewest + 1))
    for pool in row["pools"]:
        assert pool["none_left"] == pytest.approx(erlang_loss(pool["spares"], load))
    (fleet,) = plan_spares(stated_rate(6.5, [1024]), "6h", sureness=0.99, one_run=False)["rows"]
    assert fleet["none_left"]["mean"] == pytest.approx(scipy.stats.poisson.sf(fleet["spares"] - 1, load))


def test_a_pool_for_the_posterior_is_larger_than_one_for_its_mean() -> None:
    """The average over draws of the chance to find none is kept below 1 %, by a pool that is the smallest to do so."""
    (row,) = plan_spares(stated_rate(DRAWS, [16384]), "8h")["rows"]
    (at_mean,) = plan_spares(stated_rate(DRAWS.mean(), [16384]), "8h")["rows"]
    assert row["spares"] > at_mean["spares"]
    load = 2048 * DRAWS / 1000 / 24 * 8

    def mean_loss(spares: int) -> float:
        return float(np.mean([erlang_loss(spares, value) for value in load]))

    assert mean_loss(row["spares"]) <= 0.0101
    assert mean_loss(row["spares"] - 1) > 0.0099
    assert row["none_left"]["mean"] == pytest.approx(mean_loss(row["spares"]), rel=0.01)
    assert row["spares_needed"]["lower"] < row["spares"] <= row["spares_needed"]["upper"] + 3


def test_uncertain_repairs_want_more_spares() -> None:
    repair = Uncertain(scipy.stats.lognorm(1.0, scale=5), unit="h")
    known = f"{5 * math.exp(0.5):.4f}h"
    unsure, sure = (plan_spares(stated_rate(np.full(1000, 6.5), [8192]), r)["rows"][0] for r in (repair, known))
    assert unsure["spares"] > sure["spares"]


def test_intervals_are_the_known_ones_and_the_best_is_best() -> None:
    document = plan_intervals(stated_rate(DRAWS, [1024, 16384]), Plan(checkpoint_interval="1h", productive="300d"))
    for row in document["rows"]:
        hazard = DRAWS / 1000 * row["gpus"] / 8 / 24
        mean = hazard.mean()
        choices = row["choices"]
        exact = (1 + lambertw(-np.exp(-mean / 120 - 1)).real) / mean
        assert choices["exact"]["seconds"] == pytest.approx(exact * 3600)
        assert choices["young"]["seconds"] == pytest.approx(math.sqrt(2 / 120 / mean) * 3600)
        assert choices["stated"]["seconds"] == 3600
        best = choices["best"]["ettr"]["mean"]
        assert all(choice["ettr"]["mean"] <= best + 1e-6 for choice in choices.values())
        at = {name: choice["seconds"] / 3600 for name, choice in choices.items()}

        def values(every: float, hazard: np.ndarray = hazard) -> np.ndarray:
            return np.asarray(ettr.renewal(hazard, every, 1 / 120, 1 / 12, productive=7200.0))

        low = {name: np.quantile(values(every), 0.1) for name, every in at.items()}
        assert low["cautious"] >= max(low.values()) - 1e-6
        assert at["cautious"] < at["best"]
        for end in ("good_from_seconds", "good_to_seconds"):
            assert values(row[end] / 3600).mean() == pytest.approx(best - 0.001, abs=2e-5)
        assert row["good_from_seconds"] < choices["best"]["seconds"] < row["good_to_seconds"]


def test_the_best_interval_is_that_of_the_forecast() -> None:
    (row,) = plan_intervals(stated_rate(DRAWS, [4096]), Plan(queue="2min"))["rows"]
    chosen = forecast_rates(stated_rate(DRAWS, [4096]), Plan(queue="2min"))
    assert row["choices"]["best"]["seconds"] / 3600 == pytest.approx(float(chosen["chosen_interval"][0]), rel=1e-6)
    np.testing.assert_allclose(list(row["choices"]["best"]["ettr"].values()), chosen["ettr"][0], atol=2e-5)
    np.testing.assert_allclose(list(row["mttf_hours"].values()), chosen["mttf"][0], rtol=1e-9)


def mix_rates() -> xr.DataArray:
    rng = np.random.default_rng(2)
    draws = np.stack([rng.gamma(50, 4 / 50, (300, 2)), rng.gamma(20, 2.5 / 20, (300, 2))], axis=1) / 1000
    return xr.DataArray(
        draws, dims=("sample", "component", "gpus"), coords={"component": ["gpu", "ib"], "gpus": [1024, 4096]}
    )


def test_the_ledger_adds_up_and_losses_are_the_papers() -> None:
    """Failures x GPUs x half an hour for hourly checkpoints; the taken share of a restart costs others as much."""
    mix = [
        JobClass(gpus=1024, running=6000.0, checkpoint_write="30s"),
        JobClass(gpus=4096, running=4096.0, priority=1, taken=0.5),
    ]
    result = cluster_goodput(mix_rates(), mix, 16_000, price_per_gpu_hour=2.0)
    total = sum(entry["mean"] for entry in result["ledger"].values())
    assert total == pytest.approx(24 * 16_000)
    assert result["ledger"]["unused"]["mean"] == pytest.approx(24 * (16_000 - 10_096))
    assert result["goodput"]["mean"] == pytest.approx(result["ledger"]["productive"]["mean"] / (24 * 16_000))
    per_day = mix_rates().sum("component").mean("sample").values * np.array([6000.0, 4096.0]) / 8
    for row, failures in zip(result["rows"], per_day, strict=True):
        assert row["failures_per_day"]["mean"] == pytest.approx(failures)
        assert row["lost_first_order"]["mean"] == pytest.approx(failures * row["gpus"] * 0.5)
        assert sum(entry["mean"] for entry in row["ledger"].values()) == pytest.approx(24 * row["running"])
    small, large = result["rows"]
    assert small["lost_second_order"]["mean"] == 0, "nothing is below it"
    assert large["lost_second_order"]["mean"] == pytest.approx(per_day[1] * 0.5 * 4096 * 0.5)
    for name in ("failures_per_day", "lost_first_order", "lost_second_order", "lost_cost"):
        by_size = sum(row[name]["mean"] for row in result["rows"])
        assert sum(part[name]["mean"] for part in result["components"]) == pytest.approx(by_size), name
    assert large["lost_cost"]["mean"] == pytest.approx(
        2 * (large["lost_first_order"]["mean"] + large["lost_second_order"]["mean"])
    )
    assert [part["component"] for part in result["components"]] == ["gpu", "ib"]


@pytest.mark.parametrize(
    "plan", [Plan(productive="3d", queue="10min", detection="5min"), Plan(productive="1d", checkpoint_interval="2h")]
)
def test_simulated_runs_agree_with_the_closed_forms(plan: Plan) -> None:
    """Two sizes: within 4 standard errors (false alarm 6e-5 each), seed 5; the spread is that of the forecast."""
    rates = stated_rate(DRAWS, [1024, 8192])
    result = simulate_runs(rates, plan, runs=2000, seed=5)
    figures = forecast_rates(rates, plan, seed=5)
    for place, row in enumerate(result["rows"]):
        assert abs(row["standard_errors"]) < 4, "seed 5"
        assert row["days_mean_expected"] == pytest.approx(float(figures["days_to_finish"][place, 0]), rel=2e-3)
        for figure, tolerance in (("median", 0.01), ("lower", 0.02), ("upper", 0.03)):
            expected = float(figures["days_to_finish"].sel(figure=figure)[place])
            assert row["days_to_finish"][figure] == pytest.approx(expected, rel=tolerance), figure


@pytest.mark.parametrize(
    ("text", "kind", "label"),
    [
        ("restart=1min", FasterRestart, "restart to 1min"),
        ("restart=x0.5", FasterRestart, "restart x 0.5"),
        ("checkpoint=10s", CheaperCheckpoint, "checkpoint write to 10s"),
        ("detection = 30s", FasterDetection, "detection to 30s"),
        ("async=2s", AsyncCheckpoint, "asynchronous checkpoint, 2s blocking"),
        (
            "async=2s,persist=1min,slowdown=0.02",
            AsyncCheckpoint,
            "asynchronous checkpoint, 2s blocking, 1min beside, 0.02 slower",
        ),
        ("spares=8", HotSpares, "8 hot spares, repair 4h"),
        ("spares=1,repair=2h,swap=30s", HotSpares, "1 hot spare, repair 2h"),
        ("infiniband_link=x0.3", ScaleComponent, "infiniband_link x 0.3"),
        ("lemons=3", RemoveLemons, "remove 3 lemons"),
        ("lemons=1,component=gpu", RemoveLemons, "remove 1 lemon (gpu)"),
    ],
)
def test_mitigations_are_read_from_text(text: str, kind: type, label: str) -> None:
    nodes = xr.DataArray(np.ones((3, 5)), dims=("sample", "node"), coords={"node": range(5)})
    mitigation = mitigation_of(text, nodes=nodes)
    assert isinstance(mitigation, kind)
    assert mitigation.label == label


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("", "not understood"),
        ("restart", "not understood"),
        ("=1min", "not understood"),
        ("restart=5", "duration of FasterRestart"),
        ("infiniband_link=0.3", "infiniband_link=x0.3"),
        ("infiniband_link=x", "no number"),
        ("spares=many", "no whole number"),
        ("spares=8,repair", "not understood"),
        ("spares=8,mood=good", "not understood"),
        ("lemons=3", "node_frailty"),
        ("async=2s,slowdown=much", "no number"),
    ],
)
def test_texts_that_are_none_are_refused(text: str, match: str) -> None:
    with pytest.raises(InputError, match=match):
        mitigation_of(text)


@pytest.mark.parametrize(
    ("make", "match"),
    [
        (lambda: plan_spares(stated_rate(6.5, [8]), "4h", sureness=1), "sureness"),
        (lambda: plan_spares(stated_rate(6.5, [8]), 4), "without a unit"),
        (lambda: plan_spares(stated_rate(6.5, [8]), "4h", standby=-1), "standby"),
        (lambda: plan_intervals(stated_rate(6.5, [8]), Plan(queue=["1s", "2s"])), "queue of the plan"),
        (lambda: simulate_runs(stated_rate(6.5, [8]), runs=1), "runs"),
        (lambda: simulate_runs(stated_rate(6.5, [8]), Plan(queue=["1s", "2s"])), "queue of the plan"),
        (lambda: simulate_runs(stated_rate(6.5, [1_000_000]), Plan(checkpoint_interval="9h")), "fail"),
        (lambda: JobClass(gpus=0, running=1), "gpus is"),
        (lambda: JobClass(gpus=8, running=-1), "running"),
        (lambda: JobClass(gpus=8, running=8, taken=2), "taken"),
        (lambda: JobClass(gpus=8, running=8, checkpoint_interval="0s"), "above 0"),
        (lambda: JobClass.from_dict({"gpus": 8}), "running is missing"),
        (lambda: JobClass.from_dict({"gpus": 8, "running": 8, "mood": 1}), "mood"),
        (lambda: cluster_goodput(mix_rates(), [], 100), "0 classes"),
        (lambda: cluster_goodput(mix_rates(), [JobClass(gpus=8, running=8)], 100), "no jobs of 8 GPUs"),
        (lambda: cluster_goodput(mix_rates(), [JobClass(gpus=1024, running=2000)], 1024), "at most those"),
        (lambda: cluster_goodput(mix_rates(), [JobClass(gpus=1024, running=1)], 1024, idle=-1), "idle"),
    ],
)
def test_what_cannot_be_is_refused(make: object, match: str) -> None:
    with pytest.raises(InputError, match=match):
        make()  # type: ignore[operator]


def test_a_class_of_jobs_is_read_from_json() -> None:
    job = JobClass.from_dict(json.loads('{"gpus": 8, "running": 800, "restart": "2min", "priority": 3}'))
    assert job.hours("restart") == pytest.approx(1 / 30)
    assert (job.gpus, job.running, job.priority) == (8, 800, 3)
