"""Tables that are too large are refused before they are sampled, with the grid that would do."""

import numpy as np
import pytest

from meantime.datasets.table import build_table
from meantime.errors import InputError
from meantime.inference import fit
from meantime.inference.limits import MOST_CELLS, check_cells
from meantime.models import grid_of


def _table(components, clusters, periods):
    shape = (clusters, components, periods)
    counts = np.zeros(shape, dtype=int)
    counts[0, 0] = 1
    return build_table(
        counts,
        np.full((clusters, periods), 100.0),
        cluster=[f"cluster {i}" for i in range(clusters)],
        component=[f"component {i}" for i in range(components)],
        period=np.datetime64("2025-01-06") + 7 * np.arange(periods) * np.timedelta64(1, "D"),
    )


def test_weeks_of_a_large_sparse_fleet_are_refused_with_the_periods_that_would_do():
    """200 components on 50 clusters in 52 weeks: 520,000 cells; half as many periods are 260,000."""
    with pytest.raises(InputError, match=r"520,000 cells \(50 clusters x 200 components x 52 periods\)") as caught:
        fit(_table(200, 50, 52), "over_time", seed=1, progress=False)
    assert "periods 2 times as long (--period), or sum the rarest components, to 115 in all" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_what_would_do_is_taken():
    grid = grid_of(_table(115, 50, 1))
    check_cells("component", {"counts": np.broadcast_to(0.0, MOST_CELLS)}, grid, "cpu")
    check_cells("component", {"counts": np.broadcast_to(0.0, 10 * MOST_CELLS)}, grid, "gpu")
    with pytest.raises(InputError, match="sum the rarest components, to 57 in all, or fit clusters apart"):
        check_cells("component", {"counts": np.broadcast_to(0.0, 2 * MOST_CELLS)}, grid, "cpu")
