"""Lives of parts, compressed: what the models of age need to know of four million rows fits on a page.

A survival table has one stratum for every pattern of covariates. It holds counts and days at risk by interval of age,
which are all that a piecewise-constant hazard needs, and a quadrature of the ages, from which the integral of any
smooth hazard over all rows follows with a bounded error (see `power_sum_bound`).
"""

import json
from collections.abc import Mapping, Sequence
from itertools import pairwise

import numpy as np
import polars as pl
import xarray as xr
from scipy.special import ive

from meantime.datasets.log import Log
from meantime.errors import InputError

NODES = 64
"""Degree of the interpolation in log age; there is one node more."""

INTERVALS = 24
"""Intervals of age, where none are named: each with the same share of the failures."""

MAX_STRATA = 20_000
"""Patterns of covariates at most."""

STATISTICS = ("count", "sum_log_age")
"""What is observed of a stratum: failures, and the sum of the logarithms of their ages in days."""


def survival_table(
    lives: Log | pl.DataFrame,
    *,
    covariates: Sequence[str] = (),
    events: Sequence[str] | None = None,
    cuts: Sequence[float] | None = None,
) -> xr.Dataset:
    """Compress a table of lives for the models of age.

    Parameters
    ----------
    lives
        A log of lives, or its table (see `meantime.datasets.lives`): ``age_entry``, ``age`` (days), ``event``. Rows
        without an age, and rows of no length, are left out and counted in the provenance.
    covariates
        Columns that may change the hazard. Numbers enter as they are; text becomes a column for each level but the
        most frequent one, which is the reference.
    events
        Events that count; a row that ends with another one is censored there. Default: all.
    cuts
        Bounds of the intervals of age, days, increasing from 0. Default: such that each interval has the same share of
        the failures.

    Returns
    -------
    xr.Dataset
        ``events`` (stratum, statistic), ``failures`` and ``exposure`` (stratum, interval), days; ``weight``
        (stratum, age), of the quadrature; ``design`` (stratum, covariate); ``lives`` (stratum,), rows.

    Raises
    ------
    InputError
        If there is no usable row, a covariate is missing or has too many patterns, or cuts do not increase from 0.
    """
    frame = lives.table if isinstance(lives, Log) else lives
    source = lives.source if isinstance(lives, Log) else "lives"
    if missing := [name for name in ("age", "event", *covariates) if name not in frame.columns]:
        raise InputError(f"{source}: has no column {missing[0]!r}; it has {', '.join(frame.columns)}")
    given = frame["age_entry"] if "age_entry" in frame.columns else pl.Series([None] * frame.height, dtype=pl.Float64)
    days = frame["days"] if "days" in frame.columns else pl.Series([None] * frame.height, dtype=pl.Float64)
    entry = given.fill_null(frame["age"] - days).clip(lower_bound=0.0)
    known = frame["age"].is_not_null() & entry.is_not_null()
    long = known & (frame["age"] > entry)
    used = frame.filter(long)
    if used.is_empty():
        raise InputError(
            f"{source}: no life of {frame.height} has an age and a length; expected age_entry and age, days"
        )
    ended = used["event"].is_not_null() if events is None else used["event"].is_in(list(events)).fill_null(False)
    table = compress_lives(
        entry.filter(long).to_numpy(),
        used["age"].to_numpy(),
        ended.to_numpy(),
        {name: used[name].to_numpy() for name in covariates},
        cuts=cuts,
    )
    facts = {
        "rows_read": lives.rows_read if isinstance(lives, Log) else frame.height,
        "quarantined": lives.quarantine.height if isinstance(lives, Log) else 0,
        "rows_used": used.height,
        "without_age": frame.height - int(known.sum()),
        "without_length": int(known.sum()) - used.height,
        "events": None if events is None else list(events),
    }
    return table.assign_attrs(source=source, provenance=json.dumps(facts))


def compress_lives(
    entry: np.ndarray,
    exit: np.ndarray,
    failed: np.ndarray,
    covariates: Mapping[str, np.ndarray] | None = None,
    *,
    cuts: Sequence[float] | None = None,
) -> xr.Dataset:
    """Compress arrays of lives; see `survival_table`.

    Parameters
    ----------
    entry, exit
        Ages at the begin and end of each row, days, shape (row,): 0 <= entry < exit.
    failed
        Whether the row ended with a failure, shape (row,).
    covariates
        Arrays (row,) by name.
    cuts
        Bounds of the intervals of age.
    """
    entry, exit, failed = np.asarray(entry, float), np.asarray(exit, float), np.asarray(failed, bool)
    if bad := int((~((entry >= 0) & (entry < exit) & np.isfinite(exit))).sum()):
        raise InputError(f"{bad} lives do not have 0 <= entry < exit; expected ages in days")
    if not failed.any():
        raise InputError("no life ends with a failure; nothing can be said of their ages")
    pattern, design, names, labels = _patterns(dict(covariates or {}), len(exit))
    bounds = _bounds(exit, failed, cuts)
    strata = len(design)
    interval = np.clip(np.searchsorted(bounds, exit[failed], side="left") - 1, 0, len(bounds) - 2)
    counts = np.zeros((strata, len(bounds) - 1), dtype=np.int64)
    np.add.at(counts, (pattern[failed], interval), 1)
    exposure = np.stack([
        np.bincount(pattern, np.clip(exit, low, high) - np.clip(entry, low, high), strata)
        for low, high in pairwise(bounds)
    ], axis=1)  # fmt: skip
    ages, weight = _quadrature(entry, exit, pattern, strata)
    events = np.stack([
        np.bincount(pattern[failed], minlength=strata), np.bincount(pattern[failed], np.log(exit[failed]), strata)
    ], axis=1)  # fmt: skip
    ends = [f"{low:g} to {high:g} d" for low, high in pairwise(bounds)]
    return xr.Dataset(
        {
            "events": (("stratum", "statistic"), events),
            "failures": (("stratum", "interval"), counts),
            "exposure": (("stratum", "interval"), exposure),
            "weight": (("stratum", "age"), weight),
            "design": (("stratum", "covariate"), design),
            "lives": ("stratum", np.bincount(pattern, minlength=strata)),
            "cut": ("bound", bounds),
        },
        coords={
            "stratum": labels,
            "statistic": list(STATISTICS),
            "interval": ends,
            "age": ages,
            "covariate": np.array(names, dtype=np.str_),
        },
        attrs={"source": "lives", "provenance": "{}"},
    )


def power_sum_bound(ages: np.ndarray, shape: float) -> float:
    r"""Bound the error of the quadrature of a power, for one age and relative to the largest.

    The sum of :math:`t^s` over rows is computed from an interpolation of :math:`e^{s u}` in :math:`u = \log t` at
    N + 1 Chebyshev points. With h half the range of u, the Chebyshev coefficients of :math:`e^{shx}` are
    :math:`2 I_k(sh)`, and the error of interpolation is at most twice the sum of those left out (Trefethen,
    Approximation Theory and Approximation Practice, theorem 4.2):

    .. math:: |t^s - p(\log t)| \le t_{\max}^s \cdot 4 \sum_{k > N} e^{-sh} I_k(sh)

    Parameters
    ----------
    ages
        Nodes of the quadrature, increasing.
    shape
        The power s.

    Returns
    -------
    float
        The bound over the largest age to the power s; rounding, some 1e-15, comes on top.
    """
    half = 0.5 * np.log(ages[-1] / ages[0])
    orders = np.arange(len(ages), len(ages) + 400)
    return float(4 * ive(orders, shape * half).sum())


def check_survival(table: xr.Dataset) -> xr.Dataset:
    """Check a survival table.

    Raises
    ------
    InputError
        If it is none.
    """
    wanted = {"events": ("stratum", "statistic"), "failures": ("stratum", "interval"), "weight": ("stratum", "age"),
              "exposure": ("stratum", "interval"), "design": ("stratum", "covariate")}  # fmt: skip
    if not isinstance(table, xr.Dataset) or any(
        name not in table or table[name].dims != dims for name, dims in wanted.items()
    ):
        raise InputError("not a survival table; make one of a log of lives with survival_table")
    if not float(table["exposure"].sum()) > 0 or any(not np.isfinite(table[name].values).all() for name in wanted):
        raise InputError("the survival table has no exposure, or values that are not finite")
    return table


def _patterns(covariates: dict[str, np.ndarray], rows: int) -> tuple[np.ndarray, np.ndarray, list[str], list[str]]:
    """Return each row's pattern, the patterns' design, the names of its columns, and the patterns' labels."""
    codes, levels = [], []
    for name, values in covariates.items():
        array = np.asarray(values)
        if array.dtype.kind in "OUSb":
            array = np.array(["not known" if value is None else str(value) for value in array.tolist()])
        elif not np.isfinite(array.astype(float)).all():
            raise InputError(
                f"covariate {name!r} holds values that are missing or not finite; fill or leave out such rows"
            )
        found, code = np.unique(array, return_inverse=True)
        codes.append(code)
        levels.append(found)
    if not codes:
        return np.zeros(rows, dtype=np.int64), np.zeros((1, 0)), [], ["all"]
    unique, pattern = np.unique(np.stack(codes, axis=1), axis=0, return_inverse=True)
    if len(unique) > MAX_STRATA:
        raise InputError(
            f"the covariates have {len(unique):,} patterns; expected {MAX_STRATA:,} at most: "
            "round or group their values"
        )
    columns, names = [], []
    for place, (name, found) in enumerate(zip(covariates, levels, strict=True)):
        mine = unique[:, place]
        if found.dtype.kind != "U":
            columns.append(found[mine].astype(float))
            names.append(name)
            continue
        reference = int(np.argmax(np.bincount(codes[place])))
        for level in (i for i in range(len(found)) if i != reference):
            columns.append((mine == level).astype(float))
            names.append(f"{name}={found[level]}")
    labels = [
        ", ".join(f"{name}={found[i]}" for name, found, i in zip(covariates, levels, row, strict=True))
        for row in unique
    ]
    design = np.stack(columns, axis=1) if columns else np.zeros((len(unique), 0))
    return pattern.ravel(), design, names, labels


def _bounds(exit: np.ndarray, failed: np.ndarray, cuts: Sequence[float] | None) -> np.ndarray:
    last = float(exit.max())
    if cuts is None:
        inner = np.quantile(exit[failed], np.arange(1, INTERVALS) / INTERVALS)
        return np.unique(np.concatenate([[0.0], inner[inner < last], [last]]))
    bounds = np.asarray(cuts, dtype=float)
    if bounds.ndim != 1 or len(bounds) < 2 or bounds[0] != 0 or (np.diff(bounds) <= 0).any():
        raise InputError(f"cuts are {list(cuts)!r}; expected ages in days that increase from 0")
    return bounds if bounds[-1] >= last else np.append(bounds, last)


def _quadrature(entry: np.ndarray, exit: np.ndarray, pattern: np.ndarray, strata: int) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes, and weights for which the sum of f(exit) - f(entry) is that of weight f(node); f(0) = 0."""
    late = entry > 0
    low = float(np.log(min(exit.min(), entry[late].min() if late.any() else np.inf)))
    high = float(np.log(exit.max()))
    low = min(low, high - 1e-3)
    middle, half = (low + high) / 2, (high - low) / 2
    index = np.arange(NODES + 1)
    x = -np.cos(np.pi * index / NODES)
    moments = np.zeros((NODES + 1, strata))
    for age, group, sign in ((exit, pattern, 1.0), (entry[late], pattern[late], -1.0)):
        at = np.clip((np.log(age) - middle) / half, -1.0, 1.0)
        before, now = np.ones_like(at), at
        for k in range(NODES + 1):
            moments[k] += sign * np.bincount(group, before, strata)
            before, now = now, 2 * at * now - before
    ends = np.where((index == 0) | (index == NODES), 0.5, 1.0)
    to_coefficients = 2 / NODES * ends[:, None] * ends * np.cos(np.pi * np.outer(index, NODES - index) / NODES)
    return np.exp(middle + half * x), moments.T @ to_coefficients
