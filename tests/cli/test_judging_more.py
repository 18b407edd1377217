"""`meantime backtest`, `calibrate` and `fit --priors-from`: what is printed is what the library returns."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from meantime.cli import app
from meantime.datasets import read
from meantime.errors import InputError
from meantime.inference import backtest, calibrate, fit, load_fit, priors_from, provenance

COUNTS = """component,job_size,failures,exposure_node_days
all,8,30,9000
all,64,24,8000
all,512,40,12000
"""


def run(*arguments: str | Path, code: int = 0) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if isinstance(result.exception, InputError):
        raise result.exception
    assert result.exit_code == code, result.output
    return result.stdout


@pytest.fixture
def counts(tmp_path: Path) -> Path:
    (tmp_path / "counts.csv").write_text(COUNTS)
    return tmp_path / "counts.csv"


def test_backtest(counts: Path) -> None:
    """The largest size held out of a fit of one rate."""
    options = ["backtest", counts, "--model", "constant", "--over", "job_size", "--hold", "1"]
    content = json.loads(run(*options, "--seed", "3", "--json"))
    expected = backtest(read(counts), "constant", over="job_size", hold=1, seed=3)
    assert content["schema"] == "meantime.backtest/1"
    rows = {row["forecaster"]: row for row in content["rows"] if row["scope"] == "cells"}
    assert set(rows) == set(expected["forecaster"].values.tolist())
    for name, row in rows.items():
        one = expected.sel(forecaster=name, scope="cells")
        assert row["coverage"] == float(one["coverage"])
        assert row["mean_log_score"] == pytest.approx(float(one["mean_log_score"]))
    assert "nearest bucket" in run(*options)
    with pytest.raises(InputError, match="no dimension 'period'"):
        run("backtest", counts, "--model", "constant", "--over", "period")
    with pytest.raises(InputError, match="holding 3 out"):
        run("backtest", counts, "--model", "constant", "--hold", "3")


def test_calibrate(tmp_path: Path) -> None:
    options = ["calibrate", "--model", "constant", "--replicates", "20", "--seed", "2"]
    content = json.loads(run(*options, "--figure", tmp_path / "ranks.png", "--json"))
    expected = calibrate("constant", replicates=20, seed=2)
    assert content["schema"] == "meantime.calibrate/1"
    assert [row["p_value"] for row in content["rows"]] == pytest.approx(expected["p_value"].values.tolist())
    assert content["passed"] == bool(expected.attrs["passed"])
    assert (tmp_path / "ranks.png").stat().st_size > 5_000
    assert "passed on 20 replicates" in " ".join(run(*options).split())
    with pytest.raises(InputError, match="no model 'weather'"):
        run("calibrate", "--model", "weather")


def test_last_quarter_as_the_prior(counts: Path, tmp_path: Path) -> None:
    """Exact for one cluster: after both quarters, the counts and node-days of both."""
    first, second = tmp_path / "q1.nc", tmp_path / "q2.nc"
    run("fit", counts, "--model", "constant", "--output", first)
    run("fit", counts, "--model", "constant", "--priors-from", first, "--output", second)
    before = fit(read(counts), "constant")
    expected = fit(read(counts), "constant", priors=priors_from(before))
    for name in ("shape", "rate"):
        found = load_fit(second)["exact"].to_dataset()[name].values
        assert found == pytest.approx(expected["exact"].to_dataset()[name].values)
    assert provenance(load_fit(second))["priors"]["shape"] == pytest.approx(priors_from(before).shape)
    with pytest.raises(InputError, match="is a fit of 'constant'"):
        run("fit", counts, "--model", "component", "--priors-from", first, "--output", tmp_path / "q3.nc")
