"""Failure tables of rates that move, drawn straight from the model `over_time`, with their parameters."""

from typing import Any

import numpy as np
import xarray as xr

from meantime.datasets.simulate.hazards import draw_cells
from meantime.datasets.table import build_table
from meantime.errors import InputError

_DAYS_PER_YEAR = 365.25


def simulate_walks(
    *,
    seed: int,
    components: int = 3,
    clusters: int = 1,
    periods: int = 52,
    period_days: float = 7.0,
    node_days: float = 7_000.0,
    total_rate: float = 6.5e-3,
    sigma_component: float = 0.9,
    sigma_cluster: float = 0.3,
    sigma_walk: float = 0.8,
    sigma_own: float = 0.5,
    own_spread: float = 0.5,
    sigma_cell: float = 0.2,
    jumps: dict[int, float] | None = None,
    ahead: int = 0,
    start: str = "2024-01-01",
) -> tuple[xr.Dataset, xr.Dataset]:
    """Draw a failure table whose rates walk from period to period.

    log rate[c, k, t] = level[k] + deviation[c, k] + walk[c, t] + own[c, k, t], walks being 0 in the last period, and
    failures ~ Poisson(exposure rate cell) with cell ~ Gamma(mean 1, sd `sigma_cell`).

    Parameters
    ----------
    seed
        Everything is drawn from it.
    components, clusters, periods
        How many. With one component there are no walks of its own.
    period_days, node_days
        Length of a period, and the node-days of a cluster within one.
    total_rate
        Failures per node-day of all components together in the last period, at the median.
    sigma_component, sigma_cluster
        Spread of the levels and of the clusters' deviations, log scale.
    sigma_walk, sigma_own, own_spread
        Standard deviation by which the common walk moves within a year; that of the components' own walks, at the
        median, and its spread on the log scale.
    sigma_cell
        Relative standard deviation of a period about its walk.
    jumps
        Added to every log rate from a period on, by the index of that period: changes all at once.
    ahead
        Periods that the walks go on for after the table's last one; they are in the truth alone.
    start
        Start of the first period.

    Returns
    -------
    tuple of xr.Dataset
        The failure table, and the truth: ``rate`` (cluster, component, period), without cells and with the periods
        ahead, and the scalars that were given.

    Raises
    ------
    InputError
        If there are fewer than two periods, or a spread is negative.
    """
    spreads: dict[str, Any] = {
        "sigma_component": sigma_component,
        "sigma_cluster": sigma_cluster,
        "sigma_walk": sigma_walk,
        "sigma_own": sigma_own,
        "own_spread": own_spread,
        "sigma_cell": sigma_cell,
    }
    for name, value in spreads.items():
        if not 0 <= value < np.inf:
            raise InputError(f"{name} is {value!r}; expected 0 or more")
    if periods < 2 or min(components, clusters) < 1 or ahead < 0:
        raise InputError(f"{periods} periods, {components} components, {clusters} clusters; expected at least 2, 1, 1")
    rng = np.random.default_rng(seed)
    width = np.sqrt(period_days / _DAYS_PER_YEAR)
    level = np.log(total_rate / components) + rng.normal(0, sigma_component, components)
    deviation = rng.normal(0, sigma_cluster, (clusters, components)) if clusters > 1 else np.zeros((1, components))
    own_sd = sigma_own * np.exp(own_spread * rng.standard_normal(components)) * (components > 1)
    common = rng.normal(0, sigma_walk * width, (clusters, 1, periods + ahead))
    own = rng.standard_normal((clusters, components, periods + ahead)) * own_sd[:, None] * width
    steps = common + own
    for place, size in (jumps or {}).items():
        steps[..., place] += size
    walk = np.cumsum(steps, axis=-1)
    rate = np.exp((level + deviation)[..., None] + walk - walk[..., periods - 1 : periods])
    exposure = np.full((clusters, periods), float(node_days))
    cells = draw_cells(rng, (clusters, components, periods), sigma_cell)
    counts = rng.poisson(exposure[:, None] * rate[..., :periods] * cells)
    times = np.datetime64(start, "ns") + np.arange(periods + ahead) * np.timedelta64(round(period_days * 86_400), "s")
    names = {
        "cluster": [f"cluster_{i + 1}" for i in range(clusters)],
        "component": [f"component_{i + 1}" for i in range(components)],
    }
    table = build_table(
        counts,
        exposure,
        cluster=names["cluster"],
        component=names["component"],
        period=times[:periods],
        source=f"simulated from over_time, seed {seed}",
        provenance={"seed": seed, "model": "over_time"},
    )
    truth = xr.Dataset(
        {"rate": (("cluster", "component", "period"), rate), **{name: ((), value) for name, value in spreads.items()}},
        coords={**names, "period": times},
        attrs={"seed": seed, "model": "over_time"},
    )
    return table, truth
