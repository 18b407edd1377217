"""`lifetime` and `lifetime_steps`: against lifelines, row by row, and lives of known truth."""

import lzma

import numpy as np
import polars as pl
import pytest
from scipy import optimize

from meantime.datasets import compress_lives, power_sum_bound, survival_table
from meantime.datasets.simulate import simulate_lives, simulate_survival
from meantime.errors import InputError
from meantime.inference import fit, posterior_predictive, provenance, survival_curve
from meantime.models import LifetimePriors, LifetimeStepsPriors, lifetime, lifetime_steps

FLAT = LifetimePriors(rate=1.0, rate_sd=1e6, shape_sd=1e6, coefficient_sd=1e6)
PLAIN = {"mode": "FAST_COMPILE"}


def shared_lives():
    """400 lives, 203 of them ending in failures, half of them entering late; also given to lifelines."""
    rng = np.random.default_rng(20)
    n = 400
    entry = np.where(rng.random(n) < 0.5, 0.0, rng.uniform(0, 300, n))
    new = rng.random(n) < 0.4
    window = rng.uniform(100, 1200, n)
    life = 900 * ((entry / 900) ** 1.6 + rng.exponential(size=n) * np.exp(-0.7 * new)) ** (1 / 1.6)
    return entry, np.minimum(life, entry + window), life < entry + window, new


def mode(table, covariates):
    """Maximum of the model's density with flat priors, on the scale of log rate, log shape and coefficients."""
    density = lifetime(table, FLAT).compile_logp(**PLAIN)

    def loss(x):
        point = {"rate_log__": x[0], "shape_log__": x[1]}
        return -float(density(point | ({"coefficient": x[2:]} if covariates else {})))

    start = np.array([-7.0, 0.1, *[0.0] * covariates])
    found = optimize.minimize(
        loss, start, method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11, "maxiter": 4000}
    )
    rate, shape = np.exp(found.x[:2])
    return 365 * (rate * 365 / shape) ** (-1 / shape), shape, found.x[2:]


def test_estimates_are_those_of_lifelines():
    """lifelines 0.30.3, `WeibullFitter` and `WeibullAFTFitter` with entry: typed, to 1e-5.

    Its accelerated failure times in terms of hazards: the effect on the log hazard is minus its coefficient, times
    the shape. (With ``fit_options={"gtol": 1e-12, "ftol": 1e-15}``; by default its last digits are not yet right.)
    """
    entry, exit, failed, new = shared_lives()
    assert failed.sum() == 203
    scale, shape, _ = mode(compress_lives(entry, exit, failed), 0)
    assert scale == pytest.approx(805.9204766, rel=1e-5)
    assert shape == pytest.approx(1.3839440317, rel=1e-5)
    names = np.where(new, "new", "current")
    scale, shape, effect = mode(compress_lives(entry, exit, failed, {"batch": names}), 1)
    assert scale == pytest.approx(961.27855313, rel=1e-5)
    assert shape == pytest.approx(1.43968639, rel=1e-5)
    assert effect[0] == pytest.approx(0.63276088, rel=1e-5)


def test_steps_are_those_of_lifelines():
    """`PiecewiseExponentialFitter` with breaks at 200 and 500 days and entry: hazards failures / days."""
    entry, exit, failed, _ = shared_lives()
    table = compress_lives(entry, exit, failed, cuts=[0.0, 200.0, 500.0, 1e4])
    hazard = table["failures"].values[0] / table["exposure"].values[0]
    np.testing.assert_allclose(hazard, [0.000634, 0.001246, 0.001706], atol=5e-7)
    density = lifetime_steps(table, LifetimeStepsPriors(rate_sd=1e6, step_sd=1e6)).compile_logp(**PLAIN)

    def loss(x):
        return -float(density({"step_sd_log__": np.log(1e5), "first": x[0], "step": x[1:]}))

    found = optimize.minimize(
        loss, np.array([-7.0, 0.1, 0.1]), method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-11}
    )
    np.testing.assert_allclose(np.exp(np.cumsum(found.x)), hazard, rtol=1e-5)


def test_gaps_of_node_22_of_los_alamos(shared_data):
    """System 2, node 22, 2000 to 2005: gaps between its 193 failures but 0: shape 0.735, scale 209.6 h."""
    packed = shared_data / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz"
    raw = pl.read_csv(lzma.decompress(packed.read_bytes()), infer_schema_length=None)
    rows = raw.filter((pl.col("System") == 2) & (pl.col("nodenumz") == 22))
    time = rows["Prob Started"].str.to_datetime("%m/%d/%Y %H:%M").sort()
    time = time.filter(time.dt.year() >= 2000)
    gaps = time.diff().drop_nulls().dt.total_seconds().to_numpy() / 86400
    frame = pl.DataFrame({"age_entry": 0.0 * gaps, "age": gaps, "event": ["failure"] * len(gaps)})
    scale, shape, _ = mode(survival_table(frame), 0)
    assert shape == pytest.approx(0.734642, rel=1e-4)
    assert scale * 24 == pytest.approx(209.631, rel=1e-4)


@pytest.fixture(scope="module")
def fitted():
    table, truth = simulate_survival(seed=3, units=6000)
    return table, truth, {name: fit(table, name, seed=4, progress=False) for name in ("lifetime", "lifetime_steps")}


def test_intervals_hold_the_truth(fitted):
    """Intervals of 99 %; four parameters, false alarm 4 %; seed 3. A shape of 1.5, a late batch, three positions."""
    table, truth, trees = fitted
    posterior = trees["lifetime"]["posterior"]
    coefficient = dict(zip(table["covariate"].values.tolist(), posterior["coefficient"].values.T, strict=True))
    spread = np.sqrt(
        np.average(
            (table["design"][:, 1] - np.average(table["design"][:, 1], weights=table["lives"])) ** 2,
            weights=table["lives"],
        )
    )
    draws = {
        "shape": (posterior["shape"].values, float(truth["shape"])),
        "batch": (coefficient["batch=new"], 0.5),
        "position": (coefficient["position"] / spread, 0.2),
        "rate": (survival_curve(trees["lifetime"], [365.0], covariates={"position": 0.0})["hazard"].values, 3e-4),
    }
    for name, (values, true) in draws.items():
        low, high = np.quantile(values, [0.005, 0.995])
        assert low < true < high, name
    for tree in trees.values():
        assert provenance(tree)["diagnostics"]["mean_steps"] < 15


def test_the_two_models_agree_where_there_are_data(fitted):
    """Survival to one, two and four years of the old batch at the mean position: the truth is in both bands."""
    table, _, trees = fitted
    ages = np.array([365.0, 730.0, 1460.0])
    position = float(np.average(table["design"][:, 1], weights=table["lives"]))
    expected = np.exp(-3e-4 * 365 / 1.5 * (ages / 365) ** 1.5 * np.exp(0.2 * position))
    for name, tree in trees.items():
        low, high = np.quantile(survival_curve(tree, ages)["survival"].values, [0.005, 0.995], axis=0)
        assert ((low < expected) & (expected < high)).all(), name
    steps = survival_curve(trees["lifetime_steps"], [0.0, 5000.0])
    assert (steps["survival"].values[:, 0] == 1).all()
    with pytest.raises(InputError, match="no covariate 'cage'; it has batch=new, position"):
        survival_curve(trees["lifetime"], [1.0], covariates={"cage": 1.0})


def test_the_compressed_posterior_is_that_of_the_rows():
    """Means within 0.05 posterior standard deviations of those by quadrature of the likelihood row by row.

    500 lives, shape and rate; the two differ by nothing but the sampler's error, which is a tenth of that bound.
    """
    arrays, _ = simulate_lives(seed=9, units=500)
    table = compress_lives(arrays["entry"], arrays["exit"], arrays["failed"])
    tree = fit(table, "lifetime", seed=9, draws=4000, progress=False)
    log_rate, log_shape = np.meshgrid(np.linspace(-9, -7, 201), np.linspace(-0.3, 1.0, 201), indexing="ij")
    shape, rate = np.exp(log_shape)[..., None], np.exp(log_rate)[..., None]
    days = (arrays["exit"] / 365) ** shape - (arrays["entry"] / 365) ** shape
    hazard = np.log(rate) + (shape - 1) * np.log(arrays["exit"][arrays["failed"]] / 365)
    density = hazard.sum(-1) - (rate * 365 / shape * days).sum(-1)
    density = density - 0.5 * ((log_rate - np.log(1e-4)) / 2) ** 2 - 0.5 * (log_shape / 0.5) ** 2
    weight = np.exp(density - density.max())
    weight /= weight.sum()
    for name, grid in (("rate", log_rate), ("shape", log_shape)):
        mean = (weight * grid).sum()
        sd = np.sqrt((weight * (grid - mean) ** 2).sum())
        assert abs(np.log(tree["posterior"][name].values).mean() - mean) < 0.05 * sd
        assert np.log(tree["posterior"][name].values).std() == pytest.approx(sd, rel=0.05)


@pytest.mark.parametrize("shape", [0.2, 0.735, 1.0, 2.5, 6.0, 12.0, 20.0])
def test_the_quadrature_keeps_its_bound(shape):
    """Ages from a minute to six years: the sum of powers over 3,000 rows, by cell, within the bound and rounding."""
    rng = np.random.default_rng(1)
    exit = np.exp(rng.uniform(np.log(1 / 1440), np.log(2200), 3000))
    entry = np.where(rng.random(3000) < 0.5, 0.0, exit * rng.random(3000))
    group = rng.integers(0, 3, 3000)
    table = compress_lives(entry, exit, rng.random(3000) < 0.1, {"group": group.astype(str)})
    ages = table["age"].values
    found = table["weight"].values @ (ages / ages[-1]) ** shape
    relative = (exit / ages[-1]) ** shape - (entry / ages[-1]) ** shape
    expected = np.bincount(group, relative)
    bound = (2 * np.bincount(group)) * (power_sum_bound(ages, shape) + 1e-14)
    assert (np.abs(found - expected) <= bound).all()
    assert power_sum_bound(ages, shape) < 1e-5
    if shape <= 12:
        np.testing.assert_allclose(found, expected, rtol=1e-6)


@pytest.mark.parametrize("name", ["lifetime", "lifetime_steps"])
def test_replicated_counts_are_those_expected(fitted, name):
    """Mean of replicated failures over the posterior, against the data: within four standard deviations."""
    table, _, trees = fitted
    drawn = posterior_predictive(trees[name])
    counts = drawn["events"].values[..., 0] if name == "lifetime" else drawn["failures"].values.sum(-1)
    total = counts.sum(-1)
    observed = float(table["events"][:, 0].sum())
    assert abs(total.mean() - observed) < 4 * total.std()
    assert trees[name]["log_likelihood"].to_dataset().sizes["stratum"] == 6


def test_model_pages_say_what_is_missing():
    with pytest.raises(InputError, match="has no column 'batch'"):
        survival_table(pl.DataFrame({"age": [1.0], "event": ["x"]}), covariates=["batch"])
    with pytest.raises(InputError, match="no life of 1 has an age"):
        survival_table(pl.DataFrame({"age": [1.0], "event": ["x"]}))
    with pytest.raises(InputError, match="no life ends with a failure"):
        compress_lives(np.zeros(3), np.ones(3), np.zeros(3, dtype=bool))
    with pytest.raises(InputError, match="1 lives do not have 0 <= entry < exit"):
        compress_lives(np.array([2.0, 0.0]), np.ones(2), np.ones(2, dtype=bool))
    with pytest.raises(InputError, match="have 30,000 patterns; expected 20,000"):
        compress_lives(np.zeros(30000), np.ones(30000), np.ones(30000, bool), {"x": np.arange(30000.0)})
    with pytest.raises(InputError, match=r"cuts are \[1.0, 2.0\]"):
        compress_lives(np.zeros(3), np.ones(3), np.ones(3, dtype=bool), cuts=[1.0, 2.0])
    with pytest.raises(InputError, match="not a survival table"):
        fit(simulate_survival(seed=1)[0].drop_vars("weight"), "lifetime")
    assert lifetime_steps(simulate_survival(seed=1)[0]).named_vars["failures"] is not None
