"""Forecasts of `over_time` after a steady fall by a factor of 30 in two years, and after pure walks.

    python benchmarks/over_time.py [--tables 40]

Each table has 24 months of 20,000 node-days of one component; rates 1, 4 and 12 months ahead are held against 90 %
intervals, with and without the prior `drift_sd`. Of n tables a calibrated forecast has binomial(n, 0.9) hits: what is
printed as the bounds holds all but 1 in 1,000 on either side. The fall has ordinary moves of 0.15 a year about it, the
walk of 0.8; both have bursts of 20 %.
"""

import argparse

import numpy as np
import xarray as xr
from scipy import stats

MONTHS, AHEAD, NODE_DAYS, YEARS = 24, 12, 20_000.0, 30 / 365.25
HORIZONS = (1, 4, 12)


def main() -> None:
    """Simulate, fit, look ahead and count."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tables", type=int, default=40)
    tables = parser.parse_args().tables
    from meantime.inference import fit, provenance, rate_over_time

    low, high = stats.binom.ppf([1e-3, 1 - 1e-3], tables, 0.9)
    print(f"hits of {tables} at {HORIZONS} months (bounds {low:.0f} to {high:.0f}), and factors about the median")
    for kind in ("fall", "walk"):
        for priors in (None, {"drift_sd": 1.0}):
            hits, widths, refused = np.zeros(len(HORIZONS)), np.zeros(len(HORIZONS)), 0
            for seed in range(tables):
                table, rate = simulate(seed, kind)
                tree = fit(table, "over_time", priors=priors, seed=seed, draws=500, progress=False,
                           allow_unconverged=True)  # fmt: skip
                refused += not provenance(tree)["diagnostics"]["converged"]
                path = rate_over_time(tree, horizon=f"{30 * AHEAD}d", seed=seed).values[:, 0]
                for place, months in enumerate(HORIZONS):
                    here = MONTHS - 1 + months
                    lower, upper = np.quantile(path[:, here], [0.05, 0.95])
                    hits[place] += lower < rate[here] < upper
                    widths[place] += np.log(upper / lower) / tables
            print(f"{kind:5} {priors!s:20} hits {hits} factors {np.exp(widths / 2).round(2)} refused {refused}")


def simulate(seed: int, kind: str) -> tuple[xr.Dataset, np.ndarray]:
    """Draw a table and its true rates, those ahead among them; by NumPy alone."""
    from meantime.datasets import build_table

    rng = np.random.default_rng([seed, 91])
    count = MONTHS + AHEAD
    spread, drift, first = (0.15, -np.log(30) / 2, 2e-2) if kind == "fall" else (0.8, 0.0, 6.5e-3)
    steps = drift * YEARS + spread * np.sqrt(YEARS) * rng.standard_normal(count - 1)
    rate = first * np.exp(np.concatenate([[0], np.cumsum(steps)]))
    counts = rng.poisson(NODE_DAYS * rate * rng.gamma(25, 1 / 25, count))[:MONTHS]
    times = np.datetime64("2023-01-01", "ns") + np.arange(MONTHS) * np.timedelta64(30, "D")
    exposure = np.full((1, MONTHS), NODE_DAYS)
    return build_table(counts[None, None], exposure, cluster=["A"], component=["x"], period=times), rate


if __name__ == "__main__":
    main()
