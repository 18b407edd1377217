"""Rates over time: what is drawn is the posterior and the log, and tables say the same."""

import numpy as np
import pytest
from rich.console import Console

from meantime.forecast import forecast, forecast_periods
from meantime.inference import change_points, fit, rate_over_time
from meantime.report.evidence import component_rates
from meantime.report.figures import rates_over_time
from meantime.report.model_tables import period_rows
from meantime.report.terminal import print_fit

from ..models.tables import period_table


@pytest.fixture(scope="module")
def tree():
    """A first look at rates that tripled."""
    return fit(period_table(), "over_time", seed=2, method="laplace", progress=False, allow_unconverged=True)


def test_the_line_is_the_posterior_median(tree):
    figure = rates_over_time(tree, cluster="cluster 0", horizon="90d")
    axes = figure.axes[0]
    wanted = 1000 * rate_over_time(tree, cluster="cluster 0").sum("component").median("sample")
    np.testing.assert_allclose(axes.lines[0].get_ydata(), wanted.values, rtol=1e-12)
    counted = axes.lines[1].get_ydata()
    table = period_table().sel(cluster="cluster 0").sum("component")
    table = table.isel(period=np.flatnonzero(table["failures"].values > 0))
    np.testing.assert_allclose(counted, 1000 * table["failures"].values / period_table()["exposure"].sel(
        cluster="cluster 0", period=table["period"]).values, rtol=1e-12)  # fmt: skip
    assert len(axes.lines[2].get_xdata()) == 4  # the last period and three ahead
    assert figure.legends[0].get_texts()[0].get_text().startswith("fit: median")


def test_bars_are_the_probabilities_of_change(months_fit):
    found = months_fit
    axes, below = rates_over_time(found, horizon="60d").axes
    changes = change_points(found)
    heights = [bar.get_height() for bar in below.patches]
    np.testing.assert_allclose(heights, changes["probability"].values[0], rtol=1e-12)
    assert len(axes.lines[2].get_xdata()) == 3
    out = Console(width=200, record=True)
    print_fit(found, out)
    assert changes.attrs["sentence"] in out.export_text()


def test_tables_say_the_same(tree):
    rows = period_rows(tree, "cluster 1")
    assert [row["period"] for row in rows][:2] == ["2024-01-01", "2024-01-31"]
    table = period_table().sel(cluster="cluster 1")
    assert sum(row["failures"] for row in rows) == int(table["failures"].sum())
    out = Console(width=120, record=True)
    print_fit(tree, out)
    assert "over time" in out.export_text()
    mean = component_rates(tree, "cluster 1").sum("component").mean()
    assert float(mean) == pytest.approx(float(table["failures"].sum() / table["exposure"].sum()), rel=0.1)


def test_forecasts_by_period_and_over_them(tree):
    """The rate over three months lies between the least and the greatest of the months, and all widen with time."""
    months = forecast_periods(tree, [1024, 8192], horizon="90d", cluster="cluster 0", seed=3)
    assert months["ettr"].dims[:2] == ("period", "gpus")
    assert months.sizes["period"] == 3
    assert months["nodes"].dims == ("gpus",)
    width = np.log(months["rate"].sel(figure="upper") / months["rate"].sel(figure="lower")).isel(gpus=0).values
    assert (np.diff(width) > 0).all()
    quarter = forecast(tree, [1024, 8192], horizon="90d", cluster="cluster 0", seed=3)
    median = quarter["rate"].sel(figure="median", gpus=1024)
    each = months["rate"].sel(figure="median", gpus=1024)
    assert float(each.min()) * 0.9 < float(median) < float(each.max()) * 1.1
    now = forecast(tree, 1024, cluster="cluster 0", seed=3)
    assert float(now["rate"].sel(figure="upper").item()) < float(quarter["rate"].sel(figure="upper", gpus=1024))
