"""`over_time` on the outages of Los Alamos: rates by year, and a back-test beside a constant rate."""

import numpy as np
import pytest
from scipy import stats

from meantime.datasets import build_table, outage_periods
from meantime.datasets.readers.lanl import read_lanl
from meantime.datasets.readers.lanl_nodes import lanl_nodes, lanl_service
from meantime.inference import backtest, fit, provenance, rate_over_time

BY_YEAR = {"18": [0, 705, 1354, 1141, 797], "19": [0, 277, 1152, 1073, 782], "20": [49, 1271, 528, 440, 190]}
"""Failures by calendar year, 2001 to 2005 (LA-UR-05-7318)."""


@pytest.fixture(scope="module")
def log(shared_data):
    return read_lanl(shared_data / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz")


@pytest.fixture(scope="module")
def service(log):
    return lanl_service(lanl_nodes(log))


def test_failures_by_year_are_those_of_the_published_table(log, service):
    table = outage_periods(log, service, period="year", clusters=["20", "19", "18"])
    counts = table["failures"].sum("component")
    assert [str(label)[:4] for label in table["period"].values] == ["2001", "2002", "2003", "2004", "2005"]
    for name, wanted in BY_YEAR.items():
        assert counts.sel(cluster=name).values.tolist() == wanted
    days = float(table["exposure"].sel(cluster="20").sum())
    assert days == pytest.approx(402_969, rel=1e-5)


def test_weeks_and_years_hold_the_same(log, service):
    week, year = (outage_periods(log, service, period=period, clusters=["20"]) for period in ("1w", "year"))
    assert int(week["failures"].sum()) == int(year["failures"].sum()) == 2478
    assert float(week["exposure"].sum()) == pytest.approx(float(year["exposure"].sum()), rel=1e-12)
    assert {int(moment.astype("datetime64[D]").astype(int)) % 7 for moment in week["period"].values} == {4}  # Mondays


@pytest.mark.slow
def test_rates_by_year_are_followed(log, service):
    """Every year's rate of system 20 lies in the 90 % interval of the fit or within 15 % of its median."""
    table = outage_periods(log, service, period="year", clusters=["20"])
    tree = fit(table, "over_time", seed=1, progress=False)
    assert provenance(tree)["diagnostics"]["converged"]
    raw = table["failures"].sum("component").values[0] / table["exposure"].values[0]
    low, median, high = np.quantile(rate_over_time(tree).sum("component").values, [0.05, 0.5, 0.95], axis=0)
    print(f"\nper 1,000 node-days: counted {np.round(1000 * raw, 2)}, fitted {np.round(1000 * median, 2)}")
    assert (((low < raw) & (raw < high)) | (np.abs(median / raw - 1) < 0.15)).all()


@pytest.mark.slow
def test_a_constant_rate_covers_too_rarely(log, service, capsys):
    """The last four quarters of three systems, each predicted from all before it: 12 counts, 90 % intervals.

    `over_time` covers at the nominal rate: 7 hits or more but once in 2,000; a constant rate does not.
    """
    table = outage_periods(log, service, period="quarter", clusters=["18", "19", "20"])
    table = build_table(
        table["failures"].sum("component").values[:, None],
        table["exposure"].values,
        cluster=["18", "19", "20"],
        component=["all"],
        period=table["period"].values,
    )
    found = {
        model: backtest(table, model, over="period", hold=4, seed=1, chains=2).sel(forecaster=model, scope="cells")
        for model in ("constant", "over_time")
    }
    hits = {model: int(result["covered"].sum()) for model, result in found.items()}
    scores = {model: float(result["mean_log_score"]) for model, result in found.items()}
    with capsys.disabled():
        print(f"\nhits of 12: {hits}; mean log scores: {scores}")
    assert hits["over_time"] >= stats.binom.ppf(5e-4, 12, 0.9)
    assert hits["constant"] <= 6 < stats.binom.ppf(1e-3, 12, 0.9)
    assert scores["over_time"] > scores["constant"] + 1
