"""All figures of a fit as PNG files."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path

import xarray as xr
from matplotlib.figure import Figure

from meantime.errors import InputError
from meantime.files import atomic_path
from meantime.forecast import Plan
from meantime.forecast.forecast import SEED
from meantime.report.evidence import shown_clusters
from meantime.report.figures.ettr import ettr_by_gpus
from meantime.report.figures.forest_plot import forest
from meantime.report.figures.mttf import mttf_by_size
from meantime.report.figures.states import has_job_states, job_states
from meantime.report.plans import GPUS
from meantime.report.style import styled


def save_figures(
    tree: xr.DataTree,
    folder: str | os.PathLike[str],
    *,
    gpus: Sequence[int] = GPUS,
    plans: Mapping[str, Plan] | None = None,
    cluster: str | None = None,
    seed: int = SEED,
) -> list[Path]:
    """Write every figure that the fit has the data for as a PNG, on white, 200 dots an inch.

    Parameters
    ----------
    tree
        A fit.
    folder
        Where to write; made if it does not exist.
    gpus, plans, cluster, seed
        What to forecast, as in `meantime.report.write_report`.

    Returns
    -------
    list[pathlib.Path]
        The files, ``failure_rates.png`` first.

    Raises
    ------
    InputError
        If the folder cannot be written, or sizes, plans or cluster cannot be used.
    """
    folder = Path(folder)
    figures = {
        "failure_rates": forest(tree, clusters=shown_clusters(tree, cluster)),
        "mttf_by_size": mttf_by_size(tree, gpus=gpus, cluster=cluster, seed=seed),
        "ettr_by_gpus": ettr_by_gpus(tree, gpus=gpus, plans=plans, cluster=cluster, seed=seed),
    }
    if has_job_states(tree):
        figures["job_states"] = job_states(tree)
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder}: cannot be made a folder: {error.strerror}; choose another") from error
    written = []
    for name, figure in figures.items():
        target = folder / f"{name}.png"
        with styled(), atomic_path(target) as path:
            figure.savefig(path, format="png")
        written.append(target)
    return written


def save_figure(figure: Figure, path: str | os.PathLike[str]) -> None:
    """Write one figure as PNG or SVG, by the file's ending, on white.

    Raises
    ------
    InputError
        For another ending, or a folder that cannot be written.
    """
    ending = Path(path).suffix.lower()
    if ending not in (".png", ".svg"):
        raise InputError(f"{path}: ends in {ending!r}; expected .png or .svg")
    with styled(), atomic_path(path) as temporary:
        figure.savefig(temporary, format=ending[1:])
