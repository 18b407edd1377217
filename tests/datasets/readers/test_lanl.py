"""The Los Alamos file through its reader: every derived row, and the published tables, from the raw rows."""

from pathlib import Path

import numpy as np
import polars as pl
import pytest
from scipy import optimize, stats

from meantime.datasets.log import Log
from meantime.datasets.outages import hit_probability, incidents
from meantime.datasets.readers.lanl import parse_month, read_lanl
from meantime.datasets.readers.lanl_nodes import COMPONENTS, lanl_nodes, lanl_systems, lanl_table
from meantime.errors import InputError

CAUSES = ("hardware", "software", "network", "facilities", "human_error", "undetermined")


@pytest.fixture(scope="module")
def folder(shared_data: Path) -> Path:
    return shared_data / "lanl_failures"


@pytest.fixture(scope="module")
def log(folder: Path) -> Log:
    return read_lanl(folder / "LA-UR-05-7318-failure-data-1996-2005.csv.xz")


@pytest.fixture(scope="module")
def nodes(log: Log) -> pl.DataFrame:
    return lanl_nodes(log)


def test_rows(log: Log) -> None:
    assert (log.rows_read, log.table.height, log.quarantine.height) == (23739, 23613, 126)
    assert set(log.quarantine["reason"]) == {"node is missing"}
    assert log.table.is_duplicated().sum() == 50
    without = log.table.filter(pl.col("component") == "unattributed")["cluster"]
    assert (without.len(), set(without)) == (453, {"7", "16", "22", "23", "24"})


def test_every_derived_node(folder: Path, nodes: pl.DataFrame) -> None:
    wanted = pl.read_csv(folder / "nodes_derived.csv")
    got = nodes.select(
        pl.col("cluster").cast(pl.Int64).alias("System"),
        pl.col("node").cast(pl.Int64).alias("nodenumz"),
        "failures",
        *CAUSES,
        pl.col("days").round(3),
        pl.col("procs_in_node"),
        "purpose",
        pl.col("first_failure", "last_failure").dt.to_string("%Y-%m-%d %H:%M:%S"),
        pl.col("days_adjusted").round(3),
    )
    keys = ["System", "nodenumz"]  # the derived file lists nodes without a failure after the others
    assert got.sort(keys).equals(wanted.select(got.columns).sort(keys))


def test_every_derived_system(folder: Path, log: Log, nodes: pl.DataFrame) -> None:
    wanted = pl.read_csv(folder / "systems_derived.csv")
    got = lanl_systems(log, nodes)
    thousandths = nodes.group_by("cluster", maintain_order=True).agg(pl.col("days_adjusted").round(3).sum())
    got = got.with_columns(thousandths["days_adjusted"].round(1), pl.col("days").round(1))
    got = got.with_columns(pl.col("cluster").cast(pl.Int64))
    assert got.rows() == wanted.rows()


def test_failure_table(log: Log) -> None:
    table = lanl_table(log, by_node=False)
    three = table.sel(cluster=["18", "19", "20"]).sum("cluster")
    days = float(three["exposure"])
    assert f"{days:.6g}" == "2.76124e+06"
    counts = {name: int(three["failures"].sel(component=name)) for name in COMPONENTS}
    assert counts == {
        "hardware": 7249,
        "software": 1929,
        "network": 44,
        "facilities": 41,
        "human_error": 43,
        "undetermined": 453,
        "unattributed": 0,
    }
    assert table.attrs["exposure_kind"] == "calendar"
    raw = lanl_table(log, adjusted=False, by_node=False)
    assert f"{float(raw['exposure'].sel(cluster='20')):.6g}" == "706048"
    by_node = lanl_table(log)
    assert by_node["failures"].sum("node").equals(table["failures"])
    assert int(by_node["failures"].sum()) == 23613


# system: mean, variance, var/mean, nodes without, share of the top 1 %, mean rate and shape of the gamma
SPREAD = {
    "2": ("144.98", "7679.65", "52.9705", 0, "0.0724944", 62.3571, 6.97598),
    "18": ("3.90332", "24.1989", "6.19956", 60, "0.0845634", 3.1786, 2.34144),
    "19": ("3.20703", "23.744", "7.40373", 96, "0.102619", 2.98329, 2.03259),
    "20": ("4.83984", "53.9469", "11.1464", 112, "0.104116", 6.36374, 1.91235),
}


@pytest.mark.parametrize("system", list(SPREAD))
def test_spread_between_nodes(nodes: pl.DataFrame, system: str) -> None:
    """Maximum likelihood of counts ~ Poisson(gamma x mean x days); six figures need the optimum to 1e-7."""
    part = nodes.filter(pl.col("cluster") == system)
    counts = part["failures"].to_numpy()
    days = part["days_adjusted"].round(3).to_numpy()
    mean, variance, ratio, none, top, nb_mean, nb_shape = SPREAD[system]
    top_count = np.sort(counts)[::-1][: max(1, round(len(counts) / 100))].sum()
    assert (f"{counts.mean():.6g}", f"{counts.var(ddof=1):.6g}", (counts == 0).sum()) == (mean, variance, none)
    assert f"{counts.var(ddof=1) / counts.mean():.6g}" == ratio
    assert f"{top_count / counts.sum():.6g}" == top
    seen = days > 0

    def loss(log_parameters: np.ndarray) -> float:
        rate, shape = np.exp(log_parameters)
        return -stats.nbinom.logpmf(counts[seen], shape, shape / (shape + rate * days[seen])).sum()

    best = optimize.minimize(
        loss, [np.log(counts.sum() / days.sum()), 0.5], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-9}
    )
    rate, shape = np.exp(best.x)
    assert 1000 * rate == pytest.approx(nb_mean, rel=2e-5)
    assert shape == pytest.approx(nb_shape, rel=2e-5)


# system, nodes, nodes of the job: incidents, failures, MTTF in hours of incidents and of independent nodes
JOBS = """
18 1024    1 3.89844 3.90332 7559.95 7550.49
18 1024    8 31.1826 31.2266 945.142 943.811
18 1024   64 249.152 249.812 118.289 117.976
18 1024  256  992.66  999.25 29.6899 29.4941
18 1024 1024    3918    3997  7.5222 7.37352
19 1024    1 3.20703 3.20703 8044.82 8044.82
19 1024    8 25.6533 25.6562 1005.72  1005.6
19 1024   64  205.04  205.25 125.829   125.7
19 1024  256 817.693     821 31.5522 31.4251
19 1024 1024    3236    3284  7.9728 7.85627
20  256    1 8.28125 8.29688  3996.5 3988.97
20  256    8 66.2098  66.375 499.865 498.621
20  256   64 527.157     531  62.782 62.3276
20  256  256    2077    2124 15.9345 15.5819
"""


@pytest.mark.parametrize("line", JOBS.strip().splitlines())
def test_mttf_of_jobs_by_incidents(log: Log, nodes: pl.DataFrame, line: str) -> None:
    system, *numbers = line.split()
    size, job, *wanted = int(numbers[0]), int(numbers[1]), *numbers[2:]
    part = log.table.filter((pl.col("cluster") == system) & (pl.col("node").cast(pl.Int64) < size))
    hours = 24 * nodes.filter(pl.col("cluster") == system)["days"].round(3).max()  # type: ignore[operator]
    expected = hit_probability(incidents(part)["nodes"].to_numpy(), size, job).sum()
    alone = part.height * job / size
    assert [f"{value:.6g}" for value in (expected, alone, hours / expected, hours / alone)] == wanted


def test_failures_by_year(log: Log) -> None:
    years = {"18": (0, 705, 1354, 1141, 797), "19": (0, 277, 1152, 1073, 782), "20": (49, 1271, 528, 440, 190)}
    for system, wanted in years.items():
        year = log.table.filter(pl.col("cluster") == system)["start"].dt.year()
        assert tuple(int((year == y).sum()) for y in range(2001, 2006)) == wanted


# period, node: failures, share of zero gaps, mean in hours, C2, Weibull shape and scale of the gaps above zero
GAPS = {
    ("1996-1999", None): (3987, "0.420723", "6.45704", "7.03334", 0.661874, 8.14542),
    ("1996-1999", "22"): (56, "0", "209.443", "4.19395", 0.589511, 123.69),
    ("2000-2005", None): (3117, "0.00962773", "16.0048", "2.37207", 0.822625, 14.3931),
    ("2000-2005", "22"): (193, "0.00520833", "252.886", "1.86504", 0.734642, 209.631),
}


@pytest.mark.parametrize(("period", "node"), list(GAPS))
def test_times_between_failures_of_system_2(log: Log, period: str, node: str | None) -> None:
    first, last = (int(year) for year in period.split("-"))
    part = log.table.filter((pl.col("cluster") == "2") & pl.col("start").dt.year().is_between(first, last))
    if node is not None:
        part = part.filter(pl.col("node") == node)
    starts = np.sort(part["start"].dt.epoch("s").to_numpy())
    gaps = np.diff(starts) / 3600
    failures, zero, mean, c2, shape, scale = GAPS[(period, node)]
    assert (len(starts), f"{(gaps == 0).mean():.6g}", f"{gaps.mean():.6g}") == (failures, zero, mean)
    assert f"{gaps.var(ddof=1) / gaps.mean() ** 2:.6g}" == c2
    k, _, s = stats.weibull_min.fit(gaps[gaps > 0], floc=0)
    assert (k, s) == pytest.approx((shape, scale), rel=2e-4)  # the optimiser's own tolerance


def test_down_times(log: Log) -> None:
    minutes = log.table.filter(pl.col("cluster").is_in(["18", "19", "20"]))["down_minutes"].to_numpy()
    assert (len(minutes), (minutes == 0).sum(), minutes.min(), minutes.max()) == (9759, 0, 1, 45120)
    assert (round(minutes.mean(), 2), round(minutes.std(ddof=1), 2)) == (196.56, 1074.13)
    quantiles = np.quantile(minutes, [0.25, 0.5, 0.75, 0.9, 0.99])
    assert np.round(quantiles, 2).tolist() == [31, 62, 142, 298, 1978.56]
    logs = np.log(minutes)
    assert (round(logs.mean(), 4), round(logs.std(), 4)) == (4.2539, 1.1703)


@pytest.mark.parametrize(
    ("text", "wanted"),
    [("5-Apr", "2005-04-01"), ("Nov-96", "1996-11-01"), ("1-Dec", "2001-12-01"), ("current", None), ("5-Foo", None)],
)
def test_mangled_months(text: str, wanted: str | None) -> None:
    month = parse_month(text)
    assert (None if month is None else month.isoformat()) == wanted


def test_hit_probability_against_counting() -> None:
    """All C(6, 3) = 20 jobs: those that miss nodes 0 and 1 number C(4, 3) = 4."""
    assert hit_probability([0, 2, 6], 6, 3) == pytest.approx([0, 16 / 20, 1], abs=1e-15)
    with pytest.raises(InputError, match="does not fit 6 nodes"):
        hit_probability([1], 6, 7)


def test_one_system_and_bad_rows(tmp_path: Path, folder: Path) -> None:
    path = tmp_path / "lanl.csv"
    header = (
        "System,machine type,nodes,procstot,procsinnode,nodenum,nodenumz,node install,node prod,node decom,fru type,"
        "mem,cputype,memtype,num intercon,purpose,Prob Started,Prob Fixed,Down Time,Facilities,Hardware,Human Error,"
        "Network,Undetermined,Software,Same Event"
    )
    row = "2,cluster,3,6152,80,0,0,5-Apr,5-Jun,current,part,80,1,1,0,graphics.fe,{},{},6,,Graphics Accel,,,,{},No"
    path.write_text(
        "\n".join(
            [
                header,
                row.format("6/21/2005 10:54", "6/21/2005 11:00", ""),
                row.format("6/21/2005 10:54", "6/20/2005 11:00", ""),
                row.format("21.6.2005", "", "Other"),
                row.format("", "", "Other"),
                row.format("6/22/2005 10:54", "", "Other"),
                row.replace("2,", "3,", 1).format("6/22/2005 10:54", "", "Other"),
                "2,cluster",
            ]
        )
    )
    log = read_lanl(path, system="2")
    assert (log.rows_read, log.table.height, log.rows_folded) == (7, 2, {"other systems": 1})
    assert log.quarantine["line"].to_list() == [3, 4, 5, 8]
    assert "lies before start" in log.quarantine["reason"][0]
    assert "start '21.6.2005' is not a time" in log.quarantine["reason"][1]
    assert log.quarantine["reason"][2] == "start is missing"
    assert log.notes[0].startswith("3 rows name more than one cause; the first in the order Hardware")
    assert lanl_nodes(log)["node"].to_list() == ["0", "1", "2"]
    path.write_text(header.replace("Prob Started", "Begun") + "\n")
    with pytest.raises(InputError, match="line 1: the header lacks Prob Started; expected that of LA-UR-05-7318"):
        read_lanl(path)
