"""What a fit of `repair` says of the next repair, and of the mean that a pool of spares hangs on."""

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.inference.rebuild import family_of


def repair_hours(tree: xr.DataTree, *, seed: int = 0) -> xr.Dataset:
    r"""Draw mean down times, and the down time of a repair to come.

    Parameters
    ----------
    tree
        A fit of `repair`.
    seed
        Seed of what is drawn anew.

    Returns
    -------
    xr.Dataset
        ``mean`` (sample,), hours, over all classes: :math:`\sum_k w_k e^{\mu_k + \sigma_k^2 / 2}` with the classes'
        shares w drawn from Dirichlet(repairs + 1/2), which is what `meantime.forecast.plan_spares` takes as an
        uncertain mean; ``mean_of_class`` (sample, class); ``next`` (sample,) and ``next_of_class`` (sample, class), a
        repair to come.

    Raises
    ------
    InputError
        If the tree is no such fit.
    """
    name, _, repairs = family_of(tree)
    if name != "repair":
        raise InputError(f"the fit is of the model {name!r}; expected one of 'repair'")
    posterior = (
        tree["posterior"].to_dataset().stack(sample=("chain", "draw"), create_index=False).transpose("sample", ...)
    )
    centre, sd, mean = (
        posterior["log_median"].values,
        np.exp(posterior["log_sd"].values),
        posterior["mean_hours"].values,
    )
    rng = np.random.default_rng([seed, 6])
    opened = np.bincount(repairs.open_class, minlength=len(repairs.classes))
    gamma = rng.standard_gamma(repairs.count + opened + 0.5, mean.shape)
    share = gamma / gamma.sum(axis=1, keepdims=True)
    coming = np.exp(centre + sd * rng.standard_normal(centre.shape))
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
