"""Change points: found where the truth has one, and nowhere else; futures that jump as often as they should."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import xarray as xr
from scipy import integrate, stats

from meantime.datasets.simulate import simulate_walks
from meantime.errors import InputError
from meantime.inference import change_points, fit, load_fit, provenance, rate_over_time, save_fit
from meantime.inference.density import density_of
from meantime.inference.families import FAMILIES
from meantime.inference.geometry import unpack
from meantime.inference.jumps import change_probability, draw_jumps, split_density
from meantime.inference.relabel import propose_slots
from meantime.inference.walks import whiten_walks
from meantime.models import OverTimePriors, over_time, time_grid_of

PRIORS = OverTimePriors(change_rate=0.5)
PLACE, JUMP = 22, 1.6


def _table(jump, seed=2):
    jumps = {PLACE: jump} if jump else None
    return simulate_walks(seed=seed, components=1, periods=40, node_days=40_000.0, sigma_walk=0.3, jumps=jumps)[0]


@pytest.fixture(scope="module")
def jumped():
    """A fit of forty weeks whose rate rose by a factor of 5 at the start of week 22 (seed 2)."""
    return fit(_table(JUMP), "over_time", priors=PRIORS, seed=2, draws=2000, progress=False)


@pytest.mark.slow
def test_a_jump_is_found_and_no_other(jumped, tmp_path):
    """One simulated table, seed 2: the jump is 5 standard deviations of the difference of two weeks, cells of 20 %."""
    found = change_points(jumped)
    near = found["probability"].values[0, PLACE - 2 : PLACE + 1]  # a step leads to the period it is named by
    assert near.sum() > 0.8
    assert found["probability"].values[0].argmax() == PLACE - 1
    assert np.delete(found["probability"].values[0], [PLACE - 2, PLACE - 1, PLACE]).max() < 0.2
    factor = float(found["factor"].isel(cluster=0, period=PLACE - 1).sel(figure="median"))
    assert abs(np.log(factor) - JUMP) < 0.6  # 0.15 from the counts, 0.04 of the ordinary step, thrice together
    assert str(found["period"].values[PLACE - 1])[:10] in found.attrs["sentence"]
    assert provenance(jumped)["diagnostics"]["converged"]
    change = jumped["posterior"]["change"]
    np.testing.assert_allclose(change.mean(("chain", "draw")), found["probability"], atol=0.03)
    save_fit(jumped, tmp_path / "fit.nc")
    again = change_points(load_fit(tmp_path / "fit.nc"))
    xr.testing.assert_allclose(again, found)
    assert again.attrs == found.attrs


@pytest.mark.slow
def test_no_jump_no_change_point():
    """Of two tables without a jump (seeds 3 and 4) no step has a change more likely than not.

    Each table has 0.4 changes expected a priori; a calibrated posterior gives a false one above one half in fewer than
    0.4 of tables, those without a jump more rarely; the seeds are fixed.
    """
    for seed in (3, 4):
        tree = fit(_table(0.0, seed), "over_time", priors=PRIORS, seed=seed, progress=False)
        found = change_points(tree)
        assert found["probability"].max() < 0.5
        assert found.attrs["sentence"].startswith("At no single period")


@pytest.mark.slow
def test_the_future_jumps_as_often_as_it_should(jumped):
    """The variance of a log step ahead is that of the mixture, sigma^2 dt + p sd^2, of each draw."""
    posterior = jumped["posterior"]
    path = np.log(rate_over_time(jumped, horizon="700d", seed=3).values[:, 0, 39:])
    walk, rate, sd = (posterior[name].values.reshape(-1) for name in ("sigma_walk", "change_rate", "change_sd"))
    years = 7 / 365.25
    wanted = (walk**2 * years + (1 - np.exp(-rate * years)) * sd**2).mean()
    assert np.diff(path, axis=1).var() == pytest.approx(wanted, rel=0.2)  # some 2,000 jumps of unequal spreads: 0.05
    jumps = draw_jumps(np.full((1, 50), 0.5), np.full((1, 50), 2.0), 4000, 0.02, np.random.default_rng(1))
    share = (jumps != 0).mean()
    assert share == pytest.approx(1 - np.exp(-0.01), abs=5 * np.sqrt(0.01 / 200_000))
    assert jumps[jumps != 0].std() == pytest.approx(2.0, rel=0.1)


def test_bayes_rule_by_scipy():
    draws = {name: np.array([value]) for name, value in (("sigma_walk", 0.8), ("change_rate", 0.5), ("change_sd", 1.2))}
    draws["walk_step"] = np.array([[[0.02, 0.5, -3.0]]])
    years = np.array([0.02, 0.04, 0.02])
    p = 1 - np.exp(-0.5 * years)
    plain = (1 - p) * stats.norm.pdf(draws["walk_step"][0, 0], 0, 0.8 * np.sqrt(years))
    jump = p * stats.norm.pdf(draws["walk_step"][0, 0], 0, np.sqrt(0.64 * years + 1.44))
    np.testing.assert_allclose(change_probability(draws, years)[0, 0], jump / (plain + jump), rtol=1e-12)


@pytest.mark.parametrize("step", [0.02, -0.9])
def test_what_changes_add_to_the_density_of_steps_is_a_density(step):
    """With and without a change, integrated over the jump, it is 1: the posterior of the steps stays what it was."""
    years, scales = np.array([0.05]), {"sigma_walk": 0.8, "change_rate": 2.0, "change_sd": 1.2}

    def density(jump, slot):
        ordinary = step - 0.4 * 0.05 - (jump if slot == 0 else 0.0)
        values = {"walk_step": np.array([[step]]), "drift": np.array([0.4]), "jump": np.array([[jump]])}
        values["ordinary_step"] = np.array([[ordinary]])
        return np.exp(split_density(np, values, scales, years, np.array([[slot]]), drawn=True))

    parts = [integrate.quad(density, -9, 9, args=(slot,), points=[step, 0.0])[0] for slot in (0, 1)]
    assert sum(parts) == pytest.approx(1.0, rel=1e-6)
    draws = {name: np.array([[value]]) for name, value in scales.items()}
    draws |= {"walk_step": np.array([[[[step]]]]), "drift": np.array([[[0.4]]])}
    assert parts[0] == pytest.approx(float(change_probability(draws, years)[0, 0, 0, 0]), rel=1e-6)


@pytest.mark.slow
def test_the_map_with_drift_and_jumps_has_the_jacobian_it_states(rng):
    grid = time_grid_of(_table(1.5).isel(period=slice(8, 30)))
    priors = OverTimePriors(change_rate=0.5, drift_sd=1.0)
    geometry = FAMILIES["over_time"].geometry(grid, priors)
    assert PLACE - 9 in geometry.data["slots"]
    scales = {"sigma_component": 0.8, "sigma_walk": 0.4, "sigma_cell": 0.3, "sigma_drift": 0.7, "change_sd": 1.1}
    with jax.enable_x64(True):
        work = jax.device_put(geometry.data)
    steps, slots = len(grid.periods) - 1, work["slots"].shape[1]
    shapes = {"mu": (), "level": (1,), "walk_step": (1, steps), "drift": (1, 1), "jump": (1, slots)}

    def mapped(z):
        return whiten_walks(jnp, unpack(z, shapes), scales, work, {"mu_mean": -5.0, "mu_sd": 1.0})

    def flat(z):
        values, _ = mapped(z)
        return jnp.concatenate([jnp.ravel(values[name]) for name in shapes])

    z = jnp.asarray(1.5 * rng.normal(size=3 + steps + slots))
    with jax.enable_x64(True):
        z = jnp.asarray(np.asarray(z, dtype=float))
        assert float(mapped(z)[1]) == pytest.approx(np.linalg.slogdet(jax.jit(jax.jacfwd(flat))(z))[1], abs=1e-8)
        values, _ = geometry.to_values(jnp.zeros(geometry.size), work)
        assert set(values) == set(density_of(over_time(_table(1.5), priors)).shapes)


def test_the_inner_chain_visits_sets_of_changes_by_their_evidence():
    """Five steps, room for three changes: 26 sets, 6,000 chains after 80 rounds (seed 3) against the closed form.

    Chi-square of 25 degrees of freedom, and the ratio that each chain adds up is that of its last set to the first.
    """
    rng = np.random.default_rng(3)
    root = rng.normal(size=(5, 5))
    matrix, pull, sd, log_odds = root @ root.T, rng.normal(size=5), 1.3, np.log([0.3, 0.5, 0.2, 0.4, 0.6])

    def evidence(places):
        places = list(places)
        inside = matrix[np.ix_(places, places)] + np.eye(len(places)) / sd**2
        mean = np.linalg.solve(inside, pull[places])
        return log_odds[places].sum() + 0.5 * pull[places] @ mean - 0.5 * np.linalg.slogdet(sd**2 * inside)[1]

    sets = [places for n in range(4) for places in itertools.combinations(range(5), n)]
    wanted = np.array([evidence(places) for places in sets])
    with jax.enable_x64(True):
        known = jnp.asarray(matrix), jnp.asarray(pull)
        propose = jax.jit(jax.vmap(lambda key, slots: propose_slots(key, slots, known, jnp.asarray(log_odds), sd)))
        first = (2, 4, 5)
        slots, total = jnp.tile(jnp.asarray(first), (6_000, 1)), np.zeros(6_000)
        for turn in range(10):
            slots, more = propose(jax.random.split(jax.random.key(turn), 6_000), slots)
            total += np.asarray(more)
    found = [tuple(sorted(place for place in row if place < 5)) for row in np.asarray(slots).tolist()]
    index = np.array([sets.index(row) for row in found])
    np.testing.assert_allclose(total, wanted[index] - evidence((2, 4)), atol=1e-8)
    expected = 6_000 * np.exp(wanted) / np.exp(wanted).sum()
    assert stats.chisquare(np.bincount(index, minlength=26), expected).pvalue > 1e-3


def test_refusals(moving):
    with pytest.raises(InputError, match="the fit has no change points"):
        change_points(moving)
    with pytest.raises(InputError, match="change_rate is 0"):
        fit(_table(0.0), "over_time", priors={"change_rate": 0})
