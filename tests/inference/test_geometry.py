"""Changes of variables: Jacobians by automatic differentiation, whitening exact where it should be."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats

from meantime.inference.density import density_of
from meantime.inference.families import FAMILIES
from meantime.inference.geometry import shifted
from meantime.inference.whitening import line_basis, whiten_levels, whiten_lines
from meantime.models import MODELS, priors_for

from ..models.tables import TABLE_MODELS, data_for


def _geometry(name, table):
    family = FAMILIES[name]
    return family.geometry(family.layout(table), priors_for(name))


@pytest.mark.parametrize("clusters", [1, 2])
@pytest.mark.parametrize("name", TABLE_MODELS)
def test_log_jacobian(name, clusters, table, rng):
    geometry = _geometry(name, data_for(name, table).isel(cluster=list(range(clusters))))
    with jax.enable_x64(True):

        def flat(z):
            values, _ = geometry.to_values(z, geometry.data)
            return jnp.concatenate([jnp.ravel(values[key]) for key in sorted(values)])

        derivative = jax.jit(jax.jacfwd(flat))
        for _ in range(3):
            z = rng.normal(size=geometry.size)
            matrix = derivative(z)
            assert matrix.shape == (geometry.size, geometry.size)
            expected = np.linalg.slogdet(matrix)[1]
            assert float(geometry.to_values(z, geometry.data)[1]) == pytest.approx(expected, abs=1e-8)


def test_identity_fallback():
    geometry = shifted({"a": (2,), "b": ()}, {"a": [1.0, 2.0], "b": 3.0}, {"b": 2.0})
    values, jacobian = geometry.to_values(np.zeros(3), geometry.data)
    assert values["a"].tolist() == [1.0, 2.0]
    assert float(jacobian) == pytest.approx(np.log(2.0))


def _pieces(rng, sizes):
    shape = (3, sizes, 4)
    work = {"counts": rng.uniform(0, 30, shape), "response": rng.normal(-7, 1, shape)}
    work["counts"][0, 0] = 0.0  # a pair without exposure
    scales = {"sigma_component": 0.8, "sigma_cluster": 0.4, "slope_sd": 0.1, "sigma_cell": 0.3}
    prior = {"mu_mean": -7.5, "mu_sd": 1.5, "slope_mean_sd": 0.25}
    return work, scales, prior


def _quadratic(values, z, work, scales, prior, line):
    """Return log density of the parameters under a Gaussian likelihood, by SciPy's normal distribution."""
    weight = work["counts"] / (1 + work["counts"] * scales["sigma_cell"] ** 2) if line else work["counts"]
    eta = values["level"] + values["cluster_deviation"][:, None, :]
    total = (
        stats.norm.logpdf(values["mu"], prior["mu_mean"], prior["mu_sd"])
        + stats.norm.logpdf(values["level"], values["mu"], scales["sigma_component"]).sum()
        + stats.norm.logpdf(values["cluster_deviation"], 0, scales["sigma_cluster"]).sum()
    )
    if line:
        eta = eta + values["slope"] * work["doublings"][:, None]
        total += stats.norm.logpdf(values["slope_mean"], 0, prior["slope_mean_sd"])
        total += stats.norm.logpdf(values["slope"], values["slope_mean"], scales["slope_sd"]).sum()
    return total - 0.5 * (weight * (work["response"] - eta) ** 2).sum()


@pytest.mark.parametrize("line", [False, True])
@pytest.mark.parametrize("scale", [1.0, 1e-3, 30.0])
def test_whitening_is_exact_for_a_gaussian_likelihood(line, scale, rng):
    """Then z is standard normal whatever the scales: the density of z differs from -|z|^2 / 2 by a constant.

    The constant must not depend on z; rounding grows with the ratio of scales, hence the tolerance.
    """
    work, scales, prior = _pieces(rng, 5)
    scales = {name: value * scale for name, value in scales.items()}
    work["doublings"] = np.arange(-2.0, 3.0)
    work["basis"] = line_basis(work["doublings"], work["response"])
    shapes = {"mu": (), "level": (4,), "cluster_deviation": (3, 4)}
    if line:
        shapes |= {"slope_mean": (), "slope": (4,)}
    rest = []
    for _ in range(6):
        z = {name: rng.normal(size=shape) for name, shape in shapes.items()}
        values, jacobian = (whiten_lines if line else whiten_levels)(np, z, scales, work, prior)
        density = _quadratic(values, z, work, scales, prior, line) + jacobian
        rest.append(density + 0.5 * sum((part**2).sum() for part in z.values()))
    assert np.ptp(rest) < 1e-6


@pytest.mark.parametrize("name", ["component", "component_size"])
def test_the_expansion_is_taken_at_the_mode(name, table):
    """At z = 0 the potential has no slope in any parameter but the scales, which come first in z."""
    family = FAMILIES[name]
    grid = family.layout(table)
    geometry = family.geometry(grid, priors_for(name))
    with jax.enable_x64(True):
        density = density_of(MODELS[name].build(table))

        def potential(z):
            values, jacobian = geometry.to_values(z, geometry.data)
            return -(density.log_density(values, grid.observed()) + jacobian)

        gradient = np.asarray(jax.jit(jax.grad(potential))(jnp.zeros(geometry.size)))
    scales = 4 if name == "component_size" else 2
    assert np.abs(gradient[scales:]).max() < 1e-3
    assert np.abs(gradient[:scales]).max() < 10  # within a few standard deviations, of order 1, of their mode
