"""Failure tables drawn straight from the models, with their parameters."""

from collections.abc import Callable, Sequence
from typing import Literal

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from meantime.datasets.simulate.hazards import REFERENCE_GPUS, draw_cells
from meantime.datasets.simulate.plan import RSC1_RATES
from meantime.datasets.table import build_table
from meantime.errors import InputError


def simulate_table(
    *,
    seed: int,
    model: Literal["component_size", "component"] = "component_size",
    components: int | Sequence[str] = 12,
    clusters: int | Sequence[str] = 2,
    sizes: int | Sequence[int] = 8,
    exposure: ArrayLike | None = None,
    level: ArrayLike | None = None,
    mu: float | None = None,
    sigma_component: float = 0.9,
    cluster_deviation: ArrayLike | None = None,
    sigma_cluster: float = 0.3,
    slope: ArrayLike | None = None,
    slope_mean: float = 0.0,
    slope_sd: float = 0.05,
    sigma_cell: float = 0.2,
    gpus_per_node: int = 8,
) -> tuple[xr.Dataset, xr.Dataset]:
    """Draw a failure table from the model ``component_size`` or ``component``.

    log rate[c, k, s] = level[k] + cluster_deviation[c, k] + slope[k] log2(size / 64), and
    failures ~ Poisson(exposure rate cell) with cell ~ Gamma(mean 1, sd sigma_cell). Without sizes
    (model ``component``) there are neither slopes nor cells.

    Parameters
    ----------
    seed
        Everything is drawn from it.
    model
        Which of the two models.
    components, clusters, sizes
        Labels, or how many; so many sizes are 8, 16, 32, ... GPUs.
    exposure
        Node-days, to be broadcast to (cluster, job_size), or to (cluster,) in model ``component``.
        Default: log-normal about 20,000 a cell.
    level
        Shape (component,): log rates per node-day at 64 GPUs. Default: Normal(`mu`, `sigma_component`).
    mu
        Mean of the levels. Default: such that all components together make about 6.5 failures per
        1,000 node-days.
    sigma_component, sigma_cluster, slope_mean, slope_sd, sigma_cell
        Spread (or mean) of the levels, of the clusters' deviations, of the slopes and of the cells.
    cluster_deviation
        Shape (cluster, component). Default: Normal(0, `sigma_cluster`).
    slope
        Shape (component,). Default: Normal(`slope_mean`, `slope_sd`).
    gpus_per_node
        GPUs of a node.

    Returns
    -------
    tuple of xr.Dataset
        The failure table, and the truth: ``level`` (component) and ``cluster_deviation``, ``rate``
        (with cell) and in model ``component_size`` ``slope`` and ``cell``; the scalars ``mu``,
        ``sigma_component``, ``sigma_cluster``, ``slope_mean``, ``slope_sd``, ``sigma_cell``.

    Raises
    ------
    InputError
        If the model is unknown, a spread is negative or shapes do not fit.
    """
    if model not in ("component_size", "component"):
        raise InputError(f"model is {model!r}; expected 'component_size' or 'component'")
    spreads = {"sigma_component": sigma_component, "sigma_cluster": sigma_cluster, "slope_sd": slope_sd}
    for name, spread in {**spreads, "sigma_cell": sigma_cell}.items():
        if not 0 <= spread < np.inf:
            raise InputError(f"{name} is {spread!r}; expected 0 or more")
    rng = np.random.default_rng(seed)
    sized = model == "component_size"
    labels = _labels(components, clusters, sizes, sized)
    n_clusters, n_components = len(labels["cluster"]), len(labels["component"])
    if mu is None:
        mu = float(np.log(6.5e-3 / n_components) - sigma_component**2 / 2)
    levels = _given(level, (n_components,), "level", lambda shape: rng.normal(mu, sigma_component, shape))
    deviation = _given(
        cluster_deviation,
        (n_clusters, n_components),
        "cluster_deviation",
        lambda shape: rng.normal(0, sigma_cluster, shape),
    )
    log_rate = levels + deviation
    shape: tuple[int, ...] = (n_clusters,)
    variables: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        "level": (("component",), levels),
        "cluster_deviation": (("cluster", "component"), deviation),
    }
    scalars = {"mu": mu, "sigma_component": sigma_component, "sigma_cluster": sigma_cluster}
    rate = np.exp(log_rate)
    dims: tuple[str, ...] = ("cluster", "component")
    if sized:
        slopes = _given(slope, (n_components,), "slope", lambda shape: rng.normal(slope_mean, slope_sd, shape))
        doublings = np.log2(np.asarray(labels["job_size"]) / REFERENCE_GPUS)
        shape = (n_clusters, len(doublings))
        cell = draw_cells(rng, (n_clusters, n_components, len(doublings)), sigma_cell)
        rate = np.exp(log_rate[:, :, None] + slopes[:, None] * doublings) * cell
        dims = ("cluster", "component", "job_size")
        variables |= {"slope": (("component",), slopes), "cell": (dims, cell)}
        scalars |= {"slope_mean": slope_mean, "slope_sd": slope_sd, "sigma_cell": sigma_cell}
    days = _given(exposure, shape, "exposure", lambda shape: 20_000 * rng.lognormal(-0.5, 1.0, shape))
    counts = rng.poisson(np.expand_dims(days, 1) * rate)
    table = build_table(
        counts,
        days,
        cluster=labels["cluster"],
        component=labels["component"],
        job_size=labels["job_size"] if sized else None,
        gpus_per_node=gpus_per_node,
        source=f"simulated from {model}, seed {seed}",
        provenance={"seed": seed, "model": model},
    )
    truth = xr.Dataset(
        {**variables, "rate": (dims, rate), **{name: ((), value) for name, value in scalars.items()}},
        coords={dim: table[dim].values for dim in dims},
        attrs={"seed": seed, "model": model},
    )
    return table, truth


def _labels(
    components: int | Sequence[str], clusters: int | Sequence[str], sizes: int | Sequence[int], sized: bool
) -> dict[str, list]:
    names = list(RSC1_RATES)
    if isinstance(components, int):
        components = [names[k] if k < len(names) else f"component_{k + 1}" for k in range(components)]
    if isinstance(clusters, int):
        clusters = [f"cluster_{c + 1}" for c in range(clusters)]
    if isinstance(sizes, int):
        sizes = [2 ** (3 + s) for s in range(sizes)]
    labels: dict[str, list] = {"cluster": list(clusters), "component": list(components)}
    return labels | {"job_size": list(sizes)} if sized else labels


def _given(
    value: ArrayLike | None, shape: tuple[int, ...], name: str, draw: Callable[[tuple[int, ...]], np.ndarray]
) -> np.ndarray:
    if value is None:
        return draw(shape)
    try:
        return np.broadcast_to(np.asarray(value, dtype=float), shape)
    except ValueError as error:
        raise InputError(f"{name} has shape {np.shape(value)}; expected one that fits {shape}") from error
