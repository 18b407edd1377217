"""Predicted rates: equal to the posterior where there is one, wider where there is none."""

import numpy as np
import pytest
from pymc.testing import assert_equivalent_model

from meantime.errors import InputError
from meantime.inference import posterior_predictive, predict_rate, rebuild_model
from meantime.models import MODELS, ComponentSizePriors

from ..models.tables import TABLE_MODELS, data_for


def _stacked(array):
    return array.values.reshape(-1, *array.shape[2:])


def test_observed_sizes_keep_their_cells(sized):
    rate = predict_rate(sized, [16, 128], cluster="cluster 0")
    assert rate.dims == ("sample", "component", "gpus")
    assert rate.attrs["largest_job_gpus"] == 128
    expected = sized["posterior"]["rate"].sel(cluster="cluster 0", job_size=[16, 128])
    np.testing.assert_allclose(rate.values, _stacked(expected), rtol=1e-12)


def test_a_size_inside_a_bucket_takes_the_buckets_cell(sized):
    at, inside = (predict_rate(sized, [gpus], cluster="cluster 0").values[..., 0] for gpus in (128, 100))
    slope = _stacked(sized["posterior"]["slope"])
    np.testing.assert_allclose(inside, at * np.exp(slope * np.log2(100 / 128)), rtol=1e-10)


def test_an_unseen_size_draws_a_new_cell(sized):
    """Its log rate has the line's mean and the variance of line and cell; 4,000 draws, 4 components, seed 0.

    The mean of the multiplier is 1: within 5 standard errors (false alarm 2e-6).
    """
    gpus = 131_072
    rate = predict_rate(sized, [gpus], cluster="cluster 0").values[..., 0]
    posterior = sized["posterior"].to_dataset()
    line = posterior["level"] + posterior["cluster_deviation"].sel(cluster="cluster 0")
    line = _stacked(line.transpose("chain", "draw", "component")) + _stacked(posterior["slope"]) * np.log2(gpus / 64)
    cell = rate / np.exp(line)
    spread = cell.std()
    assert abs(cell.mean() - 1) < 5 * spread / np.sqrt(cell.size)
    expected = np.sqrt((posterior["sigma_cell"].values ** 2).mean())
    assert spread == pytest.approx(expected, rel=0.1)
    assert len(np.unique(cell[0])) == 4  # components do not share it


def test_sizes_of_one_unseen_bucket_share_the_cell(sized):
    rate = predict_rate(sized, [1024, 1000], cluster="cluster 0").values
    slope = _stacked(sized["posterior"]["slope"])
    np.testing.assert_allclose(rate[..., 1], rate[..., 0] * np.exp(slope * np.log2(1000 / 1024)), rtol=1e-10)


def test_a_size_does_not_depend_on_the_others_asked_for(sized):
    alone = predict_rate(sized, [4096], cluster="cluster 0").values[..., 0]
    among = predict_rate(sized, [131_072, 4096, 16], cluster="cluster 0").values[..., 1]
    np.testing.assert_array_equal(alone, among)


def test_a_pair_without_exposure_counts_as_unseen(sized):
    rate = predict_rate(sized, [128], cluster="cluster 1").values[..., 0]
    stored = _stacked(sized["posterior"]["rate"].sel(cluster="cluster 1", job_size=128))
    assert (rate != stored).all()
    np.testing.assert_allclose(np.median(rate, 0), np.median(stored, 0), rtol=0.1)  # the same distribution


def test_intervals_widen_beyond_the_data(sized):
    rate = predict_rate(sized, [128, 4096, 131_072], cluster="cluster 0").sum("component")
    widths = np.diff(np.log(np.quantile(rate.values, [0.05, 0.95], axis=0)), axis=0)[0]
    assert widths[0] < widths[1] < widths[2]


@pytest.mark.parametrize("name", ["component", "component_size", "component_gamma"])
def test_a_new_cluster(name, trees):
    """Wider than a known one, centred on the population."""
    new, known = (predict_rate(trees[name], [64], cluster=which).values for which in ("new", "cluster 0"))
    assert new.shape == known.shape
    assert (np.log(new).std(0) > np.log(known).std(0)).all()


def test_rates_without_sizes_are_the_same_for_all(plain):
    rate = predict_rate(plain, [8, 131_072], cluster="cluster 1")
    np.testing.assert_array_equal(rate[..., 0], rate[..., 1])
    np.testing.assert_array_equal(rate[..., 0], _stacked(plain["posterior"]["rate"].sel(cluster="cluster 1")))


def test_constant_has_one_component(exact):
    rate = predict_rate(exact, 1024, cluster="cluster 0")
    assert rate["component"].values.tolist() == ["all"]
    assert rate["gpus"].values.tolist() == [1024]
    with pytest.raises(InputError, match="knows no population of clusters"):
        predict_rate(exact, 1024, cluster="new")


@pytest.mark.parametrize("name", TABLE_MODELS)
def test_prediction_is_repeatable(name, trees):
    first, second = (predict_rate(trees[name], [8, 2048], cluster="cluster 0", seed=3) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("gpus", "cluster", "words"),
    [
        ([8], None, "no cluster was named; choose one of cluster 0, cluster 1, or 'new'"),
        ([8], "RSC-1", "there is no cluster 'RSC-1'"),
        ([0], "cluster 0", "gpus holds 0"),
        ([1.5], "cluster 0", "gpus holds 1.5"),
        ([], "cluster 0", "expected one or more whole numbers"),
        (["many"], "cluster 0", "expected one or more whole numbers"),
        ([float("nan")], "cluster 0", "gpus holds nan"),
    ],
)
def test_wrong_requests(sized, gpus, cluster, words):
    with pytest.raises(InputError, match=words):
        predict_rate(sized, gpus, cluster=cluster)


@pytest.mark.parametrize("name", TABLE_MODELS)
def test_replicated_counts_look_like_the_observed(name, trees):
    """The observed total lies within 6 predictive standard deviations of the replicated mean (smoke of scale)."""
    tree = trees[name]
    counts = posterior_predictive(tree, seed=1)["failures"]
    observed = tree["observed_data"]["failures"]
    assert counts.dims == ("chain", "draw", "stratum", "component")
    total = counts.sum(("stratum", "component"))
    assert abs(float(total.mean()) - int(observed.sum())) < 6 * float(total.std())
    assert float(total.std()) >= 0.9 * np.sqrt(int(observed.sum()))  # at least the luck of a Poisson


@pytest.mark.parametrize("name", TABLE_MODELS)
def test_rebuilt_models_are_equivalent(name, trees, table):
    assert_equivalent_model(rebuild_model(trees[name]), MODELS[name].build(data_for(name, table)))


def test_rebuilding_keeps_priors(sized):
    import json

    from meantime.inference import provenance

    changed = sized.copy()
    facts = provenance(sized)
    facts["priors"]["slope_mean_sd"] = 0.5
    changed.attrs["meantime"] = json.dumps(facts)
    table = sized["fit_data"].to_dataset()
    assert_equivalent_model(
        rebuild_model(changed), MODELS["component_size"].build(table, ComponentSizePriors(slope_mean_sd=0.5))
    )
    with pytest.raises(AssertionError):
        assert_equivalent_model(rebuild_model(changed), rebuild_model(sized))
