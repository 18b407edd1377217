"""The PyMC models: density by hand, named dimensions, priors that say what they claim."""

import numpy as np
import pymc as pm
import pytest
from scipy import stats

from meantime.errors import InputError
from meantime.models import (
    MODELS,
    ComponentGammaPriors,
    ComponentPriors,
    ComponentSizePriors,
    ConstantPriors,
    component,
    component_size,
    constant,
    grid_of,
    priors_for,
)

from .tables import TABLE_MODELS, data_for, small_table

PLAIN = {"mode": "FAST_COMPILE"}  # no machine code: these tests evaluate each graph a few times only


@pytest.fixture(scope="module")
def table():
    return small_table()


@pytest.mark.parametrize("name", TABLE_MODELS)
def test_prior_and_posterior_predictive_work(name, table):
    model = MODELS[name].build(data_for(name, table))
    with model:
        prior = pm.sample_prior_predictive(20, random_seed=1, compile_kwargs=PLAIN)
    counts = prior["prior_predictive"]["failures"]
    assert counts.dims == ("chain", "draw", "stratum", "component")
    assert counts.shape[2] == {"component_size": 8, "over_time": 19}.get(name, 2)
    tree = prior["prior"].to_dataset()
    with model:
        again = pm.sample_posterior_predictive(tree, random_seed=1, progressbar=False, compile_kwargs=PLAIN)
    assert again["posterior_predictive"]["failures"].shape == counts.shape


def test_component_size_density_by_hand(table):
    """Against a density written with scipy from the formulas of the docstring, at random points."""
    priors = ComponentSizePriors()
    grid = grid_of(table, sizes=True)
    rng = np.random.default_rng(3)
    log_density = component_size(table, priors).compile_logp(**PLAIN)
    for _ in range(5):
        mu, m = rng.normal(-7, 0.5), rng.normal(0, 0.1)
        log_s, log_c, log_b, log_g = rng.normal(-0.5, 0.4, 4)
        level, slope = rng.normal(-7, 1, 4), rng.normal(0, 0.1, 4)
        deviation = rng.normal(0, 0.4, (2, 4))
        s, c, b, g = np.exp([log_s, log_c, log_b, log_g])
        rate = np.exp(level + deviation[:, None] + slope * grid.doublings[:, None])
        shape = 1 / (g**2 + 1e-8)
        mean = grid.exposure[:, :, None] * rate
        expected = (
            stats.norm.logpdf(mu, np.log(4e-3 / 4), 1.5)
            + sum(
                stats.halfnorm.logpdf(x, 0, scale) + np.log(x)  # log Jacobian of x = exp(u)
                for x, scale in ((s, 1.5), (c, 1.0), (b, 0.15), (g, 0.4))
            )
            + stats.norm.logpdf(m, 0, 0.25)
            + stats.norm.logpdf(level, mu, s).sum()
            + stats.norm.logpdf(slope, m, b).sum()
            + stats.norm.logpdf(deviation, 0, c).sum()
            + stats.nbinom.logpmf(grid.failures, shape, shape / (shape + mean)).sum()
        )
        found = log_density(
            {
                "mu": mu,
                "sigma_component_log__": log_s,
                "level": level,
                "sigma_cluster_log__": log_c,
                "cluster_deviation": deviation,
                "slope_mean": m,
                "slope_sd_log__": log_b,
                "slope": slope,
                "sigma_cell_log__": log_g,
            }
        )
        assert found == pytest.approx(expected, rel=1e-8)  # SciPy's negative binomial is good to nine digits


def test_one_cluster_has_no_cluster_deviation(table):
    for build in (component, component_size):
        names = build(table.isel(cluster=[0])).named_vars
        assert "cluster_deviation" not in names
        assert "sigma_cluster" not in names


@pytest.mark.parametrize("components", [1, 12, 40])
def test_priors_are_centred_on_published_fleets(components):
    """The prior median of a cluster's total rate lies within 2 to 24 per 1,000 node-days, for any number of parts."""
    table = small_table(clusters=1, components=components)
    with component(table):
        prior = pm.sample_prior_predictive(2000, var_names=["rate"], random_seed=2, compile_kwargs=PLAIN)
    total = prior["prior"]["rate"].sum("component").values.ravel() * 1000
    assert 2 < np.median(total) < 24
    low, high = np.quantile(total, [0.05, 0.95])
    assert low < 2.34
    assert high > 24


def test_constant_prior_weighs_half_a_failure():
    gamma = stats.gamma(ConstantPriors().shape, scale=1000 / ConstantPriors().rate)
    assert gamma.mean() == pytest.approx(4.0)
    assert gamma.ppf([0.05, 0.95]) == pytest.approx([0.016, 15.4], rel=0.05)


def test_gamma_prior_fills_in_its_rate():
    assert ComponentGammaPriors().rate_rate_for(10) == pytest.approx(4e-4)
    assert ComponentGammaPriors(rate_rate=1.0).rate_rate_for(10) == 1.0


def test_constant_counts_all_components(table):
    observed = constant(table)["failures"].eval().shape
    assert observed == (2, 1)


@pytest.mark.parametrize(
    ("name", "priors", "words"),
    [
        ("weibull", None, "there is no model 'weibull'; choose one of constant"),
        ("component", {"slope_sd": 1}, "component has no prior 'slope_sd'"),
        ("component", ComponentSizePriors(), "takes ComponentPriors"),
        ("component", ComponentPriors(level_sd=-1), "prior level_sd is -1; expected a positive number"),
        ("component_size", {"cell_sd": float("nan")}, "prior cell_sd is nan"),
        ("component_size", {"cell_sd": "0.4"}, "prior cell_sd is '0.4'"),
    ],
)
def test_wrong_priors(name, priors, words):
    with pytest.raises(InputError, match=words.replace("(", r"\(")):
        priors_for(name, priors)


def test_priors_from_a_mapping():
    assert priors_for("component", {"level_sd": 1.0}) == ComponentPriors(level_sd=1.0)
    assert priors_for("component_gamma", {"rate_rate": None}) == ComponentGammaPriors()
