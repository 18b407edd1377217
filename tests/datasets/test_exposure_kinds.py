"""Exposure by node, by calendar and inside the limits of a log, against plain sums and the simulator's truth."""

import datetime as dt
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl
import pytest

from meantime.datasets import read
from meantime.datasets.calendar import calendar_exposure
from meantime.datasets.failure_table import failure_table
from meantime.datasets.simulate import Simulation, simulate_cluster
from meantime.errors import InputError

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)
DAY = 24
CERTAIN = {"noise_high": 0.0, "user_failure": 0.0}


def at(hour: float | None) -> dt.datetime | None:
    return None if hour is None else START + dt.timedelta(hours=hour)


def frame(*rows: dict[str, Any]) -> pl.DataFrame:
    return pl.DataFrame(
        [
            {
                "job_id": str(i),
                "n_gpus": 8,
                "state": "COMPLETED",
                **row,
                "start": at(row["start"]),
                "end": at(row["end"]),
            }
            for i, row in enumerate(rows)
        ],
        infer_schema_length=None,
    )


@pytest.fixture(scope="module")
def cluster() -> Simulation:
    return simulate_cluster(seed=17, n_jobs=6000, n_nodes=300, days=20, **CERTAIN)  # type: ignore[arg-type]


def test_failures_by_node_are_the_true_ones(cluster: Simulation) -> None:
    """Where an event tells, and on the only node of a job; those that cannot be placed are counted."""
    table = failure_table(cluster.jobs, cluster.events, by_node=True)
    sizes = cluster.jobs.select("job_id", "attempt", "n_nodes")
    true = cluster.failures.join(sizes, on=["job_id", "attempt"])
    placed = true.filter((pl.col("component") != "unattributed") | (pl.col("n_nodes") == 1))
    wanted = Counter(placed.select("node", "component").iter_rows())
    found = table["failures"].sum("cluster").to_series()
    assert {(node, name): count for (name, node), count in found[found > 0].items()} == dict(wanted)
    assert sum(wanted.values()) > 25
    lost = json.loads(table.attrs["provenance"])["failures_without_node"]
    assert lost == true.height - placed.height


def test_exposure_by_node_is_shared_out(cluster: Simulation) -> None:
    table = failure_table(cluster.jobs, cluster.events, by_node=True)
    assert float(table["exposure"].sum()) == pytest.approx(float(cluster.table["exposure"].sum()), rel=1e-12)
    node = str(table["node"].values[7])
    on_it = cluster.jobs.filter(pl.col("nodes").list.contains(node))
    hours = (on_it["end"].fill_null(cluster.log_end) - on_it["start"]).dt.total_seconds() / 3600
    days = (hours * on_it["n_gpus"] / on_it["n_nodes"]).sum() / 8 / 24
    assert float(table["exposure"].sel(node=node).sum()) == pytest.approx(days, rel=1e-12)
    weekly = failure_table(cluster.jobs, cluster.events, by_node=True, period="1w")
    np.testing.assert_allclose(weekly["exposure"].sum("period"), table["exposure"], rtol=1e-12)
    np.testing.assert_array_equal(weekly["failures"].sum("period"), table["failures"])


def test_what_ran_before_the_log_counts_from_its_start() -> None:
    """A log of the jobs that ran from hour 0 on: 10 hours of the first lie before it, all of the second."""
    jobs = frame(
        {"start": -10, "end": 14, "state": "NODE_FAIL"},
        {"start": -30, "end": -5, "state": "NODE_FAIL"},
        {"start": -3, "end": None, "state": "RUNNING"},
        {"start": 2, "end": 26},
    )
    whole, cut = failure_table(jobs), failure_table(jobs, log_start=START.isoformat())
    assert float(whole["exposure"].sum()) * 24 == pytest.approx(24 + 25 + 29 + 24)
    assert float(cut["exposure"].sum()) * 24 == pytest.approx(14 + 26 + 24)
    assert (int(whole["failures"].sum()), int(cut["failures"].sum())) == (2, 1)
    account = json.loads(cut.attrs["provenance"])
    assert (account["outside_the_log"], account["log_start"]) == (1, "2024-01-01 00:00:00+00:00")
    days = failure_table(jobs, log_start="2024-01-01", period="1d")
    assert (days["exposure"].sum(["cluster", "job_size"]) * 24).values.tolist() == pytest.approx([14 + 24 + 22, 2 + 2])


def test_a_log_cut_in_two_has_the_exposure_and_failures_of_the_whole(cluster: Simulation) -> None:
    middle = cluster.plan.start + dt.timedelta(days=9)
    whole = failure_table(cluster.jobs, cluster.events)
    parts = [
        failure_table(cluster.jobs, cluster.events, **limit) for limit in ({"log_end": middle}, {"log_start": middle})
    ]  # type: ignore[arg-type]
    for name in ("exposure", "failures"):
        total = sum(float(part[name].sum()) for part in parts)
        assert total == pytest.approx(float(whole[name].sum()), rel=1e-12)


def test_clocks_that_change_do_not_change_the_exposure(tmp_path: Path) -> None:
    """Nights in Berlin from 22:00 to 06:00, divided at midnight UTC: 3 + 4 hours in spring, 4 + 5 in autumn, 4 + 4."""
    lines = ["JobID|State|Submit|Start|End|NNodes|AllocTRES|NodeList"]
    nights = [("2024-03-30", "2024-03-31"), ("2024-10-26", "2024-10-27"), ("2024-06-01", "2024-06-02")]
    lines += [
        f"{i}|COMPLETED|{a}T22:00:00|{a}T22:00:00|{b}T06:00:00|1|gres/gpu=8|n1" for i, (a, b) in enumerate(nights)
    ]
    path = tmp_path / "sacct.txt"
    path.write_text("\n".join(lines) + "\n")
    hours = (
        failure_table(read(path, timezone="Europe/Berlin"), period="1d")["exposure"].sum(["cluster", "job_size"]) * 24
    )
    assert sorted(hours.values[hours.values > 0].tolist()) == pytest.approx([3, 4, 4, 4, 4, 5])
    utc = failure_table(read(path), period="1d")["exposure"].sum(["cluster", "job_size"]) * 24
    assert sorted(utc.values[utc.values > 0].tolist()) == pytest.approx([2, 2, 2, 6, 6, 6])


SERVICE = (
    {"start": 0, "end": 10, "nodes": ["steady"]},
    {"start": 200 * DAY, "end": None, "state": "RUNNING", "nodes": ["steady"]},
    {"start": 40 * DAY, "end": 50 * DAY, "nodes": ["late"]},
    {"start": 195 * DAY, "end": 199 * DAY, "nodes": ["late"]},
    {"start": 1 * DAY, "end": 30 * DAY, "state": "NODE_FAIL", "nodes": ["gone"]},
    {"start": 202 * DAY, "end": 202 * DAY + 1, "nodes": ["new"]},
)


def test_calendar_exposure_from_arrival_to_retirement() -> None:
    """Nodes seen within a week of the log's edges count from and to these; the log ends on day 202 and an hour."""
    end = 202 + 1 / 24
    days = calendar_exposure(frame(*SERVICE))
    assert dict(days.select("node", "exposure").iter_rows()) == pytest.approx(
        {"gone": 30, "late": end - 40, "new": 1 / 24, "steady": end}
    )
    strict = calendar_exposure(frame(*SERVICE), patience="1h")
    assert dict(strict.select("node", "exposure").iter_rows())["late"] == pytest.approx(159)


def test_an_inventory_decides_for_the_nodes_that_it_names() -> None:
    inventory = pl.DataFrame(
        {
            "node": ["late", "gone", "idle"],
            "arrival": [at(10 * DAY), None, at(100 * DAY)],
            "retirement": [None, at(31 * DAY), None],
        }
    )
    end = 202 + 1 / 24
    days = calendar_exposure(frame(*SERVICE), inventory=inventory)
    assert dict(days.select("node", "exposure").iter_rows()) == pytest.approx(
        {"gone": 31, "late": end - 10, "new": 1 / 24, "steady": end, "idle": end - 100}
    )
    table = failure_table(frame(*SERVICE), exposure="calendar", inventory=inventory, by_node=True, period="1w")
    assert table.attrs["exposure_kind"] == "calendar"
    assert float(table["exposure"].sum()) == pytest.approx(float(days["exposure"].sum()))
    assert int(table["failures"].sel(node="gone").sum()) == 1
    rates = failure_table(frame(*SERVICE), exposure="calendar", inventory=inventory)
    assert set(rates.dims) == {"cluster", "component"}
    assert float(rates["exposure"].sum()) == pytest.approx(float(days["exposure"].sum()))


def test_events_show_that_a_node_is_there() -> None:
    events = pl.DataFrame(
        {
            "time": [at(60 * DAY), at(90 * DAY)],
            "node": ["gone", "unheard_of"],
            "component": ["pcie", "pcie"],
            "severity": ["low", "low"],
            "source": ["x", "x"],
        }
    )
    days = dict(calendar_exposure(frame(*SERVICE), events).select("node", "exposure").iter_rows())
    assert (days["gone"], days["unheard_of"]) == (pytest.approx(60), 0)


@pytest.mark.parametrize(
    ("inventory", "said"),
    [
        ({"host": ["a"]}, "lacks the column node"),
        ({"node": ["a"], "arrival": ["soon"]}, "'soon' is not a time"),
        ({"node": ["a"], "arrival": [at(5)], "retirement": [at(1)]}, "node a retires before it arrives"),
    ],
)
def test_inventories_that_cannot_be_used(inventory: dict[str, Any], said: str) -> None:
    with pytest.raises(InputError, match=said):
        calendar_exposure(frame(*SERVICE), inventory=pl.DataFrame(inventory))


def test_calendar_exposure_of_the_simulated_cluster_is_nodes_times_days(cluster: Simulation) -> None:
    days = calendar_exposure(cluster.jobs, cluster.events)
    length = (cluster.log_end - cluster.jobs["start"].min()).total_seconds() / 86400  # type: ignore[operator]
    assert days["exposure"].to_list() == pytest.approx([length] * 300)


def test_tables_that_would_not_fit_are_refused(cluster: Simulation, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("meantime.datasets.assemble.MAX_CELLS", 50_000)
    with pytest.raises(InputError, match=r"component x 20 period x 300 node = .*,000 cells; at most 50,000"):
        failure_table(cluster.jobs, cluster.events, by_node=True, period="1d")
