"""R-hat and effective sample sizes against ArviZ."""

import numpy as np
import pytest
from arviz_stats.base import array_stats

from meantime.inference.diagnostics import ess_bulk, ess_tail, rhat


def _chains(rng, phi, draws):
    noise = rng.standard_normal((6, 4, draws))
    values = np.empty_like(noise)
    values[..., 0] = noise[..., 0]
    for i in range(1, draws):
        values[..., i] = phi * values[..., i - 1] + noise[..., i]
    values[0, :, 10:60] = values[0, :, 10:11]  # ties: a chain that stands still for a while
    return values


@pytest.mark.parametrize("phi", [-0.5, 0.0, 0.5, 0.95])
@pytest.mark.parametrize("draws", [300, 1000])
def test_against_arviz(phi, draws, rng):
    values = _chains(rng, phi, draws)
    axes = {"chain_axis": 1, "draw_axis": 2}
    np.testing.assert_allclose(rhat(values), array_stats.rhat(values, method="rank", **axes), rtol=1e-10)
    # truncating Geyer's sequence at its end differs in details; 3 % where chains are short or mix badly
    np.testing.assert_allclose(ess_bulk(values), array_stats.ess(values, method="bulk", **axes), rtol=0.03)
    expected = array_stats.ess(values, method="tail", prob=(0.05, 0.95), **axes)
    np.testing.assert_allclose(ess_tail(values), expected, rtol=0.03)


def test_chains_apart_are_seen(rng):
    values = rng.standard_normal((1, 4, 500))
    values[0, 0] += 3
    assert rhat(values)[0] > 1.2
    assert ess_bulk(values)[0] < 50


def test_wider_chain_is_seen(rng):
    """The folded R-hat sees chains of the same mean but different spread."""
    values = rng.standard_normal((1, 4, 500))
    values[0, 0] *= 3
    assert rhat(values)[0] > 1.05


def test_constant_scalar():
    assert ess_bulk(np.ones((1, 4, 100)))[0] == 400
