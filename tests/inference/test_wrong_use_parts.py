"""Wrong use of models of nodes, incidents, moving rates, lives and down times: a clear error, or the right answer.

The list is the same for each: failures without exposure, nothing that failed, one cell, a number that is none, a period
that is missing, a label twice.
"""

import numpy as np
import polars as pl
import pytest

from meantime.datasets import compress_lives, repair_table, repairs_from_arrays, survival_table
from meantime.datasets.incident_table import check_incidents
from meantime.datasets.simulate import simulate_incidents
from meantime.datasets.table import build_table
from meantime.errors import InputError
from meantime.inference import fit, prior_predictive
from meantime.models import time_grid_of

ROUGH = {"method": "laplace", "draws": 200, "progress": False, "allow_unconverged": True}
WEEKS = np.datetime64("2026-01-05") + 7 * np.arange(4) * np.timedelta64(1, "D")


def by_node(failures, days, names=("n1", "n2", "n3")):
    return build_table([[failures]], [days], cluster=["A"], component=["any"], node=list(names))


def by_week(failures, days, weeks=WEEKS):
    return build_table([[failures]], [days], cluster=["A"], component=["any"], period=weeks)


@pytest.mark.parametrize(
    ("model", "make"), [("node_frailty", by_node), ("over_time", lambda n, d: by_week([*n, 1], [*d, 9.0]))]
)
def test_tables_by_node_and_by_week(model, make):
    with pytest.raises(InputError, match="expected 0"):
        fit(make([1, 2, 0], [9.0, 0.0, 9.0]), model)
    with pytest.raises(InputError, match="finite"):
        fit(make([1, np.nan, 0], [9.0, 9.0, 9.0]), model)
    with pytest.raises(InputError, match="finite"):
        fit(make([1, 2, 0], [9.0, np.nan, 9.0]), model)


def test_a_node_or_a_week_twice():
    with pytest.raises(InputError, match="'n1' occurs more than once"):
        fit(by_node([1, 2, 0], [9.0, 9.0, 9.0], ["n1", "n1", "n2"]), "node_frailty")
    with pytest.raises(InputError, match="more than once"):
        fit(by_week([1, 2, 0, 1], [9.0] * 4, WEEKS[[0, 1, 1, 2]]), "over_time")
    with pytest.raises(InputError, match="at least two"):
        fit(by_week([3], [9.0], WEEKS[:1]), "over_time")


def test_a_week_that_is_missing_is_a_wider_step():
    grid = time_grid_of(by_week([1, 2, 1], [9.0] * 3, WEEKS[[0, 1, 3]]))
    assert grid.step_years[1] == pytest.approx(2 * grid.step_years[0])


@pytest.mark.slow
def test_nodes_that_never_failed_and_one_node():
    """No failure in 30,000 node-days: the rate is below the 95 % Poisson bound of 3 in 30,000, roughly; not 0."""
    names = [f"n{i}" for i in range(30)]
    quiet = fit(by_node([0] * 30, [1_000.0] * 30, names), "node_frailty", **ROUGH)["posterior"]["rate"].values
    assert 0 < quiet.mean() < 2e-4
    alone = fit(by_node([5], [1_000.0], ["n1"]), "node_frailty", **ROUGH)["posterior"]["rate"].values
    assert np.quantile(alone, 0.02) < 5e-3 < np.quantile(alone, 0.98)


def test_incidents():
    table, _ = simulate_incidents(seed=1, nodes=[64], days=100.0)
    for name, value, words in (
        ("days", [0.0], "expected positive numbers"),
        ("days", [np.nan], "expected positive numbers"),
        ("nodes", [0], "1 or more"),
    ):
        with pytest.raises(InputError, match=words):
            check_incidents(table.assign({name: ("cluster", value)}))
    bad = table["incidents"].astype(float)
    bad[0, 0] = np.nan
    with pytest.raises(InputError, match="whole numbers"):
        check_incidents(table.assign(incidents=bad))
    with pytest.raises(InputError, match="more than once"):
        check_incidents(table.assign_coords(hit=np.ones(table.sizes["hit"], dtype=int)))


@pytest.mark.slow
def test_no_incident_at_all():
    """100 days of 64 nodes without one: fewer than 3 in 100 days at 95 %, from the prior's 26."""
    table, _ = simulate_incidents(seed=1, nodes=[64], days=100.0)
    quiet = table.assign(incidents=0 * table["incidents"]).isel(hit=[0])
    rate = fit(quiet, "incident", **ROUGH)["posterior"]["daily_mean"].values
    assert 0 < np.median(rate) < 0.03


def test_lives_and_repairs():
    for entry, leave in ((0.0, np.nan), (np.nan, 2.0), (2.0, 1.0)):
        with pytest.raises(InputError, match="0 <= entry < exit"):
            compress_lives(np.array([0.0, entry]), np.array([1.0, leave]), np.ones(2, dtype=bool))
    with pytest.raises(InputError, match="no life ends with a failure"):
        compress_lives(np.zeros(2), np.ones(2), np.zeros(2, dtype=bool))
    with pytest.raises(InputError, match="has no column 'age'"):
        survival_table(pl.DataFrame({"event": ["x"]}))
    for hours in (0.0, np.nan, np.inf):
        with pytest.raises(InputError, match="not above 0 or not finite"):
            repairs_from_arrays([1.0, hours], ["a", "a"])
    with pytest.raises(InputError, match="has no column 'start'"):
        repair_table(pl.DataFrame({"end": [1]}))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["repair", "repair_tail"])
def test_one_repair(model):
    """A repair of 4 h: the median is drawn from the prior's 3 h towards it, and stays wide."""
    median = fit(repairs_from_arrays([4.0], ["a"]), model, **ROUGH)["posterior"]["median_hours"].values
    assert np.quantile(median, 0.05) < 3.0
    assert np.quantile(median, 0.95) > 5.0


def test_one_life():
    """One part that failed: data drawn from the prior for its window are finite."""
    table = compress_lives(np.zeros(1), np.array([500.0]), np.ones(1, dtype=bool))
    for model in ("lifetime", "lifetime_steps"):
        drawn = prior_predictive(model, table, draws=20)
        assert np.isfinite(drawn[next(iter(drawn.data_vars))]).all()
