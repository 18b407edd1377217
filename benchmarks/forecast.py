"""How fast are forecasts? Run: python benchmarks/forecast.py

Mean and quantiles of the expected ETTR for 4,000 draws x 200 sizes x 50 plans against a straightforward
NumPy version, and the whole forecast (single runs, losses, days) of the same grid.
"""

import os
import time
from collections.abc import Callable
from typing import Any

import numpy as np

DRAWS, SIZES = 4000, 200
RESTARTS = [f"{minutes}min" for minutes in range(1, 11)]
INTERVALS = ["5min", "10min", "20min", "1h", "2h"]
WRITE, DETECTION, PRODUCTIVE = 30 / 3600, 2 / 60, 720.0
SEED = 20250301


def timed(function: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def grid() -> tuple[Any, Any, np.ndarray, np.ndarray]:
    """Rates and plan for the library; failures per node-day (draws,) and GPUs (sizes,) for plain NumPy."""
    from meantime.forecast import Plan, stated_rate

    rate = np.random.default_rng(SEED).lognormal(np.log(6.5), 0.2, DRAWS)
    gpus = 8 * np.unique(np.geomspace(1, 16384, 263).astype(int))[-SIZES:]
    plan = Plan(restart=RESTARTS, checkpoint_interval=INTERVALS, detection="2min", checkpoint_write="30s")
    return stated_rate(rate, gpus.tolist()), plan, rate / 1000, gpus


def plain(rate: np.ndarray, gpus: np.ndarray) -> np.ndarray:
    """What one writes first: the formula for all draws, sizes and plans at once, then mean and quantiles."""
    restart = np.repeat([float(text[:-3]) / 60 for text in RESTARTS], len(INTERVALS))
    interval = np.tile([1 / 12, 1 / 6, 1 / 3, 1.0, 2.0], len(RESTARTS))
    lam = rate[:, None, None] * gpus[:, None] / 8 / 24
    wait = 1 / lam + DETECTION
    segment = wait * np.exp(lam * restart) * np.expm1(lam * (interval + WRITE))
    ettr = PRODUCTIVE / (wait * np.expm1(lam * restart) + PRODUCTIVE / interval * segment)
    lower, median, upper = np.quantile(ettr, [0.05, 0.5, 0.95], axis=0)
    return np.stack([ettr.mean(axis=0), median, lower, upper], axis=-1)


def plain_by_size(rate: np.ndarray, gpus: np.ndarray) -> np.ndarray:
    """The same, a size at a time and with the draws along the last axis, which spares the memory."""
    restart = np.repeat([float(text[:-3]) / 60 for text in RESTARTS], len(INTERVALS))[:, None]
    interval = np.tile([1 / 12, 1 / 6, 1 / 3, 1.0, 2.0], len(RESTARTS))[:, None]
    out = np.empty((len(gpus), restart.size, 4))
    for row, size in enumerate(gpus):
        lam = rate * size / 8 / 24
        wait = 1 / lam + DETECTION
        segment = wait * np.exp(lam * restart) * np.expm1(lam * (interval + WRITE))
        ettr = PRODUCTIVE / (wait * np.expm1(lam * restart) + PRODUCTIVE / interval * segment)
        out[row, :, 0] = ettr.mean(axis=1)
        out[row, :, 1:] = np.quantile(ettr, [0.5, 0.05, 0.95], axis=1).T
    return out


def main() -> None:
    from meantime.forecast import Plan, expected_ettr, forecast_rates

    rates, plan, rate, gpus = grid()
    plans = len(RESTARTS) * len(INTERVALS)
    print(f"{os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}, seed {SEED}")

    cold, _ = timed(lambda: expected_ettr(rates, plan))
    warm, result = min((timed(lambda: expected_ettr(rates, plan)) for _ in range(5)), key=lambda pair: pair[0])
    slow, expected = timed(lambda: plain(rate, gpus))
    spared, _ = timed(lambda: plain_by_size(rate, gpus))
    values = result["ettr"].values.reshape(expected.shape)
    print(f"expected ETTR, {DRAWS:,} draws x {gpus.size} sizes x {plans} plans: mean, median and 90 % bounds")
    print(f"  cold {cold:.2f} s (compiling), warm {warm:.3f} s")
    print(f"  plain NumPy {slow:.2f} s, {slow / warm:.0f} times as long as warm")
    print(f"  plain NumPy a size at a time {spared:.2f} s, {spared / warm:.0f} times as long as warm")
    print(f"  largest relative difference {np.max(np.abs(values / expected - 1)):.1e}")

    best = Plan(restart=RESTARTS, checkpoint_write=["5s", "10s", "20s", "60s", "120s"])
    timed(lambda: expected_ettr(rates, best))
    searched, _ = timed(lambda: expected_ettr(rates, best))
    print(f"the same grid with the best interval searched for every plan: {searched:.2f} s")
    whole, _ = timed(lambda: forecast_rates(rates, plan))
    print(f"whole forecast of it, with {gpus.size * plans * 2000:.0e} single runs: {whole:.1f} s with compiling")


if __name__ == "__main__":
    main()
