"""The fleet simulation: ledgers, what can be told by hand, precision, and what it refuses."""

from dataclasses import replace

import jax
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from meantime.errors import InputError
from meantime.ettr import FleetJob, FleetPlan, RepairStage, simulate_fleet
from meantime.ettr.fleet.ticks import add_product, total_hours

NEVER = 1e6
LATER = FleetJob(nodes=1, submit=NEVER)
# What the simulation is compiled for is the same for most plans here: 32 nodes, six jobs of two priorities, nodes
# that may be off, lemons, and ages that outlive repairs.
COMMON = {"nodes": 32, "shape": 0.7, "lemon_share": 0.1, "lemon_factor": 3.0, "renews": "manual"}
COUNT = 64
CROWDED = FleetPlan(
    jobs=[
        FleetJob(nodes=16, interval=0.7, write=0.05, priority=1),
        FleetJob(nodes=5, interval=0.3, productive=7.77, copies=4, submit=0.5),
        FleetJob(nodes=1, submit=20.0),
    ],
    rate_per_node_day=0.5,
    horizon=60.0,
    warm_spares=2,
    cold_start=0.4,
    detection=0.1,
    swap=0.1,
    **COMMON,
)
SIZES = [16, 5, 5, 5, 5, 1]


def still(jobs: list[FleetJob], **fields: object) -> FleetPlan:
    """A fleet of 32 nodes for 16 hours in which nothing fails, its jobs filled up to six."""
    jobs = [*jobs, *[LATER] * (5 - sum(job.copies for job in jobs)), FleetJob(nodes=1, submit=NEVER, priority=-1)]
    defaults = {"jobs": jobs, "rate_per_node_day": 0.0, "horizon": 16.0, "warm_spares": 32}
    return FleetPlan(**(defaults | COMMON | fields))  # type: ignore[arg-type]


def test_ledgers_sum_to_the_last_digit() -> None:
    result = simulate_fleet(1, CROWDED, COUNT)
    np.testing.assert_array_equal(sum(result.job_ledger().values()), result.wallclock)
    np.testing.assert_array_equal(sum(result.node_ledger().values()), np.full(COUNT, result.node_hours))
    assert all((hours >= 0).all() for hours in (result.job_ledger() | result.node_ledger()).values())
    assert result.preemptions.sum() > 0
    assert result.manual_repairs.sum() > 0
    np.testing.assert_array_equal(result.goodput, result.productive @ SIZES / result.node_hours)


@pytest.mark.slow
def test_single_precision_keeps_the_ledgers_exact() -> None:
    """A JAX key computes in JAX's own precision; means agree within 5 standard errors (false-alarm rate 1e-6)."""
    with jax.enable_x64(False):
        single = simulate_fleet(jax.random.key(1), CROWDED, 400)
    double = simulate_fleet(2, CROWDED, 400)
    np.testing.assert_array_equal(sum(single.job_ledger().values()), single.wallclock)
    np.testing.assert_array_equal(sum(single.node_ledger().values()), np.full(400, single.node_hours))
    for name in ("failures", "idle", "repair"):
        one, other = getattr(single, name), getattr(double, name)
        error = np.hypot(one.std(), other.std()) / 20
        assert abs(one.mean() - other.mean()) < 5 * error, name


def test_replicates_do_not_depend_on_how_many_there_are() -> None:
    few, many = simulate_fleet(5, CROWDED, 40), simulate_fleet(5, CROWDED, 60)
    np.testing.assert_array_equal(few.productive, many.productive[:40])
    assert few.productive.shape == (40, 6)
    assert len(np.unique(many.idle)) == 60


def test_large_fleets_go_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = simulate_fleet(5, CROWDED, COUNT)
    monkeypatch.setattr("meantime.ettr.fleet.simulate._TOGETHER", COUNT * 32)
    parts = simulate_fleet(5, CROWDED, 100)
    np.testing.assert_array_equal(parts.productive[:COUNT], whole.productive)
    assert parts.idle.shape == (100,)
    assert len(np.unique(parts.idle)) == 100


def test_plans_of_one_seed_meet_the_same_failures() -> None:
    """Nodes fail and are repaired alike whatever the jobs do, as long as all are powered."""
    fields = {"rate_per_node_day": 0.2, "horizon": 100.0, "automatic": RepairStage.between(1, 3)}
    one = simulate_fleet(9, still([FleetJob(nodes=32)], **fields), COUNT)
    other = simulate_fleet(9, still([FleetJob(nodes=3, copies=4)], detection=0.3, **fields), COUNT)
    np.testing.assert_array_equal(one.failures, other.failures)
    np.testing.assert_array_equal(one.repair, other.repair)
    assert one.failures.min() > 0


def test_preemption_told_by_hand() -> None:
    """A job of 16 nodes takes those of the youngest lower jobs, once their two protected hours are over."""
    low = FleetJob(nodes=10, productive=20.0, interval=1.0, write=0.0, restart=0.25, copies=3)
    high = FleetJob(nodes=20, productive=4.0, interval=1.0, write=0.0, restart=0.5, priority=1, submit=1.0)
    result = simulate_fleet(0, still([low, high]), COUNT)
    # Hours 0 to 2: all three; at 2 the last two go, 1.75 h of work each, 1 h of it saved; at 6.5 they start again.
    np.testing.assert_allclose(result.queued[0, :4], [0, 4.5, 4.5, 1], atol=1e-6)
    np.testing.assert_allclose(result.preempted[0, :4], [0, 0.75, 0.75, 0], atol=1e-6)
    np.testing.assert_allclose(result.restarting[0, :4], [0.25, 0.5, 0.5, 0.5], atol=1e-6)
    np.testing.assert_allclose(result.productive[0, :4], [15, 10, 10, 4], atol=1e-6)
    np.testing.assert_allclose(result.unsaved[0, :4], [0.75, 0.25, 0.25, 0], atol=1e-6)
    np.testing.assert_array_equal(result.preemptions[0, :4], [0, 1, 1, 0])
    np.testing.assert_array_equal(result.finished[0, :4], [False, False, False, True])
    assert result.wallclock[0, 3] == pytest.approx(5.5, abs=1e-6)
    np.testing.assert_array_equal(result.wallclock[:, 4:], 0)
    np.testing.assert_array_equal(result.ettr[:, 4:], 0)


def test_smaller_jobs_fill_the_gaps() -> None:
    """While the others are protected a large job waits for enough nodes, and a later small one goes ahead."""
    jobs = [
        FleetJob(nodes=20, productive=5.0, restart=0.0),
        FleetJob(nodes=25, productive=5.0, restart=0.0, priority=5, submit=1.0),
        FleetJob(nodes=12, productive=2.0, restart=0.0, submit=2.0),
    ]
    result = simulate_fleet(0, still(jobs, protected=9.0), COUNT)
    np.testing.assert_allclose(result.queued[0, :3], [0, 4, 0], atol=1e-6)


def test_nodes_that_are_off_take_time_to_start() -> None:
    """Five spares are powered and replaced when a job takes them; what is more than five is switched off."""
    jobs = [FleetJob(nodes=4, productive=2.0, restart=0.0), FleetJob(nodes=7, productive=2.0, restart=0.0, submit=4.0)]
    result = simulate_fleet(0, still(jobs, warm_spares=5, cold_start=0.5), COUNT)
    np.testing.assert_allclose(result.waiting[0, :2], [0, 0.5], atol=1e-6)
    # Hour 0: four started in place of those of the first job. Hour 4: five in place of those of the second, which
    # takes two more that are off and waits for them.
    assert result.starting[0] == pytest.approx((4 + 5) * 0.5, abs=1e-5)
    powered = 5 * 16 - result.starting[0] + 4 * 2 + 7 * 2.5
    assert result.off[0] == pytest.approx(32 * 16 - powered - result.starting[0], abs=1e-5)


@given(
    counts=st.lists(st.tuples(st.integers(0, 2**20 - 1), st.integers(0, 2**28)), min_size=1, max_size=30),
)
@settings(max_examples=50, deadline=None)
def test_sums_of_node_hours_are_exact(counts: list[tuple[int, int]]) -> None:
    total = np.zeros(3, np.int32)
    exact, room = 0, 2**48
    for count, ticks in counts:
        if exact + count * ticks > room:
            break
        total = add_product(total, np.int32(count), np.int32(ticks))
        exact += count * ticks
    assert total_hours(np.asarray(total), 1.0) == exact


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"nodes": 0}, "nodes is 0; expected a whole number from 1 to 1048576"),
        ({"nodes": True}, "nodes is True"),
        ({"horizon": 0.0}, "horizon is 0.0; expected a number, positive and finite"),
        ({"shape": 0.0}, "shape is 0.0; expected a Weibull shape"),
        ({"age": -1.0}, "age is -1.0"),
        ({"age": "old"}, "age is 'old'"),
        ({"lemon_share": 1.5}, "lemon_share is 1.5; expected a number, zero or positive, at most 1"),
        ({"renews": "some"}, "renews is 'some'"),
        ({"rate_per_node_day": -0.1}, "rate_per_node_day has the value -0.1"),
        ({"rate_per_node_day": [0.1, 0.2]}, r"shape \(2,\)"),
        ({"rate_per_node_day": "often"}, "rate_per_node_day is 'often'"),
        ({"jobs": []}, "jobs is "),
        ({"jobs": [FleetJob(nodes=33)]}, r"jobs\[0\] wants 33 nodes; expected at most 32"),
        ({"warm_spares": -1}, "warm_spares is -1"),
        ({"detection": float("nan")}, "detection is nan"),
    ],
)
def test_bad_plans_are_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(InputError, match=message):
        replace(still([]), **fields)


@pytest.mark.parametrize(
    "fields",
    [{"interval": 0.0}, {"write": -1.0}, {"copies": 0}, {"priority": 0.5}, {"productive": 0.0}, {"nodes": 2.0}],
)
def test_bad_jobs_are_refused(fields: dict[str, object]) -> None:
    with pytest.raises(InputError, match=next(iter(fields))):
        FleetJob(**({"nodes": 1} | fields))  # type: ignore[arg-type]


def test_bad_calls_are_refused() -> None:
    with pytest.raises(InputError, match="n_replicates is 0"):
        simulate_fleet(0, CROWDED, 0)
    with pytest.raises(InputError, match="not at hour 60 after max_events = 20 steps"):
        simulate_fleet(0, CROWDED, COUNT, max_events=20)
    with pytest.raises(InputError, match="3 to 1 hours"):
        RepairStage.between(3, 1)


def test_repair_stage_between_two_times() -> None:
    stage = RepairStage.between(1.0, 3.0)
    draws = np.random.default_rng(3).lognormal(np.log(stage.median), stage.sigma, 400_000)
    # 0.05 within four binomial standard errors of 400,000 draws.
    assert np.mean(draws < 1.0) == pytest.approx(0.05, abs=0.0014)
    assert np.mean(draws > 3.0) == pytest.approx(0.05, abs=0.0014)
    assert draws.mean() == pytest.approx(stage.mean, rel=0.003)


def test_rates_of_single_nodes() -> None:
    """Only the last node fails, and is in repair for an hour each time."""
    hour = RepairStage(median=1.0)
    plan = still([FleetJob(nodes=32)], rate_per_node_day=[0.0] * 31 + [24.0], automatic=hour, automatic_share=1.0)
    result = simulate_fleet(4, plan, COUNT)
    assert 2 < result.failures.mean() < 16
    assert result.nodes_down.max() == 1
    assert (result.repair <= result.failures).all()
    assert (result.repair > result.failures - 1).all()
