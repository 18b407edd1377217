"""Failures and exposure from jobs, against plain sums over the rows."""

import datetime as dt
import json
import math
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.datasets.exposure import size_bucket
from meantime.datasets.failure_table import failure_table
from meantime.datasets.summary import summarise
from meantime.datasets.table import check_table
from meantime.datasets.taxonomy import Component, taxonomy
from meantime.errors import InputError

START = dt.datetime(2024, 1, 1, tzinfo=dt.UTC)  # a Monday


def frame(rows: list[dict[str, Any]]) -> pl.DataFrame:
    """Jobs table from dicts; times are hours after `START`."""

    def at(hour: float | None) -> dt.datetime | None:
        return None if hour is None else START + dt.timedelta(hours=hour)

    full = [
        {
            "job_id": row.get("job_id", str(i)),
            "attempt": row.get("attempt", 1),
            "cluster": row.get("cluster", "rsc"),
            "submit": at(row.get("start")),
            "start": at(row.get("start")),
            "end": at(row.get("end")),
            "n_gpus": row.get("n_gpus", 8),
            "state": row.get("state", "COMPLETED"),
            "nodes": row.get("nodes", ["n1"]),
        }
        for i, row in enumerate(rows)
    ]
    return pl.DataFrame(full, infer_schema_length=None)


def provenance(table: Any) -> dict[str, Any]:
    return json.loads(table.attrs["provenance"])


@pytest.mark.parametrize(
    ("gpus", "bucket"), [(1, 1), (2, 2), (3, 4), (5, 8), (8, 8), (9, 16), (1024, 1024), (1025, 2048)]
)
def test_bucket_is_labelled_by_its_upper_edge(gpus: int, bucket: int) -> None:
    assert size_bucket(gpus) == bucket
    table = failure_table(frame([{"start": 0, "end": 24, "n_gpus": gpus}]))
    assert table["job_size"].values.tolist() == [bucket]
    assert float(table["exposure"].sum()) == pytest.approx(gpus / 8)


def test_part_of_a_node_counts_its_part() -> None:
    table = failure_table(frame([{"start": 0, "end": 24, "n_gpus": 2}]), gpus_per_node=4)
    assert float(table["exposure"].sum()) == pytest.approx(0.5)
    assert table.attrs["gpus_per_node"] == 4


def test_running_jobs_are_censored_at_the_end_of_the_log() -> None:
    jobs = frame([{"start": 0, "end": None, "state": "RUNNING"}, {"start": 10, "end": 48, "state": "NODE_FAIL"}])
    table = failure_table(jobs)
    assert float(table["exposure"].sum()) == pytest.approx((48 + 38) / 24)
    assert provenance(table)["still_running"] == 1
    earlier = failure_table(jobs, log_end="2024-01-02T00:00:00")
    assert float(earlier["exposure"].sum()) == pytest.approx((24 + 14) / 24)
    assert int(earlier["failures"].sum()) == 0  # it had not failed by then
    assert int(table["failures"].sum()) == 1


def test_min_runtime_drops_failures_but_keeps_exposure() -> None:
    jobs = frame([{"start": 0, "end": 1, "state": "NODE_FAIL"}, {"start": 0, "end": 0.05, "state": "NODE_FAIL"}])
    every, long = failure_table(jobs), failure_table(jobs, min_runtime="10min")
    assert (int(every["failures"].sum()), int(long["failures"].sum())) == (2, 1)
    assert float(every["exposure"].sum()) == float(long["exposure"].sum())


def test_min_gpus_drops_small_jobs_altogether() -> None:
    jobs = frame([{"start": 0, "end": 24, "n_gpus": 128}, {"start": 0, "end": 24, "n_gpus": 256, "state": "NODE_FAIL"}])
    table = failure_table(jobs, min_gpus=129)
    assert table["job_size"].values.tolist() == [256]
    assert provenance(table)["below_min_gpus"] == 1


def test_what_cannot_count_is_accounted_for() -> None:
    jobs = frame(
        [
            {"start": 0, "end": 24},
            {"start": None, "end": None, "state": "PENDING"},
            {"start": 0, "end": 24, "n_gpus": 0},
            {"start": 0, "end": 24, "n_gpus": None},
            {"start": 5, "end": 5, "n_gpus": 64, "state": "NODE_FAIL"},
            {"start": 5, "end": 1},
        ]
    )
    account = provenance(failure_table(jobs))
    assert account["rows_read"] == 6
    assert {
        name: account[name] for name in ("rows_used", "never_ran", "without_gpus", "gpus_not_known", "quarantined")
    } == {
        "rows_used": 2,
        "never_ran": 1,
        "without_gpus": 1,
        "gpus_not_known": 1,
        "quarantined": 1,
    }
    assert account["failures_without_exposure"] == 1  # it ran for no time, alone in its cell


def test_components_of_failures_and_events() -> None:
    jobs = frame(
        [{"start": 0, "end": 24, "state": "NODE_FAIL"}, {"start": 0, "end": 30, "state": "FAILED", "nodes": ["n2"]}]
    )
    events = pl.DataFrame(
        {
            "time": [START + dt.timedelta(hours=30), START],
            "node": ["n2", "n9"],
            "component": ["nvlink", "gpu_memory"],
            "severity": ["high", "high"],
            "source": ["xid 74", "xid 48"],
        }
    )
    table = failure_table(jobs, events)
    assert table["component"].values.tolist() == ["gpu_memory", "nvlink", "unattributed"]
    assert table["failures"].sel(job_size=8, cluster="rsc").values.tolist() == [0, 1, 1]
    wanted = failure_table(jobs, events, components=["pcie", "unattributed"])
    assert wanted["component"].values.tolist() == ["pcie", "unattributed", "other"]
    assert wanted["failures"].sel(job_size=8, cluster="rsc").values.tolist() == [0, 1, 1]


def test_a_taxonomy_of_ones_own_decides() -> None:
    jobs = frame([{"start": 0, "end": 24, "state": "NODE_FAIL"}])
    events = pl.DataFrame(
        {
            "time": [START + dt.timedelta(hours=24)] * 2,
            "node": ["n1", "n1"],
            "component": ["pcie", "pump"],
            "severity": ["high", "high"],
            "source": ["x", "x"],
        }
    )
    pump = Component(name="pump", symptom="stopped", domains=("hardware",), severity="high", priority=0)
    for table, counts in ((None, {"pcie": 1, "pump": 0}), (taxonomy((pump,)), {"pump": 1, "pcie": 0})):
        made = failure_table(jobs, events, taxonomy_table=table)
        assert made["failures"].sum(["cluster", "job_size"]).to_series().to_dict() == {**counts, "unattributed": 0}


def test_interruption_rule_needs_no_states() -> None:
    rows = [
        {"job_id": "1", "attempt": 1, "start": 0, "end": 1},
        {"job_id": "1", "attempt": 2, "start": 2, "end": 3},
        {"job_id": "2", "attempt": 1, "start": 0, "end": 1},
        {"job_id": "1", "attempt": 1, "start": 0, "end": 1, "cluster": "other"},
    ]
    jobs = frame(rows).drop("state")
    table = failure_table(jobs, rule="interruption")
    assert table["component"].values.tolist() == ["interruption"]
    assert table["failures"].sum(["component", "job_size"]).to_series().to_dict() == {"other": 0, "rsc": 1}
    with pytest.raises(InputError, match="no job states"):
        failure_table(jobs)


def test_periods_share_out_a_run_and_count_its_failure_once() -> None:
    jobs = frame(
        [{"start": 12, "end": 60, "state": "NODE_FAIL"}, {"start": 7 * 24, "end": 8 * 24, "state": "NODE_FAIL"}]
    )
    days = failure_table(jobs, period="1d")
    assert days["period"].values.astype("datetime64[D]").astype(str).tolist() == [f"2024-01-0{d}" for d in range(1, 9)]
    np.testing.assert_allclose(days["exposure"].sum("job_size").values[0], [0.5, 1, 0.5, 0, 0, 0, 0, 1])
    # The second job ends at midnight: its failure belongs to the day in which it ran.
    assert days["failures"].sum(["component", "job_size"]).values[0].tolist() == [0, 0, 1, 0, 0, 0, 0, 1]
    weeks = failure_table(jobs, period="1w")
    assert weeks["exposure"].sum("job_size").values[0].tolist() == pytest.approx([2.0, 1.0])


@pytest.mark.parametrize("convert", ["pandas", "arrow", "lazy", "polars"])
def test_any_data_frame_goes_in(convert: str) -> None:
    jobs = frame([{"start": 0, "end": 24, "state": "NODE_FAIL"}, {"start": 0, "end": 48, "n_gpus": 64}])
    expected = failure_table(jobs)
    given_frame = {"pandas": jobs.to_pandas, "arrow": jobs.to_arrow, "lazy": jobs.lazy, "polars": jobs.clone}[convert]()
    assert failure_table(given_frame).equals(expected)


def test_pandas_frame_typed_by_hand() -> None:
    jobs = pd.DataFrame(
        {
            "job_id": [1, 2],
            "start": pd.to_datetime(["2024-01-01"] * 2),
            "end": pd.to_datetime(["2024-01-02", "2024-01-03"]),
            "n_gpus": [8, 16],
            "state": ["NODE_FAIL", "COMPLETED"],
        }
    )
    assert float(failure_table(jobs)["exposure"].sum()) == pytest.approx(1 + 4)


@pytest.mark.parametrize(
    ("change", "options", "said"),
    [
        ({"n_gpus": None}, {}, "add AllocTRES"),
        ({"start": 3}, {}, "none of 1 rows is a job that can be used: end '.*' lies before start"),
        ({}, {"min_gpus": 9}, "no job that ran has 9 GPUs or more"),
        ({}, {"rule": "luck"}, "rule is 'luck'"),
        ({}, {"min_runtime": 10}, "min_runtime is 10, a value without a unit"),
        ({}, {"period": "0s"}, "period is '0s'"),
        ({}, {"log_end": "later"}, "log_end is 'later'"),
        ({"end": 0}, {}, "ran for 0 s"),
    ],
)
def test_errors_say_what_is_wrong(change: dict[str, Any], options: dict[str, Any], said: str) -> None:
    jobs = frame([{"start": 0, "end": 1, **change}])
    with pytest.raises(InputError, match=said):
        failure_table(jobs.cast({"n_gpus": pl.Int64}), **options)


def test_things_that_are_no_table_are_refused() -> None:
    with pytest.raises(InputError, match="jobs are of type int"):
        failure_table(5)
    with pytest.raises(InputError, match="the jobs table lacks start, end"):
        failure_table(pl.DataFrame({"job_id": ["1"]}))


hours = st.integers(0, 24 * 30)
random_jobs = st.lists(
    st.fixed_dictionaries(
        {
            "job_id": st.sampled_from("abcdef"),
            "cluster": st.sampled_from(["x", "y"]),
            "start": hours,
            "run": st.integers(0, 24 * 9),
            "n_gpus": st.integers(1, 5000),
            "state": st.sampled_from(["COMPLETED", "FAILED", "NODE_FAIL", "RUNNING"]),
        }
    ),
    min_size=1,
    max_size=25,
)


@settings(deadline=None, max_examples=60)
@given(random_jobs, st.sampled_from([None, "6h", "1d", "1w"]), st.sampled_from([1, 4, 8]))
def test_exposure_and_failures_of_random_jobs(rows: list[dict[str, Any]], period: str | None, per_node: int) -> None:
    """Sums over rows, by cluster and bucket; the sum over periods is the same for any period."""
    jobs = [
        {**row, "end": None if row["state"] == "RUNNING" else row["start"] + row["run"], "attempt": i}
        for i, row in enumerate(rows, 1)
    ]
    last = max(max(job["start"], job["end"] or 0) for job in jobs)
    days: dict[tuple[str, int], float] = {}
    failed: dict[tuple[str, int], int] = {}
    for job in jobs:
        key = (job["cluster"], 2 ** math.ceil(math.log2(job["n_gpus"])))
        end = last if job["end"] is None else job["end"]
        days[key] = days.get(key, 0) + (end - job["start"]) / 24 * job["n_gpus"] / per_node
        failed[key] = failed.get(key, 0) + (job["state"] == "NODE_FAIL")
    if not sum(days.values()):
        return
    table = failure_table(frame(jobs), gpus_per_node=per_node, period=period)
    assert check_table(table).identical(table)
    if period is not None:
        table = table.sum("period")
    for (cluster, size), total in days.items():
        cell = {"cluster": cluster, "job_size": size}
        # Sums of at most 25 terms in another order.
        assert float(table["exposure"].sel(cell)) == pytest.approx(total, rel=1e-12)
        if period is None:
            assert int(table["failures"].sel(cell).sum()) == (failed[cluster, size] if total else 0)
    assert float(table["exposure"].sum()) == pytest.approx(sum(days.values()), rel=1e-12)


def test_provenance_holds_the_states_as_the_summary_gives_them() -> None:
    jobs = frame(
        [
            {"start": 0, "end": 24, "n_gpus": 64},
            {"start": 0, "end": None, "n_gpus": 8, "state": "RUNNING"},
            {"start": 3, "end": 30, "n_gpus": 16, "state": "FAILED"},
            {"start": None, "end": None, "state": "PENDING"},
        ]
    )
    found = json.loads(failure_table(jobs).attrs["provenance"])["states"]
    for row, expected in zip(found, summarise(jobs)["states"], strict=True):
        assert row.pop("state") == expected.pop("state")
        assert row == pytest.approx(expected)
    found = json.loads(failure_table(jobs).attrs["provenance"])["states"]
    assert {row["state"]: row["gpu_hours"] for row in found} == pytest.approx(
        {"COMPLETED": 24 * 64, "RUNNING": 30 * 8, "FAILED": 27 * 16, "PENDING": 0}
    )  # hours x GPUs; what runs on is cut at the latest time
    lazy = failure_table(jobs.lazy())
    assert json.loads(lazy.attrs["provenance"])["states"] == found


def test_provenance_holds_the_sizes_of_jobs_that_ran() -> None:
    """GPU-hours by hand; what never ran or was too small does not count; a running job counts to the log's end."""
    rows = [
        {"start": 0, "end": 24, "n_gpus": 8},  # 192 GPU-hours
        {"start": 0, "end": 12, "n_gpus": 16, "state": "FAILED"},  # 192
        {"start": 0, "end": 6, "n_gpus": 7, "state": "COMPLETED"},  # 42
        {"start": 20, "end": None, "n_gpus": 8, "state": "RUNNING"},  # 32
        {"start": None, "end": None, "state": "PENDING"},
        {"start": 0, "end": 5, "n_gpus": 1},
    ]
    found = provenance(failure_table(frame(rows), min_gpus=2))["sizes"]
    assert [(row["job_size"], row["attempts"], row["gpu_hours"]) for row in found] == [(8, 3, 266.0), (16, 1, 192.0)]
    assert [row["share_of_attempts"] for row in found] == [0.75, 0.25]
    assert [row["share_of_gpu_time"] for row in found] == pytest.approx([266 / 458, 192 / 458])
