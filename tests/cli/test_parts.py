"""Nodes, lives and repairs on the command line: from files to fits, and what these buy."""

import datetime as dt
import json
from pathlib import Path

import numpy as np
import polars as pl
import pytest
from typer.testing import CliRunner

from meantime.cli import app
from meantime.datasets import read, repair_table, survival_table, to_table
from meantime.errors import InputError
from meantime.forecast import lemon_removal
from meantime.inference import load_fit, node_posterior, provenance, repair_hours

FIRST = dt.datetime(2003, 1, 1)
NODES = 64
SAMPLING = ["--seed", "3"]


def run(*arguments: str | Path) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Outages of 64 nodes, of which one fails 30 times as often, and stays of GPUs in three cages."""
    path = tmp_path_factory.mktemp("parts")
    rng = np.random.default_rng(1)
    node = np.repeat(np.arange(NODES), rng.poisson(np.where(np.arange(NODES) == 7, 60, 2)))
    start = [FIRST + dt.timedelta(minutes=int(at)) for at in rng.integers(0, 500_000, len(node))]
    down = rng.lognormal(4, 1, len(node))
    end = [at + dt.timedelta(minutes=int(1 + long)) for at, long in zip(start, down, strict=True)]
    hard = rng.random(len(node)) < 0.6
    form = "%m/%d/%Y %H:%M"
    blank = [""] * len(node)
    pl.DataFrame(
        {
            "System": [20] * len(node),
            "machine type": ["cluster"] * len(node),
            "nodes": [NODES] * len(node),
            "procsinnode": [4] * len(node),
            "nodenumz": node,
            "node prod": ["Jan-03"] * len(node),
            "node decom": ["current"] * len(node),
            "purpose": ["compute"] * len(node),
            "Prob Started": [at.strftime(form) for at in start],
            "Prob Fixed": [at.strftime(form) for at in end],
            "Down Time": [int((b - a).total_seconds() // 60) for a, b in zip(start, end, strict=True)],
            "Facilities": blank,
            "Hardware": np.where(hard, "CPU", ""),
            "Human Error": blank,
            "Network": blank,
            "Undetermined": blank,
            "Software": np.where(hard, "", "OS"),
        }
    ).write_csv(path / "outages.csv")
    cage, days = rng.integers(0, 3, 400), rng.integers(100, 1500, 400)
    failed = rng.random(400) < 0.3
    pl.DataFrame(
        {
            "SN": np.arange(400),
            "location": [f"c0-0c{one}s0n0" for one in cage],
            "insert": ["2014-01-01 00:00:00"] * 400,
            "remove": [(dt.datetime(2014, 1, 1) + dt.timedelta(days=int(long))).isoformat(" ") for long in days],
            "duration": days * 86_400,
            "out": ["TRUE"] * 400,
            "event": np.where(failed, "DBE", ""),
        }
    ).write_csv(path / "lives.csv")
    return path


@pytest.fixture(scope="module")
def nodes(folder: Path) -> Path:
    run("fit", folder / "outages.csv", "--model", "node_frailty", "--output", folder / "nodes.nc", *SAMPLING)
    return folder / "nodes.nc"


@pytest.fixture(scope="module")
def repairs(folder: Path) -> tuple[Path, str]:
    said = run("fit", folder / "outages.csv", "--model", "repair", "--output", folder / "repair.nc", *SAMPLING)
    return folder / "repair.nc", said


@pytest.mark.slow
def test_nodes_are_those_of_the_log_and_the_worst_is_found(nodes: Path, folder: Path) -> None:
    tree = load_fit(nodes)
    table = to_table(read(folder / "outages.csv"))
    np.testing.assert_array_equal(tree["fit_data"]["failures"].sum(), table["failures"].sum())
    posterior = node_posterior(tree)
    assert str(posterior["node"].values[np.argmax(posterior["lemon_probability"].values)]) == "7"


@pytest.mark.slow
def test_taking_lemons_out_scales_the_rate_as_the_library_says(nodes: Path) -> None:
    with_lemons = ["--with", "lemons=2", "--gpus", "256", "--productive", "10d"]
    content = json.loads(run("mitigate", nodes, *with_lemons, "--json"))
    row = content["rows"][0]
    assert row["mitigations"][0]["mitigation"] == "remove 2 lemons"
    factor = float(lemon_removal(node_posterior(load_fit(nodes)), [2])["factor"].sel(figure="mean").item())
    assert factor < 0.9
    before = json.loads(run("forecast", nodes, "--gpus", "256", "--json"))["rows"][0]["mttf_hours"]["median"]
    assert before / row["mttf_hours_after"]["median"] == pytest.approx(factor, rel=0.05)


@pytest.mark.slow
def test_lives_with_covariates(folder: Path) -> None:
    said = run("fit", folder / "lives.csv", "--model", "lifetime", "--covariates", "cage,out",
               "--output", folder / "lives.nc", *SAMPLING)  # fmt: skip
    assert "Survival by age" in said
    tree = load_fit(folder / "lives.nc")
    wanted = survival_table(read(folder / "lives.csv"), covariates=["cage", "out"])
    assert provenance(tree)["model"] == "lifetime"
    np.testing.assert_array_equal(tree["fit_data"]["failures"].values, wanted["failures"].values)
    assert tree["posterior"]["coefficient"].sizes["covariate"] == wanted.sizes["covariate"] == 1


@pytest.mark.slow
def test_a_pool_of_spares_from_a_fit_of_repairs(repairs: tuple[Path, str], nodes: Path, folder: Path) -> None:
    path, said = repairs
    assert "Repairs" in said
    wanted = repair_table(read(folder / "outages.csv"))
    np.testing.assert_array_equal(load_fit(path)["fit_data"]["repairs"].values, wanted["repairs"].values)
    mean = float(repair_hours(load_fit(path))["mean"].mean())
    pool = json.loads(run("spares", nodes, "--gpus", "512", "--repair-fit", path, "--json"))
    assert pool["repair_seconds"]["mean"] == pytest.approx(3600 * mean, rel=0.05)
    stated = json.loads(run("spares", nodes, "--gpus", "512", "--repair", f"{mean:.4f}h", "--json"))
    down = [content["rows"][0]["nodes_in_repair"]["mean"] for content in (pool, stated)]
    assert down[0] == pytest.approx(down[1], rel=0.05)


@pytest.mark.slow
def test_what_does_not_fit_together_is_refused(nodes: Path, folder: Path) -> None:
    with pytest.raises(InputError, match="either --repair"):
        run("spares", nodes, "--gpus", "512")
    with pytest.raises(InputError, match="expected one of 'repair'"):
        run("spares", nodes, "--gpus", "512", "--repair-fit", nodes)
    with pytest.raises(InputError, match="takes a log of lives; this one holds outages"):
        run("fit", folder / "outages.csv", "--model", "lifetime", "--output", folder / "x.nc")
    with pytest.raises(InputError, match="--covariates are those of lives"):
        run("fit", folder / "outages.csv", "--model", "node_frailty", "--covariates", "a", "--output", folder / "x.nc")
