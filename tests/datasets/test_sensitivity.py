"""The sensitivity table against one failure table a rule, and scores against figures worked out by hand."""

import polars as pl
import pytest

from meantime.datasets.attribution import attribute
from meantime.datasets.failure_table import failure_table
from meantime.datasets.sensitivity import score_attribution, sensitivity
from meantime.datasets.simulate import Simulation, simulate_cluster
from meantime.errors import InputError


@pytest.fixture(scope="module")
def cluster() -> Simulation:
    """With much noise, so that windows and severities matter."""
    return simulate_cluster(seed=23, n_jobs=6000, n_nodes=300, days=20, noise_low=2.0, noise_high=0.2)


def test_every_rule_is_a_failure_table_of_its_own(cluster: Simulation) -> None:
    table = sensitivity(
        cluster.jobs, cluster.events, before=["5min", "30min"], after=["0s", "5min"], min_gpus=2, gpus_per_node=8
    )
    rules = table.select("before_minutes", "after_minutes", "severity").unique()
    assert rules.height == 8
    moved = set()
    for before, after, severity in rules.iter_rows():
        wanted = failure_table(
            cluster.jobs,
            cluster.events,
            before=f"{before}min",
            after=f"{after}min",
            severity=severity,
            min_gpus=2,
        )
        same = (
            (pl.col("before_minutes") == before) & (pl.col("after_minutes") == after) & (pl.col("severity") == severity)
        )
        found = {row["component"]: row for row in table.filter(same).iter_rows(named=True)}
        counts = wanted["failures"].sum(["cluster", "job_size"]).to_series()
        assert {name: row["failures"] for name, row in found.items() if name != "all"} == dict(counts[counts > 0])
        days = float(wanted["exposure"].sum())
        assert found["all"]["rate_per_1000_node_days"] == pytest.approx(1000 * counts.sum() / days)
        moved.add(found["all"]["failures"])
    assert len(moved) == 8  # every window and severity finds another number here


def test_wider_windows_find_more(cluster: Simulation) -> None:
    table = sensitivity(cluster.jobs, cluster.events).filter(pl.col("component") == "all")
    for _, group in table.group_by("severity", maintain_order=True):
        assert group["before_minutes"].to_list() == [5, 10, 15, 20, 30]
        assert group["failures"].is_sorted()
    high, low = (table.filter(pl.col("severity") == name)["failures"] for name in ("high", "low"))
    assert (low >= high).all()


def test_sensitivity_needs_events_windows_and_jobs(cluster: Simulation) -> None:
    with pytest.raises(InputError, match="needs events"):
        sensitivity(cluster.jobs, None)
    with pytest.raises(InputError, match="at least one window"):
        sensitivity(cluster.jobs, cluster.events, before=[])
    with pytest.raises(InputError, match="severity is 'medium'"):
        sensitivity(cluster.jobs, cluster.events, severities=["medium"])
    with pytest.raises(InputError, match="no job with GPUs ran"):
        sensitivity(cluster.jobs, cluster.events, min_gpus=10**6)


def test_scores() -> None:
    said = pl.DataFrame(
        {
            "job_id": ["1", "2", "3", "4"],
            "attempt": [1, 1, 1, 1],
            "infrastructure": [True, True, True, False],
            "component": ["pcie", "pcie", "nvlink", None],
        }
    )
    true = pl.DataFrame(
        {"job_id": ["1", "2", "5"], "attempt": [1, 1, 1], "component": ["pcie", "gpu_memory", "nvlink"]}
    )
    scores = score_attribution(said, true)
    parts = {row.pop("component"): row for row in scores.pop("components")}
    third = pytest.approx(2 / 3)
    assert scores == {"found": 3, "true": 3, "both": 2, "precision": third, "recall": third, "named": 0.5}
    assert parts["pcie"] == {"found": 2, "true": 1, "both": 1, "precision": 0.5, "recall": 1.0}
    assert parts["gpu_memory"] == {"found": 0, "true": 1, "both": 0, "precision": None, "recall": 0.0}


@pytest.mark.parametrize("seed", [41, 42])
def test_precision_and_recall_on_a_simulated_cluster(seed: int, capsys: pytest.CaptureFixture[str]) -> None:
    """User errors and stray events mislead the rule a little, at the default rates."""
    cluster = simulate_cluster(seed=seed, n_jobs=20_000, days=40)
    scores = score_attribution(attribute(cluster.jobs, cluster.events), cluster.failures)
    with capsys.disabled():
        print(f"\nseed {seed}:", {name: round(scores[name], 4) for name in ("precision", "recall", "named")})
    assert scores["true"] > 150
    assert min(scores["precision"], scores["recall"], scores["named"]) > 0.97
