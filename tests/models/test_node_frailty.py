"""`node_frailty` and its data: the density by hand, kinds of nodes, signals."""

import numpy as np
import polars as pl
import pymc as pm
import pytest
import xarray as xr
from scipy import optimize, stats
from scipy.special import expit

from meantime.datasets import check_nodes, with_signals
from meantime.datasets.simulate import simulate_nodes
from meantime.datasets.table import build_table
from meantime.errors import InputError
from meantime.models import NodeFrailtyPriors, node_frailty, nodes_of, priors_for
from meantime.models.node_frailty import node_frailty_by_kind

PLAIN = {"mode": "FAST_COMPILE"}


@pytest.fixture(scope="module")
def table():
    """Two clusters of 60 nodes, with two signals, equal exposures, and failures of lemons."""
    return simulate_nodes(seed=4, nodes=60, clusters=2, exposure=300.0, lemon_share=0.1, signal_effects=[1.5, 0.0])[0]


def random_point(rng, signals):
    point = {
        "normal_rate_log__": rng.normal(-6, 0.5, 2),
        "spread_log__": rng.normal(-0.5, 0.5, 2),
        "lemon_share_logodds__": rng.normal(-3, 1, 2),
        "lemon_excess_log__": rng.normal(2, 1),
    }
    return point | ({"signal_effect": rng.normal(0, 1, 2)} if signals else {})


@pytest.mark.parametrize("signals", [False, True])
def test_density_by_hand_and_by_kinds(table, signals):
    """The model against SciPy at five points; and the density that is sampled differs from it by a constant."""
    data = table if signals else table.drop_vars(["signals", "signal"])
    nodes, priors = nodes_of(data), NodeFrailtyPriors()
    kinds = nodes.kinds()
    assert kinds["kind_nodes"].sum() == 120
    assert len(kinds["kind_nodes"]) == (128 if signals else 64)
    whole = node_frailty(data, priors).compile_logp(**PLAIN)
    few = node_frailty_by_kind(nodes, priors).compile_logp(**PLAIN)
    rng = np.random.default_rng(8)
    gaps = []
    for _ in range(5):
        point = random_point(rng, signals)
        rate, spread = np.exp(point["normal_rate_log__"]), np.exp(point["spread_log__"])
        odds, excess = point["lemon_share_logodds__"], np.exp(point["lemon_excess_log__"])
        share = expit(odds)
        weight = expit(odds[nodes.cluster_of] + (nodes.signals @ point["signal_effect"] if signals else 0))
        shape, mean = 1 / (spread**2 + 1e-8)[nodes.cluster_of], nodes.exposure * rate[nodes.cluster_of]
        classes = [
            stats.nbinom.pmf(nodes.failures, shape, shape / (shape + factor * mean)) for factor in (1, 1 + excess)
        ]
        expected = (
            stats.norm.logpdf(point["normal_rate_log__"], np.log(4e-3), 1.5).sum()
            + (stats.halfnorm.logpdf(spread) + np.log(spread)).sum()
            + (stats.beta.logpdf(share, 1, 1 / 0.03 - 1) + np.log(share * (1 - share))).sum()
            + stats.norm.logpdf(point["lemon_excess_log__"], np.log(9), 1)
            + (stats.norm.logpdf(point["signal_effect"]).sum() if signals else 0)
            + np.log((1 - weight) * classes[0] + weight * classes[1]).sum()
        )
        found = float(whole(point))
        assert found == pytest.approx(expected, rel=1e-8)
        gaps.append(float(few(point)) - found)
    np.testing.assert_allclose(gaps, gaps[0], atol=1e-7)


def test_small_clusters_have_no_lemons():
    """Nine nodes, one of them with 300 failures: the probability of the counts does not depend on the share."""
    table, _ = simulate_nodes(seed=1, nodes=9, exposure=1000.0, lemon_share=0.0)
    table["failures"][0, 0, 0] = 300
    density = node_frailty(table).compile_logp(**PLAIN, sum=False)
    values = [
        density(
            {
                "normal_rate_log__": [-6.0],
                "spread_log__": [0.0],
                "lemon_share_logodds__": [odds],
                "lemon_excess_log__": 3.0,
            }
        )[-1].sum()
        for odds in (-5.0, 3.0)
    ]
    assert values[0] == pytest.approx(values[1])
    ten, _ = simulate_nodes(seed=1, nodes=10, exposure=1000.0)
    assert (nodes_of(ten).lemon_odds == 0).all()


def test_prior_predictive_and_its_lemons(table):
    """Prior draws: shares as Beta(1, 32) has them, and more counts than the mean for few nodes."""
    with node_frailty(table, NodeFrailtyPriors()):
        prior = pm.sample_prior_predictive(300, random_seed=1, compile_kwargs=PLAIN)
    counts = prior["prior_predictive"]["failures"]
    assert counts.dims == ("chain", "draw", "stratum", "component")
    assert counts.shape[2:] == (120, 1)
    share = prior["prior"]["lemon_share"].values
    assert share.mean() == pytest.approx(0.03, abs=0.005)  # 600 draws, sd 0.03: four standard errors
    assert (prior["prior"]["lemon_excess"].values > 0).all()


def test_without_lemons_there_is_only_the_spread(table):
    model = node_frailty(table, priors_for("node_frailty", {"share_mean": None}))
    assert {variable.name for variable in model.free_RVs} == {"normal_rate", "spread"}
    with pytest.raises(InputError, match="share below 1"):
        NodeFrailtyPriors(share_mean=1.5)
    with pytest.raises(InputError, match="prior excess is None"):
        priors_for("node_frailty", {"excess": None})


def test_signals_from_a_frame(table):
    """Signals that count failures stay out unless named; nodes that are not listed have 0."""
    bare = table.drop_vars(["signals", "signal"])
    names = bare["node"].values
    frame = pl.DataFrame(
        {"node": names[:50], "tickets": range(50), "out_count": [1] * 50, "single_node_node_fails": [2] * 50}
    )
    found = with_signals(bare, frame)["signals"]
    assert found["signal"].values.tolist() == ["tickets", "out_count"]
    assert found.sel(cluster="cluster_2", node=names[49]).values.tolist() == [49.0, 1.0]
    assert found.sel(cluster="cluster_1", node=names[59]).values.tolist() == [0.0, 0.0]
    standard = nodes_of(with_signals(bare, frame)).signals
    np.testing.assert_allclose(standard.mean(axis=0), 0, atol=1e-12)
    np.testing.assert_allclose(standard.std(axis=0), 1)
    named = with_signals(bare, frame.with_columns(cluster=pl.lit("cluster_2")), ["single_node_node_fails"])["signals"]
    assert named.sum("node").values.ravel().tolist() == [0.0, 100.0]


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda t: t[["failures", "exposure"]].sum("node"), "no dimension 'node'"),
        (lambda t: t.assign(signals=t["signals"].isel(signal=0, drop=True)), "expected \\(node, signal\\)"),
        (lambda t: t.assign(signals=-1 - t["signals"]), "signal signal_1 of node node00000 .* expected a number of 0"),
        (lambda t: t.assign(signals=t["signals"].isel(node=slice(0, 5))), "is nan; expected a number of 0"),
    ],
)
def test_tables_that_cannot_be_used(table, change, words):
    with pytest.raises(InputError, match=words):
        check_nodes(change(table))


def test_a_signal_without_differences_is_refused(table):
    flat = table.assign(signals=xr.ones_like(table["signals"]))
    with pytest.raises(InputError, match="'signal_1' is the same for all nodes"):
        nodes_of(check_nodes(flat))


def test_pumps_as_surpyval_has_them(shared_data):
    """The maximum of the marginal likelihood of the ten pumps is SurPyval's (priors flat, no lemons).

    SurPyval 0.25, ``ExponentialFrailty.fit(x, groups)`` with each pump's time cut into as many equal lives as it
    has failures, which has the same likelihood: failure rate 0.65229267, frailty variance 1.21511421.
    """
    pumps = pl.read_csv(shared_data / "classic_reliability" / "pumps.csv")
    names = [str(name) for name in pumps["pump"]]
    counts, days = pumps["failures"].to_numpy(), pumps["t_rounded"].to_numpy()
    table = build_table(counts[None, None], days[None], cluster=["Farley"], component=["pump"], node=names)
    flat = NodeFrailtyPriors(total_rate=1.0, level_sd=1e5, spread_sd=1e5, share_mean=None)
    density = node_frailty_by_kind(nodes_of(table), flat).compile_logp(jacobian=False, **PLAIN)

    def loss(x):
        return -float(density({"normal_rate_log__": x[:1], "spread_log__": x[1:]}))

    # the prior of the log-normal rate is flat in its logarithm but for 1 / rate
    best = optimize.minimize(
        lambda x: loss(x) - x[0], [0.0, 0.0], method="Nelder-Mead", options={"xatol": 1e-9, "fatol": 1e-12}
    )
    assert np.exp(best.x[0]) == pytest.approx(0.65229267, rel=1e-5)
    assert np.exp(2 * best.x[1]) == pytest.approx(1.21511421, rel=1e-5)
