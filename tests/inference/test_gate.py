"""The gate opens for good draws only, and says what is wrong."""

import numpy as np
import pytest

from meantime.errors import ConvergenceError, ConvergenceWarning
from meantime.inference.families import FAMILIES
from meantime.inference.gate import diagnose, enforce, scalar_names
from meantime.models import Grid

DIMS = {"mu": (), "level": ("component",)}


@pytest.fixture
def grid():
    return Grid(
        failures=np.ones((1, 1, 2), dtype=int), exposure=np.ones((1, 1)), clusters=("A",), components=("gpu", "nic")
    )


@pytest.fixture
def draws(rng):
    return {"mu": rng.standard_normal((4, 500)), "level": rng.standard_normal((4, 500, 2))}


@pytest.fixture
def statistics():
    return {
        "diverging": np.zeros((4, 500), bool),
        "reached_max_treedepth": np.zeros((4, 500), bool),
        "n_steps": np.full((4, 500), 7),
    }


def test_good_draws_pass(draws, statistics, grid):
    """Independent draws: R-hat above 1.01 has a chance below 1e-3 at 2,000 draws; the seed is fixed."""
    found = diagnose(draws, statistics, DIMS, grid)
    assert found["converged"]
    assert found["parameters"] == []
    assert found["min_ess_bulk"] > 1500
    enforce(found, model="component", allow_unconverged=False)


def test_a_chain_apart_is_named(draws, statistics, grid):
    draws["level"][1, :, 1] += 2
    found = diagnose(draws, statistics, DIMS, grid)
    assert found["parameters"] == ["level[nic]"]
    with pytest.raises(ConvergenceError, match=r"R-hat should be at most 1\.01: level\[nic\]") as caught:
        enforce(found, model="component", allow_unconverged=False)
    assert caught.value.exit_code == 3
    assert "Try" in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(("model", "simpler"), [("component_size", "component"), ("component", "constant")])
def test_the_advice_is_a_model_simpler_than_the_one_fitted(model, simpler, draws, statistics, grid):
    draws["level"][1, :, 1] += 2
    with pytest.raises(ConvergenceError, match=rf"a simpler model \('{simpler}'\)"):
        enforce(diagnose(draws, statistics, DIMS, grid), model=model, allow_unconverged=False)


def test_worst_first(draws, statistics, grid):
    draws["level"][1, :, 1] += 1
    draws["mu"][1] += 5
    assert diagnose(draws, statistics, DIMS, grid)["parameters"][0] == "mu"


def test_few_effective_draws(draws, statistics, grid):
    short = {name: values[:, :90] for name, values in draws.items()}
    problems = " ".join(diagnose(short, statistics, DIMS, grid)["problems"])
    assert "bulk ESS should be at least 400" in problems


def test_nan_is_never_convergence(draws, statistics, grid):
    draws["mu"][0, 0] = np.nan
    found = diagnose(draws, statistics, DIMS, grid)
    assert not found["converged"]
    assert "mu" in found["parameters"]


def test_divergences(draws, statistics, grid):
    statistics["diverging"][2, 7] = True
    found = diagnose(draws, statistics, DIMS, grid)
    assert not found["converged"]
    with pytest.warns(ConvergenceWarning, match="1 of 2000 trajectories diverged"):
        enforce(found, model="component", allow_unconverged=True)


def test_cut_trajectories(draws, statistics, grid):
    statistics["reached_max_treedepth"][:, :10] = True
    assert "2% of trajectories were cut" in diagnose(draws, statistics, DIMS, grid)["problems"][0]


def test_periods_are_named_by_their_day():
    family = FAMILIES["over_time"]
    layout = family.layout(family.small_data())
    names = scalar_names("walk_step", family.dims["walk_step"], layout)
    assert names[0] == "walk_step[cluster 0, 2026-01-12]"
    assert len(set(names)) == len(names) == 6
