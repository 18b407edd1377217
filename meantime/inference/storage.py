"""Fits on disk: netCDF files, written whole or not at all."""

import os
from pathlib import Path

import numpy as np
import xarray as xr

from meantime.errors import InputError
from meantime.files import atomic_path
from meantime.inference.provenance import provenance
from meantime.inference.seal import check_seal, seal

_EXPECTED = "expected a fit written by save_fit or `meantime fit`"


def save_fit(tree: xr.DataTree, path: str | os.PathLike[str]) -> None:
    """Write a fit to a netCDF file, with a checksum behind its end.

    Parameters
    ----------
    tree
        A fit, as `fit` returns it.
    path
        The file; an existing one is replaced once the new one is whole.

    Raises
    ------
    InputError
        If the tree is no fit, its posterior is not finite, or the file cannot be written.
    """
    provenance(tree)
    _check_finite(tree)
    with atomic_path(_path(path)) as temporary:
        tree.to_netcdf(temporary, engine="h5netcdf")
        seal(temporary)


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
        If the file is missing, cannot be read, is no fit of meantime, of a newer format, or damaged: a single
        changed byte is seen by the file's checksum.
    """
    path = _path(path)
    try:
        if not path.is_file():
            raise InputError(f"{'is a folder' if path.is_dir() else 'there is no such file'}; {_EXPECTED}")
        check_seal(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}; {_EXPECTED}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    try:
        with xr.open_datatree(path, engine="h5netcdf") as stored:
            tree = stored.load()
    except Exception as error:  # h5py, netCDF layers and xarray raise many kinds
        raise InputError(f"{path}: cannot be read as netCDF ({type(error).__name__}); {_EXPECTED}") from error
    try:
        provenance(tree)
        _check_finite(tree)
    except InputError as error:
        raise InputError(f"{path}: {error}") from error
    return tree


def _path(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path is {path!r}; expected the name of a file, such as 'fit.nc'")
    return Path(path)


def _check_finite(tree: xr.DataTree) -> None:
    for name, variable in tree["posterior"].to_dataset().data_vars.items():
        if variable.dtype.kind == "f" and (bad := int((~np.isfinite(variable.values)).sum())):
            raise InputError(
                f"{bad:,} of {variable.size:,} values of {name} in the posterior are not finite; fit again"
            )
