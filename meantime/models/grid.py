"""From a failure table to the arrays a model eats."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError

REFERENCE_GPUS = 64
"""Job size at which a component's level is its rate: sizes enter as doublings from here."""

MIN_CELL_VARIANCE = 1e-8
"""Added to the variance of cells, so that their precision stays finite: a standard deviation of 0.01 %."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Grid:
    """Counts and exposure, summed over every dimension that the model does not use.

    A stratum is a (cluster, job size) pair with exposure. Only strata are observed; pairs without
    exposure keep their place in the arrays, so that the model can predict them.

    Parameters
    ----------
    failures
        Counts, shape (cluster, size, component), int64. Models without sizes have one size.
    exposure
        Node-days at risk, shape (cluster, size).
    clusters, components
        Labels.
    job_sizes
        GPUs, increasing; empty when the model does not use sizes.
    """

    failures: np.ndarray
    exposure: np.ndarray
    clusters: tuple[str, ...]
    components: tuple[str, ...]
    job_sizes: tuple[int, ...] = ()
    cluster_of: np.ndarray = field(init=False)
    size_of: np.ndarray = field(init=False)

    def __post_init__(self) -> None:
        cluster_of, size_of = np.nonzero(self.exposure > 0)
        object.__setattr__(self, "cluster_of", cluster_of)
        object.__setattr__(self, "size_of", size_of)

    @property
    def doublings(self) -> np.ndarray:
        """Doublings of each job size from `REFERENCE_GPUS`, shape (size,)."""
        return np.log2(np.asarray(self.job_sizes, dtype=float) / REFERENCE_GPUS)

    @property
    def coords(self) -> dict[str, list[Any]]:
        """Labels of the model's dimensions: cluster, component, stratum and, with sizes, job_size."""
        labels: dict[str, list[Any]] = {"cluster": list(self.clusters), "component": list(self.components)}
        strata = [self.clusters[c] for c in self.cluster_of]
        if not self.job_sizes:
            return {**labels, "stratum": strata}
        sizes = [self.job_sizes[s] for s in self.size_of]
        named = [f"{cluster}/{size}" for cluster, size in zip(strata, sizes, strict=True)]
        return {**labels, "stratum": named, "job_size": list(self.job_sizes)}

    @property
    def outcome_coords(self) -> dict[str, tuple[str, list[Any]]]:
        """A stratum's cluster and, with sizes, its job size."""
        found: dict[str, tuple[str, list[Any]]] = {"cluster": ("stratum", [self.clusters[c] for c in self.cluster_of])}
        if self.job_sizes:
            found["job_size"] = ("stratum", [self.job_sizes[s] for s in self.size_of])
        return found

    def observed(self) -> dict[str, np.ndarray]:
        """Return the strata as the arrays the models name: the data of a likelihood.

        ``exposure_days`` (stratum,), ``observed_failures`` (stratum, component), ``cluster_of`` (stratum,)
        and, with sizes, ``doublings`` (stratum,).
        """
        data = {
            "exposure_days": self.exposure[self.cluster_of, self.size_of],
            "observed_failures": self.failures[self.cluster_of, self.size_of],
            "cluster_of": self.cluster_of,
        }
        if self.job_sizes:
            data["doublings"] = self.doublings[self.size_of]
        return data


def grid_of(table: xr.Dataset, *, sizes: bool = False, components: bool = True) -> Grid:
    """Sum a failure table to clusters, components and, if wanted, job sizes.

    Parameters
    ----------
    table
        A failure table (see `meantime.datasets.check_table`).
    sizes
        Keep the job sizes. Otherwise they are summed away, as are periods and nodes.
    components
        Keep the components. Otherwise they are summed to one, ``"all"``.

    Returns
    -------
    Grid
        Arrays of the model.

    Raises
    ------
    InputError
        If sizes are wanted and fewer than two have exposure.
    """
    names = tuple(str(name) for name in table["component"].values) if components else ("all",)
    keep = ["cluster", "job_size"] if sizes and "job_size" in table.dims else ["cluster"]
    exposure = table["exposure"].sum([dim for dim in table["exposure"].dims if dim not in keep]).transpose(*keep)
    counts = table["failures"] if components else table["failures"].sum("component").expand_dims("component", -1)
    counts = counts.sum([dim for dim in counts.dims if dim not in (*keep, "component")]).transpose(*keep, "component")
    days, failures = exposure.values.astype(float), counts.values.astype(np.int64)
    clusters = tuple(str(name) for name in table["cluster"].values)
    if not sizes:
        return Grid(failures=failures[:, None], exposure=days[:, None], clusters=clusters, components=names)
    if "job_size" not in table.dims or (exposed := int((days.sum(0) > 0).sum())) < 2:
        found = "no job sizes" if "job_size" not in table.dims else f"{exposed} job size with exposure"
        raise InputError(f"the table has {found}; component_size needs at least two: fit the model 'component' instead")
    order = np.argsort(table["job_size"].values)
    return Grid(
        failures=failures[:, order],
        exposure=days[:, order],
        clusters=clusters,
        components=names,
        job_sizes=tuple(int(size) for size in table["job_size"].values[order]),
    )
