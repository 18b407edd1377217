"""Wrong use: a clear error, or the right answer."""

import numpy as np
import pytest
from scipy import stats

from meantime.datasets.table import build_table
from meantime.errors import InputError
from meantime.inference import backtest, fit


def _table(failures, exposure, **labels):
    given = {"cluster": ["A", "B"], "component": ["gpu", "nic"], **labels}
    return build_table(failures, exposure, **given)


def test_failures_without_exposure():
    with pytest.raises(InputError, match=r"cluster=B, component=nic is 2; expected 0"):
        fit(_table([[1, 0], [0, 2]], [100.0, 0.0]), "component")


@pytest.mark.parametrize(("value", "words"), [(np.nan, "finite"), (-1.0, "0 or more"), (0.5, "whole")])
def test_counts_that_are_none(value, words):
    with pytest.raises(InputError, match=words):
        fit(_table([[1.0, value], [0, 2]], [100.0, 50.0]), "component")


def test_exposure_that_is_none():
    with pytest.raises(InputError, match="finite"):
        fit(_table([[1, 0], [0, 2]], [100.0, np.nan]), "component")


def test_a_label_twice():
    with pytest.raises(InputError, match="'A' occurs more than once"):
        fit(_table([[1, 0], [0, 2]], [100.0, 50.0], cluster=["A", "A"]), "component")


def test_a_component_that_never_failed_is_exact():
    """`component_gamma`, by quadrature: its rate is below the 95 % Poisson bound, and its mean above 0."""
    table = _table([[40, 0], [55, 0]], [10_000.0, 12_000.0])
    rate = fit(table, "component_gamma")["posterior"].to_dataset()["rate"].sel(component="nic").values
    assert (rate >= 0).all()
    assert rate.mean() > 1e-6
    assert np.quantile(rate, 0.9) < 3.0 / 10_000


def test_one_cell_is_exact():
    """`constant` with one count: the Gamma posterior's quantiles."""
    tree = fit(build_table([[7]], [1_000.0], cluster=["A"], component=["gpu"]), "constant", draws=20_000)
    shape, rate = (float(tree["exact"].to_dataset()[name][0]) for name in ("shape", "rate"))
    draws = tree["posterior"].to_dataset()["rate"].values
    assert np.quantile(draws, [0.05, 0.95]) == pytest.approx(
        stats.gamma(shape, scale=1 / rate).ppf([0.05, 0.95]), rel=0.01
    )


def test_a_gap_between_periods_is_no_period():
    """A week without exposure is neither predicted nor counted; those around it are."""
    weeks = np.datetime64("2026-01-05") + 7 * np.arange(8) * np.timedelta64(1, "D")
    days = np.full((1, 8), 1_000.0)
    days[0, 6] = 0.0
    counts = np.where(days > 0, 4, 0)[:, None]
    table = build_table(counts, days, cluster=["A"], component=["gpu"], period=weeks)
    result = backtest(table, "constant", over="period", hold=2)
    assert result["period"].values.tolist() == weeks[[5, 7]].astype("datetime64[ns]").tolist()
    assert result["covered"].sel(forecaster="constant").all()
