"""From simulated logs to forecasts: the truth lies in 90 % intervals as often as it should."""

import numpy as np
import pytest
from scipy import stats

from meantime.datasets import failure_table
from meantime.datasets.simulate import RSC1_RATES, simulate_cluster
from meantime.inference import fit, predict_rate
from meantime.intervals import LOWER, PROBABILITY, UPPER

SEEDS = 40
FALSE_ALARM = 1e-3
"""Chance that one quantity fails although its intervals have the stated coverage (two-sided)."""
LARGEST = 131_072


def _inside(draws: np.ndarray, truth: float) -> bool:
    lower, upper = np.quantile(draws, [LOWER, UPPER])
    return bool(lower <= truth <= upper)


def _one(seed: int) -> tuple[dict[str, bool], list[bool]]:
    """Simulate a cluster, fit its log, and compare headline figures, then every slope and rate."""
    rng = np.random.default_rng([2410, seed])
    common = rng.normal(0, 0.1)
    slopes = {name: common + rng.normal(0, 0.08) for name in RSC1_RATES}
    simulated = simulate_cluster(seed=seed, days=60.0, slopes=slopes, cell_sd=float(rng.uniform(0.05, 0.4)))
    table = failure_table(simulated.jobs, simulated.events, log_end=simulated.log_end)
    tree = fit(table, "component_size", seed=seed, progress=False)
    posterior = tree["posterior"].to_dataset().stack(sample=("chain", "draw"))
    predicted = predict_rate(tree, [64, LARGEST], seed=seed)
    truth = simulated.truth
    true_rate = truth["rate"].sel(component=predicted["component"].values)
    mttf = 24 / (LARGEST / 8 * predicted.sel(gpus=LARGEST).sum("component").values)
    true_mttf = 24 / (LARGEST / 8 * float(true_rate.sel(job_size=LARGEST).sum()))
    slope = posterior["slope"].mean("component").values
    headline = {
        "total rate at 64 GPUs": _inside(
            predicted.sel(gpus=64).sum("component").values, float(true_rate.sel(job_size=64).sum())
        ),
        "mean slope": _inside(slope, float(np.mean(list(slopes.values())))),
        "MTTF at 131,072 GPUs": _inside(mttf, true_mttf),
    }
    parts = [_inside(posterior["slope"].sel(component=name).values, slopes[name]) for name in slopes]
    parts += [
        _inside(predicted.sel(gpus=64, component=name).values, float(true_rate.sel(job_size=64, component=name)))
        for name in slopes
    ]
    return headline, parts


@pytest.mark.slow
def test_truth_lies_in_the_intervals_as_often_as_stated() -> None:
    """40 clusters with a truth of their own, through attribution, fit and forecast.

    Each headline quantity is inside Binomial(40, 0.9) times. The bounds leave out 0.05 % at either end:
    false alarm 1e-3 a quantity at nominal coverage. Slopes and rates by component (24 a cluster) are not
    independent within a cluster, so their mean share is held to 0.9 within four standard errors over the
    clusters (false alarm under 1e-3 by Student's t with 39 degrees of freedom), and may exceed it only by 0.06,
    for shrinkage makes intervals of single components cover a little more than they say.
    """
    results = [_one(seed) for seed in range(SEEDS)]
    least, most = stats.binom.ppf([FALSE_ALARM / 2, 1 - FALSE_ALARM / 2], SEEDS, PROBABILITY)
    counts = {name: sum(headline[name] for headline, _ in results) for name in results[0][0]}
    shares = np.array([np.mean(parts) for _, parts in results])
    error = shares.std(ddof=1) / np.sqrt(SEEDS)
    told = f"seeds 0 to {SEEDS - 1}; inside: {counts}, expected {least:.0f} to {most:.0f}; "
    told += f"parts {shares.mean():.3f} +- {error:.3f}"
    print(told)
    assert all(least <= count <= most for count in counts.values()), told
    assert PROBABILITY - 4 * error <= shares.mean() <= PROBABILITY + 0.06 + 4 * error, told
