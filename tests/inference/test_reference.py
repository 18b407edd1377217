"""Public data sets with known answers: pumps, Blue Mountain, LANL, Llama 3, Philly."""

import numpy as np
import polars as pl
import pytest

from meantime.datasets.table import build_table
from meantime.inference import fit, predict_rate, provenance, size_law
from meantime.inference.diagnostics import ess_bulk
from meantime.models import ComponentGammaPriors, ConstantPriors

PUMPS = {  # exact posterior means by quadrature: alpha, beta, theta 1 to 10
    "pool_shape": 0.697169,
    "pool_rate": 0.926807,
    "rate": [0.0598183, 0.101826, 0.0892417, 0.115788, 0.601338, 0.609388, 0.892536, 0.892536, 1.58631, 1.98983],
}
CAUSES = ["hardware", "software", "network", "facilities", "human_error", "undetermined"]


@pytest.mark.slow
def test_pumps(shared_data):
    """Means within 3 Monte Carlo standard errors of quadrature; 12 means, false alarm 3 % over seeds, seed 1 passes."""
    pumps = pl.read_csv(shared_data / "classic_reliability" / "pumps.csv")
    table = build_table(
        pumps["failures"].to_numpy()[:, None],
        pumps["t_rounded"].to_numpy(),
        cluster=[str(name) for name in pumps["pump"]],
        component=["pump"],
    )
    priors = ComponentGammaPriors(shape_rate=1.0, rate_shape=0.1, rate_rate=1.0)
    tree = fit(table, "component_gamma", priors=priors, seed=1, draws=4000, progress=False)
    for name, expected in PUMPS.items():
        draws = tree["posterior"][name].values
        draws = draws.reshape(*draws.shape[:2], -1).transpose(2, 0, 1)
        errors = draws.std((1, 2)) / np.sqrt(ess_bulk(draws))
        assert (np.abs(draws.mean((1, 2)) - expected) < 3 * errors).all()
        assert (errors < 0.02 * np.abs(expected)).all()


def test_blue_mountain_is_exact(shared_data):
    counts = pl.read_csv(shared_data / "classic_reliability" / "blue_mountain_smp.csv")["failure_count"]
    table = build_table([[counts.sum()]], [float(len(counts))], cluster=["Blue Mountain"], component=["all"])
    tree = fit(table, "constant", priors=ConstantPriors(shape=5.0, rate=1.0), seed=0)
    assert (float(tree["exact"]["shape"][0]), float(tree["exact"]["rate"][0])) == (137.0, 48.0)
    draws = tree["posterior"]["rate"].values
    assert draws.mean() == pytest.approx(2.85417, abs=5 * 0.24385 / np.sqrt(draws.size))
    np.testing.assert_allclose(np.quantile(draws, [0.025, 0.975]), [2.39626, 3.35152], atol=0.03)
    assert provenance(tree)["sampling"]["seconds"] < 1.0  # milliseconds, on an idle machine


@pytest.mark.slow
def test_lanl(shared_data):
    """Counts by system and cause: where there are 100 failures and more, within 4 % of failures / exposure."""
    nodes = pl.read_csv(shared_data / "lanl_failures" / "nodes_derived.csv")
    by_system = nodes.group_by("System").agg(pl.col(*CAUSES, "days_adjusted").sum()).sort("System")
    table = build_table(
        by_system.select(CAUSES).to_numpy(),
        by_system["days_adjusted"].to_numpy(),
        cluster=[str(system) for system in by_system["System"]],
        component=CAUSES,
        exposure_kind="calendar",
    )
    tree = fit(table, "component", seed=2, progress=False)
    assert provenance(tree)["diagnostics"]["converged"]
    mean = tree["posterior"]["rate"].mean(("chain", "draw")).values
    raw = table["failures"].values / table["exposure"].values[:, None]
    rich = table["failures"].values >= 100
    assert rich.sum() > 20
    np.testing.assert_allclose(mean[rich], raw[rich], rtol=0.04)
    zero = table["failures"].values == 0
    upper = 2.996 / np.broadcast_to(table["exposure"].values[:, None], raw.shape)  # 95 % Poisson bound of no failure
    assert (mean[zero] > 0).all()
    assert (mean[zero] < upper[zero]).all()
    main = tree["posterior"]["rate"].sel(component="hardware", cluster="18")
    interval = np.quantile(main * 1000, [0.05, 0.95])
    expected = 1000 * raw[by_system["System"].to_list().index(18), 0]
    assert interval[0] < expected < interval[1]


@pytest.mark.slow
def test_llama3(shared_data):
    """18 components, one cluster: 3.09 h at 16,384 GPUs inside, every component drawn towards the others."""
    rows = pl.read_csv(shared_data / "llama3_interruptions" / "table5.csv")
    days = 2048 * 54.0
    counts = rows["interruption_count"].to_numpy()
    table = build_table(counts[None], [days], cluster=["Llama 3"], component=rows["component"].to_list())
    tree = fit(table, "component", seed=3, progress=False)
    rate = predict_rate(tree, [16_384]).isel(gpus=0)
    mttf = 24 / (2048 * rate.sum("component").values)
    lower, upper = np.quantile(mttf, [0.05, 0.95])
    assert lower < 3.0931 < upper
    assert lower > 2.7
    assert upper < 3.5
    shrunk, raw = rate.mean("sample").values, counts / days
    assert len(raw) == 18
    assert (np.diff(shrunk[np.argsort(raw, kind="stable")]) > -0.1 * shrunk.min()).all()  # the order is kept
    assert (shrunk[counts <= 3] > raw[counts <= 3]).all()  # the rare are drawn up
    assert (np.abs(shrunk / raw - 1)[counts >= 30] < 0.05).all()  # the frequent stay
    assert np.abs(shrunk / raw - 1).max() < 0.6


@pytest.mark.slow
def test_philly(shared_data, capsys):
    """Interruptions fall with size from 4 to 32 GPUs: the slope is negative, and the fit follows rich sizes."""
    attempts = pl.read_csv(shared_data / "philly_multi_gpu" / "attempts.csv", try_parse_dates=True)
    hours = (pl.col("end_time") - pl.col("start_time")).dt.total_seconds() / 3600
    attempts = attempts.with_columns(
        job_size=2 ** pl.col("num_gpus").log(2).ceil().cast(pl.Int64),
        node_days=hours * pl.col("num_gpus") / 24 / 8,
        interrupted=(pl.col("attempt") < pl.col("n_attempts")).cast(pl.Int64),
    )
    by_size = attempts.group_by("job_size").agg(pl.col("node_days", "interrupted").sum()).sort("job_size")
    table = build_table(
        by_size["interrupted"].to_numpy()[None, None],
        by_size["node_days"].to_numpy()[None],
        cluster=["Philly"],
        component=["interruption"],
        job_size=by_size["job_size"].to_list(),
    )
    assert int(table["failures"].sum()) == 1456
    tree = fit(table, "component_size", seed=4, progress=False)
    law = size_law(tree)
    with capsys.disabled():
        print(f"\nPhilly: {law.attrs['sentence']}")
    assert float(law["overall"].sel(figure="median")) < -0.1
    assert float(law["overall_positive"]) < 0.1
    mean = tree["posterior"]["rate"].mean(("chain", "draw")).values.ravel() * 1000
    np.testing.assert_allclose(mean[:3], [781.7, 268.2, 164.1], rtol=0.05)
