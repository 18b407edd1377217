"""Fits of simulated tables: intervals hold the truth as often as they say."""

import numpy as np
import pytest
from scipy import stats

from meantime.datasets.table import build_table
from meantime.inference import fit, predict_rate, size_law
from meantime.models import ComponentSizePriors

SEEDS = 40
PRIORS = ComponentSizePriors(
    level_sd=0.5, component_sd=0.8, cluster_sd=0.5, slope_mean_sd=0.1, slope_sd=0.1, cell_sd=0.3
)
SIZES = 2 ** np.arange(3, 9)
EXPOSURE = np.array([[200_000.0], [80_000.0]]) * np.array([0.1, 0.2, 0.3, 0.2, 0.15, 0.05])


def _simulate(seed):
    """Draw a truth from the priors, and counts from the truth; everything by NumPy, from the model's formulas."""
    rng = np.random.default_rng([seed, 77])
    mu = rng.normal(np.log(4e-3 / 4), PRIORS.level_sd)
    scale = {name: abs(rng.normal(0, getattr(PRIORS, name))) for name in ("component_sd", "cluster_sd", "slope_sd")}
    sigma_cell = abs(rng.normal(0, PRIORS.cell_sd))
    level = rng.normal(mu, scale["component_sd"], 4)
    deviation = rng.normal(0, scale["cluster_sd"], (2, 4))
    slope = rng.normal(rng.normal(0, PRIORS.slope_mean_sd), scale["slope_sd"], 4)

    def rates(sizes):
        line = np.exp((level + deviation)[:, :, None] + slope[:, None] * np.log2(sizes / 64))
        return line, line * rng.gamma(sigma_cell**-2, sigma_cell**2, line.shape)

    smooth, observed = rates(SIZES)
    _, future = rates(np.array([131_072]))
    ends = smooth.sum(1)[:, [0, -1]]
    share = EXPOSURE.sum(1) / EXPOSURE.sum()
    truth = {
        "rate of 64 GPUs": observed[0, :, 3].sum(),
        "rate of 131,072 GPUs": future[0].sum(),
        "rate of one component": observed[1, 0, 3],
        "slope": np.log(ends[:, 1] / ends[:, 0]) @ share / 5,
        "sigma_cell": sigma_cell,
    }
    return rng.poisson(EXPOSURE[:, None] * observed), truth


@pytest.mark.slow
def test_intervals_hold_the_truth(capsys):
    """90 % intervals over 40 tables whose truth is drawn from the priors.

    Coverage is then exactly nominal for a correct fit: the number of hits is binomial(40, 0.9). Bounds of
    probability 1e-3 on either side: 29 to 40. Fits that fail the gate would count as a failure of the test.
    """
    hits: dict[str, int] = {}
    for seed in range(SEEDS):
        counts, truth = _simulate(seed)
        table = build_table(counts, EXPOSURE, cluster=["A", "B"], component=list("wxyz"), job_size=SIZES)
        tree = fit(table, "component_size", priors=PRIORS, seed=seed, progress=False)
        rate = predict_rate(tree, [64, 131_072], cluster="A", seed=seed).sum("component").values
        law = size_law(tree)["overall"].sel(figure=["lower", "upper"]).values
        draws = {
            "rate of 64 GPUs": rate[:, 0],
            "rate of 131,072 GPUs": rate[:, 1],
            "rate of one component": tree["posterior"]["rate"].sel(cluster="B", component="w", job_size=64),
            "sigma_cell": tree["posterior"]["sigma_cell"],
        }
        bounds = {name: np.quantile(values, [0.05, 0.95]) for name, values in draws.items()} | {"slope": law}
        for name, (low, high) in bounds.items():
            hits[name] = hits.get(name, 0) + int(low < truth[name] < high)
    with capsys.disabled():
        print(f"\nhits of 90 % intervals in {SEEDS} tables: {hits}")
    least, most = stats.binom.ppf([1e-3, 1 - 1e-3], SEEDS, 0.9)
    assert all(least <= found <= most for found in hits.values()), hits
