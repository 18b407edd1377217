"""Hand-made fits: posterior draws around a known truth, in the layout of a fit file."""

import json

import numpy as np
import xarray as xr

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
HOSTILE = ["<script>alert(1)</script>", "$x^2$ $\\frac", "a & b \"quoted\" 'single'", "nul\x00 esc\x1b \u202ertl"]
STATES = {
    "COMPLETED": {"jobs": 60_000, "gpu_hours": 2.1e6},
    "FAILED": {"jobs": 24_000, "gpu_hours": 0.9e6},
    "PREEMPTED": {"jobs": 10_000, "gpu_hours": 0.8e6},
    "CANCELLED": {"jobs": 3_000, "gpu_hours": 0.4e6},
    "REQUEUED": {"jobs": 2_000, "gpu_hours": 0.3e6},
    "TIMEOUT": {"jobs": 600, "gpu_hours": 0.1e6},
    "NODE_FAIL": {"jobs": 120, "gpu_hours": 0.2e6},
    "OUT_OF_MEMORY": {"jobs": 100, "gpu_hours": 0.01e6},
}


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
            "cluster_deviation": ((*sample, "cluster", "component"), spread),
            "slope": ((*sample, "component"), slope),
            "slope_mean": (sample, slope.mean(-1)),
            "slope_sd": (sample, np.full(shape, 0.02)),
            "sigma_component": (sample, np.full(shape, 1.3)),
            "sigma_cluster": (sample, np.full(shape, 0.4)),
            "sigma_cell": (sample, sigma),
            "mu": (sample, component.mean(-1)),
            "cell": ((*sample, "cluster", "component", "job_size"), cell),
            "rate": ((*sample, "cluster", "component", "job_size"), smooth * cell),
        },
        coords={**coords, "chain": range(chains), "draw": range(draws)},
    )
    table = xr.Dataset(
        {
            "failures": (("cluster", "component", "job_size"), failures.astype("int64")),
            "exposure": (("cluster", "job_size"), exposure),
        },
        coords=coords,
        attrs=_attrs(states=STATES),
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
        "rows_read": 104_512,
        "rows_used": 99_820,
        "quarantined": {"end before start": 7, "unreadable time": 5},
        "rule": "infrastructure",
        "before": "10min",
        "after": "5min",
        "severity": "high",
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
        "priors": {"level_mean": -5.4, "level_sd": 1.0, "slope_sd": 0.2},
        "method": "nuts",
        "backend": "numpyro",
        "seed": 7,
        "versions": {"meantime": "0.1.0", "python": "3.12.1", "pymc": "6.4.0", "numpyro": "0.22.0"},
        "data_digest": "sha256:5b1f6c0a9d",
        "created": "2026-11-30T12:00:00+00:00",
        "interval": {"kind": "eti", "probability": 0.9},
        "diagnostics": {
            "max_rhat": 1.003 if converged else 1.21,
            "min_ess_bulk": 2412.0 if converged else 31.0,
            "min_ess_tail": 1890.0 if converged else 44.0,
            "divergences": 0 if converged else 12,
            "converged": converged,
            "parameters": [] if converged else ["sigma_cluster"],
        },
    }
    tree = xr.DataTree.from_dict({"posterior": posterior, "fit_data": table})
    tree.attrs["meantime"] = json.dumps(facts)
    return tree
