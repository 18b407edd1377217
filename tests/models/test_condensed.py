"""The densities that are sampled are those of the models, up to a constant."""

import jax
import numpy as np
import pytest

from meantime.inference.density import Density, density_of
from meantime.inference.families import FAMILIES
from meantime.models import MODELS, priors_for

from .tables import small_table


@pytest.mark.slow
@pytest.mark.parametrize("clusters", [1, 2])
@pytest.mark.parametrize("name", ["component", "component_size"])
def test_condensed_density_differs_by_a_constant(name, clusters):
    """At four points, one with hardly any cell deviation; one pair of cluster and size has no exposure."""
    table = small_table(clusters=clusters)
    table["exposure"][clusters - 1, 3] = 0.0
    table["failures"][clusters - 1, :, 3] = 0
    family, priors = FAMILIES[name], priors_for(name)
    grid = family.layout(table)
    build, data = family.condensed(grid, priors)
    rng = np.random.default_rng(1)
    with jax.enable_x64(True):
        full, built = density_of(MODELS[name].build(table, priors)), build()
        few = built if isinstance(built, Density) else density_of(built)
        assert dict(full.shapes) == dict(few.shapes)
        differences = []
        for point in range(4):
            z = {key: 0.3 * rng.normal(size=shape) for key, shape in full.shapes.items()}
            z |= {key: z[key] - 7 for key in ("mu", "level")}
            if point == 0 and "sigma_cell_log__" in z:
                z["sigma_cell_log__"] = np.array(-4.0)
            differences.append(float(full.log_density(z, grid.observed()) - few.log_density(z, data)))
    assert np.ptp(differences) < 1e-6
