"""Figures draw what the fit and the log say."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from scipy.stats import poisson

from meantime.errors import InputError
from meantime.forecast import Plan, forecast
from meantime.inference import predict_rate
from meantime.report.evidence import garwood
from meantime.report.figures import ettr_by_gpus, forest, job_states, mttf_by_size, save_figures
from meantime.report.plans import GPUS
from meantime.report.style import NARROW, WIDE


def texts(figure: Figure) -> set[str]:
    figure.draw_without_rendering()
    return {text.get_text() for text in figure.findobj(lambda artist: hasattr(artist, "get_text"))}


def test_garwood_bounds_leave_five_per_cent_on_either_side() -> None:
    """The defining property, by the Poisson distribution itself rather than chi-square quantiles."""
    n, time = np.array([1, 2, 7, 148]), np.array([10.0, 1.0, 250.0, 110_592.0])
    lower, upper = garwood(n, time)
    assert poisson.sf(n - 1, lower * time) == pytest.approx(np.full(4, 0.05), abs=1e-9)
    assert poisson.cdf(n, upper * time) == pytest.approx(np.full(4, 0.05), abs=1e-9)
    zero_lower, zero_upper = garwood(0, 3.0)
    assert zero_lower == 0
    assert zero_upper == pytest.approx(-np.log(0.05) / 3.0)


def test_forest_draws_quantiles_of_the_posterior_and_raw_rates(component_fit: xr.DataTree) -> None:
    axes = forest(component_fit).axes[0]
    rate = component_fit["posterior"]["rate"].values.reshape(-1, 6) * 1000
    bars = [line for line in axes.lines if len(line.get_xdata()) == 2 and line.get_linewidth() == 2.4]
    drawn = np.array([line.get_xdata() for line in bars])
    order = np.argsort(-np.median(rate, axis=0))
    assert drawn[1:] == pytest.approx(np.quantile(rate, [0.05, 0.95], axis=0).T[order])
    assert drawn[0] == pytest.approx(np.quantile(rate.sum(axis=1), [0.05, 0.95]))
    raw = [float(line.get_xdata()[0]) for line in axes.lines if line.get_marker() == "|"]
    assert raw == pytest.approx([1000 * n / (2048 * 54) for n in (311, 148, 72, 54, 35, 2)])


def test_forest_names_rows_and_counts_failures(component_fit: xr.DataTree) -> None:
    found = texts(forest(component_fit))
    assert {"all components", "Faulty GPU", "Network Switch/Cable", "311", "148", "0"} <= found


def test_forest_of_two_clusters_names_both(two_fit: xr.DataTree) -> None:
    found = texts(forest(two_fit))
    assert any(text.startswith("RSC-1:") for text in found)
    assert any(text.startswith("RSC-2:") for text in found)


def test_one_component_on_several_clusters_gives_a_row_a_cluster(make_fit: object) -> None:
    tree = make_fit(clusters=("A", "B"), components=["interruption"])  # type: ignore[operator]
    found = texts(forest(tree))
    assert {"A", "B"} <= found
    assert "interruption" not in found
    n = tree["fit_data"]["failures"].sum(("component", "job_size")).values
    assert {f"{int(number):,}" for number in n} <= found


def test_one_row_still_has_a_scale(make_fit: object) -> None:
    tree = make_fit(components=["interruption"])  # type: ignore[operator]
    figure = forest(tree)
    figure.draw_without_rendering()
    assert len([text for text in figure.axes[0].get_xticklabels() if text.get_text()]) >= 2


def test_mttf_points_are_exposure_over_failures(size_fit: xr.DataTree) -> None:
    axes = mttf_by_size(size_fit).axes[0]
    dots = next(line for line in axes.lines if line.get_marker() == "o" and len(line.get_xdata()) > 1)
    data = size_fit["fit_data"]
    n = data["failures"].sum(("cluster", "component")).values
    nodes = data["job_size"].values / 8
    assert dots.get_xdata() == pytest.approx(data["job_size"].values[n > 0])
    assert dots.get_ydata() == pytest.approx((24 * data["exposure"].values[0] / n / nodes)[n > 0])


def test_mttf_band_is_the_posterior(size_fit: xr.DataTree) -> None:
    asked = [1024, 16384, 100_000]
    axes = mttf_by_size(size_fit, gpus=asked, seed=4).axes[0]
    line = next(line for line in axes.lines if line.get_label() == "_fit")
    drawn = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
    total = predict_rate(size_fit, asked, seed=4).sum("component").transpose("gpus", "sample").values
    expected = 24 / np.median(total, axis=1) / (np.array(asked) / 8)
    assert [drawn[size] for size in asked] == pytest.approx(expected)
    assert min(drawn) == 8
    assert max(drawn) == 100_000


def test_figures_and_forecasts_agree_to_the_last_digit(size_fit: xr.DataTree) -> None:
    """With the defaults, so that what the command line prints is what the figure is labelled with."""
    axes = mttf_by_size(size_fit).axes[0]
    line = next(line for line in axes.lines if line.get_label() == "_fit")
    made = forecast(size_fit, gpus=[*GPUS], plan=Plan())
    assert line.get_ydata()[-1] == pytest.approx(float(made["mttf"].sel(gpus=131_072, figure="median")), rel=1e-12)


def test_one_over_n_meets_the_fit_at_64_gpus(size_fit: xr.DataTree) -> None:
    axes = mttf_by_size(size_fit).axes[0]
    law = next(line for line in axes.lines if str(line.get_label()).startswith("1/N law through 64 GPUs"))
    posterior = size_fit["posterior"]
    at_64 = np.exp(posterior["level"].values).sum(-1)
    assert law.get_xdata() * law.get_ydata() == pytest.approx(
        np.full(len(law.get_xdata()), 24 * 8 / np.median(at_64)), rel=1e-12
    )


def test_extrapolation_is_shaded_from_the_largest_job_on(size_fit: xr.DataTree) -> None:
    for axes in mttf_by_size(size_fit).axes:
        shade = next(patch for patch in axes.patches if patch.get_zorder() == 0)
        assert shade.get_x() == 4096
    shade = next(patch for patch in mttf_by_size(size_fit, gpus=[1024]).axes[0].patches or [None])
    assert shade is None


def test_a_fit_without_sizes_has_one_panel_and_one_point(component_fit: xr.DataTree) -> None:
    figure = mttf_by_size(component_fit)
    assert len(figure.axes) == 1
    dots = [line for line in figure.axes[0].lines if str(line.get_label()).startswith("the log")]
    assert dots[0].get_xdata() == pytest.approx([16384])
    assert dots[0].get_ydata() == pytest.approx([24 * 54 / 311])


def test_sizes_without_a_failure_are_shown_as_bounds(make_fit: object) -> None:
    tree = make_fit(node_days=400)  # type: ignore[operator]
    n = tree["fit_data"]["failures"].sum(("cluster", "component")).values
    assert (n == 0).any()
    found = texts(mttf_by_size(tree))
    assert "no failure seen: bound only" in found


def test_ettr_panels_draw_the_forecasts(size_fit: xr.DataTree) -> None:
    plans = {"slow": Plan(restart="30min"), "fast": Plan(restart="1min")}
    figure = ettr_by_gpus(size_fit, gpus=[1024, 16384], plans=plans, seed=2)
    for axes, (name, plan) in zip(figure.axes, plans.items(), strict=True):
        assert axes.get_title(loc="left") == name
        line = max(axes.lines, key=lambda found: found.get_linewidth())
        expected = forecast(size_fit, gpus=[1024, 16384], plan=plan, seed=2)["ettr"].sel(figure="median").values
        drawn = dict(zip(line.get_xdata(), line.get_ydata(), strict=True))
        assert [drawn[1024], drawn[16384]] == pytest.approx(expected)
        assert len(drawn) == 11  # 512, 768, 1,024, 1,536, ... 16,384
    assert "larger than any job seen" in texts(figure)


def test_ettr_takes_forecasts_made_already(size_fit: xr.DataTree) -> None:
    made = {"one": forecast(size_fit, gpus=[1024, 4096, 16384], plan=Plan())}
    assert len(ettr_by_gpus(made, largest=4096).axes) == 1


def test_a_plan_with_a_list_is_refused(size_fit: xr.DataTree) -> None:
    with pytest.raises(InputError, match=r"plan 'a' lists several values of restart"):
        ettr_by_gpus(size_fit, plans={"a": Plan(restart=["1min", "5min"])})


def test_job_states_shows_both_shares(size_fit: xr.DataTree, component_fit: xr.DataTree) -> None:
    found = {text.replace("\u00a0", " ") for text in texts(job_states(size_fit))}
    assert {"completed", "60 %", "44 %", "node fail"} <= found
    with pytest.raises(InputError, match="no summary of job states"):
        job_states(component_fit)


@pytest.mark.parametrize("width", [WIDE, NARROW])
def test_nothing_is_drawn_outside_the_figure(size_fit: xr.DataTree, two_fit: xr.DataTree, width: float) -> None:
    """Two points of slack: half a marker or a line cap may stand over."""
    drawn = [
        forest(two_fit, width=width),
        mttf_by_size(size_fit, width=width),
        ettr_by_gpus(size_fit, width=width),
        job_states(size_fit, width=width),
    ]
    for figure in drawn:
        figure.draw_without_rendering()
        box = figure.get_tightbbox()
        assert box.x0 * 72 > -2
        assert box.y0 * 72 > -2
        assert box.x1 * 72 < figure.get_figwidth() * 72 + 2
        assert box.y1 * 72 < figure.get_figheight() * 72 + 2


@pytest.mark.slow
def test_save_figures_writes_pngs(size_fit: xr.DataTree, component_fit: xr.DataTree, tmp_path: Path) -> None:
    written = save_figures(size_fit, tmp_path / "new")
    assert [path.name for path in written] == [
        "failure_rates.png",
        "mttf_by_size.png",
        "ettr_by_gpus.png",
        "attributed_rates.png",
        "shrinkage.png",
        "ettr_contours.png",
        "mitigation_shares.png",
        "tornado.png",
        "job_states.png",
    ]
    assert all(path.read_bytes().startswith(b"\x89PNG\r\n\x1a\n") for path in written)
    assert sorted(path.name for path in (tmp_path / "new").iterdir()) == sorted(path.name for path in written)
    assert len(save_figures(component_fit, tmp_path, gpus=[16384])) == 8


def test_a_folder_that_cannot_be_is_refused(size_fit: xr.DataTree, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="file"):
        save_figures(size_fit, tmp_path / "file")


def test_figures_never_load_pyplot() -> None:
    """pyplot keeps figures in global state and may open windows."""
    code = "import sys, meantime.report.figures, meantime.report.svg; sys.exit('matplotlib.pyplot' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
