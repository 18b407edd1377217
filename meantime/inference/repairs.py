"""What a fit of `repair` says of the next repair, and of the mean that a pool of spares hangs on."""

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.rebuild import family_of
from meantime.inference.repair_times import next_hours
from meantime.models import REPAIR_MODELS


def repair_hours(tree: xr.DataTree, *, seed: int = 0) -> xr.Dataset:
    r"""Draw mean down times, and the down time of a repair to come.

    Parameters
    ----------
    tree
        A fit of `repair` or `repair_tail`.
    seed
        Seed of what is drawn anew.

    Returns
    -------
    xr.Dataset
        ``mean`` (sample,), hours, over all classes: the sum of the classes' means times their shares, the shares
        drawn from Dirichlet(repairs + 1/2), which is what `meantime.forecast.plan_spares` takes as an
        uncertain mean; ``mean_of_class`` (sample, class); ``next`` (sample,) and ``next_of_class`` (sample, class), a
        repair to come.

    Raises
    ------
    InputError
        If the tree is no such fit.
    """
    name, _, repairs = family_of(tree)
    if name not in REPAIR_MODELS:
        raise InputError(f"the fit is of the model {name!r}; expected one of 'repair' or 'repair_tail'")
    posterior = (
        tree["posterior"].to_dataset().stack(sample=("chain", "draw"), create_index=False).transpose("sample", ...)
    )
    mean = posterior["mean_hours"].values
    rng = np.random.default_rng([seed, 6])
    opened = np.bincount(repairs.open_class, minlength=len(repairs.classes))
    gamma = rng.standard_gamma(repairs.count + opened + 0.5, mean.shape)
    share = gamma / gamma.sum(axis=1, keepdims=True)
    coming = next_hours({str(key): values.values for key, values in posterior.data_vars.items()}, rng)
    picked = (rng.random((len(share), 1)) > np.cumsum(share, axis=1)).sum(axis=1).clip(max=len(repairs.classes) - 1)
    return xr.Dataset(
        {
            "mean": ("sample", (share * mean).sum(axis=1)),
            "mean_of_class": (("sample", "class"), mean),
            "next": ("sample", coming[np.arange(len(coming)), picked]),
            "next_of_class": (("sample", "class"), coming),
        },
        coords={"class": list(repairs.classes)},
        attrs={"units": "hours"},
    )
