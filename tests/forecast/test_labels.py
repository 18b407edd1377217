"""Dimensions, coordinates, flags and notes of a forecast; and what it refuses."""

import numpy as np
import pytest
import xarray as xr

from meantime.errors import InputError
from meantime.forecast import Plan, forecast_rates, notes, stated_rate

RATES = np.random.default_rng(2).gamma(10, 0.65, 300)
FIGURES = ["mean", "median", "lower", "upper"]


def test_lists_become_dimensions_with_their_texts_as_labels() -> None:
    plan = Plan(restart=["5min", "1h"], checkpoint_interval=["optimal", "30min", "2h"], productive="10d")
    result = forecast_rates(stated_rate(RATES, [1024, 16384]), plan)
    assert result["ettr"].dims == ("gpus", "restart", "interval", "figure")
    assert result["chosen_interval"].dims == ("gpus", "restart", "interval")
    assert result["mttf"].dims == ("gpus", "figure")
    assert result["figure"].values.tolist() == FIGURES
    assert result["restart_hours"].values == pytest.approx([1 / 12, 1])
    assert result["interval_hours"].values == pytest.approx([np.nan, 0.5, 2], nan_ok=True)
    assert (str(result["productive"].values), float(result["productive_hours"])) == ("10d", 240)
    alone = forecast_rates(stated_rate(RATES, [16384]), Plan(restart="1h", checkpoint_interval="2h", productive="10d"))
    for name in ("ettr", "ettr_run", "ettr_kokolis", "days_to_finish"):
        tolerance = 0.03 if name in ("ettr_run", "days_to_finish") else 1e-12  # other luck, of 2,000 runs
        cell = result[name].sel(gpus=16384, restart="1h", interval="2h")
        np.testing.assert_allclose(cell, alone[name].sel(gpus=16384), rtol=tolerance)


def test_every_number_says_its_unit_and_meaning() -> None:
    result = forecast_rates(stated_rate(RATES, [1024]), Plan())
    for name, variable in result.data_vars.items():
        assert variable.attrs["units"], name
        assert len(variable.attrs["long_name"]) > 10, name
    assert result.attrs["interval_kind"] == "eti"
    assert result.attrs["interval_probability"] == 0.9
    assert result.attrs["schema"] == "meantime.forecast/1"


def test_a_forecast_can_be_stored_as_netcdf(tmp_path) -> None:  # type: ignore[no-untyped-def]
    result = forecast_rates(stated_rate(RATES, [1024]), Plan(restart=["5min", "10min"]))
    result.to_netcdf(tmp_path / "forecast.nc", engine="h5netcdf")
    with xr.open_dataset(tmp_path / "forecast.nc", engine="h5netcdf") as again:
        xr.testing.assert_allclose(again.load(), result)


def test_a_size_does_not_depend_on_the_others_asked_for() -> None:
    many = forecast_rates(stated_rate(RATES, [256, 1024, 16384]), Plan(), seed=9)
    one = forecast_rates(stated_rate(RATES, [1024]), Plan(), seed=9)
    for name in one.data_vars:
        np.testing.assert_allclose(many[name].sel(gpus=[1024]), one[name], rtol=1e-12, err_msg=name)


def test_large_grids_are_worked_on_in_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = Plan(restart=["1min", "5min", "9min"], checkpoint_interval=["optimal", "1h"], queue=["0s", "1min"])
    rates = stated_rate(RATES, [16384])
    whole = forecast_rates(rates, plan)
    monkeypatch.setattr("meantime.forecast.run._BLOCK", 5 * RATES.size)
    parts = forecast_rates(rates, plan)
    for name in whole.data_vars:
        tolerance = 0.03 if name in ("ettr_run", "days_to_finish") else 1e-12  # other luck, of 2,000 runs
        np.testing.assert_allclose(parts[name], whole[name], rtol=tolerance, err_msg=name)


def test_the_seed_decides_the_luck_and_only_that() -> None:
    one, same, other = (forecast_rates(stated_rate(RATES, [256]), Plan(), seed=seed) for seed in (1, 1, 2))
    xr.testing.assert_identical(one, same)
    np.testing.assert_array_equal(one["ettr"], other["ettr"])
    assert (one["ettr_run"].sel(figure="mean") != other["ettr_run"].sel(figure="mean")).all()


def test_components_add_up() -> None:
    parts = xr.concat([stated_rate(RATES / 4, [16384]), stated_rate(RATES * 3 / 4, [16384])], dim="component")
    whole = forecast_rates(stated_rate(RATES, [16384]), Plan())
    np.testing.assert_allclose(forecast_rates(parts, Plan())["ettr"], whole["ettr"], rtol=1e-12)


@pytest.mark.parametrize(
    ("largest", "flags", "note"),
    [
        (
            4096,
            [False, False, True, True],
            "16,384 and 131,072 GPUs lie beyond the largest job of the data (4,096 GPUs)",
        ),
        (16384, [False, False, False, True], "131,072 GPUs lies beyond the largest job of the data (16,384 GPUs)"),
        (131072, [False] * 4, ""),
        (0, [True] * 4, "not known"),
        (None, [False] * 4, ""),
    ],
)
def test_sizes_beyond_the_data_are_flagged(largest: int | None, flags: list[bool], note: str) -> None:
    rates = stated_rate(RATES, [1024, 4096, 16384, 131072])
    if largest is not None:
        rates = rates.assign_attrs(largest_job_gpus=largest)
    result = forecast_rates(rates, Plan())
    assert result["extrapolated"].values.tolist() == flags
    texts = [text for text in notes(result) if "largest" in text]
    assert (note in texts[0]) if note else not texts


def test_notes_point_out_other_nodes_and_a_negative_paper_form() -> None:
    plan = Plan(checkpoint_interval="1h", gpus_per_node=4)
    result = forecast_rates(stated_rate(RATES, [131072]).assign_attrs(data_gpus_per_node=8), plan)
    assert any("8 GPUs and one of the plan 4" in text for text in notes(result))
    assert any("below 0 for 131,072 GPUs" in text for text in notes(result))


@pytest.mark.parametrize("gpus", [[], [8, 8], [0], [-8], [8.0], ["8"], [True], [10**12], 0, "1024"])
def test_sizes_that_cannot_be_are_refused(gpus: object) -> None:
    with pytest.raises(InputError, match="gpus is"):
        stated_rate(6.5, gpus)  # type: ignore[arg-type]


def test_one_size_needs_no_list() -> None:
    assert forecast_rates(stated_rate(6.5, 1024)).sizes["gpus"] == 1


@pytest.mark.parametrize("rate", [np.nan, -1.0, np.inf, "fast", np.ones((2, 2)), []])
def test_rates_that_cannot_be_are_refused(rate: object) -> None:
    with pytest.raises(InputError, match="rate"):
        forecast_rates(stated_rate(rate, [8]), Plan())  # type: ignore[arg-type]


def test_rates_without_draws_or_sizes_are_refused() -> None:
    with pytest.raises(InputError, match="dims"):
        forecast_rates(stated_rate(6.5, [8]).isel(sample=0))
    with pytest.raises(InputError, match="dims"):
        forecast_rates(stated_rate(6.5, [8]).drop_vars("gpus"))


def test_too_large_a_grid_is_refused() -> None:
    many = [f"{number}s" for number in range(1, 301)]
    with pytest.raises(InputError, match="too many"):
        forecast_rates(stated_rate(6.5, range(8, 8 * 30, 8)), Plan(restart=many, queue=many))
