"""ETTR at a stated rate: the printed example, the published tables, and refusals."""

import json

import pytest

from meantime.errors import InputError
from meantime.forecast import Plan, Uncertain, ettr_point


def test_the_example_of_131072_gpus() -> None:
    result = ettr_point(6.5, 131072, Plan(restart="5min", checkpoint_write="30s", checkpoint_interval="optimal"))
    assert list(result) == [
        "schema",
        "gpus",
        "nodes",
        "rate_per_1000_node_days",
        "mttf_hours",
        "checkpoint_interval_seconds",
        "ettr",
    ]
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert result["schema"] == "meantime.ettr/1"
    assert (result["gpus"], result["nodes"], result["rate_per_1000_node_days"]) == (131072, 16384, 6.5)
    assert result["mttf_hours"] == pytest.approx(24 / 16384 / 6.5e-3)
    assert result["ettr"]["renewal"] == pytest.approx(0.5196, abs=0.001)
    assert result["ettr"]["kokolis"] == pytest.approx(0.44, abs=0.005)
    assert result["checkpoint_interval_seconds"] == pytest.approx(201.1, abs=0.1)


@pytest.mark.parametrize(
    ("write", "gpus", "mttf", "simulated", "renewal", "paper"),
    [
        ("30s", 1_024, 28.9, 0.973, 0.973, 0.973),
        ("30s", 16_384, 1.80, 0.870, 0.866, 0.864),
        ("30s", 131_072, 0.23, 0.516, 0.519, 0.435),
        ("300s", 16_384, 1.80, 0.689, 0.692, 0.696),
        ("300s", 131_072, 0.23, 0.245, 0.245, 0.140),
    ],
)
def test_the_reference_table_with_youngs_interval(
    write: str, gpus: int, mttf: float, simulated: float, renewal: float, paper: float
) -> None:
    """Printed to three figures; 0.001 of rounding, and 0.005 for the few simulated runs."""
    hours = 24 / (gpus / 8) / 6.5e-3
    young = (2 * float(write[:-1]) / 3600 * hours) ** 0.5
    result = ettr_point(6.5, gpus, Plan(checkpoint_write=write, checkpoint_interval=f"{young * 3600}s"))
    assert result["mttf_hours"] == pytest.approx(mttf, abs=0.06)
    assert result["ettr"]["renewal"] == pytest.approx(renewal, abs=0.001)
    assert result["ettr"]["renewal"] == pytest.approx(simulated, abs=0.005)
    assert result["ettr"]["kokolis"] == pytest.approx(paper, abs=0.001)


@pytest.mark.parametrize(
    ("rate", "gpus", "interval", "restart", "paper"),
    [
        (6.5, 16_000, "60min", "5min", 0.684),
        (6.5, 16_000, "5min", "5min", 0.932),
        (6.5, 2_048, "1h", "5min", 0.960),
        (6.5, 4_096, "1h", "5min", 0.919),
        (6.5, 100_000, "7min", "5min", 0.520),
        (2.34, 100_000, "21min", "5min", 0.685),
        (2.34, 100_000, "2min", "2min", 0.939),
    ],
)
def test_the_papers_hypotheticals(rate: float, gpus: int, interval: str, restart: str, paper: float) -> None:
    """Kokolis et al. 2025 with free writes; the exact form is never below the first-order one there."""
    result = ettr_point(rate, gpus, Plan(checkpoint_write="0s", checkpoint_interval=interval, restart=restart))
    assert result["ettr"]["kokolis"] == pytest.approx(paper, abs=0.0006)
    assert paper - 0.001 < result["ettr"]["renewal"] < 1


def test_the_first_order_form_leaves_the_scale_and_the_exact_one_does_not() -> None:
    result = ettr_point(6.5, 131_072, Plan(checkpoint_write="0s", checkpoint_interval="1h"))
    assert result["ettr"]["kokolis"] == pytest.approx(-1.588, abs=0.001)
    assert result["ettr"]["renewal"] == pytest.approx(0.037, abs=0.001)


def test_queue_and_detection_cost_time() -> None:
    base = ettr_point(6.5, 16384)["ettr"]["renewal"]
    for plan in (Plan(queue="10min"), Plan(detection="10min")):
        assert ettr_point(6.5, 16384, plan)["ettr"]["renewal"] < base, plan


def test_the_run_is_long_whatever_the_plan_says() -> None:
    assert ettr_point(6.5, 16384, Plan(productive="1h")) == ettr_point(6.5, 16384, Plan(productive="365d"))


@pytest.mark.parametrize("rate", [0, -1, float("nan"), float("inf"), "6.5", None, True])
def test_rates_that_cannot_be_are_refused(rate: object) -> None:
    with pytest.raises(InputError, match="rate is"):
        ettr_point(rate, 1024)  # type: ignore[arg-type]


def test_lists_and_distributions_are_refused() -> None:
    for plan in (Plan(restart=["5min", "6min"]), Plan(restart=Uncertain([1, 2], unit="min"))):
        with pytest.raises(InputError, match="restart"):
            ettr_point(6.5, 1024, plan)


@pytest.mark.parametrize("gpus", [0, -8, 1.5, "8", True, 10**12])
def test_sizes_that_cannot_be_are_refused(gpus: object) -> None:
    with pytest.raises(InputError, match="gpus is"):
        ettr_point(6.5, gpus)  # type: ignore[arg-type]
