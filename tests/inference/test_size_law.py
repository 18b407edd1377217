"""What a fit says of the law MTTF = 1 / (N r)."""

import numpy as np
import pytest
import xarray as xr

from meantime.datasets.published import load_rsc_points
from meantime.errors import InputError
from meantime.inference import fit, predict_rate, size_law


def _with_slopes(sized, slopes, level=None):
    """Replace the slopes of a fit by known ones, a little spread."""
    rng = np.random.default_rng(0)
    tree = sized.copy()
    posterior = tree["posterior"].to_dataset()
    posterior["slope"] = posterior["slope"] * 0 + np.asarray(slopes) + 0.001 * rng.standard_normal(4)
    if level is not None:
        posterior["level"] = posterior["level"] * 0 + np.asarray(level)
        posterior["cluster_deviation"] = posterior["cluster_deviation"] * 0
    tree["posterior"] = xr.DataTree(posterior)
    return tree


@pytest.mark.parametrize(
    ("slope", "verdict", "positive"),
    [(0.0, "holds.", None), (0.2, "too kind to large jobs", 1.0), (-0.2, "too hard on large jobs", 0.0)],
)
def test_verdicts(sized, slope, verdict, positive):
    found = size_law(_with_slopes(sized, [slope] * 4))
    assert verdict in found.attrs["sentence"]
    assert float(found["overall"].sel(figure="median")) == pytest.approx(slope, abs=0.005)
    assert positive is None or float(found["overall_positive"]) == positive
    assert float(found["overall_negligible"]) == (slope == 0)


def test_the_overall_slope_is_that_of_the_summed_rate(sized):
    """One component carries nearly all failures: its slope is the overall one."""
    found = size_law(_with_slopes(sized, [0.3, -0.3, -0.3, -0.3], level=[-5.0, -20.0, -20.0, -20.0]))
    assert float(found["overall"].sel(figure="median")) == pytest.approx(0.3, abs=0.005)
    assert found["positive"].values.tolist() == [1, 0, 0, 0]


def test_undecided(sized):
    found = size_law(sized)
    assert found["slope"].dims == ("component", "figure")
    lower, upper = (float(found["overall"].sel(figure=name)) for name in ("lower", "upper"))
    assert lower < 0.05 < upper  # the truth of the table
    assert "Per doubling of the job size" in found.attrs["sentence"]


def test_other_models_have_no_slope(plain):
    with pytest.raises(InputError, match="fit 'component_size'"):
        size_law(plain)


def test_published_points_contradict_each_other_and_are_not_averaged():
    """RSC: 47.7 days at 8 GPUs, 7.9 h at 1,024 and about 10 h at 4,096 are no line: 21, 24 and 4.7 per 1,000 node-days.

    The rates stay those of the sizes, the scatter goes into the forecast: at 131,072 GPUs the interval holds both
    the paper's projection (0.23 h) and what the small jobs alone would say (0.07 h); its bounds are a factor of
    ten apart at least, where the counts alone would give a few percent.
    """
    tree = fit(load_rsc_points(), seed=1, progress=False)
    found = size_law(tree)
    assert "jobs of 1,024 GPUs fail 4." in found.attrs["contradiction"]
    assert found.attrs["contradiction"] in found.attrs["sentence"]
    departure = found["departure"].sel(figure="median")
    assert departure.sel(job_size=1024) > 1.3
    assert departure.sel(job_size=4096) < 0.7
    rate = predict_rate(tree, [8, 1024, 4096, 131_072]).sum("component")
    np.testing.assert_allclose(1000 * rate[:, :3].mean("sample"), [21.0, 23.7, 4.7], rtol=0.03)
    mttf = 24 / (131_072 / 8 * rate.sel(gpus=131_072).quantile([0.05, 0.95]))
    assert mttf[1] < 0.07
    assert mttf[0] > 0.23
    assert mttf[0] / mttf[1] > 10
    assert not size_law(_with_rates_on_the_line(tree)).attrs["contradiction"]


def _with_rates_on_the_line(tree):
    changed = tree.copy()
    posterior = tree["posterior"].to_dataset()
    posterior["rate"] = posterior["rate"] / posterior["cell"]
    changed["posterior"] = xr.DataTree(posterior)
    return changed
