"""Rates of the Los Alamos systems with their exact 95 % Poisson intervals, from the raw file: every published row."""

from pathlib import Path

import polars as pl
import pytest
from scipy import stats

from meantime.datasets.log import Log
from meantime.datasets.readers.lanl import read_lanl
from meantime.datasets.readers.lanl_nodes import lanl_nodes, lanl_systems, lanl_table

# code: nodes, processors of most nodes, failures, node-days raw and adjusted, rate per 1,000 node-days and its interval
SYSTEMS = """
2 49 128 7104 152453 110630 64.2141 62.7295 65.725
3 128 4 299 94719.9 94719.9 3.15668 2.80898 3.53553
4 128 4 299 94719.9 94719.9 3.15668 2.80898 3.53553
5 128 4 305 94719.9 94719.9 3.22002 2.86875 3.60244
6 32 4 64 23680 23680 2.70271 2.08141 3.4513
7 1 8 129 1656.09 1656.09 77.8945 65.0333 92.5547
8 164 2 475 235113 235113 2.02031 1.84268 2.21043
9 256 2 280 189440 189440 1.47804 1.30997 1.6617
10 256 2 237 189440 189440 1.25106 1.09684 1.42089
11 256 2 268 189440 189440 1.4147 1.25038 1.59461
12 512 2 259 365272 365272 0.709062 0.625329 0.800883
13 256 2 201 189440 189440 1.06102 0.919404 1.21828
14 128 2 125 94719.9 94719.9 1.31968 1.09849 1.57234
15 1 256 54 312.999 312.999 172.525 129.606 225.107
16 16 128 2680 33600 33600 79.7619 76.7704 82.8401
18 1024 4 3997 1.25747e+06 1.25747e+06 3.1786 3.08082 3.2787
19 1024 4 3284 1.1008e+06 1.1008e+06 2.98329 2.88212 3.0871
20 512 4 2478 706047 402969 6.14936 5.9096 6.39635
21 128 4 110 15616 15616 7.04406 5.78936 8.48999
22 1 4 246 2730.58 2730.58 90.0909 79.1837 102.081
23 5 128 564 7345 7345 76.7869 70.5797 83.3938
24 1 32 155 2571.71 2571.71 60.2712 51.1563 70.5418
"""
# processors per node: nodes, failures, node-days, rate and its interval
SIZES = """
2 1828 1845 1.45286e+06 1.26991 1.21262 1.32921
4 3105 11082 3.08742e+06 3.5894 3.52288 3.65686
5-32 2 284 4227.8 67.1745 59.5883 75.4589
128+ 71 10402 151888 68.4847 67.1749 69.8137
"""
# cause, over systems 18, 19 and 20: failures, node-days, rate and its interval
CAUSES = """
hardware 7249 2.76124e+06 2.62527 2.56518 2.68641
software 1929 2.76124e+06 0.6986 0.667769 0.730487
network 44 2.76124e+06 0.0159349 0.0115783 0.0213918
facilities 41 2.76124e+06 0.0148484 0.0106555 0.0201435
human_error 43 2.76124e+06 0.0155727 0.0112701 0.0209764
undetermined 453 2.76124e+06 0.164057 0.149295 0.179883
unattributed 0 2.76124e+06 0 0 0.00133595
"""


@pytest.fixture(scope="module")
def log(shared_data: Path) -> Log:
    return read_lanl(shared_data / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz")


@pytest.fixture(scope="module")
def nodes(log: Log) -> pl.DataFrame:
    """Nodes with their days to thousandths, as the published table has them."""
    return lanl_nodes(log).with_columns(pl.col("days", "days_adjusted").round(3))


def rate(failures: int, days: float) -> list[str]:
    """Rate per 1,000 node-days and the exact (Garwood) 95 % interval, to six figures."""
    low = stats.chi2.ppf(0.025, 2 * failures) / 2 if failures else 0.0
    high = stats.chi2.ppf(0.975, 2 * failures + 2) / 2
    return [f"{1000 * value / days:.6g}" for value in (failures, low, high)]


@pytest.mark.parametrize("line", SYSTEMS.strip().splitlines())
def test_systems(log: Log, nodes: pl.DataFrame, line: str) -> None:
    code, *wanted = line.split()
    system = lanl_systems(log, nodes).row(by_predicate=pl.col("cluster") == code, named=True)
    days = [f"{system[name]:.6g}" for name in ("days", "days_adjusted")]
    got = [str(system[name]) for name in ("nodes", "procs_in_node", "failures")]
    assert [*got, *days, *rate(system["failures"], system["days_adjusted"])] == wanted


@pytest.mark.parametrize("line", SIZES.strip().splitlines())
def test_sizes(log: Log, nodes: pl.DataFrame, line: str) -> None:
    bucket, *wanted = line.split()
    low, high = {"2": (1, 2), "4": (3, 4), "5-32": (5, 32), "128+": (33, 10**6)}[bucket]
    size = lanl_systems(log, nodes).select("cluster", pl.col("procs_in_node").alias("procs"))
    part = nodes.join(size, on="cluster").filter(pl.col("procs").is_between(low, high))
    days, failures = part["days_adjusted"].sum(), part["failures"].sum()
    assert [str(part.height), str(failures), f"{days:.6g}", *rate(failures, days)] == wanted


@pytest.mark.parametrize("line", CAUSES.strip().splitlines())
def test_causes(log: Log, nodes: pl.DataFrame, line: str) -> None:
    cause, *wanted = line.split()
    three = lanl_table(log, by_node=False).sel(cluster=["18", "19", "20"]).sum("cluster")
    days = nodes.filter(pl.col("cluster").is_in(["18", "19", "20"]))["days_adjusted"].sum()
    failures = int(three["failures"].sel(component=cause))
    assert float(three["exposure"]) == pytest.approx(days, rel=1e-6)  # thousandths of 2,560 nodes
    assert [str(failures), f"{days:.6g}", *rate(failures, days)] == wanted
