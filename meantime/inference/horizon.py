"""Rates over time: as they were, and as they may go on."""

from typing import Any

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.families import FAMILIES, NEW, Family
from meantime.inference.rebuild import family_of
from meantime.units import Duration, seconds

MAX_VALUES = 100_000_000
"""Rates drawn ahead at most, over draws, components and periods (800 MB)."""

_SECONDS_PER_DAY = 86_400


def rate_over_time(
    tree: xr.DataTree,
    *,
    cluster: str | None = None,
    horizon: Duration | None = None,
    deviations: bool = False,
    seed: int = 0,
) -> xr.DataArray:
    """Draw the rates of every period of the data, and of those that follow.

    Rates are those of the walks, without the deviations of single periods unless asked for. The future of a draw
    begins where its past ends, and walks on with that draw's spreads, so that intervals widen with time.

    Parameters
    ----------
    tree
        A fit of `over_time`.
    cluster
        Which cluster. May be left out where the fit holds one.
    horizon
        How far beyond the end of the data, such as ``"90d"``; a begun period counts as one. Default: not at all.
    deviations
        Whether the periods ahead have deviations of their own, as periods have in which failures are counted.
    seed
        Seed of the future.

    Returns
    -------
    xr.DataArray
        Failures per node-day, dimensions (sample, component, period); the coordinate ``ahead`` (period,) tells
        which periods lie beyond the data.

    Raises
    ------
    InputError
        If the model knows no time, the cluster is unknown or not in the log, or the horizon is too long.
    """
    name, family, layout = family_of(tree)
    _check_time(name, family)
    index = cluster_index(cluster, layout)
    if index is None:
        raise InputError(f"a cluster that is not in the log has no past; choose one of {', '.join(layout.clusters)}")
    posterior = tree["posterior"].to_dataset()
    rate = posterior["rate"].isel(cluster=index).transpose("chain", "draw", "component", "period").values
    periods = layout.periods
    if horizon is not None:
        shares = _shares(layout, horizon)
        _check_size(posterior, layout, len(shares))
        assert family.ahead is not None
        after = family.ahead(posterior, layout, index, len(shares), deviations, np.random.default_rng([seed, 2]))
        rate = np.concatenate([rate, after], axis=-1)
        length = np.timedelta64(round(layout.period_days * _SECONDS_PER_DAY), "s")
        periods = np.concatenate([periods, periods[-1] + length * np.arange(1, len(shares) + 1)])
    return xr.DataArray(
        rate.reshape(-1, *rate.shape[2:]),
        dims=("sample", "component", "period"),
        coords={
            "component": list(layout.components),
            "period": periods,
            "ahead": ("period", np.arange(len(periods)) >= len(layout.periods)),
        },
        name="rate",
        attrs={"units": "failures per node-day", "period_days": layout.period_days},
    )


def mean_ahead(
    name: str,
    family: Family,
    layout: Any,
    posterior: xr.Dataset,
    cluster: int | None,
    horizon: Duration,
    rng: np.random.Generator,
) -> np.ndarray:
    """Return the mean rates from the end of the data to the horizon, (chain, draw, component)."""
    _check_time(name, family)
    shares = _shares(layout, horizon)
    _check_size(posterior, layout, len(shares))
    assert family.ahead is not None
    return family.ahead(posterior, layout, cluster, len(shares), True, rng) @ shares


def cluster_index(cluster: str | None, layout: Any) -> int | None:
    """Return the place of a cluster among those of a layout; None stands for a new one.

    Raises
    ------
    InputError
        If there is no such cluster, or none was named where there are several.
    """
    if cluster in layout.clusters:
        return layout.clusters.index(str(cluster))
    if cluster is None and len(layout.clusters) == 1:
        return 0
    if cluster == NEW:
        return None
    given = "no cluster was named" if cluster is None else f"there is no cluster {cluster!r}"
    raise InputError(f"{given}; choose one of {', '.join(layout.clusters)}, or {NEW!r} for one that is not in the log")


def _check_time(name: str, family: Family) -> None:
    if family.ahead is None:
        knowing = ", ".join(other for other, found in FAMILIES.items() if found.ahead is not None)
        raise InputError(f"the model {name!r} knows no time, so it has no horizon; fit {knowing} for that")


def _shares(layout: Any, horizon: Duration) -> np.ndarray:
    """Return the share of each period ahead in the time up to the horizon; the last may be part of a period."""
    days = seconds(horizon, name="horizon") / _SECONDS_PER_DAY
    if not days > 0:
        raise InputError(f"horizon is {horizon!r}; expected a time ahead, such as 90d")
    count = max(1, int(np.ceil(days / layout.period_days - 1e-9)))
    if count > 10_000:
        raise InputError(f"horizon is {horizon!r}, {count:,} periods of the fit; expected at most 10,000")
    within = np.diff(np.minimum(np.arange(count + 1) * layout.period_days, days))
    return within / within.sum()


def _check_size(posterior: xr.Dataset, layout: Any, n_periods: int) -> None:
    size = posterior.sizes["chain"] * posterior.sizes["draw"] * len(layout.components) * n_periods
    if size > MAX_VALUES:
        raise InputError(
            f"{size:,} rates would be drawn ahead; expected at most {MAX_VALUES:,}: a shorter horizon, or fewer draws"
        )
