"""The JAX density against PyMC's own, and JAX's settings left alone."""

import subprocess
import sys

import jax
import numpy as np
import pytest

from meantime.inference.density import density_of
from meantime.inference.families import FAMILIES
from meantime.models import MODELS, grid_of

from ..models.tables import TABLE_MODELS, data_for


@pytest.mark.parametrize("clusters", [1, 2])
@pytest.mark.parametrize("name", TABLE_MODELS)
def test_density_equals_pymc(name, clusters, table, rng):
    """Both are double precision: equal to 12 digits at random points, gradients finite."""
    table = data_for(name, table).isel(cluster=list(range(clusters)))
    model = MODELS[name].build(table)
    family = FAMILIES[name]
    data = family.layout(table).observed()
    reference = model.compile_logp(mode="FAST_COMPILE")
    with jax.enable_x64(True):
        density = density_of(model)
        evaluate = jax.jit(jax.value_and_grad(density.log_density))
        for _ in range(5):
            point = {key: rng.normal(-0.5, 0.7, shape) for key, shape in density.shapes.items()}
            found, gradient = evaluate(point, data)
            assert found.dtype == np.float64
            assert float(found) == pytest.approx(float(reference(point)), rel=1e-12)
            assert all(np.isfinite(part).all() for part in gradient.values())


def test_constrain_gives_variables_on_their_own_scale(table, rng):
    model = MODELS["component_size"].build(table)
    with jax.enable_x64(True):
        density = density_of(model)
        point = {key: rng.normal(size=shape) for key, shape in density.shapes.items()}
        found = jax.jit(density.constrain)(point, grid_of(table, sizes=True).observed())
    assert float(found["sigma_cell"]) == pytest.approx(np.exp(point["sigma_cell_log__"]))
    np.testing.assert_array_equal(found["level"], point["level"])
    assert set(found) == {str(rv.name) for rv in model.free_RVs}


def test_data_are_arguments(table, rng):
    """The same functions serve other counts of the same shape."""
    other = table.copy(deep=True)
    other["failures"][:] = other["failures"] * 2
    with jax.enable_x64(True):
        density = density_of(MODELS["component_size"].build(table))
        point = {key: rng.normal(-0.5, 0.5, shape) for key, shape in density.shapes.items()}
        found = jax.jit(density.log_density)(point, grid_of(other, sizes=True).observed())
    reference = MODELS["component_size"].build(other).compile_logp(mode="FAST_COMPILE")
    assert float(found) == pytest.approx(float(reference(point)), rel=1e-12)


_PROGRAM = """
import os, sys
import numpy as np
flags = os.environ.get("XLA_FLAGS")
from meantime.datasets.table import build_table
from meantime.inference import fit
table = build_table([[3, 1]], [900.0], cluster=["A"], component=["x", "y"])
fit(table, "constant", progress=False)
loaded = [name for name in ("pymc", "jax", "pytensor", "numpyro", "matplotlib", "arviz") if name in sys.modules]
assert not loaded, loaded
fit(table, "component", draws=50, tune=50, chains=2, allow_unconverged=True, progress=False)
import jax, jax.numpy as jnp
assert "pymc.sampling.jax" not in sys.modules
assert jnp.ones(1).dtype == np.float32 and not jax.config.jax_enable_x64
assert os.environ.get("XLA_FLAGS") == flags
assert "matplotlib" not in sys.modules
"""


def test_a_fit_leaves_jax_as_it_was():
    """Neither precision nor flags change, and the exact model needs neither JAX nor PyMC."""
    subprocess.run([sys.executable, "-W", "ignore", "-c", _PROGRAM], check=True)
