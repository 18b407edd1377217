"""The failure table: counts and exposure by cluster, component, job size, period and node.

It is the sufficient statistic of the Poisson models, so four million jobs and four hundred cost the
same to fit. `check_table` is the one validator; everything that makes or takes a table passes it.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from numpy.typing import ArrayLike

from meantime.errors import InputError

DIMS = ("cluster", "component", "job_size", "period", "node")
REQUIRED_DIMS = ("cluster", "component")
EXPOSURE_KINDS = ("busy", "calendar", "stated")
MAX_CELLS = 50_000_000
"""Largest number of cells of a table (400 MB an array)."""

_DEFAULT_ATTRS: dict[str, Any] = {
    "gpus_per_node": 8,
    "exposure_kind": "stated",
    "source": "",
    "largest_job_gpus": 0,
    "provenance": "{}",
}


def build_table(
    failures: ArrayLike,
    exposure: ArrayLike,
    *,
    cluster: Sequence[str],
    component: Sequence[str],
    job_size: Sequence[int] | None = None,
    period: ArrayLike | None = None,
    node: Sequence[str] | None = None,
    gpus_per_node: int = 8,
    exposure_kind: str = "stated",
    source: str = "",
    largest_job_gpus: int | None = None,
    provenance: Mapping[str, Any] | None = None,
) -> xr.Dataset:
    """Make a failure table from dense arrays.

    Parameters
    ----------
    failures
        Counts, shape (cluster, component[, job_size][, period][, node]): the dimensions that are given.
    exposure
        Node-days at risk, the same shape without the component dimension.
    cluster, component, job_size, period, node
        Labels of the dimensions. Job sizes are powers of two, in GPUs, each the upper edge of its
        bucket (5 to 8 GPUs: 8).
    gpus_per_node
        GPUs of a node.
    exposure_kind
        ``"busy"`` (jobs' runtimes), ``"calendar"`` (nodes in service) or ``"stated"`` (by the source).
    source
        Where the numbers come from.
    largest_job_gpus
        GPUs of the largest job seen, 0 if unknown. Default: the largest job size with exposure.
    provenance
        Anything else worth keeping, as JSON types.

    Returns
    -------
    xr.Dataset
        A table that passes `check_table`.

    Raises
    ------
    InputError
        As `check_table`, or if shapes and labels disagree.
    """
    labels: dict[str, np.ndarray] = {"cluster": _strings(cluster), "component": _strings(component)}
    if job_size is not None:
        labels["job_size"] = np.asarray(job_size, dtype=np.int64)
    if period is not None:
        labels["period"] = np.asarray(period, dtype="datetime64[ns]")
    if node is not None:
        labels["node"] = _strings(node)
    dims = tuple(labels)
    exposure_dims = tuple(dim for dim in dims if dim != "component")
    arrays = {"failures": (dims, np.asarray(failures)), "exposure": (exposure_dims, np.asarray(exposure, dtype=float))}
    for name, (names, array) in arrays.items():
        expected = tuple(len(labels[dim]) for dim in names)
        if array.shape != expected:
            raise InputError(f"{name} has shape {array.shape}; expected {expected} for ({', '.join(names)})")
    if largest_job_gpus is None:
        largest_job_gpus = _largest_size(labels.get("job_size"), arrays["exposure"][1], exposure_dims)
    attrs = {
        "gpus_per_node": int(gpus_per_node),
        "exposure_kind": exposure_kind,
        "source": source,
        "largest_job_gpus": int(largest_job_gpus),
        "provenance": json.dumps(dict(provenance or {}), default=str),
    }
    return check_table(xr.Dataset(arrays, coords=labels, attrs=attrs))


def check_table(table: xr.Dataset) -> xr.Dataset:
    """Check a failure table and put it into its one form.

    Parameters
    ----------
    table
        ``failures`` (cluster, component[, job_size][, period][, node]) and ``exposure`` (the same
        dimensions without component), node-days.

    Returns
    -------
    xr.Dataset
        The table with dimensions in the order above, int64 counts, float64 exposure and all attributes.

    Raises
    ------
    InputError
        For missing variables, dimensions or labels; repeated labels; counts or exposures that are
        negative, not finite or (counts) not whole; a job size that is no power of two; failures in a
        cell without exposure; no exposure at all. The message names the cell.
    """
    if not isinstance(table, xr.Dataset):
        raise InputError(f"a failure table is an xarray.Dataset, not {type(table).__name__}")
    for name in ("failures", "exposure"):
        if name not in table:
            raise InputError(f"the failure table has no variable {name!r}; expected 'failures' and 'exposure'")
    dims = _check_dims(table)
    coords = {dim: _check_labels(dim, table) for dim in dims}
    exposure_dims = tuple(dim for dim in dims if dim != "component")
    failures = table["failures"].transpose(*dims)
    exposure = table["exposure"].transpose(*exposure_dims)
    counts = _check_numbers(failures.values, dims, coords, "failures")
    _refuse(counts != np.round(counts), counts, dims, coords, "failures", "a whole number")
    days = _check_numbers(exposure.values, exposure_dims, coords, "exposure")
    unexposed = (counts > 0) & (np.expand_dims(days, dims.index("component")) == 0)
    _refuse(unexposed, counts, dims, coords, "failures", "0, because the exposure of this cell is 0 node-days")
    if not days.sum() > 0:
        raise InputError("the failure table has no exposure: every cell is 0 node-days")
    return xr.Dataset(
        {"failures": (dims, counts.astype(np.int64)), "exposure": (exposure_dims, days)},
        coords=coords,
        attrs=_check_attrs(table),
    )


def _check_dims(table: xr.Dataset) -> tuple[str, ...]:
    found = set(map(str, table["failures"].dims))
    if missing := [dim for dim in REQUIRED_DIMS if dim not in found]:
        raise InputError(f"failures lack the dimension {missing[0]!r}; expected {_WANTED}")
    if unknown := sorted(found - set(DIMS)):
        raise InputError(f"failures have the unknown dimension {unknown[0]!r}; expected {_WANTED}")
    dims = tuple(dim for dim in DIMS if dim in found)
    if set(table["exposure"].dims) != found - {"component"}:
        expected = tuple(dim for dim in dims if dim != "component")
        raise InputError(
            f"exposure has dimensions {table['exposure'].dims}; expected {expected}, those of failures but component"
        )
    cells = int(np.prod([table.sizes[dim] for dim in dims]))
    if cells == 0:
        raise InputError("the failure table is empty: a dimension has no label")
    if cells > MAX_CELLS:
        raise InputError(f"the failure table has {cells:,} cells; at most {MAX_CELLS:,} are accepted")
    return dims


_WANTED = "(cluster, component[, job_size][, period][, node])"


def _check_labels(dim: str, table: xr.Dataset) -> np.ndarray:
    if dim not in table.coords:
        raise InputError(f"dimension {dim!r} has no labels (coordinate); expected one label for each entry")
    labels = np.asarray(table[dim].values)
    if dim == "job_size":
        sizes = labels.astype(np.int64) if labels.dtype.kind in "iuf" else np.array([-1])
        if (sizes < 1).any() or (sizes != labels).any() or (sizes & (sizes - 1)).any():
            raise InputError(f"job_size labels are {labels.tolist()}; expected powers of two, in GPUs")
        labels = sizes
    elif dim == "period":
        if labels.dtype.kind != "M" or np.isnat(labels).any():
            raise InputError(f"period labels are of type {labels.dtype}; expected datetime64, the start of each period")
        labels = labels.astype("datetime64[ns]")
    else:
        labels = _strings(labels.tolist())
    values, counts = np.unique(labels, return_counts=True)
    if (counts > 1).any():
        raise InputError(f"the {dim} label {str(values[counts > 1][0])!r} occurs more than once")
    return labels


def _check_numbers(
    values: np.ndarray, dims: tuple[str, ...], coords: Mapping[str, np.ndarray], name: str
) -> np.ndarray:
    if values.dtype.kind not in "iufb":
        raise InputError(f"{name} is of type {values.dtype}; expected numbers")
    numbers = values.astype(np.float64)
    _refuse(~np.isfinite(numbers), values, dims, coords, name, "a finite number")
    _refuse(numbers < 0, values, dims, coords, name, "0 or more")
    return numbers


def _refuse(
    bad: np.ndarray, values: np.ndarray, dims: tuple[str, ...], coords: Mapping[str, np.ndarray], name: str, wanted: str
) -> None:
    if not bad.any():
        return
    index = tuple(int(i) for i in np.argwhere(bad)[0])
    cell = ", ".join(f"{dim}={coords[dim][i]!s}" for dim, i in zip(dims, index, strict=True))
    raise InputError(f"{name} at {cell} is {values[index]:g}; expected {wanted}")


def _check_attrs(table: xr.Dataset) -> dict[str, Any]:
    attrs = {**_DEFAULT_ATTRS, **table.attrs}
    for name, least in (("gpus_per_node", 1), ("largest_job_gpus", 0)):
        value = attrs[name]
        if not float(value).is_integer() or value < least:
            raise InputError(f"attribute {name} is {value!r}; expected a whole number, {least} or more")
        attrs[name] = int(value)
    if attrs["exposure_kind"] not in EXPOSURE_KINDS:
        raise InputError(
            f"attribute exposure_kind is {attrs['exposure_kind']!r}; expected one of {', '.join(EXPOSURE_KINDS)}"
        )
    return attrs


def _strings(labels: Sequence[Any]) -> np.ndarray:
    if isinstance(labels, str):
        labels = [labels]
    return np.array([str(label) for label in labels], dtype=np.str_)


def _largest_size(sizes: np.ndarray | None, exposure: np.ndarray, dims: tuple[str, ...]) -> int:
    if sizes is None:
        return 0
    others = tuple(axis for axis, dim in enumerate(dims) if dim != "job_size")
    exposed = exposure.sum(axis=others) > 0
    return int(sizes[exposed].max()) if exposed.any() else 0
