"""What a hurried user types into the Python API: each an error in plain words, none from deep inside."""

from collections.abc import Callable
from pathlib import Path

import pytest
import xarray as xr

import meantime
from meantime.datasets.published import load_llama3
from meantime.errors import InputError
from meantime.forecast import Plan, ettr_point, forecast, forecast_rates, stated_rate


@pytest.fixture(scope="module")
def fit() -> xr.DataTree:
    return meantime.fit(load_llama3(), "constant", seed=1, draws=50)


CASES: dict[str, tuple[Callable[[xr.DataTree], object], str]] = {
    "plan as a mapping": (lambda fit: forecast(fit, 1024, plan={"restart": "5min"}), "expected a Plan"),
    "plan as text": (lambda fit: forecast(fit, 1024, plan="5min"), "plan is '5min'; expected a Plan"),
    "plan of the point": (lambda _: ettr_point(6.5, 8, {}), "expected a Plan"),
    "plan from text": (lambda _: Plan.from_dict("5min"), "expected a mapping"),
    "negative seed": (lambda fit: forecast(fit, 1024, seed=-1), "seed is -1; expected a whole number"),
    "seed of rates": (lambda _: forecast_rates(stated_rate(6.5, 8), seed=0.5), "seed is 0.5"),
    "no fit": (lambda _: forecast(None, 1024), "the fit is of type NoneType"),
    "a table for a fit": (lambda _: forecast(load_llama3(), 1024), "the fit is of type Dataset"),
    "no size": (lambda fit: forecast(fit, None), "gpus is None"),
    "sizes as text": (lambda fit: forecast(fit, "1024"), "gpus is '1024'"),
    "no rate": (lambda _: forecast_rates(None), "rate is of type NoneType"),
    "no path": (lambda _: meantime.read(None), "paths holds None"),
    "a number for a path": (lambda _: meantime.read([3]), "paths holds 3"),
    "no jobs": (lambda _: meantime.failure_table(None), "jobs are of type NoneType"),
    "a path for jobs": (lambda _: meantime.failure_table("jobs.txt"), "jobs are of type str"),
    "no table": (lambda _: meantime.fit(None), "not NoneType"),
    "a model that is none": (lambda _: meantime.fit(load_llama3(), None), "no model None"),
    "few draws": (lambda _: meantime.fit(load_llama3(), "constant", draws=1), "draws is 1; expected .* 4 or more"),
    "acceptance as text": (lambda _: meantime.fit(load_llama3(), "constant", target_accept="x"), "target_accept is"),
    "saving nothing": (lambda _: meantime.save_fit(None, "x.nc"), "the fit is of type NoneType"),
    "loading nothing": (lambda _: meantime.load_fit(None), "path is None"),
    "reading a folder": (lambda _: meantime.read(Path(__file__).parent), "cannot be read: Is a directory"),
    "a file that cannot be read": (lambda _: meantime.read("/proc/self/mem"), r"/proc/self/mem: cannot be read: Input"),
}


@pytest.mark.parametrize("case", CASES)
def test_misuse_is_said_in_plain_words(case: str, fit: xr.DataTree) -> None:
    act, words = CASES[case]
    with pytest.raises(InputError, match=words) as caught:
        act(fit)
    assert "\n" not in str(caught.value)
