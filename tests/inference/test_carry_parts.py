"""Two quarters one after the other, against both at once: models of nodes, incidents, lives and down times.

What the priors do not hold (correlations, shapes of posteriors, single nodes) makes the two differ: half of the data
have forgotten a correlation of 0.6 or so, which moves means by parts of a posterior standard deviation. They must agree
within one of the fit of both, and the spreads within a third.
"""

import numpy as np
import pytest

from meantime.datasets import compress_lives, repairs_from_arrays
from meantime.datasets.simulate import simulate_incidents, simulate_lives, simulate_nodes
from meantime.inference import fit, priors_from
from meantime.models import MODELS

from ..models.tables import period_table

SHORT = {"seed": 1, "draws": 800, "progress": False}


def in_turn(model, first, second, both, names, *, apart=1.0, spread=0.35):
    """Fit one after the other and together; compare log means in posterior standard deviations, and the spreads."""
    before = fit(first, model, **SHORT)
    turn = fit(second, model, priors=priors_from(before), **SHORT)["posterior"]
    together = fit(both, model, **SHORT)["posterior"]
    for name in names:
        found, wanted = (np.log(posterior[name].values).ravel() for posterior in (turn, together))
        distance = (found.mean() - wanted.mean()) / wanted.std()
        print(f"{model} {name}: {distance:+.2f} sd apart, spread {found.std() / wanted.std():.2f} of it")
        assert abs(distance) < apart, name
        assert found.std() == pytest.approx(wanted.std(), rel=spread), name
    return before, turn


@pytest.mark.slow
def test_repairs(rng):
    """One class: median and spread are close to independent normals, so nothing is lost."""
    hours = np.exp(rng.normal(1.0, 1.2, 300))
    tables = [repairs_from_arrays(part, np.repeat("all", len(part))) for part in (hours[:200], hours[200:], hours)]
    before, _ = in_turn("repair", *tables, ["median_hours"], apart=0.15, spread=0.1)
    priors = priors_from(before, widen=3.0)
    assert priors.median_sd == pytest.approx(3 * float(before["posterior"]["log_median"].std()))
    assert np.log(priors.median_hours) == pytest.approx(float(before["posterior"]["log_median"].mean()))


@pytest.mark.slow
def test_incidents(rng):
    """One cluster: its rate, share and exponent are nearly independent."""
    both, _ = simulate_incidents(seed=2, nodes=[500], days=600.0, several=0.2, tail=1.0)
    first = rng.binomial(both["incidents"].values.astype(int), 0.5)
    halves = [both.assign(incidents=(both["incidents"].dims, counts), days=both["days"] / 2)
              for counts in (first, both["incidents"].values - first)]  # fmt: skip
    in_turn("incident", *halves, both, ["daily_mean", "several", "tail"])


@pytest.mark.slow
def test_nodes(rng):
    """Other nodes of the same fleet in the second quarter: rate, spread and the lemons' excess are those of all."""
    both, _ = simulate_nodes(seed=3, nodes=1200, exposure=500.0, lemon_share=0.03)
    halves = both.isel(node=slice(0, 600)), both.isel(node=slice(600, 1200))
    in_turn("node_frailty", *halves, both, ["normal_rate", "lemon_excess"])


@pytest.mark.slow
def test_lives():
    """Half of the parts, then the others. Rate and shape are correlated, which the prior forgets."""
    arrays, _ = simulate_lives(seed=9, units=1500)
    parts = slice(0, 750), slice(750, None), slice(None)
    tables = [compress_lives(*(arrays[name][part] for name in ("entry", "exit", "failed"))) for part in parts]
    before, _ = in_turn("lifetime", *tables, ["rate", "shape"])
    priors = priors_from(before)
    assert np.log(priors.shape) == pytest.approx(float(np.log(before["posterior"]["shape"]).mean()))


@pytest.mark.slow
def test_rates_that_move(moving):
    """The level of the last period, with room for a walk as long as the table; and a fit with these priors."""
    priors, posterior = priors_from(moving), moving["posterior"]
    assert np.log(priors.total_rate / 3) == pytest.approx(float(posterior["mu"].mean()))
    squares = float((posterior["sigma_walk"] ** 2).mean())
    table = period_table()
    years = (table["period"].values[-1] - table["period"].values[0]) / np.timedelta64(1, "D") / 365.25
    expected = np.hypot(float(posterior["mu"].std()), np.sqrt(squares * years))
    assert priors.level_sd == pytest.approx(expected, rel=0.1)  # the last period's own length comes on top
    assert priors.walk_sd**2 == pytest.approx(squares)
    assert priors.change_rate is None
    assert priors_from(moving, widen=2.0).walk_sd == pytest.approx(2 * priors.walk_sd)


def test_every_model_has_a_summary():
    from meantime.inference.carry import _SUMMARIES

    assert set(_SUMMARIES) == set(MODELS)
