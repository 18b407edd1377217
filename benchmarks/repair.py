"""Down times at Los Alamos: leave-one-out comparison of the two models of repairs, and years left out.

    python benchmarks/repair.py [--data ../shared/data/lanl_failures/LA-UR-05-7318-failure-data-1996-2005.csv.xz]

Outages of systems 18 to 20, by component. For each of 2002 to 2005 both models are fitted to the other years; printed
are the share of that year's repairs beyond the predicted 95th and 99th percentile (right: 0.05 and 0.01), the mean
pinball loss of those percentiles in hours, and the mean that a pool of spares hangs on.
"""

import argparse
from pathlib import Path

import numpy as np
import polars as pl

MODELS = ("repair", "repair_tail")
LEVELS = (0.95, 0.99)
YEARS = (2002, 2003, 2004, 2005)


def main() -> None:
    """Compare, then leave years out."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    name = "LA-UR-05-7318-failure-data-1996-2005.csv.xz"
    parser.add_argument("--data", type=Path, default=Path("../shared/data/lanl_failures") / name)
    given = parser.parse_args()
    from meantime.datasets import repair_table
    from meantime.datasets.readers.lanl import read_lanl
    from meantime.inference import compare, fit, repair_hours

    outages = read_lanl(given.data).table.filter(pl.col("cluster").is_in(["18", "19", "20"]))
    table = repair_table(outages)
    fits = {model: fit(table, model, seed=1, draws=500, progress=False) for model in MODELS}
    print(compare(fits)[["elpd", "difference", "difference_se", "weight", "largest_k"]].to_dataframe().round(2))
    print(
        f"\n{'year':>4} {'model':12} {'above p95':>10} {'above p99':>10} {'loss p95':>9} {'loss p99':>9} {'mean h':>7}"
    )
    losses: dict[str, list[list[float]]] = {model: [] for model in MODELS}
    for year in YEARS:
        here = pl.col("start").dt.year() == year
        train = repair_table(outages.filter(~here))
        minutes = (pl.col("end") - pl.col("start")).dt.total_minutes()
        hours = outages.filter(here).select(minutes)["end"].to_numpy() / 60
        hours = hours[hours > 0]
        for model in MODELS:
            tree = fit(train, model, seed=1, progress=False)
            coming = repair_hours(tree)
            bounds = np.quantile(coming["next"].values, LEVELS)
            row = [
                *((hours > bound).mean() for bound in bounds),
                *(_pinball(hours, bound, level) for bound, level in zip(bounds, LEVELS, strict=True)),
                float(coming["mean"].median()),
            ]
            losses[model].append(row)
            print(f"{year:4} {model:12} " + "{:10.3f} {:10.4f} {:9.3f} {:9.3f} {:7.2f}".format(*row), flush=True)
        print(f"{year:4} {'counted':12} {'':10} {'':10} {'':9} {'':9} {hours.mean():7.2f}", flush=True)
    for model, rows in losses.items():
        print(f"mean {model:12} " + "{:10.3f} {:10.4f} {:9.3f} {:9.3f}".format(*np.mean(rows, axis=0)[:4]))


def _pinball(hours: np.ndarray, bound: float, level: float) -> float:
    """Return the mean loss of a predicted quantile, least on average at the true one (Koenker and Bassett, 1978)."""
    return float(np.maximum(level * (hours - bound), (level - 1) * (hours - bound)).mean())


if __name__ == "__main__":
    main()
