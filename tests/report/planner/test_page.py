"""The planner page as text: one file, small, safe, with one script that its own policy knows."""

import base64
import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import xarray as xr

from meantime.errors import InputError
from meantime.forecast import Plan, rates_of
from meantime.inference import predict_rate
from meantime.report import write_planner
from meantime.report.planner.page import render
from meantime.report.planner.tables import LEVELS, knots, tables_of

LIMIT = 1_000_000
"""Largest size of a page in bytes."""


def facts_of(html: str) -> dict[str, Any]:
    found = re.search(r'<script type="application/json" id="facts">(.*?)</script>', html, re.DOTALL)
    assert found
    return dict(json.loads(found[1]))


def test_the_page_is_small_even_with_many_components(make_fit: Any, tmp_path: Path) -> None:
    many = make_fit(components=[f"component {number}" for number in range(40)])
    assert write_planner(many, tmp_path / "planner.html").stat().st_size < LIMIT


def test_its_policy_allows_its_script_alone(hostile_fit: xr.DataTree) -> None:
    html = render(hostile_fit, title="<img src=x onerror=alert(4)>")
    scripts = re.findall(r"<script>(.*?)</script>", html, re.DOTALL)
    assert len(scripts) == 1
    assert html.count("<script") == html.count("</script>") == 2
    digest = base64.b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()
    assert f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'" in html
    assert "<img" not in html
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202e]", html)
    assert not re.search(r'\s(?:src|srcset|action|on\w+)="', html.split("<script")[0])


def test_the_chart_library_is_named_with_its_version_and_licence(size_fit: xr.DataTree) -> None:
    root = Path(__file__).parents[3]
    licence = (root / "meantime/report/assets/uplot/LICENSE").read_text("utf-8")
    version = re.search(r"uPlot (\d+\.\d+\.\d+)", (root / "NOTICE").read_text("utf-8"))
    html = render(size_fit)
    assert version
    assert f"leeoniya/uPlot (v{version[1]})" in html
    assert f"Charts are drawn by uPlot {version[1]}, copyright 2022 Leon Sorokin, MIT licence." in html
    assert "Copyright (c) 2022 Leon Sorokin" in licence


def test_the_same_fit_gives_the_same_page(size_fit: xr.DataTree) -> None:
    assert render(size_fit) == render(size_fit)


def test_names_reach_the_page_whole(hostile_fit: xr.DataTree, hostile_names: list[str]) -> None:
    assert facts_of(render(hostile_fit))["components"] == hostile_names


def test_it_starts_with_the_plan_given(size_fit: xr.DataTree) -> None:
    plan = Plan(restart="90s", checkpoint_interval="1h", queue="2h", productive="45d", gpus_per_node=4)
    html = render(size_fit, gpus=24_576, plan=plan)
    facts = facts_of(html)
    wanted = {"gpus": 24_576, "restart": 1.5, "interval": 60, "optimal": False, "queue": 120, "productive": 45}
    assert wanted.items() <= facts["settings"].items()
    assert facts["gpus_per_node"] == 4
    assert "A node of the data has 8 GPUs and one of the plan 4" in html


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"plan": Plan(restart=["1min", "2min"])}, "restart"),
        ({"plan": Plan(restart=np.array([60, 120], "timedelta64[s]"))}, "restart"),
        ({"plan": Plan(productive="20000d")}, "productive"),
        ({"gpus": 512}, "1,024"),
        ({"smallest": 4096, "largest": 4096, "gpus": 4096}, "smallest < largest"),
        ({"largest": 1e9}, "gpus"),
        ({"cluster": "elsewhere"}, "elsewhere"),
    ],
)
def test_what_cannot_be_planned_is_refused(size_fit: xr.DataTree, options: dict[str, Any], word: str) -> None:
    with pytest.raises(InputError, match=word):
        render(size_fit, **options)


def test_a_page_can_be_for_a_new_cluster(two_fit: xr.DataTree) -> None:
    html = render(two_fit, cluster="new")
    assert "For a cluster that is not in the data." in html
    assert facts_of(html)["model"]["cluster"] == "new"


def test_knots_are_both_ends_of_every_bucket() -> None:
    assert knots(1024, 5000) == [1024, 1025, 2048, 2049, 4096, 4097, 5000]
    assert knots(1, 9) == [1, 2, 3, 4, 5, 8, 9]


def test_tables_keep_the_quantiles_of_all_draws(size_fit: xr.DataTree) -> None:
    """Corrected quantiles of the thinned draws are those of all draws, at every stored size and level."""
    sizes = knots(1024, 1_000_000)
    rate = rates_of(size_fit, sizes)
    tables = tables_of(rate)
    thinned = np.exp(tables.lows[:, None] + tables.steps[:, None] * tables.codes).sum(axis=1)
    corrected = np.quantile(thinned, LEVELS, axis=1).T * tables.corrections.astype("f4")
    total = predict_rate(size_fit, sizes).sum("component").values
    np.testing.assert_allclose(corrected, np.quantile(total, LEVELS, axis=0).T, rtol=1e-6)
    assert np.abs(tables.corrections - 1).max() < 0.1
    assert tables.codes.shape[-1] == 400


def test_rates_that_know_no_size_are_stored_once(component_fit: xr.DataTree) -> None:
    tables = tables_of(rates_of(component_fit, knots(1024, 1_000_000)))
    assert tables.sizes.tolist() == [1024]


def test_a_component_that_nearly_never_fails(size_fit: xr.DataTree) -> None:
    rate = rates_of(size_fit, [1024, 2048]).copy()
    rate[:, 0] = np.where(np.arange(rate.sizes["sample"])[:, None] % 2, 0.0, 1e-300)
    tables = tables_of(rate)
    assert np.isfinite(tables.corrections).all()
    assert np.isfinite(tables.lows).all()
