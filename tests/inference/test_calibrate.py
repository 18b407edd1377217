"""Simulation-based calibration: every model passes, and a wrong posterior does not."""

import sys

import numpy as np
import pytest

from meantime.errors import InputError
from meantime.inference import calibrate
from meantime.inference.calibrate import holm, prior_replicates
from meantime.inference.designs import replace_failures
from meantime.inference.families import FAMILIES
from meantime.models import MODELS, ConstantPriors, priors_for

from ..models.tables import small_table

FALSE_ALARM = 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("model", MODELS)
def test_every_model_is_calibrated(model):
    """25 replicates, seed 1; a correct model fails once in 1,000. The full version: benchmarks/calibration.py."""
    result = calibrate(model, replicates=25, seed=1, draws=400, tune=400, false_alarm=FALSE_ALARM)
    print(f"\n{model}: smallest p {float(result['p_value'].min()):.4f} of {result.sizes['quantity']}, {result.attrs}")
    assert result.attrs["passed"], result["p_value"].to_series()
    assert result.attrs["unconverged"] <= 5


def test_a_wrong_posterior_is_found(monkeypatch):
    """Truths from a prior twice as high as the one fitted with: 60 replicates are enough."""

    def elsewhere(model, data, priors, replicates, seed):
        return prior_replicates(model, data, ConstantPriors(shape=80.0, rate=20_000.0), replicates, seed)

    monkeypatch.setattr(sys.modules["meantime.inference.calibrate"], "prior_replicates", elsewhere)
    result = calibrate("constant", priors=ConstantPriors(shape=80.0, rate=40_000.0), replicates=60, seed=2)
    assert not result.attrs["passed"]


def test_prior_replicates_are_those_of_the_prior():
    """`constant`: mean and variance of counts are those of the negative binomial, within 5 standard errors."""
    data = FAMILIES["constant"].small_data()
    priors = ConstantPriors(shape=4.0, rate=1_000.0)
    truths, counts, redrawn = prior_replicates("constant", data, priors, 4_000, 3)
    days = data["exposure"].values
    assert truths["rate"].shape == (4_000, 2)
    assert redrawn == 0
    mean = days * 4e-3
    variance = mean + mean**2 / 4
    assert (np.abs(counts[:, :, 0].mean(0) - mean) < 5 * np.sqrt(variance / 4_000)).all()
    assert counts[:, :, 0].var(0) == pytest.approx(variance, rel=0.25)


def test_extreme_prior_draws_are_drawn_again():
    """Rates up to e^60 a day: NumPy cannot draw such counts, and counts above a billion are left out."""
    priors = priors_for("component", {"level_sd": 12.0, "component_sd": 6.0})
    _, counts, redrawn = prior_replicates("component", FAMILIES["component"].small_data(), priors, 50, 4)
    assert redrawn > 5
    assert counts.max() <= 1e9


@pytest.mark.parametrize("model", MODELS)
def test_outcomes_are_put_back_where_they_were(model, rng):
    family = FAMILIES[model]
    data = family.small_data()
    layout = family.layout(data)
    _, outcomes, _ = prior_replicates(model, data, priors_for(model), 1, 5)
    replica = family.check(family.replace(data, layout, outcomes[0]))
    found = family.layout(replica).observed()[f"observed_{family.outcome[0]}"]
    shared = found.shape[-1]  # `incident` leaves sizes out that no incident reaches
    # Counts come back as they are; hours are read as logarithms, whose last bits an exponential costs.
    np.testing.assert_allclose(found, outcomes[0][..., :shared], rtol=1e-13, atol=1e-14)
    assert not outcomes[0][..., shared:].any()


def test_holm():
    assert holm(np.array([0.001, 0.02, 0.9]), 0.01).tolist() == [False, True, True]
    assert holm(np.array([0.004, 0.9, 0.004]), 0.01).tolist() == [True, True, True]
    assert holm(np.array([0.003, 0.9, 0.004]), 0.01).tolist() == [False, True, False]


def test_what_cannot_be_used():
    with pytest.raises(InputError, match="10 or more"):
        calibrate("constant", replicates=3)
    with pytest.raises(InputError, match="no model"):
        calibrate("weather")
    table = small_table()
    with pytest.raises(InputError, match="job_size"):
        replace_failures(table, FAMILIES["component"].layout(table), np.zeros((2, 4), int))
