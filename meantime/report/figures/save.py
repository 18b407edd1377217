"""All figures of a fit as PNG files."""

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import xarray as xr
from matplotlib.figure import Figure

from meantime.datasets import goodput, measure_runs
from meantime.errors import InputError
from meantime.files import atomic_path
from meantime.forecast import Plan, rates_of, sensitivity
from meantime.forecast.forecast import SEED
from meantime.inference import provenance
from meantime.models import REPAIR_MODELS
from meantime.report.evidence import choose_cluster, gpus_per_node, shown_clusters
from meantime.report.figures.attributed import attributed_rates
from meantime.report.figures.contours import ettr_contours
from meantime.report.figures.ettr import ettr_by_gpus
from meantime.report.figures.forest_plot import forest
from meantime.report.figures.incident_plot import incident_sizes
from meantime.report.figures.ledger import ledger_bars
from meantime.report.figures.lost import goodput_lost
from meantime.report.figures.measured import measured_ettr
from meantime.report.figures.mttf import mttf_by_size
from meantime.report.figures.nodes import lemon_nodes
from meantime.report.figures.over_time import rates_over_time
from meantime.report.figures.pooling import shrinkage
from meantime.report.figures.repairs import repair_times
from meantime.report.figures.shapley import mitigation_shares
from meantime.report.figures.states import has_job_sizes, has_job_states, job_sizes, job_states
from meantime.report.figures.survival import survival_by_age
from meantime.report.figures.swings import tornado
from meantime.report.measures import price_measures
from meantime.report.plans import GPUS, default_plans
from meantime.report.style import styled

AHEAD = "90d"
"""How far rates over time are drawn ahead."""


def save_figures(
    tree: xr.DataTree,
    folder: str | os.PathLike[str],
    *,
    gpus: Sequence[int] = GPUS,
    plans: Mapping[str, Plan] | None = None,
    cluster: str | None = None,
    seed: int = SEED,
    jobs: Any = None,
    events: Any = None,
) -> list[Path]:
    """Write every figure that there are data for as a PNG, on white, 200 dots an inch.

    Parameters
    ----------
    tree
        A fit.
    folder
        Where to write; made if it does not exist.
    gpus, plans, cluster, seed
        What to forecast, as in `meantime.report.write_report`.
    jobs, events
        The log that the fit is of, for the figures of runs and of goodput; left out, these are not drawn.

    Returns
    -------
    list[pathlib.Path]
        The files, ``failure_rates.png`` first; of a fit of lives, repairs or incidents, its one figure.

    Raises
    ------
    InputError
        If the folder cannot be written, or sizes, plans or cluster cannot be used.
    """
    folder = Path(folder)
    figures = _of_fit(tree, gpus, plans, cluster, seed) | (
        _of_log(tree, jobs, events, cluster) if jobs is not None else {}
    )
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


def _of_fit(
    tree: xr.DataTree, gpus: Sequence[int], plans: Mapping[str, Plan] | None, cluster: str | None, seed: int
) -> dict[str, Figure]:
    model = provenance(tree)["model"]
    if model in REPAIR_MODELS:
        return {"repair_times": repair_times(tree)}
    if model in ("lifetime", "lifetime_steps"):
        return {"survival": survival_by_age(tree)}
    if model == "incident":
        return {"incident_sizes": incident_sizes(tree, cluster=cluster)}
    chosen = choose_cluster(tree, cluster)
    plan = next(iter((plans or default_plans(gpus_per_node(tree))).values()))
    shown = shown_clusters(tree, cluster)
    figures = {
        "failure_rates": forest(tree, clusters=shown),
        "mttf_by_size": mttf_by_size(tree, gpus=gpus, cluster=cluster, seed=seed),
        "ettr_by_gpus": ettr_by_gpus(tree, gpus=gpus, plans=plans, cluster=cluster, seed=seed),
        "attributed_rates": attributed_rates(tree, clusters=shown),
        "shrinkage": shrinkage(tree),
        "ettr_contours": ettr_contours(max(gpus), plan, fit=tree, cluster=cluster, seed=seed),
        "mitigation_shares": mitigation_shares(price_measures(tree, max(gpus), plan, cluster=chosen, seed=seed)),
        "tornado": tornado(sensitivity(rates_of(tree, max(gpus), cluster=chosen, seed=seed), plan, seed=seed)),
    }
    if model == "over_time":
        figures["rates_over_time"] = rates_over_time(tree, cluster=chosen, horizon=AHEAD, seed=seed)
    if model == "node_frailty":
        figures["lemon_nodes"] = lemon_nodes(tree, cluster=chosen, seed=seed)
    if has_job_states(tree):
        figures["job_states"] = job_states(tree)
    if has_job_sizes(tree):
        figures["job_sizes"] = job_sizes(tree)
    return figures


def _of_log(tree: xr.DataTree, jobs: Any, events: Any, cluster: str | None) -> dict[str, Figure]:
    found, runs = goodput(jobs, events), measure_runs(jobs, events)
    figures = {"ledger": ledger_bars(runs), "measured_ettr": measured_ettr(runs, tree, cluster=cluster)}
    return figures | ({"goodput_lost": goodput_lost(found)} if found["first_order"]["failures"] else {})
