"""The price of removing lemons: against fleets of known truth, and the years that follow at Los Alamos."""

import datetime as dt
import lzma
from pathlib import Path

import numpy as np
import polars as pl
import pytest
import scipy.optimize
import scipy.special
import xarray as xr

from meantime.errors import InputError
from meantime.forecast import Plan, RemoveLemons, lemon_removal, mitigate_rates, stated_rate

SPLIT = dt.datetime(2004, 1, 1)


def node_posterior(failures: np.ndarray, days: float, *, draws: int, seed: int) -> xr.Dataset:
    """Gamma posterior of every node's rate, the pool's shape and mean by marginal likelihood (negative binomial)."""

    def loss(parameters: np.ndarray) -> float:
        shape, mean = np.exp(parameters)
        share = mean * days / (shape + mean * days)
        terms = scipy.special.gammaln(failures + shape) - scipy.special.gammaln(shape)
        return -float((terms + shape * np.log1p(-share) + failures * np.log(share)).sum())

    best = scipy.optimize.minimize(loss, [0.0, np.log(failures.mean() / days)], method="Nelder-Mead")
    shape, mean = np.exp(best.x)
    rate = np.random.default_rng(seed).gamma(shape + failures, 1 / (shape / mean + days), (draws, failures.size))
    return xr.Dataset(
        {"rate": (("sample", "node"), rate), "failures": ("node", failures), "exposure": ("node", days + 0 * failures)},
        coords={"node": np.arange(failures.size)},
    )


def test_the_factor_is_the_mean_of_those_that_stay() -> None:
    """Known rates: 1, 2, 3 and 10; without the worst the mean falls from 4 to 2."""
    rates = xr.DataArray(np.tile([1.0, 10.0, 3.0, 2.0], (5, 1)), dims=("sample", "node"), coords={"node": list("abcd")})
    result = lemon_removal(rates, [1, 2])
    np.testing.assert_allclose(result["factor"], [[0.5] * 4, [0.375] * 4])
    assert result["order"].values.tolist() == ["b", "c", "d", "a"]
    assert result["share_removed"].values.tolist() == [0.25, 0.5]
    chains = rates.rename(sample="draw").expand_dims(chain=2)
    np.testing.assert_allclose(lemon_removal(xr.Dataset({"rate": chains}), [1])["factor"], 0.5)


def test_the_price_holds_where_that_of_the_counts_does_not() -> None:
    """60 fleets of 200 nodes with known rates: what is left after taking 10 out, by the posterior and by the counts.

    90 % intervals hold the truth in 54 of 60 on average; fewer than 45 has probability 2e-4 (seeds 0 to 59). The
    counts promise too much in nearly all fleets; were it one in two, 56 of 60 would be luck of 1e-12.
    """
    inside = flattered = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        truth = rng.gamma(1.5, 1 / 1.5, 200)
        nodes = node_posterior(rng.poisson(truth * 2.0), 2.0, draws=400, seed=seed)
        result = lemon_removal(nodes, [10])
        worst = result["order"].values[:10]
        true_factor = np.delete(truth, worst).mean() / truth.mean()
        lower, upper = result["factor"].sel(figure=["lower", "upper"]).values[0]
        inside += lower <= true_factor <= upper
        flattered += float(result["factor_of_counts"][0]) < true_factor
    assert inside >= 45, "seeds 0 to 59"
    assert flattered > 55, "seeds 0 to 59"


@pytest.fixture(scope="module")
def outages(shared_data: Path) -> pl.DataFrame:
    packed = shared_data / "lanl_failures" / "LA-UR-05-7318-failure-data-1996-2005.csv.xz"
    text = lzma.decompress(packed.read_bytes())
    raw = pl.read_csv(text, infer_schema_length=None)
    when = pl.col("Prob Started").str.to_datetime("%m/%d/%Y %H:%M", strict=False)
    return raw.select("System", "nodenumz", when.alias("time")).drop_nulls()


def by_node(outages: pl.DataFrame, system: int, nodes: int) -> tuple[np.ndarray, np.ndarray, float]:
    """Failures of every node before and after the end of 2003, and the days before."""
    rows = outages.filter((pl.col("System") == system) & (pl.col("nodenumz") < nodes))
    early = rows.filter(pl.col("time") < SPLIT)
    late = rows.filter(pl.col("time") >= SPLIT)
    counts = [np.bincount(part["nodenumz"].to_numpy(), minlength=nodes) for part in (early, late)]
    return counts[0], counts[1], (SPLIT - early["time"].min()).total_seconds() / 86400  # type: ignore[operator]


@pytest.mark.parametrize("k", [1, 5, 10, 26, 51, 102])
def test_system_18_of_los_alamos_in_the_years_held_out(outages: pl.DataFrame, k: int) -> None:
    """1,024 nodes: priced on failures to the end of 2003 (2,059), checked on 2004 and 2005 (1,938).

    Data: Los Alamos National Laboratory, LA-UR-05-7318. Interval of 90 %, six nested cases. The counts alone
    promise two to three times the gain.
    """
    early, late, days = by_node(outages, 18, 1024)
    assert (early.sum(), late.sum()) == (2059, 1938)
    nodes = node_posterior(early, days, draws=1000, seed=18)
    result = lemon_removal(nodes, [k], failures_later=int(late.sum()), seed=18)
    lower, upper = result["factor_seen"].sel(figure=["lower", "upper"]).values[0]
    held_out = np.delete(late, result["order"].values[:k]).mean() / late.mean()
    assert lower <= held_out <= upper, "seed 18"
    counted = float(result["factor_of_counts"][0])
    assert counted < lower
    assert held_out - counted > 3 * abs(held_out - float(result["factor"].sel(figure="mean")[0]))


@pytest.mark.parametrize(("system", "nodes"), [(18, 1024), (19, 1024), (20, 256)])
def test_one_node_in_a_hundred_is_priced_better_than_by_its_counts(
    outages: pl.DataFrame, system: int, nodes: int
) -> None:
    """And where nodes do not keep their rates (19 and 20), the price is still too good, though less so."""
    early, late, days = by_node(outages, system, nodes)
    k = round(nodes / 100)
    result = lemon_removal(node_posterior(early, days, draws=1000, seed=1), [k])
    held_out = np.delete(late, result["order"].values[:k]).mean() / late.mean()
    factor, counted = float(result["factor"].sel(figure="mean")[0]), float(result["factor_of_counts"][0])
    assert counted < factor < 1
    assert held_out < 1
    assert abs(factor - held_out) < abs(counted - held_out)


SYSTEMS = {2: 49, 3: 128, 4: 128, 8: 164, 18: 1024, 19: 1024, 20: 256}
"""Systems of 40 nodes and more with 60 failures before 2004 and 100 after, and their nodes."""


def test_what_held_out_years_show_of_one_to_twenty_nodes(outages: pl.DataFrame, capsys: pytest.CaptureFixture) -> None:
    """Seven systems of Los Alamos, k = 1 to 20 nodes out, 90 % intervals (seed 1), prices from before 2004.

    With the luck of the counts that follow, the interval holds what came in 19 of the 20 cases of system 18 and in 95
    of 140 of all systems; with the uncertainty of the rates alone in 63. It is not nine of ten: nodes of systems 2, 4,
    8, 19 and 20 did not keep their rates, and gave less than was promised. The price is nearer to what came than that
    of the counts in every system, on average over k.
    """
    numbers, seen, known = np.arange(1, 21), {}, {}
    told = ["system: held by factor_seen, by factor (of 20); mean errors of the price, of the counts"]
    for system, nodes in SYSTEMS.items():
        early, late, days = by_node(outages, system, nodes)
        posterior = node_posterior(early, days, draws=1000, seed=1)
        result = lemon_removal(posterior, numbers, failures_later=int(late.sum()), seed=1)
        order = result["order"].values
        held = np.array([np.delete(late, order[:k]).mean() for k in numbers]) / late.mean()
        for of, name in ((seen, "factor_seen"), (known, "factor")):
            lower, upper = result[name].sel(figure=["lower", "upper"]).values.T
            of[system] = int(((lower <= held) & (held <= upper)).sum())
        price, counted = result["factor"].sel(figure="mean").values - held, result["factor_of_counts"].values - held
        told.append(f"{system:6d}: {seen[system]:2d}, {known[system]:2d}; {price.mean():+.3f}, {counted.mean():+.3f}")
        assert np.abs(price).mean() < np.abs(counted).mean(), system
        assert seen[system] >= known[system], system
    with capsys.disabled():
        print("\n" + "\n".join(told))
    cases = len(SYSTEMS) * len(numbers)
    assert seen[18] >= 18
    assert 0.6 * cases <= sum(seen.values()) < 0.8 * cases
    assert sum(known.values()) <= 0.55 * cases


def test_lemons_of_los_alamos_in_the_ettr_of_a_job(outages: pl.DataFrame) -> None:
    """A job on 1,000 such nodes: the gain from taking ten lemons out, in ETTR, is that of the smaller rate."""
    early, _, days = by_node(outages, 18, 1024)
    nodes = node_posterior(early, days, draws=500, seed=18)
    rate = 1000 * nodes["rate"].mean("node").values
    result = mitigate_rates(stated_rate(rate, [8000]), Plan(checkpoint_interval="1h"), [RemoveLemons(10, nodes)])
    less = 1000 * nodes["rate"].sel(node=lemon_removal(nodes, [10])["order"].values[10:]).mean("node").values
    after = mitigate_rates(stated_rate(less, [8000]), Plan(checkpoint_interval="1h"), [RemoveLemons(1, nodes)])
    np.testing.assert_allclose(result["ettr_after"], after["ettr_before"], rtol=1e-9)
    lower, upper = result["gain_alone"].sel(figure=["lower", "upper"]).values[0, 0]
    assert 0 < lower < upper < 0.05


@pytest.mark.parametrize("k", [[0], [4], [], [1.5], [[1]]])
def test_numbers_of_nodes_that_cannot_be_are_refused(k: list[object]) -> None:
    rates = xr.DataArray(np.ones((3, 4)), dims=("sample", "node"), coords={"node": range(4)})
    with pytest.raises(InputError, match="from 1 to 3"):
        lemon_removal(rates, k)  # type: ignore[arg-type]
