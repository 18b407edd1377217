"""`repair_tail`: its density, its truth, and the long repairs of Los Alamos."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from meantime.datasets import repair_table, repairs_from_arrays
from meantime.datasets.readers.lanl import read_lanl
from meantime.datasets.repairs import check_repair_times
from meantime.errors import InputError
from meantime.inference import check, compare, fit, provenance, repair_hours
from meantime.inference.repair_times import quantile_hours
from meantime.models import RepairTailPriors, repair_tail
from meantime.models.repair_tail import repair_tail_by_value, repair_times_of

PLAIN = {"mode": "FAST_COMPILE"}
SHORT = {"draws": 500, "progress": False}


@pytest.fixture(scope="module")
def outages(shared_data):
    """2,478 outages of system 20, in one class."""
    packed = shared_data / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz"
    table = read_lanl(packed).table.filter(pl.col("cluster") == "20")
    return repair_table(table.with_columns(every=pl.lit("every")), by="every")


@pytest.fixture(scope="module")
def fits(outages):
    return {name: fit(outages, name, seed=1, **SHORT) for name in ("repair", "repair_tail")}


def test_density_is_that_of_a_mixture():
    """Of every repair, closed or open, one by one, and the same from the different lengths up to a constant."""
    rng = np.random.default_rng(2)
    hours, label, still = np.round(np.exp(rng.normal(1, 1, 60)), 1) + 0.1, rng.choice(["a", "b"], 60), np.arange(60) < 9
    table = repairs_from_arrays(hours, label, still)
    assert table.sizes["value"] < 51  # some lengths are the same
    density = repair_tail(table).compile_logp(**PLAIN)
    by_value = repair_tail_by_value(repair_times_of(table), RepairTailPriors()).compile_logp(**PLAIN)
    code, logs, gaps = (label == "b").astype(int), np.log(hours), []
    for _ in range(3):
        mu, log_sigma, tau, omega = rng.normal(1, 1), rng.normal(0.2, 0.3), np.exp(rng.normal()), np.exp(rng.normal())
        median, log_sd, share = rng.normal(1, 1, 2), rng.normal(0, 0.3, 2), rng.uniform(0.05, 0.6, 2)
        delay, stretch = np.exp(rng.normal(0.4, 0.3, 2))
        common = stats.norm(median[code], np.exp(log_sd[code]))
        long = stats.norm(median[code] + delay * np.exp(log_sd[code]), stretch * np.exp(log_sd[code]))
        of_kinds = [np.where(still, kind.sf(logs), kind.pdf(logs)) for kind in (common, long)]
        expected = np.log((1 - share[code]) * of_kinds[0] + share[code] * of_kinds[1]).sum()
        expected += stats.norm.logpdf(mu, np.log(3.0), 1.5) + stats.norm.logpdf(log_sigma, np.log(1.2), 0.5)
        expected += stats.halfnorm.logpdf([tau, omega], 0, [1.0, 0.3]).sum() + np.log(tau * omega)
        expected += stats.norm.logpdf(median, mu, tau).sum() + stats.norm.logpdf(log_sd, log_sigma, omega).sum()
        expected += (stats.beta.logpdf(share, 1, 1 / 0.15 - 1) + np.log(share * (1 - share))).sum()
        expected += stats.norm.logpdf(np.log([delay, stretch]), np.log([1.5, 1.5]), [0.4, 0.3]).sum()
        point = {
            "mu": mu,
            "class_sd_log__": np.log(tau),
            "log_sigma": log_sigma,
            "spread_class_sd_log__": np.log(omega),
            "log_median": median,
            "log_sd": log_sd,
            "long_share_logodds__": np.log(share / (1 - share)),
            "long_delay_log__": np.log(delay),
            "long_stretch_log__": np.log(stretch),
        }
        found = float(density(point))
        assert found == pytest.approx(expected, rel=1e-9)
        gaps.append(found - float(by_value(point)))
    np.testing.assert_allclose(gaps, gaps[0], rtol=1e-9)


def test_quantiles_are_those_of_the_mixture(rng):
    """Half a million draws: their 99th percentile is known to half a percent."""
    draws = {"log_median": np.array([0.3]), "log_sd": np.log([0.8]), "long_share": np.array([0.2]),
             "long_delay": np.array(1.6), "long_stretch": np.array(1.5)}  # fmt: skip
    noise, late = rng.standard_normal((2, 500_000))
    mixed = np.where(rng.random(500_000) < 0.2, 1.6 + 1.5 * late, noise)
    for share in (0.05, 0.5, 0.99):
        found = quantile_hours(draws, share)[0]
        assert found == pytest.approx(np.quantile(np.exp(0.3 + 0.8 * mixed), share), rel=0.02)


@pytest.mark.slow
def test_los_alamos_prefers_the_tail(fits, outages):
    """Leave-one-out, repair by repair; and the mean of the outages, which a log-normal misses, is in its interval."""
    found = compare(fits)
    assert found["model"].values.tolist() == ["repair_tail", "repair"]
    assert found["elpd_i"].sizes["repair"] == int(outages["repairs"].sum())
    assert float(found["difference"][1]) < -4 * float(found["difference_se"][1])
    assert int(found["bad_k"].sum()) == 0
    mean = float((outages["value_hours"] * outages["value_count"]).sum() / outages["value_count"].sum())
    low, high = (repair_hours(tree)["mean"].quantile([0.005, 0.995]).values for tree in fits.values())
    print(f"mean {mean:.2f} h; log-normal {low}, with long repairs {high}")
    assert low[1] < mean
    assert high[0] < mean < high[1]
    assert provenance(fits["repair_tail"])["diagnostics"]["mean_steps"] < 30
    checked = check(fits["repair_tail"])
    assert not checked["extreme"].sel(check=checked["what"] == "standard deviation").any()


@pytest.mark.slow
def test_the_truth_is_found_and_open_repairs_count():
    """2,000 repairs, a fifth of them long, all cut off after 50 hours: 99 % intervals, false alarm 5 %; seed 5."""
    rng = np.random.default_rng(5)
    truth = {"log_median": 0.5, "log_sd": np.log(0.8), "long_share": 0.2, "long_delay": 1.7, "long_stretch": 1.6}
    noise, late = rng.standard_normal((2, 2000))
    hours = np.exp(0.5 + 0.8 * np.where(rng.random(2000) < 0.2, 1.7 + 1.6 * late, noise))
    table = repairs_from_arrays(np.minimum(hours, 50.0), np.repeat("all", 2000), hours > 50.0)
    assert table.sizes["open"] > 5
    tree = fit(table, "repair_tail", seed=5, **SHORT)
    for name, true in truth.items():
        low, high = np.quantile(tree["posterior"][name].values, [0.005, 0.995])
        assert low < true < high, name
    assert tree["log_likelihood"]["log_hours"].sizes["repair"] == int(table["repairs"].sum())


def test_many_lengths_are_taken_together(rng):
    """50,000 different lengths: mean and variance of the logarithms stay within the width of a bin."""
    hours = np.exp(rng.normal(0, 0.5, 50_000))
    table = repairs_from_arrays(hours, np.repeat("all", 50_000))
    logs, count = np.log(table["value_hours"].values), table["value_count"].values
    assert table.sizes["value"] < 10_000
    assert count.sum() == 50_000
    assert np.average(logs, weights=count) == pytest.approx(float(table["log_mean"][0]), abs=1e-12)
    variance = np.average((logs - logs @ count / 50_000) ** 2, weights=count)
    assert variance == pytest.approx(float(table["log_variance"][0]), rel=1e-4)


def test_what_cannot_be_used():
    table = repairs_from_arrays([1.0, 2.0, 5.0], ["a", "a", "b"])
    with pytest.raises(InputError, match="holds no lengths"):
        fit(table.drop_dims("value"), "repair_tail")
    with pytest.raises(InputError, match="not as many"):
        check_repair_times(table.assign(repairs=("class", [5, 1])))
    with pytest.raises(InputError, match="share below 1"):
        RepairTailPriors(share_mean=1.5)
