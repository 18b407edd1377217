"""Lemons removed by a fit of `node_frailty`: the years held out at Los Alamos."""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from meantime.datasets.readers.lanl import read_lanl
from meantime.datasets.table import build_table
from meantime.forecast import lemon_removal
from meantime.inference import fit, node_posterior

SPLIT = dt.datetime(2004, 1, 1, tzinfo=dt.UTC)


@pytest.mark.slow
def test_system_18_priced_early_and_checked_late(shared_data, capsys):
    """Fitted to 2,059 failures before 2004, checked on the 1,938 after: price, counts, and what came.

    The price of taking k nodes out is nearer to what came than that of the counts, for every k (LA-UR-05-7318).
    """
    packed = shared_data / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz"
    rows = read_lanl(packed, system="18").table
    node = pl.col("node").cast(pl.Int64)
    early, late = (
        np.bincount(rows.filter(when).select(node).to_series().to_numpy(), minlength=1024)
        for when in (pl.col("start") < SPLIT, pl.col("start") >= SPLIT)
    )
    assert (early.sum(), late.sum()) == (2059, 1938)
    days = np.full((1, 1024), (SPLIT - rows["start"].min()).total_seconds() / 86400)
    table = build_table(early[None, None], days, cluster=["18"], component=["all"], node=[str(i) for i in range(1024)])
    nodes = node_posterior(fit(table, "node_frailty", seed=18, progress=False))
    numbers = [1, 5, 10, 26, 51]
    result = lemon_removal(nodes, numbers)
    order = result["order"].values.astype(int)
    with capsys.disabled():
        print("\nSystem 18, k nodes out: priced (90 %), from counts, held out")
        for i, k in enumerate(numbers):
            mean, lower, upper = result["factor"].sel(figure=["mean", "lower", "upper"]).values[i]
            held = np.delete(late, order[:k]).mean() / late.mean()
            counted = float(result["factor_of_counts"][i])
            print(f"{k:3d}: {mean:.3f} ({lower:.3f} to {upper:.3f}), {counted:.3f}, {held:.3f}")
            assert abs(mean - held) < abs(counted - held)
