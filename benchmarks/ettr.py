"""How fast are the ETTR functions? Run: python benchmarks/ettr.py

Quantiles of 4,000 draws x 200 scales x 100 intervals against a straightforward NumPy version, event
simulation of 100,000 runs of 30 days on 12,500 nodes, and realised wall-clock times.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

DRAWS, SCALES, INTERVALS = 4000, 200, 100
PROBABILITIES = (0.05, 0.5, 0.95)
WRITE, RESTART, DETECTION = 30 / 3600, 5 / 60, 2 / 60
SEED = 20250301


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def plain_quantiles(hazard: np.ndarray, intervals: np.ndarray) -> np.ndarray:
    """What one writes first: the formula for every draw, then quantiles; a scale at a time to save memory."""
    out = np.empty((len(PROBABILITIES), SCALES, INTERVALS))
    for scale in range(SCALES):
        lam = hazard[:, scale, None]
        segment = (1 / lam + DETECTION) * np.exp(lam * RESTART) * np.expm1(lam * (intervals + WRITE))
        out[:, scale] = np.quantile(intervals / segment, PROBABILITIES, axis=0)
    return out


def main() -> None:
    imported, ettr = timed(lambda: __import__("meantime.ettr", fromlist=["ettr"]))
    print(f"{os.cpu_count()} cores, seed {SEED}; import meantime.ettr {imported:.2f} s")

    rng = np.random.default_rng(SEED)
    rate = rng.lognormal(np.log(6.5e-3), 0.2, (DRAWS, 1))
    hazard = ettr.hazard_of(np.geomspace(1, 131072 / 8, SCALES), rate)
    intervals = np.geomspace(1 / 60, 4, INTERVALS)

    def quantiles() -> np.ndarray:
        return ettr.quantiles(hazard[:, :, None], PROBABILITIES, intervals, WRITE, RESTART, detection=DETECTION)

    cold, result = timed(quantiles)
    warm = min(timed(quantiles)[0] for _ in range(5))
    plain, expected = timed(lambda: plain_quantiles(hazard, intervals))
    size = DRAWS * SCALES * INTERVALS
    print(f"quantiles of {DRAWS:,} draws x {SCALES} scales x {INTERVALS} intervals ({size:.0e} values)")
    print(f"  cold {cold:.3f} s (compiling), warm {warm:.4f} s")
    print(f"  plain NumPy {plain:.2f} s, {plain / warm:.0f} times as long as warm")
    print(f"  largest relative difference {np.max(np.abs(result / expected - 1)):.1e}")

    lam = ettr.hazard_of(12_500, 6.5e-3)
    tau = ettr.optimal_interval(lam, WRITE)
    plan = {"detection": DETECTION, "productive": 720.0}
    runs, (wall, failures) = timed(
        lambda: ettr.simulate(SEED, lam, tau, WRITE, RESTART, **plan, n_runs=100_000, with_failures=True)
    )
    mean = 720 / ettr.renewal(lam, tau, WRITE, RESTART, **plan)
    error = wall.std() / np.sqrt(wall.size)
    print("event simulation, 100,000 runs of 30 productive days on 12,500 nodes at 6.5 failures per 1,000 node-days")
    print(f"  {runs:.1f} s with compiling, {failures.sum() / runs / 1e6:.0f} million failures a second")
    print(f"  mean {wall.mean():.2f} h, closed form {mean:.2f} h, {(wall.mean() - mean) / error:+.1f} standard errors")

    ettr.sample_wallclock(SEED, hazard[:16], tau, WRITE, RESTART, **plan)
    drawn, _ = timed(lambda: ettr.sample_wallclock(SEED, hazard, tau, WRITE, RESTART, **plan))
    print(f"realised wall-clock of {hazard.size:,} runs, 1 to 16,384 nodes: {drawn:.2f} s")


if __name__ == "__main__":
    main()
