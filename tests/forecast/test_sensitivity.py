"""Tornado and slopes against forecasts at moved inputs and finite differences."""

import numpy as np
import pytest
import scipy.stats
import xarray as xr

from meantime.errors import InputError
from meantime.forecast import Plan, Uncertain, forecast_rates, sensitivity, stated_rate

SIZES = [1024, 16384]


def rates(n: int = 400) -> xr.DataArray:
    rng = np.random.default_rng(12)
    draws = np.stack([rng.gamma(50, 2 / 50, n), rng.gamma(5, 3 / 5, n)], axis=1) / 1000
    return xr.DataArray(
        np.repeat(draws[:, :, None], 2, axis=2),
        dims=("sample", "component", "gpus"),
        coords={"component": ["gpu", "ib"], "gpus": SIZES},
    )


def test_swings_are_forecasts_at_the_moved_input() -> None:
    """A rate known exactly and stated terms: every end of the tornado is the ETTR of a changed plan."""
    plan = {"restart": "6min", "checkpoint_write": "40s", "checkpoint_interval": "20min", "queue": "10min"}
    plan |= {"detection": "5min", "productive": "10d"}
    result = sensitivity(stated_rate(6.5, SIZES), Plan(**plan), swing=2)
    assert result.sizes["input"] == 7
    moved = {
        "restart": ("3min", "12min"),
        "checkpoint_write": ("20s", "80s"),
        "checkpoint_interval": ("10min", "40min"),
        "queue": ("5min", "20min"),
        "detection": ("150s", "10min"),
        "productive": ("5d", "20d"),
    }
    for name, ends in moved.items():
        for end, value in zip(("low", "high"), ends, strict=True):
            expected = forecast_rates(stated_rate(6.5, SIZES), Plan(**plan | {name: value}))["ettr"].sel(figure="mean")
            np.testing.assert_allclose(result[f"ettr_at_{end}"].sel(input=name), expected, rtol=1e-9, err_msg=name)
    for end, value in (("low", 3.25), ("high", 13.0)):
        expected = forecast_rates(stated_rate(value, SIZES), Plan(**plan))["ettr"].sel(figure="mean")
        np.testing.assert_allclose(result[f"ettr_at_{end}"].sel(input="all components"), expected, rtol=1e-9)
        np.testing.assert_allclose(result[end].sel(input="all components"), value)
    swings = result["swing"].sel(gpus=16384).values
    assert (np.diff(swings) <= 0).all(), "the largest first"
    assert not result["uncertain"].any()


def test_uncertain_inputs_swing_over_their_interval() -> None:
    restart = Uncertain(scipy.stats.lognorm(0.5, scale=8), unit="min")
    result = sensitivity(rates(), Plan(restart=restart, checkpoint_interval="20min"), seed=3)
    draws = 1000 * rates().sel(gpus=1024)
    for name, values in (("ib", draws.sel(component="ib")), ("all components", draws.sum("component"))):
        row = result.sel(input=name, gpus=1024)
        np.testing.assert_allclose([row["low"], row["high"]], np.quantile(values, [0.05, 0.95]))
        assert bool(row["uncertain"])
    assert result["uncertain"].sel(input="restart").all()
    assert not result["uncertain"].sel(input="queue").any()
    assert (result["swing"].sel(input="all components") > result["swing"].sel(input="gpu")).all()


def test_slopes_are_finite_differences_and_add_up() -> None:
    """Central differences of 0.1 % in the mean ETTR of a long run, whole segments or not: within 1 %."""
    plan = {"restart": "6min", "checkpoint_write": "40s", "checkpoint_interval": "20min", "queue": "10min"}
    plan |= {"detection": "5min", "productive": "3000d"}
    result = sensitivity(rates(), Plan(**plan))
    both = result["slope"].sel(input=["gpu", "ib"]).sum("input")
    np.testing.assert_allclose(both, result["slope"].sel(input="all components"), rtol=1e-9)
    step = 1e-3
    ends = [forecast_rates(rates() * np.exp(sign * step), Plan(**plan))["ettr"].sel(figure="mean") for sign in (-1, 1)]
    np.testing.assert_allclose(result["slope"].sel(input="all components"), (ends[1] - ends[0]) / 2 / step, rtol=1e-2)
    for name, seconds in (
        ("restart", 360.0),
        ("checkpoint_write", 40.0),
        ("checkpoint_interval", 1200.0),
        ("queue", 600.0),
    ):
        texts = [f"{seconds * np.exp(sign * step):.6f}s" for sign in (-1, 1)]
        ends = [forecast_rates(rates(), Plan(**plan | {name: text}))["ettr"].sel(figure="mean") for text in texts]
        slope = (ends[1] - ends[0]) / 2 / step
        np.testing.assert_allclose(result["slope"].sel(input=name), slope, rtol=1e-2, atol=1e-5, err_msg=name)


def test_at_the_best_interval_its_slope_vanishes() -> None:
    result = sensitivity(stated_rate(6.5, SIZES), Plan(productive="3000d"))
    assert (np.abs(result["slope"].sel(input="checkpoint_interval")) < 1e-3).all()
    assert (result["slope"].sel(input="all components") < -0.01).all()


@pytest.mark.parametrize(
    ("arguments", "match"),
    [
        ({"plan": Plan(queue=["1min", "2min"])}, "queue of the plan"),
        ({"swing": 1}, "swing"),
        ({"swing": "2"}, "swing"),
    ],
)
def test_what_cannot_be_is_refused(arguments: dict[str, object], match: str) -> None:
    with pytest.raises(InputError, match=match):
        sensitivity(stated_rate(6.5, SIZES), **arguments)  # type: ignore[arg-type]
