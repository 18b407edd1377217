"""Grids cut into parts for Dask give what one machine gives, part by part and only when asked."""

import sys

import numpy as np
import pytest
import scipy.stats
import xarray as xr

from meantime.errors import InputError
from meantime.forecast import Plan, Uncertain, forecast_chunked, forecast_rates, stated_rate

RATES = np.random.default_rng(9).gamma(10, 0.65, 200)
PLAN = Plan(restart=["1min", "5min", "9min"], checkpoint_interval=["optimal", "1h"], queue=["0s", "1min"])


@pytest.mark.parametrize("sizes_together", [1, 2, 5])
@pytest.mark.parametrize("uncertain", [False, True])
def test_parts_give_the_whole_to_the_last_digit(
    sizes_together: int, uncertain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Parts of five plans of twelve, so that they end within a row of the grid."""
    pytest.importorskip("dask")
    monkeypatch.setattr("meantime.forecast.run._BLOCK", 5 * RATES.size)
    detection = Uncertain(scipy.stats.gamma(2, scale=2), unit="min") if uncertain else "2min"
    plan = Plan(**{**PLAN.to_dict(), "detection": detection})
    rates = stated_rate(RATES, [64, 1024, 131072]).assign_attrs(largest_job_gpus=4096)
    lazy = forecast_chunked(rates, plan, seed=4, sizes_together=sizes_together)
    assert lazy["ettr"].chunks is not None
    whole = forecast_rates(rates, plan, seed=4)
    result = lazy.compute(scheduler="threads")
    assert set(result.data_vars) == set(whole.data_vars)
    for name, values in whole.data_vars.items():
        xr.testing.assert_equal(result[name], values)
        assert result[name].attrs == values.attrs
    assert set(result.coords) == set(whole.coords)


def test_only_what_is_asked_for_is_worked_out(monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("dask")
    from meantime.forecast import distributed

    asked = []
    real = distributed.figures_of_size

    def counted(draws: np.ndarray, grid: object, *, gpus: int, seed: int) -> dict[str, np.ndarray]:
        asked.append(gpus)
        return real(draws, grid, gpus=gpus, seed=seed)  # type: ignore[arg-type]

    monkeypatch.setattr(distributed, "figures_of_size", counted)
    lazy = forecast_chunked(stated_rate(RATES, [64, 1024, 131072]), PLAN)
    assert not asked
    one = lazy["ettr"].sel(gpus=1024).compute(scheduler="synchronous")
    assert asked == [1024]
    whole = forecast_rates(stated_rate(RATES, [1024]), PLAN)["ettr"].sel(gpus=1024)
    np.testing.assert_array_equal(one, whole)


@pytest.mark.slow
def test_a_grid_beyond_one_machine_is_laid_out_at_once_and_read_in_part() -> None:
    """Six million combinations of three lists, 3 sizes: 4 GB of figures, of which one part is computed."""
    pytest.importorskip("dask")
    many = [f"{number}s" for number in range(1, 201)]
    plan = Plan(restart=many, queue=many, detection=many[:150], checkpoint_interval="1h")
    lazy = forecast_chunked(stated_rate(RATES, [64, 1024, 131072]), plan)
    assert lazy["ettr"].size == 3 * 200 * 200 * 150 * 4
    cell = lazy["ettr"].sel(gpus=1024, restart="7s", queue="3s", detection="2s").compute(scheduler="synchronous")
    alone = forecast_rates(
        stated_rate(RATES, [1024]), Plan(restart="7s", queue="3s", detection="2s", checkpoint_interval="1h")
    )
    np.testing.assert_allclose(cell, alone["ettr"].sel(gpus=1024), rtol=1e-12)


def test_without_dask_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "dask", None)
    monkeypatch.setitem(sys.modules, "dask.array", None)
    with pytest.raises(InputError, match="pip install dask"):
        forecast_chunked(stated_rate(RATES, [1024]), PLAN)


def test_parts_of_no_size_are_refused() -> None:
    pytest.importorskip("dask")
    with pytest.raises(InputError, match="sizes_together"):
        forecast_chunked(stated_rate(RATES, [1024]), PLAN, sizes_together=0)
