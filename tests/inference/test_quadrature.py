"""`component_gamma` by quadrature: against SciPy's integration, published figures and NUTS."""

import time

import numpy as np
import polars as pl
import pytest
from scipy import integrate, stats

from meantime.datasets.table import build_table
from meantime.errors import InputError
from meantime.inference import fit, provenance
from meantime.inference.quadrature import pool_quadrature
from meantime.models import ComponentGammaPriors, grid_of

PUMPS = ComponentGammaPriors(shape_rate=1.0, rate_shape=0.1, rate_rate=1.0)


@pytest.fixture(scope="module")
def pumps(shared_data):
    rows = pl.read_csv(shared_data / "classic_reliability" / "pumps.csv")
    return build_table(
        rows["failures"].to_numpy()[:, None],
        rows["t_rounded"].to_numpy(),
        cluster=[str(name) for name in rows["pump"]],
        component=["pump"],
    )


def test_pumps_by_quadrature(pumps):
    """Posterior means of the reference to 5 digits; no sampling error in them."""
    started = time.perf_counter()
    found = pool_quadrature(grid_of(pumps), PUMPS)
    seconds = time.perf_counter() - started
    shape = np.exp(found.log_shape)[:, None]
    rate = np.exp(found.log_shape[:, None] - found.log_mean)
    assert (found.weight * shape).sum() == pytest.approx(0.697169, abs=2e-4)
    assert (found.weight * rate).sum() == pytest.approx(0.926807, abs=3e-4)
    theta = (shape + 5) / (rate + float(pumps["exposure"][0]))
    assert (found.weight * theta).sum() == pytest.approx(0.0598183, abs=1e-5)
    print(f"\npumps by quadrature: {1000 * seconds:.0f} ms")


def test_pumps_against_scipy_integration(pumps):
    """The same mean of the shape by adaptive quadrature of the density, written from SciPy's distributions."""
    counts, days = pumps["failures"].values[:, 0], pumps["exposure"].values

    shape, rate = np.exp(np.linspace(-5, 2.5, 301)), np.exp(np.linspace(-12, 3.5, 301))
    a, b = shape[:, None, None], rate[:, None]
    likelihood = stats.nbinom.logpmf(counts, a, b / (b + days)).sum(-1)
    prior = stats.expon.logpdf(shape)[:, None] + stats.gamma.logpdf(rate, 0.1, scale=1.0)
    density = np.exp(likelihood + prior + 40)

    def moment(power):
        return integrate.simpson(shape**power * integrate.simpson(density, x=rate), x=shape)

    found = pool_quadrature(grid_of(pumps), PUMPS)
    mean = (found.weight * np.exp(found.log_shape)[:, None]).sum()
    assert moment(1) / moment(0) == pytest.approx(mean, abs=5e-4)


@pytest.mark.slow
def test_draws_agree_with_nuts(table):
    """Means within 0.01 relative, or 4 standard errors of NUTS's draws; seed 3."""
    exact = fit(table, "component_gamma", seed=3)
    nuts = fit(table, "component_gamma", method="nuts", seed=3, progress=False)
    assert provenance(exact)["method"] == "quadrature"
    for name in ("pool_shape", "pool_rate", "rate"):
        a, b = exact["posterior"][name], nuts["posterior"][name]
        error = 4 * float(b.std() / b.mean() / np.sqrt(1000))
        ratio = (a.mean(("chain", "draw")) / b.mean(("chain", "draw"))).values
        assert ratio == pytest.approx(1, abs=max(0.01, error)), name
        assert float(a.std() / b.std()) == pytest.approx(1, abs=0.08)


@pytest.mark.parametrize("counts", [[0, 0, 0, 0], [1, 0, 0, 0], [10**7, 3, 0, 0]])
def test_edges(counts):
    """No failures; one; ten million: weights are finite and the posterior lies inside the grid."""
    table = build_table([counts], [50_000.0], cluster=["A"], component=list("abcd"))
    found = pool_quadrature(grid_of(table), ComponentGammaPriors())
    assert np.isfinite(found.weight).all()
    edge = np.concatenate([found.weight[[0, -1]].ravel(), found.weight[:, [0, -1]].ravel()])
    assert edge.max() < 1e-9 * found.weight.max()
    assert (found.weight > 1e-3 * found.weight.max()).sum() > 200  # the grid is fine where the mass is


def test_a_large_table_is_quick():
    """200 components x 50 clusters, exact."""
    rng = np.random.default_rng(2)
    days = rng.uniform(1e3, 1e5, 50)
    rate = rng.gamma(0.5, 1 / 25_000, (50, 200))
    table = build_table(
        rng.poisson(rate * days[:, None]), days, cluster=[f"c{i}" for i in range(50)], component=map(str, range(200))
    )
    found = pool_quadrature(grid_of(table), ComponentGammaPriors())
    mean = (found.weight * np.exp(found.log_shape)[:, None]).sum()
    assert mean == pytest.approx(0.5, abs=0.05)


def test_methods_are_checked(table):
    with pytest.raises(InputError, match="quadrature"):
        fit(table, "component", method="quadrature")
    with pytest.raises(InputError, match="conjugate"):
        fit(table, "component_gamma", method="conjugate")
