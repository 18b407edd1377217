"""`repair`: Los Alamos, the density of every repair, open repairs, and the pool of spares that hangs on it."""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from meantime.datasets import repair_table, repairs_from_arrays
from meantime.datasets.readers.lanl import read_lanl
from meantime.datasets.simulate import simulate_repairs
from meantime.errors import InputError
from meantime.forecast import Plan, Uncertain, plan_spares, stated_rate
from meantime.inference import fit, provenance, repair_hours
from meantime.models import RepairPriors, repair

PLAIN = {"mode": "FAST_COMPILE"}


@pytest.fixture(scope="module")
def outages(shared_data):
    packed = shared_data / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz"
    return read_lanl(packed).table.filter(pl.col("cluster").is_in(["18", "19", "20"]))


@pytest.fixture(scope="module")
def fitted():
    """A fit of 500 repairs of four classes, some open."""
    table, truth = simulate_repairs(seed=3)
    return table, truth, fit(table, "repair", seed=3, progress=False)


def test_los_alamos_in_one_class(outages):
    """9,759 outages of systems 18 to 20: mu 4.2539 and sigma 1.1703 of log minutes are its centre."""
    table = repair_table(outages.with_columns(every=pl.lit("every")), by="every")
    assert int(table["repairs"].sum()) == 9759
    posterior = fit(table, "repair", seed=1, progress=False)["posterior"]
    mu, sigma = posterior["log_median"].values + np.log(60), np.exp(posterior["log_sd"].values)
    assert mu.mean() == pytest.approx(4.2539, abs=0.003)  # its standard deviation is 0.0118
    assert sigma.mean() == pytest.approx(1.1703, abs=0.003)
    assert mu.std() == pytest.approx(1.1703 / np.sqrt(9759), rel=0.1)
    assert sigma.std() == pytest.approx(1.1703 / np.sqrt(2 * 9759), rel=0.1)


def test_density_is_that_of_every_repair():
    """The density from sufficient statistics and open repairs, against normal densities and tails one by one."""
    rng = np.random.default_rng(2)
    hours, label, still = np.exp(rng.normal(1, 1, 30)), rng.choice(["a", "b"], 30), rng.random(30) < 0.2
    table = repairs_from_arrays(hours, label, still)
    density = repair(table, RepairPriors()).compile_logp(**PLAIN)
    code = (label == "b").astype(int)
    for _ in range(3):
        mu, log_sigma, tau, omega = rng.normal(1, 1), rng.normal(0.2, 0.3), np.exp(rng.normal()), np.exp(rng.normal())
        median, log_sd = rng.normal(1, 1, 2), rng.normal(0, 0.3, 2)
        each = stats.norm(median[code], np.exp(log_sd[code]))
        logs = np.log(hours)
        expected = np.where(still, each.logsf(logs), each.logpdf(logs)).sum()
        expected += stats.norm.logpdf(mu, np.log(3.0), 1.5) + stats.norm.logpdf(log_sigma, np.log(1.2), 0.5)
        expected += (
            stats.halfnorm.logpdf(tau, 0, 1.0) + np.log(tau) + stats.halfnorm.logpdf(omega, 0, 0.3) + np.log(omega)
        )
        expected += stats.norm.logpdf(median, mu, tau).sum() + stats.norm.logpdf(log_sd, log_sigma, omega).sum()
        point = {
            "mu": mu,
            "class_sd_log__": np.log(tau),
            "log_sigma": log_sigma,
            "spread_class_sd_log__": np.log(omega),
        }
        assert float(density(point | {"log_median": median, "log_sd": log_sd})) == pytest.approx(expected, rel=1e-9)


def test_intervals_hold_the_truth(fitted):
    """99 % intervals of four medians and four standard deviations: false alarm 8 %; seed 3."""
    table, truth, tree = fitted
    assert table.sizes["open"] > 0
    for name in ("log_median", "log_sd"):
        low, high = np.quantile(tree["posterior"][name].values, [0.005, 0.995], axis=(0, 1))
        assert ((low < truth[name].values) & (truth[name].values < high)).all(), name
    assert provenance(tree)["diagnostics"]["mean_steps"] < 12


def test_open_repairs_make_repairs_longer():
    """Half the repairs cut off at an hour: with what is still open the true median is found, without it is not.

    200 repairs, median 1 h. Without the open ones the posterior is that of a truncated sample.
    """
    rng = np.random.default_rng(4)
    hours = np.exp(rng.normal(0.0, 1.0, 200))
    table = repairs_from_arrays(np.minimum(hours, 1.0), np.repeat("all", 200), hours > 1.0)
    median = fit(table, "repair", seed=1, progress=False)["posterior"]["median_hours"].values
    assert np.quantile(median, 0.005) < 1.0 < np.quantile(median, 0.995)
    closed = repairs_from_arrays(hours[hours <= 1.0], np.repeat("all", int((hours <= 1.0).sum())))
    short = fit(closed, "repair", seed=1, progress=False)["posterior"]["median_hours"].values
    assert np.quantile(short, 0.995) < 0.7


def test_the_mean_feeds_the_pool_of_spares(fitted):
    """Little's law: nodes in repair are rate times nodes times mean time; and the mean is of the classes' mixture."""
    table, _, tree = fitted
    hours = repair_hours(tree)
    mean = hours["mean"].values
    count = (table["repairs"].values + np.bincount(table["open_class"].values, minlength=4)) / 500
    by_class = tree["posterior"]["mean_hours"].mean(("chain", "draw")).values
    assert mean.mean() == pytest.approx(count @ by_class, rel=0.02)
    rate = stated_rate(np.full(4000, 5.0), [8192])
    content = plan_spares(rate, Uncertain(mean, "h"), Plan())
    expected = 1024 * 5e-3 * mean.mean() / 24
    assert content["rows"][0]["nodes_in_repair"]["mean"] == pytest.approx(expected, rel=0.05)


def test_the_next_repair_is_as_long_as_those_before(fitted):
    """The predicted median lies by that of the simulated repairs (500 of them: a tenth of its value and more)."""
    _, truth, tree = fitted
    hours = repair_hours(tree)
    rng = np.random.default_rng(1)
    share = 0.5 ** np.arange(4) / (0.5 ** np.arange(4)).sum()
    drawn = np.exp(truth["log_median"].values[rng.choice(4, 100_000, p=share)] + 1.1 * rng.standard_normal(100_000))
    assert np.median(hours["next"].values) == pytest.approx(np.median(drawn), rel=0.25)


def test_what_cannot_be_used():
    with pytest.raises(InputError, match="not above 0"):
        repairs_from_arrays([1.0, -1.0], ["a", "a"])
    with pytest.raises(InputError, match="no repair is over"):
        repairs_from_arrays([1.0], ["a"], [True])
    with pytest.raises(InputError, match="no column 'severity'"):
        repair_table(pl.DataFrame({"start": [], "end": []}), by="severity")
    with pytest.raises(InputError, match="not a repair table"):
        fit(simulate_repairs(seed=1)[0].drop_vars("open_hours"), "repair")
