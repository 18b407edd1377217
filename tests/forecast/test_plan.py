"""Plans refuse what is ambiguous, and keep what they were given."""

import datetime as dt
import json

import numpy as np
import pytest
import scipy.stats

from meantime.errors import InputError
from meantime.forecast import Plan, Uncertain
from meantime.forecast.grid import grid_of


@pytest.mark.parametrize("field", ["restart", "checkpoint_write", "checkpoint_interval", "queue", "detection"])
@pytest.mark.parametrize("value", [5, 0.5, np.float64(3), "5", "halve it", "half", "-5min", None, True, "5 parsecs"])
def test_values_without_a_clear_unit_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InputError, match=field) as caught:
        Plan(**{field: value})
    assert "30s" in str(caught.value), "the message says what would be accepted"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("checkpoint_interval", "0s"),
        ("productive", "0d"),
        ("restart", []),
        ("restart", ["5min", "5min"]),
        ("restart", ["5min", 10]),
        ("restart", np.timedelta64(1, "M")),
        ("restart", np.timedelta64("NaT", "s")),
        ("restart", scipy.stats.lognorm(0.5)),
        ("gpus_per_node", 0),
        ("gpus_per_node", 8.0),
        ("gpus_per_node", True),
    ],
)
def test_values_that_cannot_be_are_refused_by_name(field: str, value: object) -> None:
    with pytest.raises(InputError, match=field):
        Plan(**{field: value})


def test_free_writes_have_no_best_interval() -> None:
    with pytest.raises(InputError, match="checkpoint_write is 0"):
        Plan(checkpoint_write="0s")
    assert Plan(checkpoint_write="0s", checkpoint_interval="1h").checkpoint_interval == "1h"


@pytest.mark.parametrize(
    "length", [dt.timedelta(minutes=90), np.timedelta64(90, "m"), np.timedelta64(5400, "s"), "1.5h", "1h30min", "90min"]
)
def test_all_forms_of_a_duration_mean_the_same(length: object) -> None:
    grid = grid_of(Plan(restart=length), 3, seed=0)
    assert grid.hours["restart"] == pytest.approx(1.5)


@pytest.mark.parametrize("milliseconds", [1, 999, 1000, 59_999, 61_001, 86_400_000, 93_784_005])
def test_time_differences_keep_their_length_as_text(milliseconds: int) -> None:
    plan = Plan(restart=dt.timedelta(milliseconds=milliseconds))
    assert Plan(restart=plan.restart) == plan
    assert grid_of(plan, 1, seed=0).hours["restart"] * 3600 == pytest.approx(milliseconds / 1000)


def test_combinations_run_through_the_lists_last_fastest() -> None:
    plan = Plan(restart=["1h", "2h"], checkpoint_interval=["optimal", "3h"], queue=["4h", "5h", "6h"])
    grid = grid_of(plan, 1, seed=0)
    assert grid.lists == ("restart", "checkpoint_interval", "queue")
    assert grid.hours["restart"].ravel().tolist() == [1.0] * 6 + [2.0] * 6
    assert grid.hours["queue"].ravel().tolist() == [4.0, 5.0, 6.0] * 4
    assert grid.optimal.ravel().tolist() == ([True] * 3 + [False] * 3) * 2


def test_too_many_combinations_are_refused() -> None:
    many = [f"{minutes}min" for minutes in range(1, 1001)]
    with pytest.raises(InputError, match="1,000,000 combinations"):
        grid_of(Plan(restart=many, queue=many), 1, seed=0)


def test_distributions_are_drawn_in_their_unit() -> None:
    """Mean of 40,000 draws within 5 standard errors: false alarm 6e-7; seed 3."""
    source = scipy.stats.gamma(4, scale=2.5)
    draws = grid_of(Plan(restart=Uncertain(source, unit="min")), 40_000, seed=3).hours["restart"]
    assert draws.shape == (1, 40_000)
    assert draws.mean() * 60 == pytest.approx(10, abs=5 * source.std() / 200)
    assert scipy.stats.kstest(draws[0] * 60, source.cdf).pvalue > 1e-6


@pytest.mark.parametrize(
    "samples",
    [
        np.array([60, 120, 600], dtype="timedelta64[s]"),
        Uncertain(np.array([1.0, 2.0, 10.0]), unit="min"),
        Uncertain([1, 2, 10], unit="min"),
    ],
)
def test_samples_are_resampled_and_nothing_else(samples: object) -> None:
    draws = grid_of(Plan(queue=samples), 3000, seed=1).hours["queue"]
    values, counts = np.unique(np.round(draws * 60, 9), return_counts=True)
    assert values.tolist() == [1.0, 2.0, 10.0]
    assert scipy.stats.chisquare(counts).pvalue > 1e-6, "seed 1; false alarm 1e-6"


def test_new_style_distributions_of_scipy_are_drawn() -> None:
    uncertain = Uncertain(scipy.stats.Uniform(a=1, b=3), unit="h")
    draws = uncertain.draw(1000, np.random.default_rng(0))
    assert 1 <= draws.min() < 1.1 < 2.9 < draws.max() <= 3


@pytest.mark.parametrize(
    ("source", "unit", "match"),
    [
        (scipy.stats.gamma(2), None, "no unit"),
        (scipy.stats.gamma(2), "parsec", "unknown unit"),
        (np.array([1.0, -2.0]), "min", "negative"),
        (np.array([1.0, np.nan]), "min", "missing"),
        (np.array(["1", "NaT"], dtype="timedelta64[s]"), None, "missing"),
        (np.array([], dtype="timedelta64[s]"), None, "shape"),
        (np.ones((2, 2)), "min", "shape"),
        ("lognormal", "min", "scipy.stats"),
    ],
)
def test_uncertain_values_need_a_unit_and_sense(source: object, unit: str | None, match: str) -> None:
    with pytest.raises(InputError, match=match):
        Uncertain(source, unit)


def test_distributions_of_negative_durations_are_refused() -> None:
    with pytest.raises(InputError, match=r"restart: norm.*negative"):
        grid_of(Plan(restart=Uncertain(scipy.stats.norm(1, 1), unit="min")), 1000, seed=0)


def test_plans_go_through_json_and_back() -> None:
    plan = Plan(
        restart=["5min", Uncertain(scipy.stats.lognorm(0.5, scale=10), unit="min")],
        checkpoint_interval=["optimal", "1h"],
        queue=np.array([60, 120, 600], dtype="timedelta64[s]"),
        gpus_per_node=4,
    )
    again = Plan.from_dict(json.loads(json.dumps(plan.to_dict())))
    one, other = grid_of(plan, 50, seed=2), grid_of(again, 50, seed=2)
    assert again.gpus_per_node == 4
    assert one.labels == other.labels
    for name, hours in one.hours.items():
        np.testing.assert_allclose(hours, other.hours[name], rtol=1e-14)


@pytest.mark.parametrize(
    "content",
    [
        {"restrat": "5min"},
        {"restart": 5},
        {"restart": {"distribution": "os.system", "unit": "min"}},
        {"restart": {"distribution": "rv_continuous", "unit": "min"}},
        {"restart": {"distribution": "lognorm", "kwds": {"nonsense": 1}, "unit": "min"}},
        {"restart": {"samples": [1, 2]}},
        {"restart": {"samples": ["a", "b"], "unit": "min"}},
        {"restart": {"samples": [[1], [2, 3]], "unit": "min"}},
        {"restart": {"samples": [1, 2], "unit": "h2min"}},
        {"restart": {"samples": [1, 2], "unit": 5}},
        {"restart": {}},
    ],
)
def test_plans_from_json_are_checked(content: dict[str, object]) -> None:
    with pytest.raises(InputError):
        Plan.from_dict(content)


def test_a_notebook_shows_a_plan_as_a_table() -> None:
    shown = Plan(restart=["5min", "10min"], queue=Uncertain(scipy.stats.gamma(2), unit="min"))._repr_html_()
    assert "<th>restart</th><td>5min, 10min</td>" in shown
    assert "<th>checkpoint interval</th><td>optimal</td>" in shown
    assert shown.count("<tr>") == 7
