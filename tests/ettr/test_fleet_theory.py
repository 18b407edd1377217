"""The fleet simulation against renewal theory, queueing theory and the closed forms of one run."""

import math

import numpy as np
import pytest
from scipy import stats

from meantime import ettr
from meantime.ettr import FleetJob, FleetPlan, FleetResult, RepairStage, simulate_fleet

AT_ONCE = RepairStage(median=0.0)
ONE_HOUR = RepairStage(median=1.0, sigma=0.8)
SEED = 424242
COUNT = 64
# Every repair makes a node new (but where a test says otherwise), and lemons are as good as others: plans that are
# alike in what the simulation is compiled for share the compilation.
COMMON = {"automatic": AT_ONCE, "manual": AT_ONCE, "automatic_share": 0.0, "renews": "manual", "lemon_share": 0.05}


def close(values: np.ndarray, expected: float) -> bool:
    """Whether the mean of independent replicates is within 3.3 standard errors: false-alarm rate 0.1 %."""
    z = (values.mean() - expected) / (values.std(ddof=1) / math.sqrt(len(values)))
    print(f"seed {SEED}: mean {values.mean():.6g}, expected {expected:.6g}, z {z:+.2f}")
    return bool(abs(z) < 3.3)


def busy_fleet(shape: float, **fields: object) -> FleetResult:
    """400 nodes for three mean lives, all with one job that fails and restarts about every 12 minutes."""
    plan = FleetPlan(
        nodes=400,
        jobs=[FleetJob(nodes=400, interval=0.1)],
        rate_per_node_day=0.3,
        horizon=240.0,
        shape=shape,
        **({"lemon_factor": 1.0} | COMMON | fields),  # type: ignore[arg-type]
    )
    return simulate_fleet(SEED, plan, COUNT)


@pytest.mark.parametrize("shape", [0.7, 2.0])
def test_aged_fleet_fails_as_often_whatever_the_shape(shape: float) -> None:
    """Stationary renewal: nodes x time / mean life. Lives drawn afresh at each restart would give many times that."""
    assert close(busy_fleet(shape).failures, 400 * 240.0 * 0.3 / 24)


def renewal_function(shape: float, time: float, mean: float, steps: int = 4000) -> float:
    """Expected renewals of a Weibull process that starts new (Xie's midpoint rule for the renewal equation)."""
    scale = mean / math.gamma(1 + 1 / shape)
    step = time / steps
    whole = stats.weibull_min.cdf(np.arange(steps + 1) * step, shape, scale=scale)
    half = stats.weibull_min.cdf((np.arange(1, steps + 1) - 0.5) * step, shape, scale=scale)
    renewals = np.zeros(steps + 1)
    for i in range(1, steps + 1):
        past = np.diff(renewals[:i]) @ half[1:i][::-1]
        renewals[i] = (whole[i] - half[0] * renewals[i - 1] + past) / (1 - half[0])
    return float(renewals[-1])


def test_renewal_function_of_known_cases() -> None:
    assert renewal_function(1.0, 240.0, 80.0) == pytest.approx(3.0, rel=1e-6)
    # Far on, renewals are time / mean + (variance / mean^2 - 1) / 2.
    spread = math.gamma(2) / math.gamma(1.5) ** 2 - 1
    assert renewal_function(2.0, 800.0, 80.0) == pytest.approx(10 + (spread - 1) / 2, rel=1e-4)


@pytest.mark.parametrize("shape", [0.7, 2.0])
def test_new_fleet_fails_as_the_renewal_function_says(shape: float) -> None:
    assert close(busy_fleet(shape, age=0.0).failures, 400 * renewal_function(shape, 240.0, 80.0))


@pytest.mark.parametrize("shape", [0.7, 2.0])
def test_ages_that_outlive_repairs_make_a_poisson_process(shape: float) -> None:
    """No repair renews: failures are Poisson with the cumulative hazard from the age at the start on."""
    scale = 80.0 / math.gamma(1 + 1 / shape)
    expected = 400 * ((340 / scale) ** shape - (100 / scale) ** shape)
    failures = busy_fleet(shape, age=100.0, renews="none").failures
    assert close(failures, expected)
    # Poisson counts: variance over mean is chi-square; false-alarm rate 0.1 %.
    statistic = failures.var(ddof=1) / expected * (len(failures) - 1)
    assert 5e-4 < stats.chi2.cdf(statistic, len(failures) - 1) < 1 - 5e-4


def test_lemons_fail_by_their_factor() -> None:
    result = busy_fleet(0.8, lemon_factor=8.0)
    ordinary = 240.0 * 0.3 / 24
    assert close(result.lemon_failures, 20 * 8 * ordinary)
    assert close(result.failures - result.lemon_failures, 380 * ordinary)


def test_one_job_with_spares_at_all_times_is_the_renewal_form() -> None:
    """While it waits its nodes fail too, so that the wait is a busy period of M/D/inf: (e^(lam d) - 1) / lam."""
    lam, productive = 0.5, 300.2
    job = FleetJob(nodes=300, productive=productive, interval=0.5, write=0.05, restart=0.1, submit=3.0)
    plan = FleetPlan(
        nodes=400, jobs=[job], rate_per_node_day=24 * lam / 300, horizon=1200.0, detection=0.15, swap=0.05,
        **(COMMON | {"manual": ONE_HOUR}),
    )  # fmt: skip
    result = simulate_fleet(SEED, plan, COUNT)
    wait = math.expm1(lam * 0.2) / lam
    form = ettr.renewal(lam, 0.5, 0.05, 0.1, detection=wait, productive=productive)
    assert result.finished.all()
    assert result.short.max() == 0
    assert close(result.wallclock[:, 0], productive / form)
    # Each stop while running costs one wait.
    assert close(result.waiting[:, 0] - result.job_failures[:, 0] * wait, 0.0)


SHOP = FleetPlan(
    nodes=400, jobs=[FleetJob(nodes=395, submit=60.0)], rate_per_node_day=0.05, horizon=200.0,
    **(COMMON | {"automatic": ONE_HOUR, "manual": RepairStage(median=6.0, sigma=0.3), "automatic_share": 0.6}),
)  # fmt: skip


def test_nodes_in_repair_and_the_wait_for_spares() -> None:
    """Nodes fail and are repaired on their own: the number down is binomial whatever the distribution of repairs.

    The job waits for a spare exactly while more are down than there are spares, and Poisson (M/G/inf) is within the
    chance of one node to be down (Barbour and Hall).
    """
    results = [simulate_fleet(SEED + part, SHOP, COUNT) for part in range(6)]
    mean_life, repair = 24 / 0.05, SHOP.mean_repair
    down = repair / (mean_life + repair)
    size, most = 6 * COUNT, 7
    counts = np.bincount(np.concatenate([result.nodes_down for result in results]), minlength=most + 1)
    expected = stats.binom.pmf(np.arange(most + 1), 400, down) * size
    expected[most] = size - expected[:most].sum()
    observed = np.append(counts[:most], counts[most:].sum())
    assert stats.chisquare(observed, expected).pvalue > 1e-3, f"seed {SEED}: {observed}, {expected.round(1)}"
    short = np.concatenate([(result.short + result.queued)[:, 0] / 140.0 for result in results])
    exact = stats.binom.sf(5, 400, down)
    assert close(short, exact)
    assert abs(stats.poisson.sf(5, 400 * down) - exact) < down
    node_hours = np.concatenate([result.repair for result in results])
    assert close(node_hours, 400 * down * 200 - _warm_up(down, mean_life))


def _warm_up(down: float, mean_life: float) -> float:
    """Node-hours in repair that are missing at first, all nodes being up.

    Those of the repairs that a fleet of long standing would have before it at hour zero, by renewal theory rate of
    failures x E[repair^2] / 2, of the nodes that are up: two terms of the order of `down` apart.
    """
    first, manual, share = SHOP.automatic, SHOP.manual, 1 - SHOP.automatic_share
    squares = [stage.median**2 * math.exp(2 * stage.sigma**2) for stage in (first, manual)]
    second = squares[0] + share * (2 * first.mean * manual.mean + squares[1])
    return 400 * (1 - down) / mean_life * second / 2


@pytest.mark.slow
def test_spares_that_are_off_do_not_age() -> None:
    """40 of 100 nodes run for ever, the others are off: failures come from the powered ones alone."""
    plan = FleetPlan(
        nodes=100, jobs=[FleetJob(nodes=40, interval=0.1)], rate_per_node_day=0.6, horizon=200.0, warm_spares=0,
        automatic=ONE_HOUR, automatic_share=1.0,
    )  # fmt: skip
    result = simulate_fleet(SEED, plan, 200)
    assert close(result.failures, 40 * 200.0 * 0.6 / 24)
    assert (result.idle == 0).all()
    np.testing.assert_array_equal(result.running + result.held, 40 * 200.0)


def test_what_the_renewal_form_misses_in_a_fleet_that_ages() -> None:
    """Infant mortality: after ever the renewal form is right within 2 %, for new nodes it promises far too much."""
    fields = {"nodes": 400, "jobs": [FleetJob(nodes=380, interval=0.5, write=0.02, restart=0.1)], "horizon": 240.0}
    fields |= COMMON | {"rate_per_node_day": 0.02, "shape": 0.7, "manual": ONE_HOUR}
    form = float(ettr.renewal(ettr.hazard_of(380, 0.02), 0.5, 0.02, 0.1))
    aged = simulate_fleet(SEED, FleetPlan(**fields), COUNT).ettr.mean()  # type: ignore[arg-type]
    new = simulate_fleet(SEED, FleetPlan(**fields, age=0.0), COUNT).ettr.mean()  # type: ignore[arg-type]
    print(f"renewal form {form:.4f}, aged fleet {aged:.4f}, new fleet {new:.4f}")
    assert aged == pytest.approx(form, rel=0.02)
    assert form / new > 1.1
