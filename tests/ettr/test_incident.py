"""Common-cause incidents: against exact fractions, draws of node sets, and seven years of LANL's outages."""

import csv
import lzma
from collections import defaultdict
from collections.abc import Callable
from datetime import datetime
from fractions import Fraction
from math import comb
from pathlib import Path

import jax.numpy as jnp
import numpy as np
import pytest

from meantime import ettr


@pytest.mark.parametrize("seed", [111])
def test_probability_has_all_its_digits(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes = rng.integers(1, 4000, 300)
    job, hit = rng.integers(1, nodes + 1), np.minimum(rng.integers(1, 300, 300), nodes)
    exact = [
        float(1 - Fraction(comb(n - m, k), comb(n, k)))
        for n, k, m in zip(*map(map, [int] * 3, (nodes, job, hit)), strict=True)
    ]
    np.testing.assert_allclose(ettr.hit_probability(nodes, job, hit), exact, rtol=1e-14)
    narrow = ettr.hit_probability(jnp.asarray(nodes), jnp.asarray(job), jnp.asarray(hit))
    assert narrow.dtype == jnp.float32
    np.testing.assert_allclose(narrow, exact, rtol=1e-6)


def test_a_million_nodes() -> None:
    """Sums of up to 10,000 logarithms with one sign; no difference of log-gammas comes near."""
    nodes, job = 1_000_000, np.array([1, 65, 1000, 10_000, 125_000])
    for hit in (1, 20, 300, 10_000):
        few, many = np.minimum(job, hit), np.maximum(job, hit)
        exact = [-np.expm1(np.log1p(-m / (nodes - np.arange(f))).sum()) for f, m in zip(few, many, strict=True)]
        np.testing.assert_allclose(ettr.hit_probability(nodes, job, hit), exact, rtol=1e-12)
        narrow = ettr.hit_probability(jnp.float32(nodes), jnp.asarray(job), hit)
        np.testing.assert_allclose(narrow, exact, rtol=2e-6)


def test_edges() -> None:
    assert ettr.hit_probability(100, 0, 7) == 0
    assert ettr.hit_probability(100, 100, 1) == 1
    assert ettr.hit_probability(100, 60, 41) == 1
    assert ettr.hit_probability(100, 60, 40) == pytest.approx(1 - 1 / comb(100, 40), rel=1e-15)
    # Independent failures of single nodes: the hazard of `hazard_of`; together it adds up.
    alone = ettr.incident_hazard(1000, 64, [1], [6.5])
    assert alone == pytest.approx(ettr.hazard_of(64, 6.5e-3), rel=1e-14)
    both = ettr.incident_hazard(1000, 64, [1, 16], [6.5, 0.2])
    assert both == pytest.approx(alone + 0.2 * ettr.hit_probability(1000, 64, 16) / 24, rel=1e-14)
    assert both < alone + ettr.hazard_of(64, 16 * 0.2 / 1000)


@pytest.mark.parametrize("seed", [112])
@pytest.mark.parametrize("plans", [50, pytest.param(200, marks=pytest.mark.slow)])
def test_draws_of_node_sets_agree(plans: int, seed: int, standard_normal: Callable[[np.ndarray], None]) -> None:
    """Hypergeometric draws of how many of the job's nodes are hit, for clusters of 1,000 to 1,000,000 GPUs."""
    rng = np.random.default_rng(seed)
    nodes = np.round(np.exp(rng.uniform(np.log(125), np.log(125_000), plans))).astype(int)
    hit = np.maximum(1, np.round(nodes ** rng.uniform(0, 0.7, plans))).astype(int)
    job = np.clip(np.round(nodes / hit * np.exp(rng.uniform(-3, 1, plans))), 1, nodes).astype(int)
    n = 20_000
    share = (rng.hypergeometric(job, nodes - job, hit, (n, plans)) > 0).mean(0)
    expected = ettr.hit_probability(nodes, job, hit)
    error = np.sqrt(expected * (1 - expected) / n)
    standard_normal(((share - expected) / np.where(error > 0, error, 1))[(expected > 1e-3) & (expected < 0.999)])


# System, nodes (of system 20 those numbered 0 to 255), days of service, job nodes, hours by incidents and independent.
LANL = [
    (18, 1024, 1228, {1: (7559.95, 7550.49), 64: (118.289, 117.976), 256: (29.6899, 29.4941), 1024: (7.5222, 7.37352)}),
    (19, 1024, 1075, {8: (1005.72, 1005.6), 64: (125.829, 125.7), 256: (31.5522, 31.4251), 1024: (7.9728, 7.85627)}),
    (20, 256, 1379, {1: (3996.5, 3988.97), 64: (62.782, 62.3276), 256: (15.9345, 15.5819)}),
]


@pytest.fixture(scope="module")
def outages(shared_data: Path) -> dict[int, dict[datetime, list[int]]]:
    """Nodes by system and minute of the outage. Data: Los Alamos National Laboratory, LA-UR-05-7318."""
    found: dict[int, dict[datetime, list[int]]] = defaultdict(lambda: defaultdict(list))
    path = shared_data / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz"
    with lzma.open(path, "rt", encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            system = int(row["System"])
            if system in (18, 19, 20):
                node = int(row["nodenumz"])
                if system != 20 or node < 256:
                    found[system][datetime.strptime(row["Prob Started"], "%m/%d/%Y %H:%M")].append(node)
    return found


@pytest.mark.parametrize(("system", "nodes", "days", "hours"), LANL)
def test_mttf_of_jobs_at_los_alamos(
    outages: dict[int, dict[datetime, list[int]]],
    system: int,
    nodes: int,
    days: float,
    hours: dict[int, tuple[float, float]],
) -> None:
    """Outages of the same minute are one incident: with 1,024 nodes 7.52 h where independent nodes would say 7.37 h."""
    hits = [len(set(at)) for at in outages[system].values()]
    rows = sum(len(at) for at in outages[system].values())
    kinds, counts = np.unique(hits, return_counts=True)
    for job, (incidents, independent) in hours.items():
        hazard = ettr.incident_hazard(nodes, job, kinds, counts / days)
        assert ettr.mttf(hazard) == pytest.approx(incidents, rel=1e-5)
        alone = ettr.incident_hazard(nodes, job, [1], [rows / days])
        assert ettr.mttf(alone) == pytest.approx(independent, rel=1e-5)
        assert hazard <= alone * (1 + 1e-12)
