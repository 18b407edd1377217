"""From failure tables to arrays: nothing is lost on the way."""

import numpy as np
import pytest

from meantime.datasets.table import build_table
from meantime.errors import InputError
from meantime.models import grid_of


@pytest.fixture
def table():
    """Three sizes out of order, two periods, two nodes, one pair without exposure."""
    rng = np.random.default_rng(0)
    exposure = rng.uniform(10, 20, (2, 3, 2, 2))
    exposure[1, 0] = 0.0
    failures = rng.integers(0, 5, (2, 4, 3, 2, 2)) * (exposure > 0)[:, None]
    return build_table(
        failures,
        exposure,
        cluster=["A", "B"],
        component=["w", "x", "y", "z"],
        job_size=[128, 32, 64],
        period=np.array(["2024-01-01", "2024-02-01"], dtype="datetime64[ns]"),
        node=["n1", "n2"],
    )


@pytest.mark.parametrize("sizes", [False, True])
@pytest.mark.parametrize("components", [False, True])
def test_sums_are_kept(table, sizes, components):
    grid = grid_of(table, sizes=sizes, components=components)
    assert grid.failures.sum() == table["failures"].sum()
    assert np.isclose(grid.exposure.sum(), table["exposure"].sum(), rtol=1e-12)
    assert grid.failures.shape == (2, 3 if sizes else 1, 4 if components else 1)


def test_sizes_are_sorted_and_keep_their_counts(table):
    grid = grid_of(table, sizes=True)
    assert grid.job_sizes == (32, 64, 128)
    expected = table["failures"].sel(cluster="A", component="y", job_size=128).sum()
    assert grid.failures[0, 2, 2] == expected
    assert grid.doublings.tolist() == [-1, 0, 1]


def test_pairs_without_exposure_are_no_strata(table):
    grid = grid_of(table, sizes=True)
    assert "B/128" not in grid.coords["stratum"]
    assert len(grid.coords["stratum"]) == 5
    observed = grid.observed()
    assert (observed["exposure_days"] > 0).all()
    assert observed["observed_failures"].shape == (5, 4)


def test_component_size_needs_two_sizes(table):
    with pytest.raises(InputError, match="fit the model 'component'"):
        grid_of(table.isel(job_size=[1]), sizes=True)
    with pytest.raises(InputError, match="no job sizes"):
        grid_of(table.sum("job_size"), sizes=True)
    lonely = table.copy(deep=True)
    lonely["exposure"][:, 1:] = 0
    with pytest.raises(InputError, match="1 job size with exposure"):
        grid_of(lonely, sizes=True)
