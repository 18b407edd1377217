"""Fits on disk: netCDF files, written whole or not at all."""

import os
from pathlib import Path

import xarray as xr

from meantime.errors import InputError
from meantime.files import atomic_path
from meantime.inference.provenance import provenance


def save_fit(tree: xr.DataTree, path: str | os.PathLike[str]) -> None:
    """Write a fit to a netCDF file.

    Parameters
    ----------
    tree
        A fit, as `fit` returns it.
    path
        The file; an existing one is replaced once the new one is whole.

    Raises
    ------
    InputError
        If the tree is no fit, or the folder cannot be written.
    """
    provenance(tree)
    with atomic_path(path) as temporary:
        tree.to_netcdf(temporary, engine="h5netcdf")


def load_fit(path: str | os.PathLike[str]) -> xr.DataTree:
    """Read a fit that `save_fit` wrote.

    Parameters
    ----------
    path
        The file.

    Returns
    -------
    xr.DataTree
        The fit, in memory; the file is closed.

    Raises
    ------
    InputError
        If the file is missing, damaged, no fit of meantime, or of a newer format.
    """
    import h5py

    path = Path(path)
    if not path.is_file():
        raise InputError(f"{path}: there is no such file; expected a fit written by save_fit or `meantime fit`")
    try:
        h5py.File(path, "r").close()  # h5netcdf leaves noise on standard error where this fails
    except OSError as error:
        raise InputError(
            f"{path}: is damaged, or no netCDF file; expected one written by save_fit or `meantime fit`"
        ) from error
    try:
        with xr.open_datatree(path, engine="h5netcdf") as stored:
            tree = stored.load()
    except Exception as error:  # h5py, netCDF layers and xarray raise many kinds on damaged bytes
        raise InputError(
            f"{path}: cannot be read as netCDF ({type(error).__name__}); the file is damaged or no fit"
        ) from error
    try:
        provenance(tree)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return tree
