"""Failures of the simulated cluster follow the stated rates: the truth that fits are checked against.

Counts are summed over seeds and compared with exposure x true rate. Given the exposure the counts are
Poisson, so each test states its chance of a false alarm; the seeds are fixed and printed on failure.
"""

import numpy as np
import polars as pl
import pytest
from scipy import stats

from meantime.datasets.simulate import RSC1_RATES, simulate_cluster
from meantime.datasets.simulate.hazards import bucket_index, draw_causes

SEEDS = range(100, 112)
FALSE_ALARM = 1e-5


def _poisson_p(observed: float, expected: float) -> float:
    """Two-sided exact p-value."""
    return 2 * min(stats.poisson.cdf(observed, expected), stats.poisson.sf(observed - 1, expected))


@pytest.fixture(scope="module")
def totals():
    """Observed and expected counts by component and size, summed over seeds, of a fleet with slopes and cells."""
    slopes = {"gpu_memory": 0.15, "pcie": -0.2, "infiniband_link": 0.1}
    observed, expected = 0, 0
    for seed in SEEDS:
        run = simulate_cluster(seed=seed, n_jobs=20_000, n_nodes=2000, days=40, slopes=slopes, cell_sd=0.3)
        sizes = run.plan.mix
        table = run.table.reindex(job_size=list(sizes), fill_value=0)
        rate = run.truth["rate"].sel(job_size=list(sizes))
        observed = observed + table["failures"].values[0]
        expected = expected + (rate * table["exposure"].isel(cluster=0)).transpose("component", "job_size").values
    return observed, expected


def test_total_and_every_component_and_size_fit_the_true_rates(totals):
    """25 sums; false alarm 1e-5 in all (Bonferroni)."""
    observed, expected = totals
    assert expected.sum() > 3000
    sums = [(observed.sum(), expected.sum())]
    sums += list(zip(observed.sum(0), expected.sum(0), strict=True))
    sums += list(zip(observed.sum(1), expected.sum(1), strict=True))
    worst = min(_poisson_p(o, e) for o, e in sums)
    assert worst > FALSE_ALARM / len(sums), (SEEDS, sums)


def test_cells_fit_the_true_rates_together(totals):
    """Pearson's statistic over the cells of 5 expected failures or more: both tails, false alarm 1e-5."""
    observed, expected = totals
    enough = expected >= 5
    statistic = ((observed - expected) ** 2 / expected)[enough].sum()
    p = 2 * min(stats.chi2.sf(statistic, enough.sum()), stats.chi2.cdf(statistic, enough.sum()))
    assert enough.sum() > 80
    assert p > FALSE_ALARM, (SEEDS, statistic, enough.sum())


def test_failures_come_at_a_constant_rate_within_attempts():
    """Time to failure over planned length would be skewed if age mattered: early and late halves of the first
    10 hours of attempts have as many failures as their exposure asks for. False alarm 1e-5."""
    counts, exposure = np.zeros(2), np.zeros(2)
    for seed in SEEDS:
        run = simulate_cluster(seed=seed, n_jobs=20_000, n_nodes=2000, days=40)
        rows = run.jobs.filter(pl.col("start").is_not_null()).join(
            run.failures.select("job_id", "attempt", failed=True), on=["job_id", "attempt"], how="left"
        )
        hours = (rows["end"].fill_null(run.log_end) - rows["start"]).dt.total_seconds().to_numpy() / 3600
        failed = rows["failed"].fill_null(False).to_numpy()
        nodes = rows["n_gpus"].to_numpy() / 8
        for half, (low, high) in enumerate(((0, 5), (5, 10))):
            exposure[half] += (nodes * np.clip(hours - low, 0, high - low)).sum()
            counts[half] += (failed & (hours > low) & (hours <= high)).sum()
    share = exposure[0] / exposure.sum()
    p = stats.binomtest(int(counts[0]), int(counts.sum()), share).pvalue
    assert counts.sum() > 1000
    assert p > FALSE_ALARM, (SEEDS, counts, exposure)


def test_lemons_raise_the_rate_as_the_truth_says():
    """Total with lemons, and the lemons' own failures, each against its expectation; false alarm 1e-5 in all."""
    observed = expected = on_lemons = on_lemons_expected = 0.0
    for seed in SEEDS:
        run = simulate_cluster(
            seed=seed, n_jobs=20_000, n_nodes=2000, days=40, lemon_share=0.02, lemon_multiplier=15, slopes=0.05
        )
        truth = run.truth.sel(job_size=run.table["job_size"])
        base = (truth["rate"].sum("component") * run.table["exposure"].isel(cluster=0)).values
        factor = truth["lemon_factor"].values
        observed += run.failures.height
        expected += (base * factor).sum()
        lemons = run.truth["node"].values[run.truth["lemon"].values]
        assert len(lemons) == 40
        on_lemons += run.failures["node"].is_in(lemons).sum()
        on_lemons_expected += (base * (factor - 1) * 15 / 14).sum()
    assert expected > 1.15 * base.sum() * len(SEEDS)
    worst = min(_poisson_p(observed, expected), _poisson_p(on_lemons, on_lemons_expected))
    assert worst > FALSE_ALARM / 2, (SEEDS, observed, expected, on_lemons, on_lemons_expected)


def test_without_lemons_the_factor_is_one():
    run = simulate_cluster(seed=5, n_jobs=1000, n_nodes=200)
    assert (run.truth["lemon_factor"] == 1).all()
    assert not run.truth["lemon"].any()


def test_default_rates_sum_to_rsc1s():
    assert sum(RSC1_RATES.values()) == pytest.approx(6.5e-3, rel=1e-12)
    run = simulate_cluster(seed=5, n_jobs=100, n_nodes=20)
    np.testing.assert_allclose(run.truth["rate"].sum("component"), 6.5e-3, rtol=1e-12)


def test_truth_holds_rates_of_sizes_beyond_the_log():
    run = simulate_cluster(seed=5, n_jobs=100, n_nodes=20, slopes=0.1, cell_sd=0.5)
    truth = run.truth.sel(job_size=131_072)
    formula = np.exp(truth["level"] + truth["slope"] * np.log2(131_072 / 64)) * truth["cell"]
    np.testing.assert_allclose(truth["rate"], formula, rtol=1e-12)
    assert truth["cell"].std() > 0.1


def test_buckets_are_labelled_by_their_upper_edge():
    assert (2 ** bucket_index([1, 2, 3, 4, 5, 8, 9, 1024, 1025])).tolist() == [1, 2, 4, 4, 8, 8, 16, 1024, 2048]


def test_causes_compete_in_proportion_to_their_rates():
    """Chi-squared of 200,000 draws over 3 components; false alarm 1e-5. A zero rate never wins."""
    rate = np.array([[1.0, 5.0], [0.0, 0.0], [3.0, 5.0], [6.0, 0.5]])
    rng = np.random.default_rng(11)
    counts = np.bincount(draw_causes(rng, rate, np.zeros(200_000, dtype=int)), minlength=4)
    assert counts[1] == 0
    assert stats.chisquare(counts[[0, 2, 3]], 200_000 * np.array([0.1, 0.3, 0.6])).pvalue > FALSE_ALARM
