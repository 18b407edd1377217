"""Whether an installation works: versions, devices, the cache folder, and a short self-test with known answers."""

import os
import platform
import tempfile
import time
from collections.abc import Callable
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from meantime import ettr
from meantime.datasets import build_table
from meantime.inference import fit
from meantime.inference.cache import cache_folder
from meantime.models import priors_for
from meantime.units import PER_1000_NODE_DAYS

SCHEMA = "meantime.doctor/1"
PACKAGES = ("meantime", "arviz", "jax", "jaxlib", "matplotlib", "numpy", "numpyro", "nutpie", "polars", "pymc", "scipy",
            "xarray")  # fmt: skip
SEED = 1
_ETTR = {16_384: 0.714, 131_072: 0.037}
"""Exact ETTR at 6.5 failures per 1,000 node-days, hourly checkpoints that cost nothing and 5 min of restart, as event
simulation gives it too."""


def doctor(*, self_test: bool = True) -> dict[str, Any]:
    """Say what is installed, what it runs on, and whether it computes what it should.

    Parameters
    ----------
    self_test
        Whether to fit two small tables and compute two ETTR whose answers are known; about ten seconds.

    Returns
    -------
    dict
        Schema ``meantime.doctor/1``, plain JSON types: ``python``, ``system``, ``processors``, ``packages`` (versions;
        None: not installed), ``devices`` (of JAX: ``name``, ``kind``), ``cache`` (``folder``, ``writable``, and whether
        it is ``used``), ``checks`` (``check``, ``passed``, ``seconds``, ``note``) and ``passed``: whether all did.

    Examples
    --------
    >>> found = doctor(self_test=False)
    >>> found["schema"], found["passed"], found["checks"]
    ('meantime.doctor/1', True, [])
    """
    tests: dict[str, Callable[[], str]] = {
        "ETTR of the exact form": _ettr,
        "fit of one rate, against its closed form": _exact_fit,
        "fit by NUTS, within its gate": _sampled_fit,
    }
    checks = [_run(name, test) for name, test in tests.items()] if self_test else []
    return {
        "schema": SCHEMA,
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "processors": os.cpu_count() or 1,
        "packages": {name: _version(name) for name in PACKAGES},
        "devices": _devices(),
        "cache": _cache(),
        "checks": checks,
        "passed": all(check["passed"] for check in checks),
    }


def _run(name: str, test: Callable[[], str]) -> dict[str, Any]:
    begin = time.perf_counter()
    try:
        note, passed = test(), True
    except Exception as error:
        note, passed = " ".join(f"{type(error).__name__}: {error}".split()), False
    return {"check": name, "passed": passed, "seconds": round(time.perf_counter() - begin, 2), "note": note}


def _ettr() -> str:
    found = {}
    for gpus, expected in _ETTR.items():
        hazard = ettr.hazard_of(gpus / 8, 6.5 / PER_1000_NODE_DAYS)
        found[gpus] = float(ettr.renewal(hazard, 1.0, 0.0, 5 / 60))
        if abs(found[gpus] - expected) > 5e-4:
            raise ArithmeticError(f"ETTR at {gpus:,} GPUs is {found[gpus]:.6f}; expected {expected}")
    return ", ".join(f"{value:.4f} at {gpus:,} GPUs" for gpus, value in found.items())


def _exact_fit() -> str:
    failures, exposure = 65, 10_000.0
    table = build_table([[failures]], [exposure], cluster=["a"], component=["gpu"])
    rate = fit(table, "constant", seed=SEED, progress=False)["posterior"]["rate"]
    priors = priors_for("constant", None)
    mean = (priors.shape + failures) / (priors.rate + exposure)
    return _near(float(rate.mean()), mean, 0.02)  # ten standard errors of 4,000 independent draws


def _sampled_fit() -> str:
    failures, exposure = np.array([[300, 90, 30]]), 100_000.0
    table = build_table(failures, [exposure], cluster=["a"], component=["gpu", "link", "disk"])
    tree = fit(table, "component", seed=SEED, chains=2, draws=500, tune=300, progress=False)
    total = tree["posterior"]["rate"].sum("component")
    return _near(float(total.mean()), failures.sum() / exposure, 0.05)  # a twentieth: the standard deviation


def _near(found: float, expected: float, tolerance: float) -> str:
    text = f"{found * PER_1000_NODE_DAYS:.3f} failures per 1,000 node-days"
    if not abs(found / expected - 1) <= tolerance:
        raise ArithmeticError(f"{text}; expected {expected * PER_1000_NODE_DAYS:.3f} within {tolerance:.0%}")
    return text


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _devices() -> list[dict[str, str]]:
    import jax

    return [{"name": str(device), "kind": str(device.device_kind)} for device in jax.devices()]


def _cache() -> dict[str, Any]:
    folder = cache_folder()
    if folder is None:
        return {"folder": None, "used": False, "writable": False}
    return {"folder": str(folder), "used": True, "writable": _writable(folder)}


def _writable(folder: Path) -> bool:
    """Say whether a file can be made in the folder, or in what there is of the path to it."""
    there = next(path for path in (folder, *folder.parents) if path.exists())
    try:
        with tempfile.TemporaryFile(dir=there):
            return True
    except OSError:
        return False
