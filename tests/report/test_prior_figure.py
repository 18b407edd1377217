"""Prior predictive pictures: what is drawn is what the priors give."""

import numpy as np
import pytest

from meantime.datasets.table import build_table
from meantime.errors import InputError
from meantime.inference import prior_predictive
from meantime.inference.families import FAMILIES
from meantime.models import MODELS
from meantime.report.figures import prior_spread


def test_prior_of_a_closed_form():
    """`constant`: counts are negative binomial; the least of 2,000 draws' mean is known to 5 standard errors."""
    table = build_table([[3], [9]], [1_000.0, 4_000.0], cluster=["A", "B"], component=["gpu"])
    drawn = prior_predictive("constant", table, priors={"shape": 4.0, "rate": 1_000.0}, draws=2_000, seed=1)
    mean = 4e-3 * np.array([1_000.0, 4_000.0])
    variance = mean + mean**2 / 4
    found = drawn["failures"].values[..., 0].mean(0)
    assert (np.abs(found - mean) < 5 * np.sqrt(variance / 2_000)).all()
    assert drawn["observed"].values.ravel().tolist() == [3, 9]
    np.testing.assert_array_equal(
        prior_predictive("constant", table, draws=5, seed=2)["failures"],
        prior_predictive("constant", table, draws=5, seed=2)["failures"],
    )
    axes = prior_spread(drawn).axes[0]
    middle, own = (line.get_xdata() for line in axes.lines)
    ordered = np.sort(drawn["failures"].values[..., 0], axis=1)
    assert middle[0] == np.median(ordered[:, 0])
    assert middle[-1] == np.median(ordered[:, 1])
    assert (own[0], own[-1]) == (3, 9)


@pytest.mark.parametrize("model", MODELS)
def test_every_model_has_a_picture(model):
    drawn = prior_predictive(model, draws=20, seed=3)
    figure = prior_spread(drawn)
    assert len(figure.axes) == (2 if "statistic" in drawn.dims else 1)
    assert figure.axes[0].get_xlabel()
    assert not any("$" in text.get_text() for text in figure.axes[0].get_xticklabels())
    name, dims = FAMILIES[model].outcome
    assert drawn[name].dims == ("draw", *dims)
    assert not prior_spread(drawn, width=3.7).axes[0].lines[0].get_xdata().min() < -1e9


def test_what_cannot_be_drawn():
    with pytest.raises(InputError, match="no model"):
        prior_predictive("weather")
    with pytest.raises(InputError, match="draws is 0"):
        prior_predictive("constant", draws=0)
