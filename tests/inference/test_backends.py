"""nutpie beside NumPyro, the Gaussian approximation beside both, and the cache of compiled samplers."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

from meantime.errors import ConvergenceError, InputError
from meantime.forecast import rates_of
from meantime.inference import fit, load_fit, provenance, save_fit
from meantime.inference.cache import cache_folder, use_cache
from meantime.inference.diagnostics import ess_bulk


def _apart(one, other, names):
    """Return the largest distance of posterior means, in their standard errors."""
    worst = 0.0
    for name in names:
        a, b = (tree["posterior"][name].values for tree in (one, other))
        means, errors = [], []
        for values in (a, b):
            flat = values.reshape(*values.shape[:2], -1)
            means.append(flat.mean((0, 1)))
            errors.append(flat.std((0, 1)) / np.sqrt(ess_bulk(flat.transpose(2, 0, 1))))
        worst = max(worst, float((np.abs(means[0] - means[1]) / np.hypot(*errors)).max()))
    return worst


@pytest.mark.slow
def test_nutpie_agrees_with_numpyro(table, plain):
    """Means of 14 numbers within 4.5 standard errors (false alarm 1e-4), statistics of the same names."""
    pytest.importorskip("nutpie")
    tree = fit(table, "component", backend="nutpie", seed=3, progress=False)
    assert set(tree["sample_stats"]) == set(plain["sample_stats"])
    for name, values in tree["sample_stats"].items():
        assert values.dtype == plain["sample_stats"][name].dtype, name
        assert values.shape == plain["sample_stats"][name].shape
    facts = provenance(tree)
    assert facts["backend"] == "nutpie"
    assert "nutpie" in facts["versions"]
    assert facts["diagnostics"]["converged"]
    assert _apart(tree, plain, ["mu", "sigma_component", "level", "sigma_cluster", "cluster_deviation"]) < 4.5


def test_the_gate_holds_for_nutpie(table):
    pytest.importorskip("nutpie")
    with pytest.raises(ConvergenceError, match=r"R-hat|ESS"):
        fit(table, "component", backend="nutpie", seed=3, tune=20, draws=10, progress=False)


@pytest.mark.slow
def test_a_first_look(table, plain, tmp_path):
    """Means within 0.15 posterior standard deviations of NUTS, spreads within 20 %; marked wherever it goes."""
    tree = fit(table, "component", method="laplace", seed=3)
    facts = provenance(tree)
    assert facts["method"] == "laplace"
    assert facts["diagnostics"]["approximate"]
    assert facts["diagnostics"]["pareto_k"] < 0.7
    for name in ("mu", "level", "cluster_deviation", "rate"):
        rough, good = tree["posterior"][name], plain["posterior"][name]
        spread = good.std(("chain", "draw"))
        assert float(np.abs((rough.mean(("chain", "draw")) - good.mean(("chain", "draw"))) / spread).max()) < 0.15
        assert rough.std(("chain", "draw")).values == pytest.approx(spread.values, rel=0.2)
    save_fit(tree, tmp_path / "rough.nc")
    again = load_fit(tmp_path / "rough.nc")
    assert "first look" in rates_of(again, [1024], cluster="cluster 0").attrs["warnings"]


def test_unknown_backends(table):
    with pytest.raises(InputError, match="numpyro, nutpie"):
        fit(table, "component", backend="stan")


def test_where_compiled_samplers_are_kept(monkeypatch, tmp_path):
    monkeypatch.setenv("MEANTIME_CACHE", "off")
    assert cache_folder() is None
    assert use_cache() is None
    monkeypatch.setenv("MEANTIME_CACHE", str(tmp_path))
    assert cache_folder().parent == tmp_path
    monkeypatch.delenv("MEANTIME_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    if sys.platform == "linux":
        assert cache_folder().is_relative_to(tmp_path / "xdg" / "meantime")


def test_a_folder_that_cannot_be_made_is_no_error(monkeypatch, tmp_path):
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("MEANTIME_CACHE", str(tmp_path / "file" / "below"))
    assert use_cache() is None


SCRIPT = """
import json, jax
from jax._src import monitoring
seen = []
monitoring.register_event_listener(lambda event, **_: seen.append(event))
from meantime.datasets.table import build_table
from meantime.inference import fit
table = build_table([[3, 40], [9, 70]], [2e4, 5e4], cluster=["a", "b"], component=["x", "y"])
tree = fit(table, "component", seed=1, draws=50, tune=50, allow_unconverged=True, progress=False)
hits = sum(event.endswith("compilation_cache/cache_hits") for event in seen)
print(json.dumps([hits, float(tree["posterior"]["mu"].mean())]))
"""


@pytest.mark.slow
def test_a_second_process_skips_the_compiler(tmp_path):
    """Hits of JAX's cache: none in the first process, some in the second; the same draws."""
    environment = {**os.environ, "MEANTIME_CACHE": str(tmp_path), "PYTHONWARNINGS": "ignore"}
    environment.pop("JAX_COMPILATION_CACHE_DIR", None)
    found = []
    for _ in range(2):
        run = subprocess.run(
            [sys.executable, "-c", SCRIPT], env=environment, capture_output=True, text=True, check=True
        )
        found.append(json.loads(run.stdout.splitlines()[-1]))
    assert found[0][0] == 0
    assert found[1][0] >= 1
    assert found[0][1] == found[1][1]
    assert list(tmp_path.rglob("*block*"))
