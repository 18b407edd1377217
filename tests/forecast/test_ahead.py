"""Rates that move: forecasts by period, until a date, and along a run that starts ahead."""

import json

import numpy as np
import pytest
import xarray as xr
from typer.testing import CliRunner

from meantime.cli import app
from meantime.errors import InputError
from meantime.forecast import Plan, forecast, forecast_ahead, forecast_periods, mitigate, rates_of
from meantime.forecast.horizon import by_stretches, data_end
from meantime.forecast.mitigations import FasterRestart
from meantime.forecast.schema import checked
from meantime.inference import fit, save_fit

from ..models.tables import period_table

PLAN = Plan(productive="30d", restart="10min", queue="5min")


@pytest.fixture(scope="module")
def tree() -> xr.DataTree:
    """A first look at 12 periods of 30 days in 2025, over which rates tripled."""
    table = period_table(clusters=1)
    return fit(table, "over_time", seed=2, method="laplace", progress=False, allow_unconverged=True)


@pytest.fixture(scope="module")
def ahead(tree: xr.DataTree) -> xr.Dataset:
    return forecast_ahead(tree, [1024, 8192], PLAN, starts="45d", seed=3)


def test_averages_over_stretches_of_other_lengths() -> None:
    path = xr.DataArray([[1.0, 2.0, 3.0]], dims=("sample", "period"), attrs={"period_days": 30.0})
    np.testing.assert_allclose(by_stretches(path, np.array([0.0, 45.0, 90.0])), [[4 / 3, 8 / 3]])
    np.testing.assert_allclose(by_stretches(path, np.array([15.0, 40.0, 55.0])), [[(15 + 20) / 25, 2.0]])


def test_dates_are_times_from_the_end_of_the_data(tree: xr.DataTree) -> None:
    end = data_end(tree).astype("datetime64[D]")
    day = str(end + np.timedelta64(60, "D"))
    np.testing.assert_array_equal(rates_of(tree, 8, horizon=day).values, rates_of(tree, 8, horizon="60d").values)
    for horizon, told in ((str(end), f"after the end of the data, {end}"), ("2026-02-30", "is no date")):
        with pytest.raises(InputError, match=told):
            forecast(tree, 8, horizon=horizon)


def test_periods_of_the_fit_and_of_another_length(tree: xr.DataTree) -> None:
    own = forecast_periods(tree, 1024, PLAN, horizon="90d", seed=3)
    months = forecast_periods(tree, 1024, PLAN, periods=3, every="30d", seed=3)
    np.testing.assert_allclose(months["rate"], own["rate"], rtol=1e-12)
    assert (months["period"] == own["period"]).all()
    assert months["period"].values[0] == data_end(tree)
    two = forecast_periods(tree, 1024, PLAN, horizon="90d", every="45d", seed=3)
    assert two.sizes["period"] == 2
    mean = own["rate"].sel(figure="mean").values[:, 0]
    wanted = [(2 * mean[0] + mean[1]) / 3, (mean[1] + 2 * mean[2]) / 3]
    np.testing.assert_allclose(two["rate"].sel(figure="mean").values[:, 0], wanted, rtol=1e-12)
    with pytest.raises(InputError, match="either a horizon"):
        forecast_periods(tree, 1024)


def test_a_run_that_starts_ahead_is_as_simulated(ahead: xr.Dataset) -> None:
    """Seed 3: the mean time that follows the rates is that of 2,000 simulated runs, to 0.2 % and four errors."""
    bound = 0.002 + 4 * ahead["error_simulation"]
    assert (ahead["error_simulation"] < 0.002).all()
    assert (abs(ahead["error_followed"]) < bound).all()
    width = {
        name: ahead[name].sel(figure="upper") - ahead[name].sel(figure="lower")
        for name in ("ettr", "ettr_run", "ettr_now")
    }
    assert (width["ettr_run"] > 0.9 * width["ettr"]).all()
    days = ahead["days_to_finish"].sel(figure="median") * ahead["ettr_run"].sel(figure="median")
    np.testing.assert_allclose(days, 30, rtol=0.01)
    assert (width["ettr_now"] < width["ettr"]).all()  # the rates ahead are less sure than those of today
    assert "2,000 simulated runs" in ahead.attrs["notes"]


def test_plans_that_cannot_be_followed_are_refused(tree: xr.DataTree) -> None:
    with pytest.raises(InputError, match="restart of the plan is a list"):
        forecast_ahead(tree, 8, Plan(restart=["1min", "2min"]), starts="45d")
    with pytest.raises(InputError, match="uncertain"):
        forecast_ahead(tree, 8, Plan(restart=np.array([60, 70], dtype="timedelta64[s]")), starts="45d")


def test_measures_are_priced_at_the_rates_ahead(tree: xr.DataTree) -> None:
    width = []
    for horizon in (None, "180d"):
        before = mitigate(tree, 1024, PLAN, [FasterRestart("1min")], horizon=horizon, seed=3)["ettr_before"]
        width.append((before.sel(figure="upper") - before.sel(figure="lower")).item())
    assert width[0] < width[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("options", "schema"),
    [(["--periods", "2", "--every", "45d"], "meantime.periods/1"), (["--starts", "45d"], "meantime.ahead/1")],
)
def test_the_command_line_prints_both(options: list[str], schema: str, tree: xr.DataTree, tmp_path) -> None:
    save_fit(tree, tmp_path / "fit.nc")
    typed = ["forecast", str(tmp_path / "fit.nc"), "--gpus", "1024,8192", "--productive", "30d", *options]
    result = CliRunner().invoke(app, [*typed, "--json"])
    assert result.exit_code == 0, result.exception
    content = json.loads(result.stdout)
    assert content["schema"] == schema
    checked(content)
    assert len(content["rows"]) == (4 if "--periods" in options else 2)
    table = CliRunner().invoke(app, typed)
    assert table.exit_code == 0, table.exception
    assert "ETTR" in table.stdout
    assert max(map(len, table.stdout.splitlines())) <= 80
