"""Fits shared by the tests of inference."""

import numpy as np
import pytest

from meantime.inference import fit

from ..models.tables import period_table, small_table


@pytest.fixture(scope="session")
def table():
    """Two clusters, four components, four sizes; one pair of cluster and size without exposure."""
    table = small_table()
    table["exposure"][1, 3] = 0.0
    table["failures"][1, :, 3] = 0
    return table


@pytest.fixture(scope="session")
def sized(table):
    """A `component_size` fit."""
    return fit(table, "component_size", seed=11, progress=False)


@pytest.fixture(scope="session")
def plain(table):
    """A `component` fit."""
    return fit(table, "component", seed=12, progress=False)


@pytest.fixture(scope="session")
def pooled(table):
    """A `component_gamma` fit, by NUTS."""
    return fit(table, "component_gamma", method="nuts", seed=13, progress=False)


@pytest.fixture(scope="session")
def exact(table):
    """A `constant` fit, by conjugacy."""
    return fit(table, "constant", seed=14, progress=False)


@pytest.fixture(scope="session")
def moving():
    """An `over_time` fit of two clusters, three components and ten months."""
    return fit(period_table(), "over_time", seed=15, progress=False)


@pytest.fixture(scope="session")
def trees(sized, plain, pooled, exact, moving):
    """One of each model of failure tables, by model."""
    return {
        "component_size": sized,
        "component": plain,
        "component_gamma": pooled,
        "constant": exact,
        "over_time": moving,
    }


@pytest.fixture
def rng():
    """A seeded generator."""
    return np.random.default_rng(2024)
