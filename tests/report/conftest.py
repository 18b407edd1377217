"""Hand-made fits: posterior draws around a known truth, in the layout of a fit file."""

import dataclasses
import json
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import xarray as xr

from meantime.datasets.simulate import simulate_nodes, simulate_survival
from meantime.inference import fit
from meantime.models import MODELS

from ..models.tables import period_table

SIZES = np.array([8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096])
RATES = {
    "infiniband_link": 1.9,
    "filesystem_mount": 1.3,
    "gpu_memory": 1.1,
    "pcie": 0.8,
    "unattributed": 0.7,
    "gpu_hardware": 0.4,
    "nvlink": 0.2,
    "ethernet_link": 0.08,
    "host_memory": 0.03,
}
"""True failures per 1,000 node-days at 64 GPUs."""
SLOPE = 0.04
HOSTILE = ["<script>alert(1)</script>", "$x^2$ $\\frac$", "a & b \"quoted\" 'single'", "nul\x00 esc\x1b \u202ertl"]
QUICK: dict[str, Any] = {"seed": 2, "method": "laplace", "progress": False, "allow_unconverged": True}
"""Options of a fit for a first look, which costs little."""
_STATES = (
    ("COMPLETED", 60_000, 2.1e6),
    ("FAILED", 24_000, 0.9e6),
    ("PREEMPTED", 10_000, 0.8e6),
    ("CANCELLED", 3_000, 0.4e6),
    ("REQUEUED", 2_000, 0.3e6),
    ("TIMEOUT", 600, 0.1e6),
    ("NODE_FAIL", 120, 0.2e6),
    ("OUT_OF_MEMORY", 100, 0.01e6),
)
STATES = [
    {
        "state": name,
        "attempts": jobs,
        "share_of_attempts": jobs / sum(row[1] for row in _STATES),
        "gpu_hours": hours,
        "share_of_gpu_time": hours / sum(row[2] for row in _STATES),
    }
    for name, jobs, hours in _STATES
]
"""Final states of jobs, as a summary of a log gives them."""
REASONS = [
    {"reason": "end before start", "rows": 7, "first": {}},
    {"reason": "time <script>alert(3)</script> cannot be read", "rows": 5, "first": {}},
]


@pytest.fixture(scope="session")
def make_fit() -> Callable[..., xr.DataTree]:
    """Maker of `component_size` fits; see `size_tree`."""
    return size_tree


@pytest.fixture(scope="session")
def size_fit() -> xr.DataTree:
    """A `component_size` fit of one cluster."""
    return size_tree()


@pytest.fixture(scope="session")
def two_fit() -> xr.DataTree:
    """A `component_size` fit of two clusters."""
    return size_tree(clusters=("RSC-1", "RSC-2"))


@pytest.fixture(scope="session")
def component_fit() -> xr.DataTree:
    """A `component` fit without job sizes."""
    return component_tree()


@pytest.fixture(scope="session")
def months_fit() -> xr.DataTree:
    """A first look at a fit of `over_time` with change points, of one component."""
    table = period_table(clusters=1, components=1)
    return fit(table, "over_time", priors={"change_rate": 0.5}, **QUICK)


@pytest.fixture(scope="session")
def lemon_fit() -> xr.DataTree:
    """A first look at a fit of `node_frailty`: 100 nodes, some of them lemons."""
    table, _ = simulate_nodes(seed=2, nodes=100, exposure=365.0, lemon_share=0.05, lemon_multiplier=12.0)
    return fit(table, "node_frailty", **QUICK)


@pytest.fixture(scope="session")
def lives_fit() -> xr.DataTree:
    """A first look at a fit of `lifetime` whose hazard rises with age."""
    return fit(simulate_survival(seed=3, units=2000, shape=1.5)[0], "lifetime", **QUICK)


@pytest.fixture(scope="session")
def hostile_names() -> list[str]:
    """Names that try to leave their place in HTML, SVG and formulas."""
    return HOSTILE


@pytest.fixture(scope="session")
def hostile_fit() -> xr.DataTree:
    """An unconverged fit of two clusters whose every name is hostile."""
    return size_tree(clusters=(HOSTILE[0], HOSTILE[1]), components=HOSTILE, node_days=4e3, converged=False)


def size_tree(
    *,
    clusters: tuple[str, ...] = ("RSC-1",),
    components: list[str] | None = None,
    node_days: float = 2.0e5,
    converged: bool = True,
    seed: int = 11,
    chains: int = 4,
    draws: int = 250,
) -> xr.DataTree:
    """Make a `component_size` fit: Poisson counts from the truth, draws as a fit of them would give."""
    rng = np.random.default_rng(seed)
    names = components or list(RATES)
    base = np.log(np.resize(list(RATES.values()), len(names)) / 1000)
    deviation = np.linspace(0, -0.8, len(clusters))[:, None] * np.ones(len(names))
    step = np.log2(SIZES / 64)
    truth = np.exp(base[None, :, None] + deviation[:, :, None] + SLOPE * step)
    share = np.exp(-0.5 * ((np.log2(SIZES) - 8) / 2.2) ** 2)
    exposure = np.stack([node_days / (1 + index) * share / share.sum() for index in range(len(clusters))])
    failures = rng.poisson(truth * exposure[:, None, :])
    shape = (chains, draws)
    known = 1 / np.sqrt(failures.sum(-1) + 2.0)
    component = base + known[0] * rng.standard_normal((*shape, len(names)))
    spread = deviation + 0.3 * known * rng.standard_normal((*shape, len(clusters), len(names)))
    slope = SLOPE + 0.02 * rng.standard_normal((*shape, len(names)))
    sigma = 0.15 + 0.02 * np.abs(rng.standard_normal(shape))
    prior = 1 / sigma[..., None, None, None] ** 2
    smooth = np.exp(component[..., None, :, None] + spread[..., None] + slope[..., None, :, None] * step)
    cell = rng.gamma(prior + failures) / (prior + smooth * exposure[:, None, :])
    coords = {"cluster": list(clusters), "component": names, "job_size": SIZES}
    sample = ("chain", "draw")
    posterior = xr.Dataset(
        {
            "level": ((*sample, "component"), component),
            "slope": ((*sample, "component"), slope),
            "slope_mean": (sample, slope.mean(-1)),
            "slope_sd": (sample, np.full(shape, 0.02)),
            "sigma_component": (sample, np.full(shape, 1.3)),
            "sigma_cell": (sample, sigma),
            "mu": (sample, component.mean(-1)),
            "cell": ((*sample, "cluster", "component", "job_size"), cell),
            "rate": ((*sample, "cluster", "component", "job_size"), smooth * cell),
        },
        coords={**coords, "chain": range(chains), "draw": range(draws)},
    )
    if len(clusters) > 1:
        posterior["cluster_deviation"] = ((*sample, "cluster", "component"), spread)
        posterior["sigma_cluster"] = (sample, np.full(shape, 0.4))
    table = xr.Dataset(
        {
            "failures": (("cluster", "component", "job_size"), failures.astype("int64")),
            "exposure": (("cluster", "job_size"), exposure),
        },
        coords=coords,
        attrs=_attrs(states=STATES, reasons=REASONS),
    )
    return _tree(posterior, table, model="component_size", converged=converged)


def component_tree(*, components: list[str] | None = None, seed: int = 5) -> xr.DataTree:
    """Make a `component` fit without job sizes: one cluster of 2,048 nodes for 54 days."""
    rng = np.random.default_rng(seed)
    names = components or ["Faulty GPU", "GPU HBM3 Memory", "Software Bug", "Network Switch/Cable", "CPU", "PSU"]
    failures = np.resize([148, 72, 54, 35, 2, 0], len(names))
    exposure = 2048 * 54.0
    rate = rng.gamma(failures + 0.5, size=(4, 250, 1, len(names))) / exposure
    coords = {"cluster": ["Llama 3"], "component": names}
    posterior = xr.Dataset(
        {"rate": (("chain", "draw", "cluster", "component"), rate)},
        coords={**coords, "chain": range(4), "draw": range(250)},
    )
    table = xr.Dataset(
        {
            "failures": (("cluster", "component"), failures[None].astype("int64")),
            "exposure": (("cluster",), np.array([exposure])),
        },
        coords=coords,
        attrs={**_attrs(), "largest_job_gpus": 16384, "exposure_kind": "stated"},
    )
    return _tree(posterior, table, model="component", converged=True)


def _attrs(**more: object) -> dict[str, object]:
    facts = {
        "format": "sacct",
        "rows_read": 104_512,
        "rows_used": 99_820,
        "quarantined": 12,
        "folded": {"steps": 3_480, "duplicates": 400},
        "never_ran": 800,
        "log_start": "2025-12-01 00:00:00+00:00",
        "log_end": "2026-11-02 10:00:00+00:00",
        "rule": "infrastructure",
        "before_seconds": 600.0,
        "after_seconds": 300.0,
        "severity": "high",
        "notes": ["Times are taken as UTC."],
        **more,
    }
    return {
        "gpus_per_node": 8,
        "exposure_kind": "busy",
        "source": "sacct.txt",
        "largest_job_gpus": 4096,
        "provenance": json.dumps(facts),
    }


def _tree(posterior: xr.Dataset, table: xr.Dataset, *, model: str, converged: bool) -> xr.DataTree:
    facts = {
        "schema": "meantime.fit/1",
        "model": model,
        "priors": dataclasses.asdict(MODELS[model].priors()),
        "method": "nuts",
        "backend": "numpyro",
        "seed": 7,
        "sampling": {"chains": 4, "draws": 250, "tune": 500, "target_accept": 0.8, "seconds": 3.1},
        "versions": {"meantime": "0.1.0", "python": "3.12.1", "pymc": "6.4.0", "numpyro": "0.22.0"},
        "data_digest": "sha256:5b1f6c0a9d",
        "created": "2026-11-30T12:00:00+00:00",
        "interval": {"kind": "eti", "probability": 0.9},
        "diagnostics": {
            "max_rhat": 1.003 if converged else 1.21,
            "min_ess_bulk": 2412.0 if converged else 31.0,
            "min_ess_tail": 1890.0 if converged else 44.0,
            "divergences": 0 if converged else 12,
            "cut_share": 0.0,
            "mean_steps": 14.6,
            "converged": converged,
            "parameters": [] if converged else ["level[<script>alert(2)</script>]"],
            "problems": [] if converged else ["R-hat should be at most 1.01: level[<script>alert(2)</script>] 1.21"],
        },
    }
    tree = xr.DataTree.from_dict({"posterior": posterior, "fit_data": table})
    tree.attrs["meantime"] = json.dumps(facts)
    return tree
