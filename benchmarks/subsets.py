"""Los Alamos: rates from jobs on 1, 8 or 64 random nodes, held against all 1,024 nodes of systems 18 and 19.

    python benchmarks/subsets.py [--subsets 20] [--seed 1] [--data ../shared/data/lanl_failures/nodes_derived.csv]

For each system and size, random subsets of nodes are fitted by themselves, and the failures of the whole system in the
same years are predicted (its node-days taken as known). Printed is how often the 90 % interval holds what was counted.
`constant` knows the luck of a Poisson count alone; `node_frailty` knows that nodes differ: without lemons by a spread
(the column `spread`), and with them (`lemons`, subsets of 10 nodes and more).
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl
import xarray as xr

SYSTEMS = (18, 19)
SIZES = (1, 8, 64)
MIN_NODES = 10


def main() -> None:
    """Draw subsets, fit them, print coverage."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--subsets", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--data", type=Path, default=Path("../shared/data/lanl_failures/nodes_derived.csv"))
    given = parser.parse_args()
    rows = pl.read_csv(given.data)
    print(f"{'nodes':>5} {'model':14} {'covered':>9} {'width':>7} {'median of predicted / counted':>30}", flush=True)
    for size in SIZES:
        models = ("constant", "spread", "lemons") if size >= MIN_NODES else ("constant", "spread")
        found: dict[str, list[tuple[bool, float, float]]] = {model: [] for model in models}
        for system in SYSTEMS:
            nodes = rows.filter(pl.col("System") == system)
            failures, days = (nodes[name].to_numpy() for name in ("failures", "days_adjusted"))
            rng = np.random.default_rng([given.seed, system, size])
            for _ in range(given.subsets):
                chosen = rng.choice(len(failures), size, replace=False)
                for model, results in found.items():
                    drawn = predicted(model, failures[chosen], days[chosen], days, rng)
                    low, middle, high = np.quantile(drawn, [0.05, 0.5, 0.95])
                    counted = failures.sum()
                    results.append((low <= counted <= high, high / max(low, 1), middle / counted))
        for model, results in found.items():
            inside, width, ratio = (np.array(column) for column in zip(*results, strict=True))
            covered = f"{inside.sum()}/{len(inside)}"
            print(f"{size:5} {model:14} {covered:>9} {np.median(width):7.2f} {np.median(ratio):30.2f}", flush=True)


def predicted(
    model: str, failures: np.ndarray, days: np.ndarray, all_days: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Fit a subset and draw the failures of all nodes, (sample,)."""
    from meantime.datasets.table import build_table
    from meantime.inference import fit

    if model == "constant":
        table = build_table([[failures.sum()]], [days.sum()], cluster=["A"], component=["any"])
        rate = fit(table, model, seed=1)["posterior"]["rate"].values.ravel()
        return rng.poisson(rate * all_days.sum())
    priors = {"share_mean": None} if model == "spread" else None
    names = [f"n{i}" for i in range(len(failures))]
    table = build_table(failures[None, None], days[None], cluster=["A"], component=["any"], node=names)
    tree = fit(table, "node_frailty", priors=priors, seed=1, draws=2000, progress=False, allow_unconverged=True)
    return rng.poisson(_of_all(tree, all_days, rng))


def _of_all(tree: xr.DataTree, days: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Return the expected failures of nodes that are new draws from the population, (sample,)."""
    posterior = tree["posterior"].to_dataset().isel(cluster=0)
    rate, shape = posterior["normal_rate"].values.ravel(), 1 / (posterior["spread"].values.ravel() ** 2 + 1e-8)
    expected = np.empty(len(rate))
    for place, (one, k) in enumerate(zip(rate, shape, strict=True)):
        expected[place] = one * (days @ (rng.standard_gamma(k, len(days)) / k))
    if "lemon_share" not in posterior:
        return expected
    share, excess = posterior["lemon_share"].values.ravel(), posterior["lemon_excess"].values.ravel()
    lemons = rng.binomial(len(days), share)
    more = np.array([(rng.standard_gamma(k, n) / k).sum() for k, n in zip(shape, lemons, strict=True)])
    return expected + rate * excess * more * days.mean()


if __name__ == "__main__":
    main()
