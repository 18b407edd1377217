"""All figures of a fit as PNG files."""

import os
from collections.abc import Callable
from pathlib import Path

import xarray as xr
from matplotlib.figure import Figure

from meantime.errors import InputError
from meantime.files import atomic_path
from meantime.report.figures.ettr import ettr_by_gpus
from meantime.report.figures.forest_plot import forest
from meantime.report.figures.mttf import mttf_by_size
from meantime.report.figures.states import has_job_states, job_states
from meantime.report.style import styled

_FIGURES: dict[str, Callable[[xr.DataTree], Figure]] = {
    "failure_rates": forest,
    "mttf_by_size": mttf_by_size,
    "ettr_by_gpus": ettr_by_gpus,
}


def save_figures(tree: xr.DataTree, folder: str | os.PathLike[str]) -> list[Path]:
    """Write every figure that the fit has the data for as a PNG, on white, 200 dots an inch.

    Parameters
    ----------
    tree
        A fit.
    folder
        Where to write; made if it does not exist.

    Returns
    -------
    list[pathlib.Path]
        The files, ``failure_rates.png`` first.

    Raises
    ------
    InputError
        If the folder cannot be written.
    """
    folder = Path(folder)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made a folder: {error.strerror}; choose another") from error
    figures = dict(_FIGURES)
    if has_job_states(tree):
        figures["job_states"] = job_states
    written = []
    for name, draw in figures.items():
        target = folder / f"{name}.png"
        figure = draw(tree)
        with styled(), atomic_path(target) as path:
            figure.savefig(path, format="png")
        written.append(target)
    return written
