"""From a fit back to what made it: its model, grid and priors."""

from typing import TYPE_CHECKING, Any

import xarray as xr

from meantime.inference.families import FAMILIES, Family
from meantime.inference.provenance import provenance
from meantime.models import model_entry, priors_for

if TYPE_CHECKING:
    import pymc as pm


def rebuild_model(tree: xr.DataTree) -> "pm.Model":
    """Build the PyMC model of a fit again, for prior predictive draws, graphs or other samplers.

    Parameters
    ----------
    tree
        A fit.

    Returns
    -------
    pm.Model
        The model that was fitted, with its priors and data.

    Raises
    ------
    InputError
        If the tree is no fit of meantime, or its model is unknown to this version.
    """
    name, priors = model_of(tree)
    return model_entry(name).build(tree["fit_data"].to_dataset(), priors)


def model_of(tree: xr.DataTree) -> tuple[str, Any]:
    """Return the name of a fit's model and its priors."""
    facts = provenance(tree)
    return facts["model"], priors_for(facts["model"], facts["priors"])


def family_of(tree: xr.DataTree) -> tuple[str, Family, Any]:
    """Return the name of a fit's model, its functions and its layout."""
    name, _ = model_of(tree)
    family = FAMILIES[name]
    return name, family, family.layout(tree["fit_data"].to_dataset())
