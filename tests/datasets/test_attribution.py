"""The attribution rule against a plain loop over jobs and events."""

import datetime as dt

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.datasets.attribution import attribute
from meantime.datasets.jobs import STATE
from meantime.datasets.taxonomy import SEVERITY, Component, taxonomy
from meantime.datasets.times import UTC
from meantime.errors import InputError

NOON = dt.datetime(2024, 1, 1, 12, tzinfo=dt.UTC)
PRIORITY = dict(zip(taxonomy()["component"], taxonomy()["priority"], strict=True))


def jobs_table(rows: list[tuple[str, int, list[str] | None]], cause: list[str | None] | None = None) -> pl.DataFrame:
    """Jobs of (state, minutes after noon at which it ends, nodes), each an hour long."""
    ends = [NOON + dt.timedelta(minutes=minute) for _, minute, _ in rows]
    frame = pl.DataFrame(
        {
            "job_id": [str(i) for i in range(len(rows))],
            "start": [end - dt.timedelta(hours=1) for end in ends],
            "end": ends,
            "state": [row[0] for row in rows],
            "nodes": [row[2] for row in rows],
        },
        schema={"job_id": pl.String, "start": UTC, "end": UTC, "state": STATE, "nodes": pl.List(pl.String)},
    )
    return frame if cause is None else frame.with_columns(cause=pl.Series(cause, dtype=pl.String))


def events_table(rows: list[tuple[float, str, str, str]]) -> pl.DataFrame:
    """Events of (minutes after noon, node, component, severity)."""
    return pl.DataFrame(
        {
            "time": [NOON + dt.timedelta(minutes=row[0]) for row in rows],
            "node": [row[1] for row in rows],
            "component": [row[2] for row in rows],
            "severity": [row[3] for row in rows],
        },
        schema={"time": UTC, "node": pl.String, "component": pl.String, "severity": SEVERITY},
    )


def one(state: str, events: list[tuple[float, str, str, str]], **options: object) -> tuple[str | None, list[str]]:
    out = attribute(jobs_table([(state, 0, ["a", "b"])]), events_table(events), **options)  # type: ignore[arg-type]
    return out["component"][0], out["co_causes"][0].to_list()


def test_states() -> None:
    event = [(-1.0, "b", "pcie", "high")]
    assert one("NODE_FAIL", event) == ("pcie", [])
    assert one("NODE_FAIL", []) == ("unattributed", [])
    assert one("FAILED", event) == ("pcie", [])
    assert one("FAILED", []) == (None, [])
    for state in ("COMPLETED", "CANCELLED", "TIMEOUT", "OUT_OF_MEMORY", "PREEMPTED", "REQUEUED"):
        assert one(state, event) == (None, [])
    assert one("REQUEUED", event, with_event=("FAILED", "REQUEUED")) == ("pcie", [])


@pytest.mark.parametrize(("minute", "inside"), [(-10, True), (-10.01, False), (0, True), (5, True), (5.01, False)])
def test_window_is_ten_minutes_before_to_five_after_the_end(minute: float, inside: bool) -> None:
    assert (one("FAILED", [(minute, "a", "nvlink", "high")])[0] == "nvlink") is inside


def test_window_is_an_argument_and_may_be_a_moment() -> None:
    assert one("FAILED", [(-29, "a", "nvlink", "high")], before="30min")[0] == "nvlink"
    assert one("FAILED", [(0, "a", "nvlink", "high")], before="0s", after="0s")[0] == "nvlink"
    assert one("FAILED", [(-0.1, "a", "nvlink", "high")], before="0s", after="0s")[0] is None


def test_low_severity_counts_only_if_asked_and_loses_to_high() -> None:
    low = [(-1.0, "a", "pcie", "low")]
    assert one("FAILED", low)[0] is None
    assert one("FAILED", low, severity="low")[0] == "pcie"
    assert one("FAILED", [*low, (-1.0, "a", "ethernet_link", "high")], severity="low") == ("ethernet_link", ["pcie"])


def test_most_isolating_wins_and_losers_are_kept() -> None:
    events = [(-1.0, "a", "infiniband_link", "high"), (-9.0, "b", "pcie", "high"), (1.0, "a", "gpu_hardware", "high")]
    assert one("FAILED", events) == ("pcie", ["gpu_hardware", "infiniband_link"])
    assert one("FAILED", events * 3) == ("pcie", ["gpu_hardware", "infiniband_link"])


def test_components_of_the_user_come_last_unless_given_a_priority() -> None:
    events = [(-1.0, "a", "aliens", "high"), (-1.0, "a", "nccl_timeout", "high")]
    assert one("FAILED", events) == ("nccl_timeout", ["aliens"])
    table = taxonomy((Component(name="aliens", symptom="landed", domains=("hardware",), severity="high", priority=0),))
    assert one("FAILED", events, table=table) == ("aliens", ["nccl_timeout"])


def test_cause_of_the_log_comes_before_events() -> None:
    jobs = jobs_table([("FAILED", 0, ["a"])] * 4, cause=["nvlink", "out_of_memory", None, "custom"])
    out = attribute(jobs, events_table([(-1, "a", "pcie", "high")]))
    assert out["component"].to_list() == ["nvlink", None, "pcie", "custom"]
    assert out["co_causes"].to_list() == [["pcie"], [], [], ["pcie"]]
    assert attribute(jobs, None)["component"].to_list() == ["nvlink", None, None, "custom"]


def test_events_need_node_lists() -> None:
    with pytest.raises(InputError, match="add NodeList"):
        attribute(jobs_table([("FAILED", 0, ["a"])]).drop("nodes"), events_table([(-1, "a", "pcie", "high")]))
    with pytest.raises(InputError, match="severity is 'medium'"):
        one("FAILED", [], severity="medium")


minutes = st.integers(-2000, 2000)
nodes = st.sampled_from(["a", "b", "c", "d"])
states = st.sampled_from(["FAILED", "NODE_FAIL", "COMPLETED"])
components = st.sampled_from(["pcie", "nvlink", "gpu_memory", "ethernet_link", "aliens"])


@settings(deadline=None, max_examples=60)
@given(
    st.lists(st.tuples(states, minutes, st.lists(nodes, max_size=3, unique=True) | st.none()), min_size=1, max_size=15),
    st.lists(st.tuples(minutes, nodes, components, st.sampled_from(["high", "low"])), max_size=60),
    st.integers(0, 400),
    st.integers(0, 400),
)
def test_same_as_a_loop(
    jobs: list[tuple[str, int, list[str] | None]],
    events: list[tuple[float, str, str, str]],
    before: int,
    after: int,
) -> None:
    out = attribute(jobs_table(jobs), events_table(events), before=f"{before}min", after=f"{after}min")
    for (state, end, on), component, others in zip(jobs, out["component"], out["co_causes"], strict=True):
        seen = {
            name
            for minute, node, name, severity in events
            if severity == "high" and node in (on or []) and end - before <= minute <= end + after
        }
        ranked = sorted(seen, key=lambda name: PRIORITY.get(name, 99))
        if state == "COMPLETED" or (state == "FAILED" and not seen):
            assert (component, others.to_list()) == (None, [])
        else:
            assert component == (ranked[0] if seen else "unattributed")
            assert others.to_list() == sorted(ranked[1:])
