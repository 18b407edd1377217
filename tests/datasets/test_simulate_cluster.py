"""The simulated cluster looks like RSC-1 and is a sensible log: shares, sizes, attempts, nodes, events.

Bounds on shares are stated beside them; they leave room for what one seed differs from another, seen
to be far smaller (seeds are fixed, so these tests do not flicker).
"""

import datetime as dt

import numpy as np
import polars as pl
import pytest

from meantime.datasets import published
from meantime.datasets.simulate import ClusterPlan, Simulation, simulate_cluster
from meantime.datasets.table import check_table
from meantime.errors import InputError

HOUR = dt.timedelta(hours=1)


@pytest.fixture(scope="module")
def cluster() -> Simulation:
    return simulate_cluster(seed=20241029)


@pytest.fixture(scope="module")
def ran(cluster) -> pl.DataFrame:
    rows = cluster.jobs.filter(pl.col("start").is_not_null())
    runtime = pl.col("end").fill_null(cluster.log_end) - pl.col("start")
    return rows.with_columns(runtime=runtime, gpu_seconds=runtime.dt.total_seconds() * pl.col("n_gpus"))


def test_states_have_the_papers_shares(cluster):
    """Within 12 % of each share, and 0.05 percentage points for the rare ones."""
    counts = dict(cluster.jobs["state"].cast(pl.String).value_counts().iter_rows())
    published_shares = published.load_rsc_job_states()
    for state, percent in published_shares.select("state", "percent_of_jobs").iter_rows():
        found = 100 * counts[state] / cluster.jobs.height
        bound = max(0.05, 0.12 * percent)
        assert abs(found - percent) < bound, (state, found, percent)


def test_infrastructure_failures_are_rare_among_jobs_but_not_in_gpu_time(cluster, ran):
    """The paper: 0.2 % of jobs, 18.7 % of GPU time. Rates of 6.5 per 1,000 node-days give about half of each."""
    share = cluster.failures.height / cluster.jobs.height
    assert 0.0005 < share < 0.003
    time = ran.join(cluster.failures.select("job_id", "attempt"), on=["job_id", "attempt"])["gpu_seconds"].sum()
    assert 0.05 < time / ran["gpu_seconds"].sum() < 0.25


def test_sizes_keep_every_published_statement_on_rsc1(cluster, ran):
    """Statements "above" and "below" must hold; "equal" within 4 percentage points."""
    statements = published.load_rsc_job_sizes().filter(pl.col("cluster") != "RSC-2")
    assert statements.height == 6
    for row in statements.iter_rows(named=True):
        inside = pl.col("n_gpus").is_between(row["min_gpus"], row["max_gpus"] or 2**30)
        if row["share_of"] == "jobs":
            jobs = cluster.jobs.unique("job_id")
            percent = 100 * jobs.filter(inside).height / jobs.height
        else:
            at = inside if row["min_gpus"] != 4096 else pl.col("n_gpus") > 2048  # the bucket of 4,096
            percent = 100 * ran.filter(at)["gpu_seconds"].sum() / ran["gpu_seconds"].sum()
        holds = {
            "above": percent > row["percent"],
            "below": percent < row["percent"],
            "equal": abs(percent - row["percent"]) < 4,
        }
        assert holds[row["relation"]], (row, percent)


def test_utilisation_is_near_the_papers(cluster, ran):
    """83 %, within 4 percentage points: the log begins with an empty cluster."""
    plan = cluster.plan
    used = ran["gpu_seconds"].sum() / (plan.n_nodes * plan.gpus_per_node * plan.log_seconds)
    assert abs(used - 0.83) < 0.04


def test_attempts_of_a_job_follow_each_other(cluster):
    jobs = cluster.jobs
    assert jobs["job_id"].n_unique() == cluster.plan.n_jobs
    numbers = jobs.select(pl.col("attempt") - pl.int_range(1, pl.len() + 1).over("job_id"))
    assert (numbers["attempt"] == 0).all()
    previous_end = jobs.with_columns(before=pl.col("end").shift(1).over("job_id"))
    again = previous_end.filter(pl.col("attempt") > 1)
    assert (again["submit"] >= again["before"]).all()
    assert again["before"].null_count() == 0
    assert (jobs["start"] >= jobs["submit"]).drop_nulls().all()
    assert (jobs["end"] > jobs["start"]).drop_nulls().all()
    assert again.height > 0.05 * jobs.height


def test_only_interrupted_jobs_come_again(cluster):
    """Preempted, requeued, or lost to hardware; no job that completed."""
    jobs = cluster.jobs.join(
        cluster.failures.select("job_id", "attempt", lost=True), on=["job_id", "attempt"], how="left"
    ).sort("job_id", "attempt")
    followed = jobs.filter(pl.col("attempt") < pl.col("attempt").max().over("job_id"))
    fine = followed["state"].is_in(["PREEMPTED", "REQUEUED"]) | followed["lost"].fill_null(False)
    assert fine.all()
    lost = jobs.filter(pl.col("lost"))
    came_back = followed.filter("lost").height / lost.height
    assert came_back > 0.8  # 95 % are requeued, and a few of those at the very end of the log
    assert set(lost["state"].cast(pl.String)) == {"NODE_FAIL", "FAILED"}


def test_lifetime_and_preemption_limits(cluster, ran):
    assert ran["runtime"].max() <= dt.timedelta(days=7)
    preempted = ran.filter(pl.col("state") == "PREEMPTED")
    assert preempted["runtime"].min() >= 2 * HOUR
    assert set(preempted["qos"]) == {"low"}


def test_restarts_of_large_jobs_preempt_small_ones(cluster):
    """Each job that was preempted for another ended in the second in which that other restarted."""
    jobs = cluster.jobs
    victims = jobs.filter(pl.col("preempted_by").is_not_null())
    assert victims.height > 100
    assert (victims["n_gpus"] < 256).all()
    restarts = jobs.filter(pl.col("attempt") > 1).select(pl.col("job_id").alias("preempted_by"), end="start")
    assert victims.join(restarts, on=["preempted_by", "end"], how="semi").height == victims.height
    after = jobs.join(cluster.failures.select("job_id", "attempt"), on=["job_id", "attempt"])["job_id"]
    assert victims["preempted_by"].is_in(after.implode()).all()


def test_the_log_ends_with_jobs_running_and_waiting(cluster):
    jobs = cluster.jobs
    running, waiting = (jobs.filter(pl.col("state") == state) for state in ("RUNNING", "PENDING"))
    assert running.height > 100
    assert waiting.height > 10
    assert running["end"].null_count() == running.height
    assert waiting["start"].null_count() == waiting.height
    finished = jobs.filter(~pl.col("state").is_in(["RUNNING", "PENDING"]))
    assert finished["end"].null_count() == 0
    withdrawn = finished.filter(pl.col("start").is_null())
    assert set(withdrawn["state"].cast(pl.String)) == {"CANCELLED"}
    assert jobs.select(pl.max_horizontal(pl.max("submit", "start", "end"))).item() == cluster.log_end


def test_every_attempt_that_ran_has_its_nodes(cluster, ran):
    assert (ran["nodes"].list.len() == ran["n_nodes"]).all()
    assert (ran["nodes"].list.n_unique() == ran["n_nodes"]).all()
    assert (ran["n_nodes"] == (ran["n_gpus"] + 7) // 8).all()
    assert cluster.jobs.filter(pl.col("start").is_null())["nodes"].null_count() == cluster.jobs["start"].null_count()
    assert ran["nodes"].explode().n_unique() == cluster.plan.n_nodes


def test_nodes_are_hardly_ever_overfull(cluster, ran):
    """Sweep over every start and end on every node: under 3 % of the GPU time is beyond 8 GPUs of a node."""
    units = ran.with_columns(end=pl.col("end").fill_null(cluster.log_end)).explode("nodes")
    gpus = pl.min_horizontal(pl.col("n_gpus"), pl.lit(8))
    events = pl.concat(
        [units.select("nodes", time="start", change=gpus), units.select("nodes", time="end", change=-gpus)]
    ).sort("nodes", "time")
    held = events.with_columns(
        used=pl.col("change").cum_sum().over("nodes"),
        seconds=(pl.col("time").shift(-1).over("nodes") - pl.col("time")).dt.total_seconds(),
    )
    excess = (held.select((pl.col("used") - 8).clip(0) * pl.col("seconds")).sum()).item()
    assert excess / ran["gpu_seconds"].sum() < 0.03
    assert excess / ran["gpu_seconds"].sum() <= cluster.truth.attrs["shared_nodes"] + 0.005


def test_table_counts_the_failures_and_the_exposure(cluster, ran):
    table = check_table(cluster.table)
    assert table["failures"].sum() == cluster.failures.height
    days = ran["gpu_seconds"].sum() / 8 / 86400
    assert table["exposure"].sum().item() == pytest.approx(days, rel=1e-12)
    assert table.attrs["largest_job_gpus"] == 4096
    for component, size, count in cluster.failures.group_by("component", "job_size").len().iter_rows():
        assert table["failures"].sel(component=component, job_size=size).item() == count
    sizes = cluster.failures.select(bucket=pl.lit(2.0) ** pl.col("n_gpus").log(2).round(9).ceil(), job_size="job_size")
    assert (sizes["bucket"] == sizes["job_size"]).all()


def test_attributable_failures_have_an_event_in_time_and_the_others_none(cluster):
    jobs = cluster.jobs.select("job_id", "attempt", "start", "nodes", ended="end")
    failures = cluster.failures.rename({"time": "end"}).join(jobs, on=["job_id", "attempt"])
    assert (failures["end"] == failures["ended"]).all()
    assert failures.select(pl.col("nodes").list.contains(pl.col("node"))).to_series().all()
    high = cluster.events.filter(pl.col("severity") == "high").select("time", "node", seen="component")
    near = failures.join(high, on="node").filter(
        pl.col("time").is_between(pl.col("end") - dt.timedelta(minutes=10), pl.col("end") + dt.timedelta(minutes=5))
    )
    explained = near.filter(pl.col("component") == pl.col("seen")).unique(["job_id", "attempt"])
    told = failures.filter(pl.col("component") != "unattributed")
    assert explained.height == told.height > 50
    silent = failures.filter(pl.col("component") == "unattributed")
    assert set(silent["state"].cast(pl.String)) == {"NODE_FAIL"}
    assert near.filter(pl.col("component") == "unattributed").height <= 1  # noise on the node, by chance
    assert cluster.events["time"].is_sorted()
    assert cluster.events["time"].max() <= cluster.plan.start + dt.timedelta(seconds=cluster.plan.log_seconds)


def test_noise_has_its_rate(cluster):
    """Low-severity events are Poisson noise: within 4.9 standard deviations (false alarm 1e-6)."""
    plan = cluster.plan
    expected = plan.noise_low * plan.n_nodes * plan.log_seconds / 86400
    found = cluster.events.filter(pl.col("severity") == "low").height
    assert abs(found - expected) < 4.9 * np.sqrt(expected)


def test_the_seed_decides_everything():
    first, again, other = (simulate_cluster(seed=seed, n_jobs=3000, n_nodes=100) for seed in (7, 7, 8))
    assert first.jobs.equals(again.jobs)
    assert first.events.equals(again.events)
    assert first.table.identical(again.table)
    assert first.truth.identical(again.truth)
    assert not first.jobs.equals(other.jobs)


@pytest.mark.parametrize(
    "changes",
    [
        {"n_jobs": 20, "n_nodes": 1},
        {"n_jobs": 50, "n_nodes": 3, "gpus_per_node": 4, "days": 0.5},
        {"n_jobs": 500, "n_nodes": 40, "rates": {"unattributed": 0.0}},
        {"n_jobs": 500, "n_nodes": 40, "rates": {"gpu": 5.0}, "lemon_share": 1.0, "days": 3},
        {"n_jobs": 300, "n_nodes": 500, "sizes": {16: (0.5, 0.5), 64: (0.5, 0.5)}, "requeue": 0.0},
    ],
)
def test_odd_plans_work(changes):
    result = simulate_cluster(seed=3, **changes)
    check_table(result.table)
    ran = result.jobs.filter(pl.col("start").is_not_null())
    assert (ran["nodes"].list.n_unique() == ran["n_nodes"]).all()
    assert result.jobs["n_nodes"].max() <= result.plan.n_nodes


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"n_job": 5}, "no 'n_job'"),
        ({"n_jobs": 0}, "n_jobs is 0"),
        ({"gpus_per_node": 6}, "power of two"),
        ({"user_failure": 0.9}, "at most 0.95"),
        ({"rates": {"gpu": -1.0}}, "rate of 'gpu'"),
        ({"slopes": {"gpus": 0.1}}, "slopes name 'gpus'"),
        ({"queue": 600}, "without a unit"),
        ({"sizes": {3: (1, 1)}}, "powers of two"),
        ({"start": dt.datetime(2024, 1, 1)}, "time zone"),
    ],
)
def test_bad_plans_are_refused_with_a_reason(changes, message):
    with pytest.raises(InputError, match=message):
        simulate_cluster(seed=1, **changes)


def test_a_start_in_another_zone_is_the_same_instant():
    zone = dt.timezone(dt.timedelta(hours=2))
    start = dt.datetime(2024, 3, 31, 1, 30, tzinfo=zone)
    result = simulate_cluster(seed=1, n_jobs=200, n_nodes=20, start=start)
    assert start <= result.jobs["submit"].min() < start + HOUR


def test_plans_are_values():
    assert ClusterPlan(n_jobs=10) == ClusterPlan(n_jobs=10)
    assert ClusterPlan(n_jobs=36_000, n_nodes=1000).log_seconds == 10 * 86400
