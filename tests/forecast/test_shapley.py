"""Shapley shares against their definition, known games, and each other."""

import itertools
from collections.abc import Sequence

import numpy as np
import pytest

from meantime.forecast import shapley
from meantime.forecast.shapley import Subset, shapley_shares


def game(n_parts: int, n_draws: int, seed: int) -> tuple[dict[Subset, np.ndarray], object]:
    rng = np.random.default_rng(seed)
    sets = [frozenset(s) for size in range(n_parts + 1) for s in itertools.combinations(range(n_parts), size)]
    values = {s: rng.normal(size=n_draws) for s in sets}
    return values, lambda asked: np.stack([values[s] for s in asked])


def test_the_shares_are_means_over_all_orders() -> None:
    values, value = game(5, 3, seed=1)
    shares = shapley_shares(5, value, rng=np.random.default_rng(0))  # type: ignore[arg-type]
    expected = np.zeros((5, 3))
    orders = list(itertools.permutations(range(5)))
    for order in orders:
        for place, part in enumerate(order):
            expected[part] += values[frozenset(order[: place + 1])] - values[frozenset(order[:place])]
    np.testing.assert_allclose(shares.shapley, expected / len(orders))
    assert (shares.error == 0).all()


def test_the_glove_game() -> None:
    """One left and two right gloves; a pair is worth 1: shares 2/3, 1/6, 1/6."""

    def pairs(sets: Sequence[Subset]) -> np.ndarray:
        return np.array([[min(1 in s, 1) * bool(s & {0, 2})] for s in sets], dtype=float)

    shares = shapley_shares(3, pairs, rng=np.random.default_rng(0))
    np.testing.assert_allclose(shares.shapley[:, 0], [1 / 6, 2 / 3, 1 / 6])


def test_drawn_orders_agree_with_all_sets(monkeypatch: pytest.MonkeyPatch) -> None:
    """Six parts, within 4.5 standard errors each (false alarm 4e-5), and they add up; seed 3."""
    values, value = game(6, 2, seed=3)
    exact = shapley_shares(6, value, rng=np.random.default_rng(3))  # type: ignore[arg-type]
    monkeypatch.setattr(shapley, "EXACT_UP_TO", 2)
    drawn = shapley_shares(6, value, rng=np.random.default_rng(3))  # type: ignore[arg-type]
    off = np.abs(drawn.shapley.mean(axis=1) - exact.shapley.mean(axis=1))
    assert (off < 4.5 * drawn.error).all(), "seed 3"
    total = values[frozenset(range(6))] - values[frozenset()]
    np.testing.assert_allclose(drawn.shapley.sum(axis=0), total)
