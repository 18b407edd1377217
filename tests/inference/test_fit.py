"""`fit`: its tree, its seeds, its refusals."""

import json
import warnings

import numpy as np
import pymc as pm
import pytest

from meantime.errors import ConvergenceError, ConvergenceWarning, InputError
from meantime.inference import fit, provenance, rebuild_model, sampling
from meantime.inference.diagnostics import ess_bulk
from meantime.inference.families import FAMILIES
from meantime.models import MODELS

from ..models.tables import TABLE_MODELS


def test_every_model_has_its_family():
    assert set(FAMILIES) == set(MODELS)


@pytest.mark.parametrize("name", TABLE_MODELS)
def test_groups_and_dimensions(name, trees):
    tree = trees[name]
    expected = {"posterior", "log_likelihood", "observed_data", "fit_data"}
    expected |= {"exact"} if name == "constant" else {"sample_stats"}
    assert set(tree.children) == expected
    rate = tree["posterior"]["rate"]
    assert (
        rate.dims
        == {
            "constant": ("chain", "draw", "cluster"),
            "component": ("chain", "draw", "cluster", "component"),
            "component_gamma": ("chain", "draw", "cluster", "component"),
            "component_size": ("chain", "draw", "cluster", "component", "job_size"),
            "over_time": ("chain", "draw", "cluster", "component", "period"),
        }[name]
    )
    assert rate.dtype == np.float64
    assert (rate > 0).all()
    if name != "constant":
        assert set(tree["sample_stats"].data_vars) >= {
            "acceptance_rate", "tree_depth", "n_steps", "diverging", "energy", "lp", "reached_max_treedepth",
        }  # fmt: skip


def test_provenance(sized, table):
    facts = provenance(sized)
    assert facts["schema"] == "meantime.fit/1"
    assert (facts["model"], facts["method"], facts["backend"], facts["seed"]) == (
        "component_size",
        "nuts",
        "numpyro",
        11,
    )
    assert facts["interval"] == {"kind": "eti", "probability": 0.9}
    assert facts["priors"]["slope_mean_sd"] == 0.25
    assert set(facts["versions"]) >= {"meantime", "python", "jax", "numpyro", "pymc"}
    assert facts["diagnostics"]["converged"] is True
    assert isinstance(sized.attrs["meantime"], str)
    json.loads(sized.attrs["meantime"])


def test_geometry_is_good(trees):
    """At most 15 leapfrog steps a draw, no divergence, and some times the effective draws that the gate asks for."""
    for name in ("component", "component_gamma", "component_size", "over_time"):
        found = provenance(trees[name])["diagnostics"]
        assert found["mean_steps"] <= 15
        assert found["divergences"] == 0
        assert found["min_ess_bulk"] > (1000 if name == "over_time" else 1600)  # few periods hardly know their spreads


def test_smooth_rate_times_cell_is_rate(sized):
    posterior = sized["posterior"].to_dataset()
    doublings = np.log2(posterior["job_size"] / 64)
    smooth = np.exp(posterior["level"] + posterior["cluster_deviation"] + posterior["slope"] * doublings)
    np.testing.assert_allclose(
        (smooth * posterior["cell"]).transpose(*posterior["rate"].dims), posterior["rate"], rtol=1e-10
    )


@pytest.mark.parametrize("name", ["component", "component_gamma", "component_size", "over_time"])
def test_log_likelihood_is_pymcs(name, trees):
    tree = trees[name]
    model = rebuild_model(tree)
    some = tree["posterior"].to_dataset().isel(chain=[0], draw=slice(0, 5))
    free = some[[str(rv.name) for rv in model.free_RVs]]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with model:
            expected = pm.compute_log_likelihood(
                _as_tree(free), extend_inferencedata=False, progressbar=False, compile_kwargs={"mode": "FAST_COMPILE"}
            )
    expected = expected["log_likelihood"] if "log_likelihood" in getattr(expected, "children", {}) else expected
    found = tree["log_likelihood"]["failures"].isel(chain=[0], draw=slice(0, 5))
    np.testing.assert_allclose(found.values, expected["failures"].values, rtol=1e-8)


def _as_tree(posterior):
    import xarray as xr

    return xr.DataTree.from_dict({"posterior": posterior})


def test_nuts_agrees_with_the_exact_posterior(table):
    """`constant` by NUTS: means within 4 Monte Carlo standard errors (false alarm 1e-4 over both clusters), seed 5."""
    sampled = fit(table, "constant", method="nuts", seed=5, progress=False)
    exact = fit(table, "constant", seed=5)
    mean = (exact["exact"]["shape"] / exact["exact"]["rate"]).values
    sd = np.sqrt(exact["exact"]["shape"].values) / exact["exact"]["rate"].values
    draws = sampled["posterior"]["rate"].values
    errors = sd / np.sqrt(ess_bulk(draws.transpose(2, 0, 1)))
    assert (np.abs(draws.mean((0, 1)) - mean) < 4 * errors).all()
    np.testing.assert_allclose(draws.std((0, 1)), sd, rtol=0.1)  # sd of the sd at 2,000 draws: 1.6 %


def test_same_seed_same_draws_and_nothing_compiled_again(table, plain):
    compiled = list(sampling._SAMPLERS.values())
    sizes = [sampler.block._cache_size() for sampler in compiled]
    again = fit(table, "component", seed=12, progress=False)
    np.testing.assert_array_equal(again["posterior"]["level"], plain["posterior"]["level"])
    np.testing.assert_array_equal(again["posterior"]["rate"], plain["posterior"]["rate"])
    assert list(sampling._SAMPLERS.values())[-1] in compiled
    assert [sampler.block._cache_size() for sampler in compiled] == sizes
    assert max(sizes) == 1
    other = fit(table, "component", seed=13, progress=False)
    assert (other["posterior"]["level"] != plain["posterior"]["level"]).any()


def test_too_few_draws_do_not_pass_the_gate(table, plain):
    with pytest.raises(ConvergenceError, match=r"bulk ESS should be at least 400.*Try.*allow_unconverged"):
        fit(table, "component", draws=10, seed=1, progress=False)


def test_a_fit_that_lacks_only_draws_goes_on(table, plain, monkeypatch):
    """600 draws hold fewer than 800 effective ones, 2,400 more: the gate is moved so that the seed does not matter.

    The first draws are those of a fit that stopped there; the provenance says what was done. Nothing is extended where
    an unconverged fit is wanted.
    """
    monkeypatch.setattr("meantime.inference.gate.MIN_ESS", 800)
    tree = fit(table, "component", draws=150, seed=1, progress=False)
    found = provenance(tree)
    draws = tree["posterior"].sizes["draw"]
    assert found["sampling"]["draws"] == draws
    assert found["sampling"]["extended"] == draws - 150 > 0
    assert found["diagnostics"]["min_ess_bulk"] >= 800
    with pytest.warns(ConvergenceWarning):
        short = fit(table, "component", draws=150, seed=1, allow_unconverged=True, progress=False)
    assert provenance(short)["sampling"]["extended"] == 0
    np.testing.assert_array_equal(tree["posterior"]["level"][:, :150], short["posterior"]["level"])
    again = fit(table, "component", draws=150, seed=1, progress=False)
    np.testing.assert_array_equal(tree["posterior"]["level"], again["posterior"]["level"])


def test_an_unconverged_fit_can_be_kept(table, plain):
    with pytest.warns(ConvergenceWarning, match="has not converged"):
        tree = fit(table, "component", draws=50, seed=1, allow_unconverged=True, progress=False)
    found = provenance(tree)["diagnostics"]
    assert found["converged"] is False
    assert found["parameters"]
    assert found["problems"]


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "map"}, "method is 'map'; expected one of auto, conjugate, quadrature, laplace, nuts"),
        ({"method": "conjugate"}, "'component' has no conjugate posterior"),
        ({"chains": 0}, "chains is 0; expected a whole number, 1 or more"),
        ({"draws": 2.5}, "draws is 2.5"),
        ({"seed": -1}, "seed is -1; expected a whole number, 0 or more"),
        ({"target_accept": 1.0}, "target_accept is 1.0"),
    ],
)
def test_wrong_options(table, options, words):
    with pytest.raises(InputError, match=words):
        fit(table, "component", **options)


def test_wrong_table(table):
    with pytest.raises(InputError, match="the failure table has no variable 'exposure'"):
        fit(table.drop_vars("exposure"))
    with pytest.raises(InputError, match="fit the model 'component' instead"):
        fit(table.sum("job_size"), "component_size")


@pytest.mark.slow
def test_three_chains_and_odd_lengths(table, plain):
    """Blocks of iterations must not show in what is kept."""
    with pytest.warns(ConvergenceWarning):
        tree = fit(table, "component", chains=3, draws=73, tune=33, seed=2, allow_unconverged=True, progress=False)
    assert tree["posterior"]["level"].shape == (3, 73, 4)
    assert tree["sample_stats"]["lp"].shape == (3, 73)
    assert not np.array_equal(tree["posterior"]["level"][0], tree["posterior"]["level"][1])


def test_progress_is_shown_on_standard_error(table, plain, capsys):
    fit(table, "component", seed=12, progress=True)
    assert capsys.readouterr().out == ""


@pytest.mark.slow
@pytest.mark.parametrize("bad", [1, 2, 3])
def test_a_divergence_is_answered_by_smaller_steps(table, plain, monkeypatch, bad):
    """Twice at most: each run has twice the warm-up and a higher acceptance, and the last result counts."""
    plans = []

    def diverging(*arguments, **options):
        plans.append(arguments[5])
        draws, statistics, chains = sampling.sample(*arguments, **options)
        statistics["diverging"][:] = False
        statistics["diverging"][0, 0] = len(plans) <= bad
        return draws, statistics, chains

    monkeypatch.setattr("meantime.inference.methods.sample", diverging)
    tree = fit(table, "component", tune=250, seed=1, progress=False, allow_unconverged=bad == 3)
    expected = [(250, 0.8), (500, 0.95), (1000, 0.9875)][: bad + 1]
    assert [(plan.tune, plan.target_accept) for plan in plans] == expected
    assert provenance(tree)["sampling"]["target_accept"] == expected[-1][1]
    assert provenance(tree)["diagnostics"]["divergences"] == (bad == 3)
